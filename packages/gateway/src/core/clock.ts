import { performance } from "node:perf_hooks";

/** A timer that can be called off. Calling it off twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/** Time as the gateway sees it; tests put a virtual one in its place. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Monotonic, milliseconds with fractions, from an arbitrary start. */
  monotonic(): number;
  /** Calls `fn` once after `ms` milliseconds. A pending timer never keeps the process alive. */
  after(ms: number, fn: () => void): Timer;
}

/** Longest delay node:timers keep exactly (2^31 - 1 ms); longer ones are cut to it. */
const TIMER_MS_MAX = 2_147_483_647;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const handle = setTimeout(fn, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};
