import { afterEach, expect, it, vi } from "vitest";
import { LIMITS } from "../core/limits.ts";
import { Remembered } from "../core/remembered.ts";
import { anAttempt, aRow } from "./fixtures/rows.ts";
import { LeanRuns } from "./lean-runs.ts";

const add = vi.spyOn(Remembered.prototype, "add");
afterEach(() => add.mockClear());

it("keeps a run that comes again, and none that is long: a provider names models as it likes", () => {
  const runs = new LeanRuns();
  const says = (name: string) => {
    const row = aRow("r", { alias: name, response_model: name });
    for (const text of [runs.admitted(row), runs.settled(row), runs.attempted(row, anAttempt(1, { model: name }))])
      expect(JSON.parse(text)).toContain(name);
  };
  says("short");
  says("short");
  expect(add).toHaveBeenCalledTimes(3);
  const long = "m".repeat(LIMITS.rememberedCharsMax);
  says(long);
  says(long);
  expect(add).toHaveBeenCalledTimes(3);
});
