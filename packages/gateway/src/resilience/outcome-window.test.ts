import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutcomeWindow } from "./outcome-window.ts";

describe("the window of outcomes", () => {
  it("counts calls, failures and slow ones, and forgets them a window later", () => {
    const window = new OutcomeWindow(60_000, 0);
    window.add(1_000, false, false);
    window.add(2_000, true, false);
    window.add(3_000, false, true);
    expect(window.counts(4_000)).toEqual({ calls: 3, failures: 1, slow: 1 });
    expect(window.counts(59_999)).toEqual({ calls: 3, failures: 1, slow: 1 });
    expect(window.counts(65_000)).toEqual({ calls: 0, failures: 0, slow: 0 });
  });

  it("looks further back where a route does", () => {
    const window = new OutcomeWindow(60_000, 300_000);
    window.add(0, true, false);
    window.add(200_000, false, false);
    expect(window.counts(200_000).calls).toBe(1);
    expect(window.counts(200_000, 300_000)).toEqual({ calls: 2, failures: 1, slow: 0 });
    expect(window.counts(200_000, 10_000).calls).toBe(1);
  });

  it("keeps its counts when the config gives it another length", () => {
    const window = new OutcomeWindow(60_000, 0);
    for (let i = 0; i < 10; i++) window.add(i * 5_000, i % 2 === 0, i % 2 === 1);
    const shorter = window.resized(30_000, 0);
    expect(shorter.counts(45_000, 30_000)).toEqual({ calls: 6, failures: 3, slow: 3 });
    const longer = window.resized(120_000, 240_000);
    expect(longer.counts(45_000)).toEqual({ calls: 10, failures: 5, slow: 5 });
  });

  it("is exact to a twelfth of its length, in any order of events", () => {
    const call = fc.record({ after: fc.nat(20_000), failed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const window = new OutcomeWindow(60_000, 0);
        const seen: { at: number; failed: boolean }[] = [];
        let now = 0;
        for (const { after, failed } of calls) {
          now += after;
          window.add(now, failed, false);
          seen.push({ at: now, failed });
          const within = (ms: number) => seen.filter(({ at }) => now - at < ms);
          const { calls: counted, failures } = window.counts(now);
          expect(counted).toBeGreaterThanOrEqual(within(55_000).length);
          expect(counted).toBeLessThanOrEqual(within(60_000).length);
          expect(failures).toBeLessThanOrEqual(within(60_000).filter((each) => each.failed).length);
          expect(failures).toBeGreaterThanOrEqual(within(55_000).filter((each) => each.failed).length);
        }
      }),
    );
  });
});
