// What a soak's samples say.
import { percentile, slope } from "./statistics.mjs";

/** Growth of memory in MB an hour that counts as none: what the floor of a collector's saw moves without any leak. */
export const NONE_MB = 5;

/** A shorter soak says nothing of growth. */
export const SOAK_MINUTES_MIN = 30;

/** What is thrown away at the start: caches fill, V8 finds its sizes, idempotency keys live ten minutes. */
const WARM_SHARE = 0.25;

/** Growth of the memory after the warm-up, in MB an hour: the median slope between all pairs of samples, which a single peak does not move. */
export function growthOf(samples) {
  const last = samples.at(-1).minute;
  const kept = samples.filter(({ minute }) => minute >= last * WARM_SHARE);
  const perHour = slope(kept.map(({ minute, rss }) => [minute / 60, rss]));
  const median = (from, to) =>
    percentile(
      kept.filter(({ minute }) => minute >= last * from && minute < last * to).map(({ rss }) => rss),
      0.5,
    );
  return {
    perHour,
    quarters: [0.25, 0.5, 0.75].map((from) => median(from, from + 0.25)),
    peak: Math.max(...kept.map(({ rss }) => rss)),
  };
}

/** What was still there after the load had ended. */
export function leftIn({ stats, open }) {
  const left = [];
  if (stats.in_flight !== 0) left.push(`${stats.in_flight} requests still in flight`);
  if (stats.reserved_tokens !== 0) left.push(`${stats.reserved_tokens} tokens still reserved`);
  if (open !== 0) left.push(`${open} streams still open at the upstream`);
  return left;
}
