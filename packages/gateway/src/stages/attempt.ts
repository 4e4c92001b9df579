import type { Cancel } from "../core/cancel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { ProviderFailure } from "../core/errors.ts";
import { joined } from "../core/joined.ts";
import { LIMITS } from "../core/limits.ts";
import type { StreamFailure } from "../core/stream-part.ts";
import type {
  Transport,
  UpstreamErrorKind,
  UpstreamHeaders,
  UpstreamRequest,
  UpstreamSink,
} from "../core/transport.ts";
import { type Decompressor, decompressor } from "../http/decompress.ts";
import { type Deadline, LINGER_MS, nextDeadline } from "./attempt-deadline.ts";
import {
  type AttemptOutcome,
  type AttemptSpec,
  isGood,
  marksOf,
  type StreamEnd,
  type StreamPasser,
  type StreamTaker,
} from "./attempt-outcome.ts";
import { EventIntake, isFramed } from "./event-intake.ts";
import { HeldOutput } from "./held-output.ts";
import { type Meter, openMeter, providerRequestId } from "./meter.ts";
import { messageOf, providerFailure } from "./provider-failure.ts";
import { readWhole } from "./read-whole.ts";
import { UpstreamHandle } from "./upstream-handle.ts";

/**
 * One call to one deployment, with a state of its own: nothing of it is visible to the attempt after it.
 * It ends exactly once, whichever comes first: the upstream's end, an error, a timer, a cancellation.
 */
export class Attempt implements UpstreamSink {
  readonly meter: Meter;
  /** Those of the answer. */
  headers: UpstreamHeaders = {};
  readonly outcome: Promise<AttemptOutcome>;
  readonly #spec: AttemptSpec;
  readonly #clock: Clock;
  readonly #call = new UpstreamHandle();
  #forgetCancel: (() => void) | null = null;
  #resolveOutcome!: (outcome: AttemptOutcome) => void;
  /** Made for those that commit, or are asked for it: whole answers go without. */
  #end: Promise<StreamEnd> | null = null;
  #resolveEnd!: (end: StreamEnd) => void;

  #phase: "waiting" | "committed" | "over" = "waiting";
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #decompressor: Decompressor | null = null;
  #intake: EventIntake | null = null;
  /** Bytes not yet taken: the preamble before the commit, output before the taker is there, and while the client is behind. */
  readonly #held = new HeldOutput();
  #take: StreamTaker | null = null;
  #passer: StreamPasser | null = null;

  #timer: Timer | null = null;
  #timerAt = 0;
  /** Closes a connection whose stream is over but whose upstream keeps it open. */
  #linger: Timer | null = null;
  #lastActivityAt: number;
  /** When the head of an error answer came. */
  #refusedAt: number | null = null;
  /** The client is behind; the decoder is behind. Either pauses the upstream. */
  #paused = false;
  #decoderBehind = false;

