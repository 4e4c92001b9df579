import type { IncomingMessage, ServerResponse } from "node:http";
import { formBoundary, parseForm } from "./form.ts";
import type { Hit } from "./records/requests.ts";
import type { State } from "./state.ts";

/** One HTTP request with its body read, and the response to write to. */
export interface Exchange {
  readonly n: number;
  readonly requestId: string;
  /** `performance.now()` when its headers had arrived. */
  readonly startedMs: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly bodyBytes: number;
  /** The parsed body; undefined when it is neither JSON nor a form. */
  readonly body: unknown;
}

/** Most bytes of a request body: 64 MiB. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;

/** Reads a body; hands over null when it is larger than BODY_BYTES_MAX, the rest is then read and dropped. */
export function readBody(req: IncomingMessage, done: (body: Buffer | null) => void): void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let tooLarge = false;
  req.on("data", (chunk: Buffer) => {
    if (tooLarge) return;
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) {
      chunks.push(chunk);
      return;
    }
    tooLarge = true;
    chunks = [];
    done(null);
  });
  req.on("end", () => {
    if (tooLarge) return;
    const [only] = chunks;
    done(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, bytes));
  });
  // A peer that leaves while sending: there is nobody to answer.
  req.on("error", () => undefined);
}

/** The JSON value of a body, or the fields of a form; undefined when it is neither. */
export function parseBody(body: Buffer, contentType: string | undefined): unknown {
  if (body.length === 0) return undefined;
  const boundary = formBoundary(contentType);
  if (boundary !== null) return parseForm(body, boundary) ?? undefined;
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Answers with JSON. */
export function sendJson(res: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  res.writeHead(status, { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) });
  res.end(body);
}

/** Puts a call into the list of requests. */
export function note(state: State, exchange: Exchange, model: string | null, stream: boolean): Hit {
  const hit: Hit = {
    n: exchange.n,
    request_id: exchange.requestId,
    at_ms: Date.now(),
    method: exchange.method,
    path: exchange.path,
    model,
    stream,
    headers: exchange.req.headers,
    body: exchange.body ?? null,
    body_bytes: exchange.bodyBytes,
    status: 0,
  };
  state.requests.note(hit);
  return hit;
}
