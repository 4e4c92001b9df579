import { beforeAll, describe, expect, it } from "vitest";
import { planOf } from "./world/plan.ts";
import { type Outcome, runPlan } from "./world/run.ts";
import { loadTemplate, type Template } from "./world/template.ts";

/** A part of what `npm run simulate -- --seeds 10000` does. */
const SEEDS = 60;

let template: Template;
beforeAll(async () => {
  template = await loadTemplate();
});

function found({ seed, violations }: Outcome): string[] {
  return violations.map(({ rule, facts }) => `npm run simulate -- --seed ${seed}: ${rule}: ${facts}`);
}

describe("the whole data plane in virtual time", () => {
  it(`keeps every promise in ${SEEDS} worlds`, { timeout: 120_000 }, async () => {
    const seen: Record<string, number> = {};
    for (let seed = 1; seed <= SEEDS; seed++) {
      const outcome = await runPlan(planOf(seed, template));
      expect(found(outcome)).toEqual([]);
      for (const [what, count] of Object.entries(outcome.seen)) seen[what] = (seen[what] ?? 0) + count;
    }
    // Worlds in which nothing happens would prove nothing.
    for (const what of [
      "ok",
      "failed",
      "cancelled",
      "abandoned",
      "retried",
      "fell over",
      "hedged",
      "opened",
      "half_open",
    ])
      expect(seen[what] ?? 0, what).toBeGreaterThan(5);
    for (const what of ["closed", "cooled", "killed", "by gold", "by canary", "by override", "content_filter"])
      expect(seen[what] ?? 0, what).toBeGreaterThan(5);
  });

  it("runs a seed the same way every time", async () => {
    for (const seed of [3, 14, 15, 92, 65]) {
      const first = await runPlan(planOf(seed, template));
      const second = await runPlan(planOf(seed, template));
      expect(second.lines).toEqual(first.lines);
      expect(second.fingerprint).toBe(first.fingerprint);
    }
  });

  it("runs another seed in another way", async () => {
    const first = await runPlan(planOf(1, template));
    const second = await runPlan(planOf(2, template));
    expect(second.fingerprint).not.toBe(first.fingerprint);
  });
});
