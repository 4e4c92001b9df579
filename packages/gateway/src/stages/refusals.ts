import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

const MINUTE_MS = 60_000;

/**
 * Keeps refused requests from flooding the ledger: the first 10 a minute of a key and code get a row each, the rest of the
 * minute is counted, and the count goes into the first row of the next one (or is left when nothing more comes).
 */
export class RefusalMeter {
  readonly #clock: Clock;
  readonly #meters = new Map<string, { minute: number; rows: number; swallowed: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many refusals the row about to be written stands for; 0: write none. */
  count(keyId: string, code: string): number {
    const name = `${keyId} ${code}`;
    const minute = Math.floor(this.#clock.now() / MINUTE_MS);
    let meter = this.#meters.get(name);
    if (!meter) {
      if (this.#meters.size >= LIMITS.refusalMetersMax) this.#meters.clear();
      meter = { minute, rows: 0, swallowed: 0 };
      this.#meters.set(name, meter);
    }
    if (meter.minute !== minute) {
      meter.minute = minute;
      meter.rows = 0;
    }
    if (meter.rows >= LIMITS.refusalRowsPerMinute) {
      meter.swallowed++;
      return 0;
    }
    meter.rows++;
    const stands = 1 + meter.swallowed;
    meter.swallowed = 0;
    return stands;
  }
}
