import type { Clock, Timer } from "../../src/core/clock.ts";

/** The day on which every simulation begins. */
const EPOCH_MS = Date.UTC(2026, 10, 29, 12);

interface Pending {
  atMs: number;
  order: number;
  fn: (() => void) | null;
}

/** Time that moves from timer to timer. Timers fire in the order of their due times, then of their making. */
export class WorldClock {
  #elapsedMs = 0;
  #order = 0;
  /** A binary heap by due time; called-off timers stay until they come up. */
  readonly #heap: Pending[] = [];

  /** Virtual milliseconds since the beginning. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Calls `fn` at a moment, or now when that is past. */
  at(atMs: number, fn: () => void): Timer {
    const entry: Pending = { atMs: Math.max(this.#elapsedMs, atMs), order: this.#order++, fn };
    this.#push(entry);
    return {
      cancel: () => {
        entry.fn = null;
      },
    };
  }

  /** Calls `fn` in `ms`. */
  after(ms: number, fn: () => void): Timer {
    return this.at(this.#elapsedMs + Math.max(0, ms), fn);
  }

  /** Moves on to the next timer and fires it; false when there is none at or before `untilMs`. */
  step(untilMs: number): boolean {
    for (;;) {
      const [first] = this.#heap;
      if (!first || first.atMs > untilMs) return false;
      this.#pop();
      if (!first.fn) continue;
      this.#elapsedMs = first.atMs;
      const { fn } = first;
      first.fn = null;
      fn();
      return true;
    }
  }

  /** Nothing is waited for any more. */
  get idle(): boolean {
    return this.#heap.every(({ fn }) => fn === null);
  }

  #push(entry: Pending): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(entry, heap[above] as Pending)) break;
      heap[at] = heap[above] as Pending;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Pending;
    const size = heap.length;
    if (size === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      if (below + 1 < size && isBefore(heap[below + 1] as Pending, heap[below] as Pending)) below++;
      if (!isBefore(heap[below] as Pending, last)) break;
      heap[at] = heap[below] as Pending;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(a: Pending, b: Pending): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** The clock of one machine: its wall time may be off, and its timers end with it. */
export class MachineClock implements Clock {
  readonly #world: WorldClock;
  readonly #skewMs: number;
  readonly #live = new Set<Timer>();
  #dead = false;

  constructor(world: WorldClock, skewMs = 0) {
    this.#world = world;
    this.#skewMs = skewMs;
  }

  now(): number {
    return EPOCH_MS + Math.floor(this.#world.elapsedMs + this.#skewMs);
  }

  monotonic(): number {
    return this.#world.elapsedMs;
  }

  after(ms: number, fn: () => void): Timer {
    if (this.#dead) return { cancel: () => {} };
    const timer = this.#world.after(ms, () => {
      this.#live.delete(timer);
      fn();
    });
    this.#live.add(timer);
    return {
      cancel: () => {
        this.#live.delete(timer);
        timer.cancel();
      },
    };
  }

  /** Timers that have neither fired nor been called off. */
  get timers(): number {
    return this.#live.size;
  }

  /** The machine stops: nothing it waits for comes any more. */
  kill(): void {
    this.#dead = true;
    for (const timer of this.#live) timer.cancel();
    this.#live.clear();
  }
}
