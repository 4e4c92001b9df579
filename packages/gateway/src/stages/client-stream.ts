import type { Call } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { GatewayError } from "../core/errors.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Protocol, StreamShape } from "../protocols/protocol.ts";

const STREAM_HEADERS = [
  "cache-control",
  "no-cache",
  // Tells nginx and its like not to collect the stream.
  "x-accel-buffering",
  "no",
];

/**
 * The client's side of a stream. Its status is committed lazily: with the first output, or, after `keepaliveMs` of silence,
 * with a ping of the dialect (ruling 19); from then on failures are in-band.
 */
export class ClientStream {
  readonly #exchange: Exchange;
  readonly #protocol: Protocol;
  readonly #clock: Clock;
  readonly #call: Call;
  readonly #shape: StreamShape;
  readonly #keepaliveMs: number | null;
  readonly #earlyHeaders: readonly string[];
  #lastSentAt: number;
  #timer: Timer | null = null;
  /** Something of an answer has gone out, and not only pings. */
  #begun = false;

  /** `earlyHeaders` go out when silence commits the stream before anybody has answered. */
  constructor(
    exchange: Exchange,
    protocol: Protocol,
    call: Call,
    clock: Clock,
    keepaliveMs: number | null,
    earlyHeaders: readonly string[],
  ) {
    this.#exchange = exchange;
    this.#protocol = protocol;
    this.#call = call;
    this.#shape = protocol.streamShape(call);
    this.#clock = clock;
    this.#keepaliveMs = keepaliveMs;
    this.#earlyHeaders = earlyHeaders;
    this.#lastSentAt = clock.monotonic();
    this.#watch();
  }

  /** Sends the head, unless silence has already done so. */
  begin(headers: readonly string[]): void {
    this.#exchange.begin(200, ["content-type", this.#shape.contentType, ...STREAM_HEADERS, ...headers]);
    this.#lastSentAt = this.#clock.monotonic();
  }

  /** Sends bytes; false when the client is behind. */
  write(bytes: Buffer): boolean {
    this.#begun = true;
    return this.#send(bytes);
  }

  /** Sends, at `now`, what stands in `bytes` from `from` to `to`, and keeps none of them; false when it cannot at once. */
  pass(bytes: Buffer, from: number, to: number, now: number): boolean {
    if (!this.#exchange.pass?.(bytes, from, to)) return false;
    this.#begun = true;
    this.#lastSentAt = now;
    return true;
  }

  #send(bytes: Buffer): boolean {
    this.#lastSentAt = this.#clock.monotonic();
    return this.#exchange.write(bytes);
  }

  end(bytes?: Buffer): void {
    this.close();
    this.#exchange.end(bytes);
  }

  /** The one in-band error, for a stream whose head is out. */
  fail(error: GatewayError, requestId: string): void {
    this.end(this.#protocol.encodeStreamError(error, requestId, this.#call, this.#begun));
  }

  /** Stops the pings. Has to be called however the stream ends. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Sending only moves a number; the timer looks at it when it fires. */
  #watch(): void {
    if (this.#keepaliveMs === null) return;
    const due = this.#lastSentAt + this.#keepaliveMs - this.#clock.monotonic();
    this.#timer = this.#clock.after(Math.max(1, due), () => {
      if (this.#clock.monotonic() >= this.#lastSentAt + (this.#keepaliveMs ?? 0)) {
        this.begin(this.#earlyHeaders);
        this.#send(this.#shape.keepalive);
      }
      this.#watch();
    });
  }
}
