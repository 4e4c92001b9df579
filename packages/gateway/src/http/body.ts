import type { Clock, Timer } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Exchange } from "./exchange.ts";
import type { BodySink } from "./server-request.ts";

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
  return new Promise((resolve, reject) => new BodyReader(exchange, bounds, clock, resolve, reject).begin());
}

/** Gathers a body, and settles once: with the whole of it, or with what was wrong. */
class BodyReader implements BodySink {
  readonly #exchange: Exchange;
  readonly #bounds: BodyBounds;
  readonly #clock: Clock;
  readonly #resolve: (body: Buffer) => void;
  readonly #reject: (error: GatewayError) => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #open = true;
  #timer: Timer | null = null;
  #forget: (() => void) | null = null;

  constructor(
    exchange: Exchange,
    bounds: BodyBounds,
    clock: Clock,
    resolve: (body: Buffer) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.#exchange = exchange;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    const exchange = this.#exchange;
    exchange.askForBody();
    this.#forget = exchange.cancel.onCancel(() => this.error());
    if (!this.#open) return;
    // Most bodies come with their head and are whole by the end of the tick: those need no timer.
    exchange.later(() => {
      if (this.#open) this.#timer = this.#clock.after(this.#bounds.timeoutMs, () => this.#fail(this.#tooLate()));
    });
    const { request } = exchange;
    if (request.takeBody?.(this)) return;
    request.on("data", (chunk: Buffer) => this.data(chunk));
    request.on("end", () => this.end());
    request.on("error", () => this.error());
  }

  data(chunk: Buffer): void {
    if (!this.#open) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bounds.bytesMax) this.#fail(tooLarge(this.#bounds.bytesMax));
    else this.#chunks.push(chunk);
  }

  end(): void {
    if (!this.#open) return;
    this.#close();
    const chunks = this.#chunks;
    const [first] = chunks;
    const body = chunks.length === 1 && first ? first : Buffer.concat(chunks, this.#bytes);
    this.#exchange.later(() => this.#resolve(body));
  }

  error(): void {
    this.#fail(new GatewayError("cancelled", "the client left"));
  }

  #fail(error: GatewayError): void {
    if (!this.#open) return;
    this.#close();
    const { request } = this.#exchange;
    request.leaveBody?.();
    request.pause();
    this.#reject(error);
  }

  #close(): void {
    this.#open = false;
    this.#timer?.cancel();
    this.#forget?.();
  }

  #tooLate(): GatewayError {
    const { timeoutMs } = this.#bounds;
    return new GatewayError(
      "request_timeout",
      `the request body did not arrive within ${timeoutMs} ms; send it at once`,
    );
  }
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
