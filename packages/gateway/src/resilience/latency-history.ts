import { bucketOf, emptySketch, merge, quantile, type Sketch, sizeOf, unmerge } from "./latency-sketch.ts";

const HOUR_MS = 3_600_000;
/** Parts the trailing hour is kept in. */
const HOUR_PARTS = 6;
const PART_MS = HOUR_MS / HOUR_PARTS;
/** Fewer samples are no baseline (ruling 5). */
const BASELINE_SAMPLES = 100;
/** Fewer recent samples say less than the hour. */
const RECENT_SAMPLES = 10;

/** What a window has to show to be slow. */
export interface SlowRule {
  windowMs: number;
  factor: number;
  /** Samples without which a window says nothing. */
  minSamples: number;
}

/**
 * Latencies of one kind of one deployment: the window that is filling, the one before it, and the trailing hour outside of
 * them as its own baseline. Windows that are slow by that baseline are kept out of it until it is clear what they are: the
 * end of a slow spell, or of the deployment's good times. Memory is constant; times are monotonic ms.
 */
export class LatencyHistory {
  #current = emptySketch();
  #previous = emptySketch();
  /** Slow windows in a row, not in the baseline. */
  readonly #held = emptySketch();
  #slowWindows = 0;
  readonly #hour = emptySketch();
  readonly #parts: Sketch[] = [];
  readonly #partAt: number[] = [];
  #endsAt = 0;

  /** Counts one latency. True when a window ended with it: then slowWindows() may have changed. */
  add(now: number, ms: number, rule: SlowRule): boolean {
    const rolled = now >= this.#endsAt && this.#roll(now, rule);
    const bucket = bucketOf(ms);
    this.#current[bucket] = (this.#current[bucket] ?? 0) + 1;
    return rolled;
  }

  /** Windows in a row whose p95 was over the factor times the baseline's. */
  get slowWindows(): number {
    return this.#slowWindows;
  }

  /** Whether the window that is filling is slow already. */
  isSlowNow(now: number, rule: SlowRule): boolean {
    return now < this.#endsAt && this.#isSlow(this.#current, rule);
  }

  /** What is recent: this window and the one before, or the hour when they are too few. */
  recent(): Sketch[] {
    const both = [this.#current, this.#previous];
    // The one before is in the hour, or held.
    return sizeOf(both[0] as Sketch) + sizeOf(both[1] as Sketch) < RECENT_SAMPLES
      ? [this.#current, this.#hour, this.#held]
      : both;
  }

  /** What was slow is taken for the usual from now on: a deployment is not to be opened for the same slowness twice. */
  accept(now: number): void {
    this.#keep(now, this.#held);
    this.#held.fill(0);
    this.#slowWindows = 0;
  }

  #roll(now: number, rule: SlowRule): boolean {
    this.#expire(now);
    const first = this.#endsAt === 0;
    const missed = Math.floor((now - this.#endsAt) / rule.windowMs);
    const ended = this.#current;
    this.#endsAt = first ? now + rule.windowMs : this.#endsAt + (missed + 1) * rule.windowMs;
    this.#current = this.#previous.fill(0);
    this.#previous = missed > 0 ? emptySketch() : ended;
    if (first) return false;
    if (this.#isSlow(ended, rule)) {
      merge(this.#held, ended);
      this.#slowWindows++;
    } else {
      this.accept(now);
      this.#keep(now, ended);
    }
    // Windows without calls lie between: whatever was slow was not sustained.
    if (missed > 0) this.accept(now);
    return true;
  }

  #isSlow(window: Sketch, rule: SlowRule): boolean {
    if (sizeOf(window) < rule.minSamples || sizeOf(this.#hour) < BASELINE_SAMPLES) return false;
    const usual = quantile([this.#hour], 0.95);
    return usual !== null && (quantile([window], 0.95) ?? 0) > rule.factor * usual;
  }

  /** Takes out of the hour what is older. */
  #expire(now: number): void {
    const part = Math.floor(now / PART_MS);
    while (part - (this.#partAt[0] ?? part) >= HOUR_PARTS) {
      this.#partAt.shift();
      const old = this.#parts.shift();
      if (old) unmerge(this.#hour, old);
    }
  }

  #keep(now: number, what: Sketch): void {
    const part = Math.floor(now / PART_MS);
    if (this.#partAt.at(-1) !== part) {
      this.#partAt.push(part);
      this.#parts.push(emptySketch());
    }
    merge(this.#parts.at(-1) as Sketch, what);
    merge(this.#hour, what);
  }
}
