import type { Clock, Timer } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Exchange } from "./exchange.ts";

/** How much, and for how long, a client may send. */
export interface BodyBounds {
  bytesMax: number;
  timeoutMs: number;
}

/**
 * The whole request body. Throws request_too_large over the bound (a declared length is refused before a byte is read),
 * request_timeout for a client that dawdles, cancelled when it leaves, invalid_request for a body it encoded.
 */
export function readBody(exchange: Exchange, bounds: BodyBounds, clock: Clock): Promise<Buffer> {
  const { request } = exchange;
  const encoding = exchange.header("content-encoding")?.trim().toLowerCase();
  if (encoding !== undefined && encoding !== "identity") {
    return Promise.reject(
      new GatewayError(
        "invalid_request",
        `content-encoding ${clip(encoding)} is not accepted; send the body uncompressed`,
      ),
    );
  }
  const declared = Number(exchange.header("content-length") ?? 0);
  if (declared > bounds.bytesMax) return Promise.reject(tooLarge(bounds.bytesMax));
  return new Promise((resolve, reject) => {
    exchange.askForBody();
    const chunks: Buffer[] = [];
    let size = 0;
    let open = true;
    let timer: Timer | null = null;
    const arm = (): Timer =>
      clock.after(bounds.timeoutMs, () =>
        fail(
          new GatewayError(
            "request_timeout",
            `the request body did not arrive within ${bounds.timeoutMs} ms; send it at once`,
          ),
        ),
      );
    let forget = (): void => {};
    function close(): void {
      open = false;
      timer?.cancel();
      forget();
    }
    function fail(error: GatewayError): void {
      if (!open) return;
      close();
      request.pause();
      reject(error);
    }
    forget = exchange.cancel.onCancel(() => fail(new GatewayError("cancelled", "the client left")));
    if (!open) return;
    // Most bodies come with their head and are whole by the end of the tick: those need no timer.
    exchange.later(() => {
      if (open) timer = arm();
    });
    request.on("data", (chunk: Buffer) => {
      if (!open) return;
      size += chunk.length;
      if (size > bounds.bytesMax) return fail(tooLarge(bounds.bytesMax));
      chunks.push(chunk);
    });
    request.on("end", () => {
      if (!open) return;
      close();
      const [first] = chunks;
      const body = chunks.length === 1 && first ? first : Buffer.concat(chunks, size);
      exchange.later(() => resolve(body));
    });
    request.on("error", () => fail(new GatewayError("cancelled", "the client left")));
  });
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    "request_too_large",
    `the request body is over the limit of ${bytesMax} bytes; send less at once`,
    {
      limit: bytesMax,
    },
  );
}

function clip(text: string): string {
  return text.slice(0, 40);
}
