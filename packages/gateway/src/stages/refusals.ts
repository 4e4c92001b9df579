import type { RequestRow } from "@sluicegate/contract";
import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

interface Meter {
  rows: number;
  /** Refusals without a row of their own, and the last of them. */
  swallowed: number;
  last: RequestRow | null;
}

/**
 * Keeps refused requests from flooding the ledger: in each window the first 10 of a key and code get a row each; the rest are
 * counted, and get one row together when the window ends. None is lost: `repeated` adds up to the number of refusals.
 */
export class RefusalMeter {
  readonly #clock: Clock;
  readonly #write: (row: RequestRow) => void;
  readonly #windowMs: number;
  readonly #meters = new Map<string, Meter>();
  #timer: Timer | null = null;

  constructor(clock: Clock, write: (row: RequestRow) => void, windowMs: number = LIMITS.refusalWindowMs) {
    this.#clock = clock;
    this.#write = write;
    this.#windowMs = windowMs;
  }

  /** Writes the row of a refusal, or counts it. */
  record(row: RequestRow): void {
    const name = `${row.key_id} ${row.error_code}`;
    if (this.#meters.size >= LIMITS.refusalMetersMax && !this.#meters.has(name)) this.#endWindow();
    this.#timer ??= this.#clock.after(this.#windowMs, () => this.#endWindow());
    const meter = this.#meters.get(name) ?? { rows: 0, swallowed: 0, last: null };
    this.#meters.set(name, meter);
    if (meter.rows < LIMITS.refusalRowsPerWindow) {
      meter.rows++;
      this.#write(row);
      return;
    }
    meter.swallowed++;
    meter.last = row;
  }

  /** Writes what has been counted so far. To be called before the ledger closes. */
  close(): void {
    this.#endWindow();
  }

  #endWindow(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const { last, swallowed } of this.#meters.values()) if (last) this.#write({ ...last, repeated: swallowed });
    this.#meters.clear();
  }
}
