import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock, Timer } from "./core/clock.ts";

/** How often it is looked at, and how finely it is measured, ms. */
const SAMPLE_MS = 250;
const RESOLUTION_MS = 20;
const NS_PER_MS = 1e6;

/** Tells `hear` a few times a second how late the event loop is at its worst, ms. Returns what ends it. */
export function sampleLoop(clock: Clock, hear: (delayMs: number) => void): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let timer: Timer | null = null;
  const look = (): void => {
    timer = clock.after(SAMPLE_MS, () => {
      // The monitor records whole timer intervals: what is beyond the interval is the delay.
      hear(Math.max(0, delay.max / NS_PER_MS - RESOLUTION_MS));
      delay.reset();
      look();
    });
  };
  look();
  return () => {
    timer?.cancel();
    delay.disable();
  };
}
