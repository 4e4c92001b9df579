import type { WorldClock } from "./world-clock.ts";

/** Something that puts work off to the end of the tick, as the gateway's own batches do. */
export interface Ticking {
  /** Does what was put off; false when there was nothing. */
  flushTick(): boolean;
}

/** A run that takes more steps than this does not come to an end. */
const STEPS_MAX = 2_000_000;

/**
 * Runs the world until `untilMs`, or until nothing is left to happen. Between two timers everything that is ready is done:
 * promises to the last, then what was put off to the end of the tick, and again. Resolves true when nothing was left.
 */
export function runWorld(clock: WorldClock, parts: readonly Ticking[], untilMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let steps = 0;
    const step = (): void => {
      try {
        if (++steps > STEPS_MAX) throw new Error(`no end after ${STEPS_MAX} steps`);
        let flushed = false;
        for (const part of parts) if (part.flushTick()) flushed = true;
        // An immediate comes after all promises that are ready, and after those that they make ready.
        if (flushed || clock.step(untilMs)) setImmediate(step);
        else resolve(clock.idle);
      } catch (error) {
        reject(error);
      }
    };
    setImmediate(step);
  });
}
