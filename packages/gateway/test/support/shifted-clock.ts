import { type Clock, systemClock, type Timer } from "../../src/core/clock.ts";

/** The machine's time, which a test may set forward. Timers that run go on as they were: set it when nothing is in flight. */
export class ShiftedClock implements Clock {
  #aheadMs = 0;

  /** Sets it forward. */
  forward(ms: number): void {
    this.#aheadMs += ms;
  }

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#aheadMs;
  }

  after(ms: number, fn: () => void): Timer {
    return systemClock.after(ms, fn);
  }
}
