import { type Clock, systemClock, type Timer } from "../../src/core/clock.ts";

/** The machine's time, with its timers counted and its date movable. */
export interface TestClock extends Clock {
  /** Timers that have neither fired nor been called off, by the place in the source that set them. */
  timers(): Record<string, number>;
  /** From now on the wall clock shows `epochMs`, and goes on from there. Timers and the monotonic time do not notice. */
  setDate(epochMs: number): void;
}

/** Starts one. */
export function testClock(): TestClock {
  const live = new Map<object, string>();
  let shiftMs = 0;
  return {
    timers() {
      const count: Record<string, number> = {};
      for (const place of live.values()) count[place] = (count[place] ?? 0) + 1;
      return count;
    },
    setDate(epochMs) {
      shiftMs = epochMs - systemClock.now();
    },
    now: () => systemClock.now() + shiftMs,
    monotonic: () => systemClock.monotonic(),
    after(ms, fn): Timer {
      const token = {};
      live.set(token, /\/src\/([\w/.-]+)\.[jt]s/.exec(new Error().stack ?? "")?.[1] ?? "elsewhere");
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
