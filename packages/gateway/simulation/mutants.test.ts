import { beforeAll, describe, expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";
import { planOf } from "./world/plan.ts";
import { runPlan } from "./world/run.ts";
import { loadTemplate, type Template } from "./world/template.ts";

/** Worlds in which a fault has to show. */
const SEEDS = 60;

let template: Template;
beforeAll(async () => {
  template = await loadTemplate();
});

describe("a product with a fault in it is found out", () => {
  for (const [name, mutant] of Object.entries(MUTANTS)) {
    it(name, { timeout: 120_000 }, async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const { violations } = await runPlan(planOf(seed, template, mutant.tilt), mutant);
        if (violations.some(({ rule }) => rule === mutant.breaks)) return;
      }
      expect.fail(`${name} went through ${SEEDS} worlds`);
    });
  }
});
