import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NEVER_MS } from "./bounds.ts";
import { type HopStanding, type NoneFacts, type WhenNone, whenNone } from "./when-none.ts";

const NOW = 1_000_000;
const open = (inMs: number, errorRate = 1): HopStanding => ({
  why: "open",
  retryAtMs: NOW + inMs,
  class: null,
  errorRate,
});
const probing = (inMs = 1_000): HopStanding => ({ ...open(inMs), why: "probing" });
const cooling = (inMs: number, kind: HopStanding["class"] = "rate_limited"): HopStanding => ({
  why: "cooling",
  retryAtMs: NOW + inMs,
  class: kind,
  errorRate: 0,
});

function decide(
  hops: NoneFacts["hops"],
  change: Partial<Omit<NoneFacts, "settings">> & Partial<NoneFacts["settings"]> = {},
) {
  const { whenAllOpen = "refuse", whenAllCooling = "wait", ...rest } = change;
  const settings = { whenAllOpen, whenAllCooling };
  return whenNone({ hops, settings, nowMs: NOW, remainingMs: 10_000, waited: false, random: 0, ...rest });
}

const refusal = (code: "no_healthy_deployment" | "rate_limit_exceeded", retryAfterMs: number): WhenNone => ({
  do: "refuse",
  code,
  retryAfterMs,
});

describe("when nothing may be called", () => {
  it("waits for the end of the first cooldown, once, if that fits the deadline", () => {
    expect(decide([cooling(5_000), cooling(2_000)])).toEqual({ do: "wait", ms: 2_000 });
    expect(decide([cooling(2_000)], { waited: true })).toEqual(refusal("rate_limit_exceeded", 2_000));
    expect(decide([cooling(2_000)], { remainingMs: 2_000 })).toEqual(refusal("rate_limit_exceeded", 2_000));
    expect(decide([cooling(2_000)], { whenAllCooling: "refuse" })).toEqual(refusal("rate_limit_exceeded", 2_000));
  });

  it("spreads those who wait, inside the deadline", () => {
    expect(decide([cooling(2_000)], { random: 0.5 })).toEqual({ do: "wait", ms: 2_200 });
    expect(decide([cooling(2_000)], { random: 0.5, remainingMs: 2_100 })).toEqual({ do: "wait", ms: 2_050 });
  });

  it("waits for one that cools though another is open: it will be there", () => {
    expect(decide([open(500), cooling(2_000)])).toEqual({ do: "wait", ms: 2_000 });
  });

  it("does not wait for an open circuit", () => {
    expect(decide([open(500), probing()])).toEqual(refusal("no_healthy_deployment", 500));
  });

  it("is a 429 when all that is in the way are rate limits, and else a 503, with the time of the soonest", () => {
    const waited = { waited: true };
    expect(decide([cooling(3_000), cooling(900)], waited)).toEqual(refusal("rate_limit_exceeded", 900));
    expect(decide([cooling(3_000), open(9_000)], waited)).toEqual(refusal("no_healthy_deployment", 3_000));
    expect(decide([cooling(3_000), cooling(900, "auth_failed")], waited)).toEqual(
      refusal("no_healthy_deployment", 900),
    );
    expect(decide([cooling(3_000), null], waited)).toEqual(refusal("rate_limit_exceeded", 3_000));
  });

  it("tries the least bad open one where the route says so", () => {
    const least = { whenAllOpen: "least_bad" as const };
    expect(decide([open(100, 0.9), open(9_000, 0.6), open(1, 1)], least)).toEqual({ do: "try", index: 1 });
    expect(decide([open(900), open(300), open(600)], least)).toEqual({ do: "try", index: 1 });
    expect(decide([open(900), open(900)], least)).toEqual({ do: "try", index: 0 });
    expect(decide([null, open(900)], least)).toEqual({ do: "try", index: 1 });
    expect(decide([open(900), open(300)])).toEqual(refusal("no_healthy_deployment", 300));
    expect(decide([open(900)], { ...least, remainingMs: 0 })).toEqual(refusal("no_healthy_deployment", 900));
  });

  it("leaves alone what cools and what was taken out by hand", () => {
    const least = { whenAllOpen: "least_bad" as const };
    const byHand = open(NEVER_MS - NOW, 0);
    expect(decide([byHand, open(900)], least)).toEqual({ do: "try", index: 1 });
    expect(decide([byHand], least)).toEqual(refusal("no_healthy_deployment", 30_000));
    expect(decide([cooling(20_000), open(900)], least)).toEqual({ do: "try", index: 1 });
    expect(decide([cooling(20_000)], least)).toEqual(refusal("rate_limit_exceeded", 20_000));
  });

  it("has a word for a chain in which nothing comes back", () => {
    expect(decide([null])).toEqual(refusal("no_healthy_deployment", 30_000));
  });

  it("waits inside the deadline, tries what is open, and never says to come back at once", () => {
    const hop = fc.option(
      fc.record({
        why: fc.constantFrom("open" as const, "probing" as const, "cooling" as const),
        retryAtMs: fc.oneof(fc.integer({ min: NOW - 1_000, max: NOW + 100_000 }), fc.constant(NEVER_MS)),
        class: fc.constantFrom("rate_limited" as const, "auth_failed" as const),
        errorRate: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      { nil: null },
    );
    const facts = fc.record({
      hops: fc.array(hop, { minLength: 1, maxLength: 6 }),
      whenAllOpen: fc.constantFrom("refuse" as const, "least_bad" as const),
      whenAllCooling: fc.constantFrom("wait" as const, "refuse" as const),
      remainingMs: fc.integer({ min: -10, max: 60_000 }),
      waited: fc.boolean(),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    });
    fc.assert(
      fc.property(facts, ({ hops, ...rest }) => {
        const decision = decide(hops, rest);
        if (decision.do === "wait") {
          expect(rest.waited).toBe(false);
          expect(decision.ms).toBeGreaterThan(0);
          expect(decision.ms).toBeLessThan(rest.remainingMs);
        } else if (decision.do === "try") {
          expect(rest.whenAllOpen).toBe("least_bad");
          expect(["open", "probing"]).toContain(hops[decision.index]?.why);
        } else {
          expect(decision.retryAfterMs).toBeGreaterThan(0);
          expect(decision.retryAfterMs).toBeLessThan(1e9);
        }
      }),
    );
  });
});
