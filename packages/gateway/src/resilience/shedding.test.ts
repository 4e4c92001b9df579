import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Priority, SHEDDING_THRESHOLDS, Shedder } from "./shedding.ts";

function after(samples: readonly number[]): Shedder {
  const shedder = new Shedder();
  for (const delayMs of samples) shedder.sample(delayMs);
  return shedder;
}

const times = (count: number, delayMs: number): number[] => new Array<number>(count).fill(delayMs);

describe("load is shed", () => {
  it("not in calm, and not for a single late tick", () => {
    expect(after(times(100, 20)).refused).toEqual([]);
    expect(after([5, 400, 5]).refused).toEqual([]);
  });

  it("by priority: low first, then normal, and everybody when nothing else helps", () => {
    expect(after(times(20, 200)).refused).toEqual(["low"]);
    expect(after(times(20, 600)).refused).toEqual(["low", "normal"]);
    expect(after(times(20, 3_000)).refused).toEqual(["low", "normal", "high"]);
  });

  it("with a time after which to come back, longer for who is less urgent", () => {
    const shedder = after(times(20, 3_000));
    const [low, normal, high] = (["low", "normal", "high"] as const).map((each) => shedder.refuses(each) ?? 0);
    expect(low).toBeGreaterThan(normal ?? 0);
    expect(normal).toBeGreaterThan(high ?? 0);
    expect(high).toBeGreaterThan(0);
    expect(after(times(20, 200)).refuses("normal")).toBeNull();
  });

  it("until it has been well under the threshold for a while, one step at a time", () => {
    const shedder = after(times(20, 600));
    for (const delayMs of times(50, 250)) shedder.sample(delayMs);
    expect(shedder.refused).toEqual(["low", "normal"]);
    const seen = new Set<number>();
    for (const delayMs of times(30, 0)) {
      shedder.sample(delayMs);
      seen.add(shedder.refused.length);
    }
    expect([...seen]).toEqual([2, 1, 0]);
  });

  it("never for somebody more urgent than one who is let in, and never in a state that calm does not end", () => {
    const delay = fc.integer({ min: 0, max: 5_000 });
    fc.assert(
      fc.property(fc.array(delay, { maxLength: 100 }), (samples) => {
        const shedder = after(samples);
        const refused = (priority: Priority): boolean => shedder.refuses(priority) !== null;
        if (refused("high")) expect(refused("normal")).toBe(true);
        if (refused("normal")) expect(refused("low")).toBe(true);
        if (Math.max(0, ...samples) < SHEDDING_THRESHOLDS.low) expect(shedder.refused).toEqual([]);
        for (const delayMs of times(40, 0)) shedder.sample(delayMs);
        expect(shedder.refused).toEqual([]);
      }),
    );
  });
});
