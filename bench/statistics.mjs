/** The value below which the share `p` (0 to 1) of `values` lies, interpolated. NaN for none. */
export function percentile(values, p) {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * p;
  const low = sorted[Math.floor(at)];
  return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at));
}

/** Median and quartiles. */
export function summary(values) {
  return {
    median: percentile(values, 0.5),
    low: percentile(values, 0.25),
    high: percentile(values, 0.75),
    count: values.length,
  };
}

/** Theil and Sen's slope of points [x, y]: the median of the slopes between all pairs. NaN for fewer than two. */
export function slope(points) {
  const slopes = [];
  for (const [i, [x, y]] of points.entries())
    for (const [otherX, otherY] of points.slice(i + 1)) if (otherX !== x) slopes.push((otherY - y) / (otherX - x));
  return percentile(slopes, 0.5);
}
