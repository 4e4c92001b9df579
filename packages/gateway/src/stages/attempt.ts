import { noUsage, type Usage } from "@sluicegate/contract";
import type { ReplyFacts } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { ProviderFailure } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { FinishReason, StreamPart } from "../core/stream-part.ts";
import type {
  Transport,
  UpstreamCall,
  UpstreamErrorKind,
  UpstreamHeaders,
  UpstreamRequest,
  UpstreamSink,
} from "../core/transport.ts";
import { type Decompressor, decompressor } from "../http/decompress.ts";
import { missingBlankLine, type SseEvent, SseSplitter } from "../http/sse-splitter.ts";
import { mergeUsage, type Protocol, type Quirks, type StreamReader } from "../protocols/protocol.ts";
import type { AttemptTimeouts } from "../resilience/timeouts.ts";

/** How long an upstream may keep a connection open after the end of its stream. */
const LINGER_MS = 1_000;

/** What an attempt came to before anything of it could reach the client. */
export type AttemptOutcome =
  | { kind: "failed"; failure: ProviderFailure }
  | { kind: "reply"; body: Buffer; facts: ReplyFacts }
  /** The commit point: the first real output is here. What was held back comes with the first `take`. */
  | { kind: "streaming" };

/** How a committed stream ended. */
export interface StreamEnd {
  failure: ProviderFailure | null;
  /** The upstream's own end mark has gone to the client. */
  terminated: boolean;
}

/** Takes the bytes of a committed stream. False asks for a pause until `resume`. */
export type StreamTaker = (bytes: Buffer) => boolean;

/** What was learned of an attempt, for its row. Times are monotonic ms. */
export interface Meter {
  startedAt: number;
  sentAt: number | null;
  firstOutputAt: number | null;
  endedAt: number | null;
  httpStatus: number | null;
  providerRequestId: string | null;
  model: string | null;
  usage: Usage | null;
  finishReason: FinishReason | null;
  /** Characters of output seen, for an estimate where usage never comes. */
  outputChars: number;
}

/** What one attempt is made of. */
export interface AttemptSpec {
  request: UpstreamRequest;
  protocol: Protocol;
  quirks: Quirks;
  stream: boolean;
  /** Answers asked for (`n`): each has a finish reason of its own. */
  choices: number;
  /** The client asked to see usage: its chunk is forwarded. */
  showsUsage: boolean;
  /** Keep the upstream's end mark back, because something goes before it. */
  holdTerminator: boolean;
  timeouts: AttemptTimeouts;
}

/**
 * One call to one deployment, with a state of its own: nothing of it is visible to the attempt after it.
 * It ends exactly once, whichever comes first: the upstream's end, an error, a timer, a cancellation.
 */
export class Attempt implements UpstreamSink {
  readonly meter: Meter;
  readonly outcome: Promise<AttemptOutcome>;
  /** Resolves when a committed stream is over; never for one that did not commit. */
  readonly end: Promise<StreamEnd>;

  readonly #spec: AttemptSpec;
  readonly #clock: Clock;
  #call: UpstreamCall | null = null;
  #forgetCancel: (() => void) | null = null;
  #resolveOutcome!: (outcome: AttemptOutcome) => void;
  #resolveEnd!: (end: StreamEnd) => void;

  #phase: "waiting" | "committed" | "over" = "waiting";
  #headers: UpstreamHeaders = {};
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #decompressor: Decompressor | null = null;
  #splitter: SseSplitter | null = null;
  #reader: StreamReader | null = null;
  /** Bytes not yet taken: the preamble before the commit, output before the taker is there. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #take: StreamTaker | null = null;
  #terminated = false;
  #sawTerminator = false;

  #finishes = 0;
  #timer: Timer | null = null;
  /** Closes a connection whose stream is over but whose upstream keeps it open. */
  #linger: Timer | null = null;
  #lastActivityAt: number;
  #paused = false;

