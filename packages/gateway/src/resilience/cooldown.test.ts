import { ERROR_CLASSES } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { breaks } from "./breaker.ts";
import { COOLDOWN_MAX_MS, COOLING_CLASSES, cooldownMs, cools, longest, noCooldowns } from "./cooldown.ts";

describe("a deployment cools (ruling 5)", () => {
  it.each([
    ["as long as a rate limit says", cooldownMs("rate_limited", 20_000, 3), 20_000],
    ["an hour at most for one that says more", cooldownMs("rate_limited", 86_400_000, 0), 3_600_000],
    ["1 s for the first rate limit that says nothing", cooldownMs("rate_limited", null, 0), 1_000],
    ["8 s for the fourth", cooldownMs("rate_limited", null, 3), 8_000],
    ["30 s for the sixth", cooldownMs("rate_limited", null, 5), 30_000],
    ["30 s for the thousandth", cooldownMs("rate_limited", null, 999), 30_000],
    ["as without advice for an advice of nothing", cooldownMs("rate_limited", 0, 1), 2_000],
    ["10 min for an empty account", cooldownMs("quota_exhausted", null, 0), 600_000],
    ["longer for one that says so", cooldownMs("quota_exhausted", 1_200_000, 0), 1_200_000],
    ["10 min for one that says less", cooldownMs("quota_exhausted", 1_000, 0), 600_000],
    ["5 min for a refused credential", cooldownMs("auth_failed", 3_600_000, 0), 300_000],
    ["10 min for a model that is not there", cooldownMs("model_not_found", 3_600_000, 0), 600_000],
  ])("%s", (_name, ms, expected) => {
    expect(ms).toBe(expected);
  });

  it("for no class that breaks, and the client's faults do neither", () => {
    const neither = ERROR_CLASSES.filter((kind) => !cools(kind) && !breaks(kind));
    expect(neither).toEqual(["context_overflow", "content_filtered", "bad_request", "cancelled"]);
    expect(ERROR_CLASSES.filter((kind) => cools(kind) && breaks(kind))).toEqual([]);
  });

  it("between nothing and the most of its kind, whatever is advised", () => {
    const advice = fc.option(fc.double({ min: -1e12, max: 1e12, noNaN: true }), { nil: null });
    fc.assert(
      fc.property(fc.constantFrom(...COOLING_CLASSES), advice, fc.nat(5_000), (kind, advised, strikes) => {
        const ms = cooldownMs(kind, advised, strikes);
        expect(ms).toBeGreaterThan(0);
        expect(ms).toBeLessThanOrEqual(COOLDOWN_MAX_MS[kind]);
      }),
    );
  });

  it("for the reason that lasts longest", () => {
    const cooldowns = { ...noCooldowns(), rate_limited: 500, auth_failed: 900 };
    expect(longest(cooldowns, 100)).toEqual({ kind: "auth_failed", until: 900 });
    expect(longest({ ...cooldowns, auth_failed: 0 }, 100)).toEqual({ kind: "rate_limited", until: 500 });
    expect(longest(cooldowns, 900)).toBeNull();
  });
});
