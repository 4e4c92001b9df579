import type { Clock, Timer } from "../../src/core/clock.ts";

interface Pending {
  at: number;
  order: number;
  fn: () => void;
}

/** Time that moves only when a test says so. Timers fire in the order of their due times, then of their making. */
export class VirtualClock implements Clock {
  #elapsed = 0;
  #order = 0;
  readonly #epoch: number;
  readonly #pending = new Set<Pending>();

  constructor(epoch = Date.UTC(2026, 10, 29)) {
    this.#epoch = epoch;
  }

  now(): number {
    return this.#epoch + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, fn: () => void): Timer {
    const entry = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, fn };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  /** Timers that have neither fired nor been called off: what a test of leaks looks at. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Moves time on, firing what falls due on the way at its own time. */
  advance(ms: number): void {
    const until = this.#elapsed + ms;
    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#pending.delete(next);
      this.#elapsed = Math.max(this.#elapsed, next.at);
      next.fn();
    }
    this.#elapsed = until;
  }

  #next(until: number): Pending | undefined {
    let first: Pending | undefined;
    for (const entry of this.#pending) {
      if (entry.at > until) continue;
      if (!first || entry.at < first.at || (entry.at === first.at && entry.order < first.order)) first = entry;
    }
    return first;
  }
}
