import { type Clock, systemClock, type Timer } from "../../src/core/clock.ts";

/** The machine's time, with its timers counted and its date movable. */
export interface TestClock extends Clock {
  /** Timers that have neither fired nor been called off. */
  readonly timers: number;
  /** From now on the wall clock shows `epochMs`, and goes on from there. Timers and the monotonic time do not notice. */
  setDate(epochMs: number): void;
}

/** Starts one. */
export function testClock(): TestClock {
  const live = new Set<object>();
  let shiftMs = 0;
  return {
    get timers() {
      return live.size;
    },
    setDate(epochMs) {
      shiftMs = epochMs - systemClock.now();
    },
    now: () => systemClock.now() + shiftMs,
    monotonic: () => systemClock.monotonic(),
    after(ms, fn): Timer {
      const token = {};
      live.add(token);
      const timer = systemClock.after(ms, () => {
        live.delete(token);
        fn();
      });
      return {
        cancel() {
          live.delete(token);
          timer.cancel();
        },
      };
    },
  };
}
