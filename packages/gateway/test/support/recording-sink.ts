import type {
  Transport,
  UpstreamCall,
  UpstreamErrorKind,
  UpstreamHeaders,
  UpstreamRequest,
  UpstreamSink,
} from "../../src/core/transport.ts";

type Event = "sent" | "headers" | "data" | "end" | "error";

/** What may come after what, as the contract of UpstreamSink says; the rest is nothing. */
const NEXT: Record<Event | "start", readonly Event[]> = {
  start: ["sent", "error"],
  sent: ["headers", "error"],
  headers: ["data", "end", "error"],
  data: ["data", "end", "error"],
  end: [],
  error: [],
};

/** Hears one call out, and notes whatever breaks the contract. */
export class RecordingSink implements UpstreamSink {
  /** Data only once, however many pieces there were. */
  readonly log: Event[] = [];
  /** Events that came where they must not. */
  readonly breaches: string[] = [];
  readonly over: Promise<void>;
  readonly sent: Promise<void>;
  readonly headed: Promise<void>;
  readonly begun: Promise<void>;
  status = 0;
  headers: UpstreamHeaders = {};
  kind: UpstreamErrorKind | null = null;
  message = "";
  bytes = 0;
  /** Set by `abort`: from then on nothing may come. */
  isAborted = false;
  /** Called as each event comes. */
  onEvent: (event: Event) => void = () => {};
  readonly #pieces: Buffer[] = [];
  readonly #resolve = new Map<Event, () => void>();

  constructor() {
    this.sent = this.#once("sent");
    this.headed = this.#once("headers");
    this.begun = this.#once("data");
    const end = this.#once("end");
    this.over = Promise.race([end, this.#once("error")]);
  }

  get body(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  get text(): string {
    return this.body.toString("latin1");
  }

  onSent(): void {
    this.#note("sent");
  }

  onHeaders(status: number, headers: UpstreamHeaders): void {
    this.status = status;
    this.headers = headers;
    this.#note("headers");
  }

  onData(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.#pieces.push(Buffer.from(chunk));
    this.#note("data");
  }

  onEnd(): void {
    this.#note("end");
  }

  onError(kind: UpstreamErrorKind, message: string): void {
    this.kind = kind;
    this.message = message;
    this.#note("error");
  }

  #note(event: Event): void {
    const before = this.log[this.log.length - 1] ?? "start";
    if (this.isAborted) this.breaches.push(`${event} after the abort`);
    else if (!NEXT[before].includes(event)) this.breaches.push(`${event} after ${before}`);
    if (event !== "data" || before !== "data") this.log.push(event);
    this.#resolve.get(event)?.();
    this.onEvent(event);
  }

  #once(event: Event): Promise<void> {
    return new Promise((resolve) => this.#resolve.set(event, resolve));
  }
}

/** A call and what it tells. */
export interface Recorded {
  call: UpstreamCall;
  sink: RecordingSink;
  /** Aborts the call; the sink notes what is told all the same. */
  abort(): void;
}

/** Sends `request` with a sink that records. */
export function record(transport: Pick<Transport, "send">, request: UpstreamRequest): Recorded {
  const sink = new RecordingSink();
  const call = transport.send(request, sink);
  return {
    call,
    sink,
    abort() {
      sink.isAborted = true;
      call.abort();
    },
  };
}

/** The same for a call that is waited for. */
export async function recordToEnd(
  transport: Pick<Transport, "send">,
  request: UpstreamRequest,
): Promise<RecordingSink> {
  const { sink } = record(transport, request);
  await sink.over;
  return sink;
}

/** A POST with a small JSON body to a server on loopback. */
export function post(
  origin: string | number,
  change: Partial<UpstreamRequest> = {},
  pool: Partial<UpstreamRequest["pool"]> = {},
): UpstreamRequest {
  return {
    origin: typeof origin === "number" ? `http://127.0.0.1:${origin}` : origin,
    method: "POST",
    path: "/v1/chat/completions",
    headers: ["content-type", "application/json"],
    body: Buffer.from("{}"),
    connectTimeoutMs: 5_000,
    pool: { key: "a", connections: 4, ...pool },
    ...change,
  };
}
