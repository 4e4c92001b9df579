import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LatencyHistory } from "./latency-history.ts";
import { bucketOf, emptySketch, merge, quantile, sizeOf, unmerge } from "./latency-sketch.ts";

const RULE = { windowMs: 60_000, factor: 3, minSamples: 5 };
const WINDOW = RULE.windowMs;

/** A history and the time in it. */
class Run {
  readonly history = new LatencyHistory();
  now = 0;

  /** `perWindow` calls of `ms` each, evenly over `windows`. */
  calls(windows: number, ms: number, perWindow = 20): this {
    for (let i = 0; i < windows * perWindow; i++) {
      this.history.add(this.now, ms, RULE);
      this.now += WINDOW / perWindow;
    }
    return this;
  }

  idle(ms: number): this {
    this.now += ms;
    return this;
  }
}

describe("slowness by its own measure", () => {
  it("is counted window by window, once there is a baseline", () => {
    const run = new Run().calls(10, 100);
    expect(run.history.slowWindows).toBe(0);
    run.calls(1, 1_000);
    // A window is judged by the first call after it.
    expect(run.history.slowWindows).toBe(0);
    const seen = [1, 2, 3].map(() => run.calls(1, 1_000).history.slowWindows);
    expect(seen).toEqual([1, 2, 3]);
  });

  it("is not called so without 100 samples outside the window", () => {
    expect(new Run().calls(4, 100).calls(5, 1_000).history.slowWindows).toBe(0);
    expect(new Run().calls(6, 100).calls(5, 1_000).history.slowWindows).toBe(4);
  });

  it("is not a p95 of less than the factor, and not a few slow calls among many", () => {
    expect(new Run().calls(10, 100).calls(5, 250).history.slowWindows).toBe(0);
    const run = new Run().calls(10, 100, 100);
    for (let i = 0; i < 5; i++) run.calls(0.96, 100, 100).calls(0.04, 5_000, 100);
    expect(run.history.slowWindows).toBe(0);
  });

  it("is not a window of fewer calls than the breaker wants to see", () => {
    expect(new Run().calls(10, 100).calls(5, 1_000, 4).history.slowWindows).toBe(0);
  });

  it("ends with a good window, and with one without calls", () => {
    expect(new Run().calls(10, 100).calls(3, 1_000).calls(1, 100).calls(1, 100).history.slowWindows).toBe(0);
    expect(
      new Run()
        .calls(10, 100)
        .calls(3, 1_000)
        .idle(3 * WINDOW)
        .calls(1, 1_000).history.slowWindows,
    ).toBe(0);
  });

  it("does not raise its own bar while it lasts", () => {
    const run = new Run().calls(6, 100).calls(30, 1_000, 200);
    expect(run.history.slowWindows).toBe(29);
  });

  it("is the usual once it was accepted", () => {
    const run = new Run().calls(6, 100).calls(4, 1_000);
    expect(run.history.slowWindows).toBe(3);
    run.history.accept(run.now);
    expect(run.calls(10, 1_000).history.slowWindows).toBe(0);
  });

  it("is measured by the trailing hour only", () => {
    const run = new Run()
      .calls(10, 100)
      .idle(2 * 3_600_000)
      .calls(10, 1_000);
    expect(run.history.slowWindows).toBe(0);
  });

  it("shows in the window that fills before that is over", () => {
    const run = new Run().calls(10, 100).calls(0.5, 1_000);
    expect(run.history.isSlowNow(run.now, RULE)).toBe(true);
    expect(run.history.isSlowNow(run.now + 2 * WINDOW, RULE)).toBe(false);
  });

  it("recent is the last window or two, the hour when they say little", () => {
    const run = new Run().calls(10, 100).calls(2, 400);
    expect(quantile(run.history.recent(), 0.5)).toBeCloseTo(400, -2);
    const quiet = new Run()
      .calls(10, 100)
      .idle(10 * WINDOW)
      .calls(1, 400, 3);
    expect(quantile(quiet.history.recent(), 0.5)).toBeCloseTo(100, -2);
  });
});

describe("the sketch", () => {
  it("tells a quantile to 7 %", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 20, max: 3_000_000 }), { minLength: 1, maxLength: 300 }), (values) => {
        const sketch = emptySketch();
        for (const ms of values) sketch[bucketOf(ms)] = (sketch[bucketOf(ms)] ?? 0) + 1;
        const sorted = [...values].sort((a, b) => a - b);
        for (const q of [0.5, 0.95, 1]) {
          const exact = sorted[Math.max(1, Math.ceil(q * values.length)) - 1] ?? 0;
          expect(Math.abs((quantile([sketch], q) ?? 0) / exact - 1)).toBeLessThan(0.07);
        }
      }),
    );
  });

  it("knows nothing when empty, and takes any number", () => {
    expect(quantile([emptySketch(), emptySketch()], 0.5)).toBeNull();
    for (const ms of [-5, 0, 0.3, Number.NaN, 1e12, Number.POSITIVE_INFINITY]) {
      expect(bucketOf(ms)).toBeGreaterThanOrEqual(0);
      expect(bucketOf(ms)).toBeLessThan(emptySketch().length);
    }
  });

  it("adds up, and comes apart again", () => {
    const [a, b] = [emptySketch(), emptySketch()];
    a[3] = 2;
    b[3] = 5;
    b[9] = 1;
    merge(a, b);
    expect([sizeOf(a), a[3]]).toEqual([8, 7]);
    unmerge(a, b);
    expect([sizeOf(a), a[3]]).toEqual([2, 2]);
  });
});
