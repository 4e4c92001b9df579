import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HedgeBudget, hedgeDelayMs } from "./hedge.ts";

describe("a hedge goes out", () => {
  it.each([
    ["at once", 0, { p95Ms: 900, expectedMs: 400 }, 0],
    ["after a set time, whatever is known", 300, { p95Ms: 900, expectedMs: 400 }, 300],
    ["after the deployment's p95", "p95" as const, { p95Ms: 900, expectedMs: 400 }, 900],
    ["after what is expected while no p95 is known", "p95" as const, { p95Ms: null, expectedMs: 400 }, 400],
    ["never while nothing is known", "p95" as const, { p95Ms: null, expectedMs: null }, null],
  ])("%s", (_name, after, known, delayMs) => {
    expect(hedgeDelayMs({ after }, known)).toBe(delayMs);
  });
});

describe("the hedge budget", () => {
  it("lets the first request be hedged, and then one in ten", () => {
    const budget = new HedgeBudget();
    let hedges = 0;
    for (let i = 1; i <= 100; i++) {
      budget.request("a", 0.1);
      if (budget.take("a")) hedges++;
      expect(hedges).toBe(Math.ceil(i / 10));
    }
  });

  it("has not spent what was not made after all", () => {
    const budget = new HedgeBudget();
    budget.request("a", 0.1);
    expect(budget.take("a")).toBe(true);
    budget.giveBack("a");
    expect(budget.take("a")).toBe(true);
    expect(budget.take("a")).toBe(false);
  });

  it("of no share gives none", () => {
    const budget = new HedgeBudget();
    for (let i = 0; i < 50; i++) budget.request("a", 0);
    expect(budget.take("a")).toBe(false);
  });

  it("saves up ten at most, and keeps deployments apart", () => {
    const budget = new HedgeBudget();
    for (let i = 0; i < 10_000; i++) budget.request("a", 0.1);
    const taken = (name: string): number => {
      let count = 0;
      while (budget.take(name)) count++;
      return count;
    };
    expect(taken("b")).toBe(0);
    expect(taken("a")).toBe(10);
  });

  it("forgets deployments that are gone", () => {
    const budget = new HedgeBudget();
    budget.request("a", 1);
    budget.request("b", 1);
    budget.retain(new Set(["b"]));
    expect(budget.take("a")).toBe(false);
    expect(budget.take("b")).toBe(true);
  });

  it("is never over its share, rounded up, whatever comes when", () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { maxLength: 300 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (asks, share) => {
          const budget = new HedgeBudget();
          let hedges = 0;
          for (const [index, asked] of asks.entries()) {
            budget.request("a", share);
            if (asked && budget.take("a")) hedges++;
            expect(hedges).toBeLessThanOrEqual(Math.ceil((index + 1) * share - 1e-9));
          }
        },
      ),
    );
  });
});
