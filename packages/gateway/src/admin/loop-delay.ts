import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../core/clock.ts";

const RESOLUTION_MS = 20;
const WINDOW_MS = 60_000;
const NANO = 1_000_000_000;

/** Watches how late the event loop runs its timers. */
export interface LoopDelay {
  /** Of the time since the window began; a reading after more than a minute begins a new one. */
  quantiles(): { quantile: string; seconds: number }[];
  stop(): void;
}

/** Starts watching. A whole process' life in one histogram would show nothing new after a day. */
export function watchLoopDelay(clock: Clock): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let beganAt = clock.monotonic();
  histogram.enable();
  return {
    quantiles() {
      // The monitor records whole timer intervals: what is beyond the interval is the delay.
      const late = (nanoseconds: number) => Math.max(0, nanoseconds / NANO - RESOLUTION_MS / 1_000);
      const read = (percentile: number) => (histogram.count === 0 ? 0 : late(histogram.percentile(percentile)));
      const quantiles = [
        { quantile: "0.5", seconds: read(50) },
        { quantile: "0.99", seconds: read(99) },
        { quantile: "1", seconds: read(100) },
      ];
      if (clock.monotonic() - beganAt > WINDOW_MS) {
        histogram.reset();
        beganAt = clock.monotonic();
      }
      return quantiles;
    },
    stop: () => {
      histogram.disable();
    },
  };
}