  constructor(spec: AttemptSpec, transport: Transport, clock: Clock, cancel: Cancel) {
    this.#spec = spec;
    this.#clock = clock;
    const now = clock.monotonic();
    this.#lastActivityAt = now;
    this.meter = openMeter(now);
    this.outcome = new Promise((resolve) => {
      this.#resolveOutcome = resolve;
    });
    this.#forgetCancel = cancel.onCancel(() => this.#fail(this.#broken("cancelled", "the client left")));
    const { request } = spec;
    if (!this.#isOver()) this.#armTimer(now);
    // Heard to its end even by an attempt that is over: a rejection nobody hears would end the process.
    if (request instanceof Promise) {
      request.then(
        (ready) => this.#isOver() || this.#send(transport, ready),
        (error: unknown) => this.#fail(providerFailure("auth_failed", messageOf(error), false)),
      );
    } else if (!this.#isOver()) this.#send(transport, request);
  }

  #send(transport: Transport, request: UpstreamRequest): void {
    try {
      this.#call.give(request.local ? request.local(this) : transport.send(request, this));
    } catch (error) {
      this.#call.over();
      this.#fail(providerFailure("connection_failed", messageOf(error), false));
    }
  }

  /** Resolves when a committed stream is over; never for one that did not commit. */
  get end(): Promise<StreamEnd> {
    this.#end ??= new Promise((resolve) => {
      this.#resolveEnd = resolve;
    });
    return this.#end;
  }

  /** Sends a committed stream's bytes to `taker` from now on, beginning with what was held back. */
  take(taker: StreamTaker, passer: StreamPasser | null = null): void {
    this.#take = taker;
    this.#passer = passer;
    // What was held may have been enough for a pause that nobody else would end.
    if (this.#deliverHeld()) this.resume();
  }

  /** The client has caught up: read on. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#isOver()) return;
    this.#lastActivityAt = this.#clock.monotonic();
    // The timer may have gone to sleep for the end of the whole stream.
    this.#armTimer();
    if (!this.#deliverHeld()) return;
    this.#decompressor?.resume();
    this.#throttle();
  }

  /** The commit point has been passed. */
  get committed(): boolean {
    return this.#phase === "committed";
  }

  /** Ends it from outside, with `kind` as its failure; its connection is closed at once. Does nothing to one that is over. */
  stop(kind: ProviderFailure["class"], message: string): void {
    this.#fail(this.#broken(kind, message));
  }

  onSent(): void {
    if (this.#isOver()) return;
    this.meter.sentAt = this.#clock.monotonic();
    // The deadline of a whole answer stays where it is.
    if (this.#spec.timeouts.firstTokenMs !== null) this.#armTimer(this.meter.sentAt);
  }

  onHeaders(status: number, headers: UpstreamHeaders): void {
    if (this.#isOver()) return;
    const good = isGood(status);
    this.meter.httpStatus = status;
    this.meter.providerRequestId = providerRequestId(headers);
    this.headers = headers;
    // When the pieces of a whole answer come, no deadline asks.
    if (this.#spec.stream || !good) this.#lastActivityAt = this.#clock.monotonic();
    if (!good) {
      this.#refusedAt = this.#lastActivityAt;
      this.#armTimer();
    }
    if (this.#spec.stream && good && isFramed(this.#spec.protocol, headers["content-type"])) {
      this.#intake = new EventIntake(this.#spec, this.meter, this.#clock);
    }
    const encoding = headers["content-encoding"];
    if (encoding === undefined) return;
    try {
      this.#decompressor = decompressor(encoding, {
        data: (chunk) => this.#onBody(chunk),
        end: () => this.#onBodyEnd(),
        error: (message) => this.#onUnreadable(message),
        drain: () => {
          this.#decoderBehind = false;
          this.#throttle();
        },
      });
    } catch (error) {
      this.#onUnreadable(messageOf(error));
    }
  }

  /** The way of most pieces of a stream: an event like the last, to a client that keeps up. */
  passes(bytes: Buffer, from: number, to: number): boolean {
    const passer = this.#passer;
    const intake = this.#intake;
    if (!passer || !intake || this.#isOver() || this.#decompressor) return false;
    if (!intake.passes(bytes, from, to)) return this.#translates(intake, bytes, from, to);
    const now = this.#clock.monotonic();
    this.#lastActivityAt = now;
    if (this.#paused || !passer.pass(bytes, from, to, now)) this.#flush(Buffer.from(bytes.subarray(from, to)));
    return true;
  }

  #translates(intake: EventIntake, bytes: Buffer, from: number, to: number): boolean {
    const taken = intake.translates(bytes, from, to);
    if (!taken) return false;
    this.#lastActivityAt = this.#clock.monotonic();
    this.#flush(taken.bytes);
    if (taken.broken !== null) this.#fail(this.#invalid(taken.broken));
    return true;
  }

  onData(chunk: Buffer): void {
    if (this.#isOver()) return;
    if (this.#intake) this.#lastActivityAt = this.#clock.monotonic();
    if (!this.#decompressor) return this.#onBody(chunk);
    if (this.#decompressor.write(chunk)) return;
    this.#decoderBehind = true;
    this.#throttle();
  }

  onEnd(): void {
    this.#call.over();
    this.#linger?.cancel();
    if (this.#isOver()) return;
    if (this.#decompressor) this.#decompressor.end();
    else this.#onBodyEnd();
  }

  onError(kind: UpstreamErrorKind, message: string): void {
    this.#call.over();
    this.#linger?.cancel();
    if (this.#refusedAt !== null) return this.#onBodyEnd();
    const started = this.meter.httpStatus !== null;
    // Who makes the connection itself, inside the process, finds out late that there is none.
    if (!started && (kind === "connect" || kind === "connect_timeout")) this.meter.sentAt = null;
    if (kind === "protocol") return this.#fail(this.#invalid(message));
    // After the head, a connection that breaks is an answer cut short; before it, a call that may never have arrived.
    this.#fail(this.#broken(started ? "invalid_response" : "connection_failed", message));
  }

  #onBody(chunk: Buffer): void {
    if (this.#isOver()) return;
    if (this.#intake) return this.#onEvents(this.#intake, chunk);
    this.#bodyBytes += chunk.length;
    const isError = this.#refusedAt !== null;
    const bound = isError ? LIMITS.upstreamErrorBytesMax : LIMITS.upstreamBodyBytesMax;
    // The only one of most: pushed into an empty list, it would have room made for many.
    if (this.#bodyBytes <= bound && this.#body.length === 0) this.#body = [chunk];
    else if (this.#bodyBytes <= bound) this.#body.push(chunk);
    // The status says what an error without end is.
    else if (isError) this.#onBodyEnd();
    else this.#fail(this.#invalid(`the answer is over ${bound} bytes`));
  }

  /** The body does not decode. An error is still told by its status. */
  #onUnreadable(message: string): void {
    if (this.#refusedAt === null) return this.#fail(this.#invalid(message));
    this.#body = [];
    this.#onBodyEnd();
  }

  #onBodyEnd(): void {
    if (this.#isOver()) return;
    if (this.#intake) return this.#onEvents(this.#intake, null);
    const raw = joined(this.#body);
    const read = readWhole(this.#spec, this.meter, this.headers, raw, this.#clock.now());
    if (read.kind === "failed") return this.#fail(read.failure);
    this.#close();
    this.#resolveOutcome(read);
  }

  /** A piece of a stream, or null for its end: read, sent on in as few writes as came in chunks, and judged. */
  #onEvents(intake: EventIntake, chunk: Buffer | null): void {
    const wasFinished = intake.finished;
    const { bytes, said, broken } = chunk ? intake.push(chunk) : intake.end();
    this.#flush(bytes);
    if (said) return this.#fail(this.#said(said));
    if (broken !== null) return this.#fail(this.#invalid(broken));
    if (intake.sawTerminator || chunk === null) return this.#settle(intake);
    if (intake.finished && !wasFinished) this.#armTimer();
  }

  /** Sends on what may be seen: nothing before the first output, then all that was held back with it. */
  #flush(bytes: Buffer | null): void {
    if (!bytes) return;
    if (this.#phase === "waiting") {
      // A preamble over its bound is no preamble any more: it is not worth losing.
      const fits = this.#held.bytes + bytes.length <= LIMITS.preambleBytesMax;
      if (this.meter.firstOutputAt === null && fits) return this.#holdBack(bytes);
      this.#commit();
    }
    if (this.#take && !this.#paused) this.#deliver(bytes);
    else this.#holdBack(bytes);
  }

  #commit(): void {
    this.#phase = "committed";
    this.#armTimer();
    this.#resolveOutcome({ kind: "streaming" });
  }

  #holdBack(bytes: Buffer): void {
    this.#held.add(bytes);
    if (this.#phase === "committed" && this.#held.bytes > LIMITS.clientBufferBytesMax) this.#pause();
  }

  #deliver(bytes: Buffer): boolean {
    const keepsUp = this.#take?.(bytes) ?? true;
    if (!keepsUp) this.#pause();
    return keepsUp;
  }

  /** Gives the taker what waits; false when the client is behind. */
  #deliverHeld(): boolean {
    return this.#held.bytes === 0 || this.#deliver(this.#held.take());
  }

  #pause(): void {
    if (this.#paused || this.#isOver()) return;
    this.#paused = true;
    this.#decompressor?.pause();
    this.#throttle();
  }

  #throttle(): void {
    this.#call.throttle(this.#paused || this.#decoderBehind);
  }

  /** The stream has ended. It is whole when it said why it stopped, or closed with its own end mark after some output. */
  #settle(intake: EventIntake): void {
    const whole = intake.finished || (intake.sawTerminator && this.meter.firstOutputAt !== null);
    if (!whole) return this.#fail(this.#broken("invalid_response", "the stream ended before its finish reason"));
    // An answer that says nothing but why it stopped (a filter's) may have no bytes before its very end.
    if (this.#phase === "waiting") this.#commit();
    if (this.#take) this.#deliverHeld();
    this.#close();
    this.#finish({ failure: null, ...marksOf(intake) });
    if (!this.#call.open) return;
    // The connection is left to end by itself, so that it can be used again; one that does not is closed.
    this.#call.throttle(false);
    this.#linger = this.#clock.after(LINGER_MS, () => this.#call.abort());
  }

  #fail(reason: ProviderFailure): void {
    if (this.#isOver()) return;
    const committed = this.#phase === "committed";
    const intake = this.#intake;
    // Everything had been said: what breaks after the last finish reason takes nothing from the answer.
    const whole = committed && reason.class !== "cancelled" && intake?.finished === true;
    if (this.#take && reason.class !== "cancelled") this.#deliverHeld();
    this.#close();
    this.#call.abort();
    if (!committed) this.#resolveOutcome({ kind: "failed", failure: reason });
    else this.#finish({ failure: whole ? null : reason, ...marksOf(intake) });
  }

  /** Whoever asks only now hears of it as well. */
  #finish(end: StreamEnd): void {
    void this.end;
    this.#resolveEnd(end);
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
    this.#spec.over?.();
    this.#decompressor?.close();
    // A request holds its attempts until it is settled; their bytes it needs no longer.
    this.#body = [];
    this.#intake = null;
  }

  /** One timer an attempt. What only puts the deadline off moves a number; the timer looks when it fires, and goes on waiting. */
  #armTimer(now?: number): void {
    const { at } = this.#nextDeadline();
    if (this.#timer && this.#timerAt <= at) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#clock.after(Math.max(0, at - (now ?? this.#clock.monotonic())), () => this.#onTimer());
  }

  #onTimer(): void {
    this.#timer = null;
    if (this.#isOver()) return;
    const { at, what } = this.#nextDeadline();
    if (this.#clock.monotonic() < at) return this.#armTimer();
    // An error answer that does not end is still an answer.
    if (this.#refusedAt !== null) return this.#onBodyEnd();
    this.#fail(this.#broken(what === "connect" ? "connection_failed" : "timeout", `no ${what} in time`));
  }

  #nextDeadline(): Deadline {
    const { startedAt, sentAt } = this.meter;
    return nextDeadline(
      {
        startedAt,
        sentAt,
        refusedAt: this.#refusedAt,
        committed: this.#phase === "committed",
        finished: this.#intake?.finished === true,
        paused: this.#paused,
        lastActivityAt: this.#lastActivityAt,
      },
      this.#spec.timeouts,
    );
  }

  /** An answer that is none. The provider may have done the work. */
  #invalid(message: string): ProviderFailure {
    return providerFailure("invalid_response", message, true, this.meter.httpStatus);
  }

  /** A call that was broken off: ambiguous, and billed by estimate, once it had been sent. */
  #broken(kind: ProviderFailure["class"], message: string): ProviderFailure {
    const { sentAt, httpStatus } = this.meter;
    return { ...providerFailure(kind, message, sentAt !== null, httpStatus), broken: true };
  }

  /** An error the provider said inside the stream. The headers are those of the 200 around it, and say nothing of it. */
  #said({ status, body }: StreamFailure): ProviderFailure {
    const text = Buffer.from(JSON.stringify(body));
    return this.#spec.protocol.classifyFailure(status ?? 502, {}, text, this.#clock.now());
  }
}
