import type { SlowStreamConfig } from "../config/snapshot.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { SlowStreamMeter } from "../resilience/slow-stream.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import { CHARS_PER_TOKEN } from "./meter.ts";

/**
 * Watches how fast a committed stream comes (RES-14): one slower than its route wants counts against its deployment, and ends
 * with an error where the route says so. `close` has to be called when the stream is over.
 */
export class SlowWatch {
  readonly #config: SlowStreamConfig;
  readonly #clock: Clock;
  readonly #record: AttemptRecord;
  readonly #meter: SlowStreamMeter;
  #seenChars = 0;
  #timer: Timer | null = null;

  constructor(config: SlowStreamConfig, record: AttemptRecord, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#record = record;
    this.#meter = new SlowStreamMeter(config, clock.monotonic());
    this.#watch();
  }

  /** The client does not read, or reads on: its time is not the provider's. */
  clientPaused(paused: boolean): void {
    this.#look();
    const now = this.#clock.monotonic();
    if (paused) this.#meter.pause(now);
    else this.#meter.resume(now);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #watch(): void {
    const ms = Math.max(1, this.#meter.nextLookMs(this.#clock.monotonic()));
    this.#timer = this.#clock.after(ms, () => {
      this.#look();
      if (!this.#meter.isSlow(this.#clock.monotonic())) return this.#watch();
      const { grip, attempt } = this.#record;
      if (grip) grip.slow = true;
      // Once is enough for the deployment's health.
      if (this.#config.abort) attempt.stop("timeout", `under ${this.#config.tokensPerSecond} tokens a second`);
    });
  }

  #look(): void {
    const { outputChars } = this.#record.attempt.meter;
    this.#meter.add((outputChars - this.#seenChars) / CHARS_PER_TOKEN, this.#clock.monotonic());
    this.#seenChars = outputChars;
  }
}
