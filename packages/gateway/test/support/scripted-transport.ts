import type {
  Transport,
  UpstreamCall,
  UpstreamErrorKind,
  UpstreamHeaders,
  UpstreamRequest,
  UpstreamSink,
} from "../../src/core/transport.ts";

/** One upstream call, played by the test. After an abort nothing is told any more, as the contract says. */
export class ScriptedCall implements UpstreamCall {
  readonly request: UpstreamRequest;
  readonly #sink: UpstreamSink;
  /** How often each was asked for. */
  aborts = 0;
  pauses = 0;
  resumes = 0;
  ended = false;

  constructor(request: UpstreamRequest, sink: UpstreamSink) {
    this.request = request;
    this.#sink = sink;
  }

  get paused(): boolean {
    return this.pauses > this.resumes;
  }

  sent(): this {
    return this.#tell(() => this.#sink.onSent());
  }

  headers(status: number, headers: UpstreamHeaders = {}): this {
    return this.#tell(() => this.#sink.onHeaders(status, headers));
  }

  /** Sent, and answered with the head of an event stream. */
  streams(headers: UpstreamHeaders = {}): this {
    return this.sent().headers(200, { "content-type": "text/event-stream; charset=utf-8", ...headers });
  }

  data(...chunks: (string | Buffer)[]): this {
    for (const chunk of chunks)
      this.#tell(() => this.#sink.onData(typeof chunk === "string" ? Buffer.from(chunk) : chunk));
    return this;
  }

  end(): this {
    return this.#tell(() => {
      this.ended = true;
      this.#sink.onEnd();
    });
  }

  error(kind: UpstreamErrorKind, message = "broken"): this {
    return this.#tell(() => {
      this.ended = true;
      this.#sink.onError(kind, message);
    });
  }

  abort(): void {
    this.aborts++;
  }

  pause(): void {
    this.pauses++;
  }

  resume(): void {
    this.resumes++;
  }

  #tell(act: () => void): this {
    if (this.aborts === 0 && !this.ended) act();
    return this;
  }
}

/** A transport without a network. `play` runs inside `send`, before it returns: an upstream that is very quick. */
export class ScriptedTransport implements Transport {
  readonly calls: ScriptedCall[] = [];
  readonly #play: (call: ScriptedCall) => void;

  constructor(play: (call: ScriptedCall) => void = () => {}) {
    this.#play = play;
  }

  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    const call = new ScriptedCall(request, sink);
    this.calls.push(call);
    this.#play(call);
    return call;
  }

  /** The last call made. */
  get last(): ScriptedCall {
    const call = this.calls[this.calls.length - 1];
    if (!call) throw new Error("nothing has been sent");
    return call;
  }

  retain(): void {}

  async close(): Promise<void> {}
}
