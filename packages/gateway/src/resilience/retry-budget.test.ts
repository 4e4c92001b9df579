import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { RetryBudget } from "./retry-budget.ts";

function taken(budget: RetryBudget, times: number, share = 0.2, name = "a"): number {
  let count = 0;
  for (let i = 0; i < times; i++) if (budget.take(name, share)) count++;
  return count;
}

describe("the retry budget", () => {
  it("gives three for nothing, and a share of the requests of the last ten seconds", () => {
    const budget = new RetryBudget(new VirtualClock());
    expect(taken(budget, 10)).toBe(3);
    for (let i = 0; i < 20; i++) budget.request("a");
    expect(taken(budget, 10)).toBe(4);
  });

  it("gives again what is ten seconds old, and forgets those requests too", () => {
    const clock = new VirtualClock();
    const budget = new RetryBudget(clock);
    for (let i = 0; i < 100; i++) budget.request("a");
    expect(taken(budget, 100)).toBe(23);
    clock.advance(8_999);
    expect(taken(budget, 100)).toBe(0);
    clock.advance(1_001);
    expect(taken(budget, 100)).toBe(3);
  });

  it("keeps deployments apart", () => {
    const budget = new RetryBudget(new VirtualClock());
    expect(taken(budget, 10, 0.2, "a")).toBe(3);
    expect(taken(budget, 10, 0.2, "b")).toBe(3);
  });

  it("of no share still gives the three", () => {
    const budget = new RetryBudget(new VirtualClock());
    for (let i = 0; i < 1_000; i++) budget.request("a");
    expect(taken(budget, 10, 0)).toBe(3);
  });

  it("forgets deployments that are gone", () => {
    const budget = new RetryBudget(new VirtualClock());
    taken(budget, 10);
    taken(budget, 10, 0.2, "b");
    budget.retain(new Set(["b"]));
    expect(taken(budget, 10)).toBe(3);
    expect(taken(budget, 10, 0.2, "b")).toBe(0);
  });

  it("holds over any ten seconds, whatever comes when", () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("request" as const), after: fc.nat(3_000) }),
      fc.record({ do: fc.constant("take" as const), after: fc.nat(3_000) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), fc.double({ min: 0, max: 1, noNaN: true }), (steps, share) => {
        const clock = new VirtualClock();
        const budget = new RetryBudget(clock);
        const requests: number[] = [];
        const retries: number[] = [];
        const recent = (times: number[]): number =>
          times.filter((at) => Math.floor(clock.monotonic() / 1_000) - Math.floor(at / 1_000) < 10).length;
        for (const { do: what, after } of steps) {
          clock.advance(after);
          if (what === "request") {
            budget.request("a");
            requests.push(clock.monotonic());
            continue;
          }
          const allowed = recent(retries) < Math.floor(recent(requests) * share) + 3;
          expect(budget.take("a", share)).toBe(allowed);
          if (allowed) retries.push(clock.monotonic());
        }
      }),
      { numRuns: 500 },
    );
  });
});
