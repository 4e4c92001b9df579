import { describe, expect, test, vi } from "vitest";
import type { CanaryArm } from "../config/snapshot.ts";
import { armOf } from "./canary.ts";
import { someFacts } from "./fixtures/config.ts";
import { unitOf } from "./stable-hash.ts";

const arm = (variant: string, percent: number, flag: string | null = null): CanaryArm => ({
  ...{ deployment: `on-${variant}`, percent, variant, flag },
});
const trial = (...arms: CanaryArm[]) => ({ alias: "main", canary: arms });
const variantOf = (route: Parameters<typeof armOf>[0], session: string): string =>
  armOf(route, someFacts({ session }))?.variant ?? "stable";
const sessions = Array.from({ length: 10_000 }, (_, i) => `session-${i}`);

/** Five standard deviations of a count. */
const bound = (count: number, share: number): number => 5 * Math.sqrt(count * share * (1 - share));

describe("a conversation", () => {
  test("stays in its arm over 10,000 requests and two restarts, whatever else a request says", async () => {
    const route = trial(arm("a", 30), arm("b", 20));
    const talks = sessions.slice(0, 200);
    const first = new Map(talks.map((session) => [session, variantOf(route, session)]));
    for (let restart = 0; restart < 2; restart++) {
      vi.resetModules();
      const again = await import("./canary.ts");
      for (let i = 0; i < 5_000; i++) {
        const session = talks[i % talks.length] ?? "";
        const facts = someFacts({ session, draw: i / 5_000, at: i, input_tokens: i, tenant: `tenant-${i % 3}` });
        expect(again.armOf(route, facts)?.variant ?? "stable").toBe(first.get(session));
      }
    }
  });

  test("is in the bucket that its hash says, on every machine", () => {
    const bucket = 100 * unitOf("canary\nmain\na\nsession-1");
    expect(bucket).toBeCloseTo(16.507488396, 8);
    expect(variantOf(trial(arm("a", Math.ceil(bucket))), "session-1")).toBe("a");
    expect(variantOf(trial(arm("a", Math.floor(bucket))), "session-1")).toBe("stable");
  });

  test("that has no session is all of its tenant's", () => {
    const route = trial(arm("a", 50));
    const variants = (tenant: string) =>
      new Set([0, 0.3, 0.9].map((draw) => armOf(route, someFacts({ tenant, draw }))?.variant ?? "stable"));
    const found = Array.from({ length: 40 }, (_, i) => variants(`tenant-${i}`));
    for (const each of found) expect(each.size).toBe(1);
    expect(new Set(found.flatMap((each) => [...each]))).toEqual(new Set(["a", "stable"]));
  });
});

describe("an experiment", () => {
  test.each([
    [[arm("a", 5)], { a: 0.05, stable: 0.95 }],
    [[arm("a", 0.5)], { a: 0.005, stable: 0.995 }],
    [[arm("a", 20), arm("b", 30)], { a: 0.2, b: 0.3, stable: 0.5 }],
    [[arm("a", 50), arm("b", 50)], { a: 0.5, b: 0.5 }],
  ])("gets the shares that it says", (arms, shares) => {
    const counts: Record<string, number> = {};
    for (const session of sessions) {
      const variant = variantOf(trial(...arms), session);
      counts[variant] = (counts[variant] ?? 0) + 1;
    }
    expect(Object.keys(counts).toSorted()).toEqual(Object.keys(shares).toSorted());
    for (const [variant, share] of Object.entries(shares)) {
      expect(Math.abs((counts[variant] ?? 0) - share * sessions.length)).toBeLessThan(bound(sessions.length, share));
    }
  });

  test.each([
    ["another route", { alias: "other", canary: [arm("a", 50)] }],
    ["another experiment of the route", trial(arm("c", 50))],
  ])("says nothing about %s", (_, other) => {
    const route = trial(arm("a", 50));
    const both = sessions.filter(
      (session) => variantOf(route, session) === "a" && variantOf(other, session) !== "stable",
    );
    expect(Math.abs(both.length - 0.25 * sessions.length)).toBeLessThan(bound(sessions.length, 0.25));
  });

  test("that grows keeps those who are in it", () => {
    for (const session of sessions.slice(0, 2_000)) {
      if (variantOf(trial(arm("a", 5)), session) === "a") expect(variantOf(trial(arm("a", 25)), session)).toBe("a");
    }
  });

  test("gives the share of an arm whose flag is off to the stable", () => {
    const route = trial(arm("a", 50, "f"), arm("b", 50));
    for (const session of sessions.slice(0, 500)) {
      const [on, off] = [true, false].map(
        (f) => armOf(route, someFacts({ session, flags: { f } }))?.variant ?? "stable",
      );
      expect(off).toBe(on === "a" ? "stable" : "b");
    }
  });
});
