import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectedMs, fitsBudget } from "./latency-gate.ts";

const health = (requests: number, p50Ms: number | null, ttftP50Ms: number | null = null) => ({
  requests,
  p50Ms,
  ttftP50Ms,
});

describe("what a call is expected to take", () => {
  it.each([
    ["nothing known", null, health(0, null), false, null],
    ["the prior alone", 800, health(0, null), false, 800],
    ["what was seen alone", null, health(50, 300), false, 300],
    ["half and half after ten calls", 800, health(10, 400), false, 600],
    ["nearly what was seen after many", 800, health(990, 400), false, 404],
    ["mostly the prior when nothing was seen lately", 900, health(0, 600), false, 800],
    ["the first output of a stream", null, health(50, 300, 90), true, 90],
    ["the prior for a stream of which no first output was seen", 800, health(50, 300), true, 800],
  ])("%s", (_name, prior, seen, stream, expected) => {
    expect(expectedMs(prior, seen, stream)).toBe(expected);
  });

  it("lies between the prior and what was seen", () => {
    fc.assert(
      fc.property(fc.nat(60_000), fc.nat(60_000), fc.nat(10_000), (prior, seen, requests) => {
        const expected = expectedMs(prior, health(requests, seen), false) ?? Number.NaN;
        expect(expected).toBeGreaterThanOrEqual(Math.min(prior, seen) - 1e-6);
        expect(expected).toBeLessThanOrEqual(Math.max(prior, seen) + 1e-6);
      }),
    );
  });
});

describe("a call may begin", () => {
  it("only when it is expected to end inside the budget", () => {
    expect(fitsBudget(3_000 - 2_400, 800)).toBe(false);
    expect(fitsBudget(800, 800)).toBe(true);
    expect(fitsBudget(799.9, 800)).toBe(false);
  });

  it("when nothing is known, as long as anything is left", () => {
    expect(fitsBudget(1, null)).toBe(true);
    expect(fitsBudget(0, null)).toBe(false);
    expect(fitsBudget(-1, 0)).toBe(false);
  });
});