  constructor(spec: AttemptSpec, transport: Transport, clock: Clock, cancel: Cancel) {
    this.#spec = spec;
    this.#clock = clock;
    const now = clock.monotonic();
    this.#lastActivityAt = now;
    this.meter = {
      startedAt: now,
      sentAt: null,
      firstOutputAt: null,
      endedAt: null,
      httpStatus: null,
      providerRequestId: null,
      model: null,
      usage: null,
      finishReason: null,
      outputChars: 0,
    };
    this.outcome = new Promise((resolve) => {
      this.#resolveOutcome = resolve;
    });
    this.end = new Promise((resolve) => {
      this.#resolveEnd = resolve;
    });
    this.#forgetCancel = cancel.onCancel(() => this.#fail(broken("cancelled", "the client left", this.meter)));
    if (this.#isOver()) return;
    this.#armTimer();
    // The transport may call back before it returns, even with an error.
    this.#call = transport.send(spec.request, this);
    if (this.#isOver()) this.#call.abort();
  }

  /** Sends a committed stream's bytes to `taker` from now on, beginning with what was held back. */
  take(taker: StreamTaker): void {
    this.#take = taker;
    const held = this.#held;
    this.#held = [];
    if (held.length > 0) this.#deliver(Buffer.concat(held, this.#heldBytes));
    this.#heldBytes = 0;
  }

  /** The client has caught up: read on. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#lastActivityAt = this.#clock.monotonic();
    this.#call?.resume();
  }

  onSent(): void {
    this.meter.sentAt = this.#clock.monotonic();
    this.#armTimer();
  }

  onHeaders(status: number, headers: UpstreamHeaders): void {
    this.#lastActivityAt = this.#clock.monotonic();
    this.meter.httpStatus = status;
    this.meter.providerRequestId =
      headers["x-request-id"] ?? headers["request-id"] ?? headers["apim-request-id"] ?? null;
    this.#headers = headers;
    try {
      this.#decompressor = decompressor(headers["content-encoding"], {
        data: (chunk) => this.#onBody(chunk),
        end: () => this.#onBodyEnd(),
        error: (message) => this.#fail(failure("invalid_response", message, true, status)),
      });
    } catch (error) {
      return this.#fail(failure("invalid_response", messageOf(error), true, status));
    }
    const isEvents = /^text\/event-stream\b/i.test(headers["content-type"] ?? "");
    if (this.#spec.stream && status < 300 && isEvents) {
      this.#splitter = new SseSplitter(LIMITS.sseEventBytesMax);
      this.#reader = this.#spec.protocol.streamReader(this.#spec.quirks);
    }
  }

  onData(chunk: Buffer): void {
    if (this.#phase === "over") return;
    this.#lastActivityAt = this.#clock.monotonic();
    if (this.#decompressor) this.#decompressor.write(chunk);
    else this.#onBody(chunk);
  }

  onEnd(): void {
    this.#linger?.cancel();
    if (this.#decompressor) this.#decompressor.end();
    else this.#onBodyEnd();
  }

  onError(kind: UpstreamErrorKind, message: string): void {
    this.#linger?.cancel();
    const started = this.meter.httpStatus !== null;
    if (kind === "protocol") return this.#fail(failure("invalid_response", message, true));
    // After the head, a connection that breaks is an answer cut short; before it, a call that may never have arrived.
    this.#fail(broken(started ? "invalid_response" : "connection_failed", message, this.meter));
  }

  #onBody(chunk: Buffer): void {
    if (this.#phase === "over") return;
    if (this.#splitter) return this.#onEvents(chunk, this.#splitter);
    this.#bodyBytes += chunk.length;
    const isError = (this.meter.httpStatus ?? 200) >= 300;
    const bound = isError ? LIMITS.upstreamErrorBytesMax : LIMITS.upstreamBodyBytesMax;
    if (this.#bodyBytes <= bound) this.#body.push(chunk);
    else if (!isError)
      this.#fail(failure("invalid_response", `the answer is over ${bound} bytes`, true, this.meter.httpStatus));
  }

  #onBodyEnd(): void {
    if (this.#phase === "over") return;
    if (this.#splitter) return this.#onStreamEnd(this.#splitter);
    const status = this.meter.httpStatus ?? 0;
    const body = Buffer.concat(this.#body);
    if (status < 200 || status >= 300) return this.#fail(this.#classified(status, body));
    const read = this.#spec.protocol.readReply(body, this.#spec.quirks, this.#clock.now());
    if ("failure" in read) return this.#fail(read.failure);
    if (this.#spec.stream)
      return this.#fail(failure("invalid_response", "a stream was asked for and one JSON body came", true, status));
    this.meter.model = read.model;
    this.meter.usage = read.usage;
    this.meter.finishReason = read.finishReason;
    this.meter.outputChars = read.outputChars;
    this.#close();
    this.#resolveOutcome({ kind: "reply", body, facts: read });
  }

  /** Every event is read, and the bytes of those the client may see go on in as few writes as came in chunks. */
  #onEvents(chunk: Buffer, splitter: SseSplitter): void {
    const forward: Buffer[] = [];
    try {
      splitter.push(chunk, (event) => this.#onEvent(event, forward));
    } catch (error) {
      this.#flush(forward);
      return this.#fail(failure("invalid_response", messageOf(error), true, this.meter.httpStatus));
    }
    this.#flush(forward);
    if (this.#sawTerminator && this.#phase === "committed") this.#finish();
  }

  #onEvent(event: SseEvent, forward: Buffer[]): void {
    if (this.#phase === "over" || this.#sawTerminator) return;
    if (event.data === null) {
      forward.push(event.raw);
      return;
    }
    const reading = this.#reader?.read(event.data, event.name);
    if (!reading) return;
    for (const part of reading.parts) {
      if (part.type === "error") {
        // Behind the last finish reason the answer is whole: what is said of it then goes on as it came (OpenRouter).
        if (this.#finishes >= this.#spec.choices) continue;
        this.#flush(forward);
        forward.length = 0;
        const body = Buffer.from(JSON.stringify(part.failure.body));
        return this.#fail(this.#classified(part.failure.status ?? 502, body));
      }
      this.#meterPart(part);
    }
    if (reading.terminator) {
      this.#sawTerminator = true;
      if (this.#spec.holdTerminator) return;
      this.#terminated = true;
    }
    if (!reading.usageOnly || this.#spec.showsUsage) forward.push(event.raw);
  }

  #meterPart(part: StreamPart): void {
    const { meter } = this;
    if (part.type === "start") {
      meter.model = part.model;
      return;
    }
    if (part.type === "usage") {
      meter.usage ??= noUsage();
      mergeUsage(meter.usage, part.usage);
      return;
    }
    if (part.type === "finish") {
      this.#finishes++;
      if (part.choice === 0 || meter.finishReason === null) meter.finishReason = part.reason;
    } else if ("text" in part) {
      meter.outputChars += part.text.length;
    }
    meter.firstOutputAt ??= this.#clock.monotonic();
  }

  #flush(forward: Buffer[]): void {
    if (forward.length === 0 || this.#phase === "over") return;
    const bytes = forward.length === 1 && forward[0] ? forward[0] : Buffer.concat(forward);
    if (this.#phase === "waiting" && this.meter.firstOutputAt === null) {
      if (this.#heldBytes + bytes.length <= LIMITS.preambleBytesMax) this.#holdBack(bytes);
      return;
    }
    if (this.#phase === "waiting") {
      this.#phase = "committed";
      this.#armTimer();
      this.#resolveOutcome({ kind: "streaming" });
    }
    if (this.#take) this.#deliver(bytes);
    else this.#holdBack(bytes);
  }

  #holdBack(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#phase === "committed" && this.#heldBytes > LIMITS.clientBufferBytesMax) this.#pause();
  }

  #deliver(bytes: Buffer): void {
    if (this.#take && !this.#take(bytes)) this.#pause();
  }

  #pause(): void {
    if (this.#paused || this.#phase === "over") return;
    this.#paused = true;
    this.#call?.pause();
  }

  #onStreamEnd(splitter: SseSplitter): void {
    const forward: Buffer[] = [];
    try {
      splitter.end((event) => this.#onEvent(event, forward));
      // Whatever is said after an event without its blank line would be taken for more of it.
      const last = forward[forward.length - 1];
      if (last && !this.#sawTerminator) forward.push(missingBlankLine(last));
    } catch (error) {
      return this.#fail(failure("invalid_response", messageOf(error), true, this.meter.httpStatus));
    }
    this.#flush(forward);
    if (this.#phase === "over") return;
    // A stream is whole when it said why it stopped, or closed with its own end mark after some output.
    const whole = this.#finishes >= this.#spec.choices || (this.#sawTerminator && this.meter.firstOutputAt !== null);
    if (!whole || this.#phase === "waiting") {
      return this.#fail(broken("invalid_response", "the stream ended before its finish reason", this.meter));
    }
    this.#finish();
  }

  #finish(): void {
    this.#close();
    this.#resolveEnd({ failure: null, terminated: this.#terminated });
    // The connection is left to end by itself, so that it can be used again; one that does not is closed.
    this.#call?.resume();
    this.#linger = this.#clock.after(LINGER_MS, () => this.#call?.abort());
  }

  #fail(reason: ProviderFailure): void {
    if (this.#phase === "over") return;
    const committed = this.#phase === "committed";
    // Everything had been said: what breaks after the last finish reason takes nothing from the answer.
    const whole = committed && reason.class !== "cancelled" && this.#finishes >= this.#spec.choices;
    this.#close();
    this.#call?.abort();
    if (!committed) this.#resolveOutcome({ kind: "failed", failure: reason });
    else this.#resolveEnd({ failure: whole ? null : reason, terminated: this.#terminated });
  }

  #isOver(): boolean {
    return this.#phase === "over";
  }

  #close(): void {
    this.#phase = "over";
    this.meter.endedAt = this.#clock.monotonic();
    this.#timer?.cancel();
    this.#timer = null;
    this.#forgetCancel?.();
    this.#decompressor?.close();
  }

  #classified(status: number, body: Buffer): ProviderFailure {
    return this.#spec.protocol.classifyFailure(status, this.#headers, body, this.#clock.now());
  }

  /** One timer an attempt. Activity only moves a number; the timer looks at it when it fires and goes on waiting. */
  #armTimer(): void {
    this.#timer?.cancel();
    const { at } = this.#nextDeadline();
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => this.#onTimer());
  }

  #onTimer(): void {
    if (this.#phase === "over") return;
    const { at, what } = this.#nextDeadline();
    if (this.#clock.monotonic() < at) return this.#armTimer();
    this.#fail(broken(what === "connect" ? "connection_failed" : "timeout", `no ${what} in time`, this.meter));
  }

  #nextDeadline(): { at: number; what: "connect" | "first token" | "answer" | "next chunk" | "end" } {
    const { timeouts } = this.#spec;
    const { startedAt, sentAt } = this.meter;
    if (this.#phase === "committed") {
      const end = startedAt + timeouts.streamMaxMs;
      // A client that does not read stops the clock for the upstream, but not the one for the whole.
      const idle = this.#paused ? end : this.#lastActivityAt + timeouts.idleMs;
      return idle < end ? { at: idle, what: "next chunk" } : { at: end, what: "end" };
    }
    const hop = startedAt + timeouts.hopMs;
    if (sentAt === null) {
      const connect = startedAt + timeouts.connectMs;
      return connect < hop ? { at: connect, what: "connect" } : { at: hop, what: "answer" };
    }
    const first = timeouts.firstTokenMs === null ? hop : sentAt + timeouts.firstTokenMs;
    return first < hop ? { at: first, what: "first token" } : { at: hop, what: "answer" };
  }
}

function failure(
  kind: ProviderFailure["class"],
  message: string,
  ambiguous: boolean,
  httpStatus: number | null = null,
): ProviderFailure {
  return { class: kind, message, httpStatus, retryAfterMs: null, ambiguous };
}

/** A call that was broken off: ambiguous, and billed by estimate, once it had been sent. */
function broken(kind: ProviderFailure["class"], message: string, meter: Meter): ProviderFailure {
  return { ...failure(kind, message, meter.sentAt !== null, meter.httpStatus), broken: true };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
