/** Buckets grow by an eighth: a quantile is right to about 6 %, from 1 ms to an hour. */
const GROWTH = 1.125;
const PER_BUCKET = 1 / Math.log(GROWTH);
/** Buckets of a sketch. */
const SKETCH_BUCKETS = 130;

/** Counts by latency. Sums of sketches are sketches. */
export type Sketch = Uint32Array;

/** One without samples. */
export function emptySketch(): Sketch {
  return new Uint32Array(SKETCH_BUCKETS);
}

/** The bucket of a latency; what is under 1 ms is in the first, what is over an hour in the last. */
export function bucketOf(ms: number): number {
  if (!(ms > 1)) return 0;
  return Math.min(SKETCH_BUCKETS - 1, Math.floor(Math.log(ms) * PER_BUCKET));
}

/** Adds `from` to `to`. */
export function merge(to: Sketch, from: Sketch): void {
  for (let i = 0; i < SKETCH_BUCKETS; i++) to[i] = (to[i] ?? 0) + (from[i] ?? 0);
}

/** Takes what was merged before out of `from` again. */
export function unmerge(from: Sketch, what: Sketch): void {
  for (let i = 0; i < SKETCH_BUCKETS; i++) from[i] = (from[i] ?? 0) - (what[i] ?? 0);
}

/** How many samples. */
export function sizeOf(sketch: Sketch): number {
  let size = 0;
  for (let i = 0; i < SKETCH_BUCKETS; i++) size += sketch[i] ?? 0;
  return size;
}

/** The `q` quantile over all samples of the sketches, ms (middle of its bucket); null without samples. */
export function quantile(sketches: readonly Sketch[], q: number): number | null {
  let size = 0;
  for (const sketch of sketches) size += sizeOf(sketch);
  if (size === 0) return null;
  let left = Math.max(1, Math.ceil(q * size));
  for (let i = 0; i < SKETCH_BUCKETS; i++) {
    for (const sketch of sketches) left -= sketch[i] ?? 0;
    if (left <= 0) return Math.round(GROWTH ** (i + 0.5));
  }
  return null;
}
