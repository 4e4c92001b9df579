import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { suitCollector } from "./collector.ts";

test("helpers clear the young generation only where there are cores for them", () => {
  const flags: string[] = [];
  for (const cores of [2, 1, 64]) suitCollector(cores, (flag) => flags.push(`${cores} ${flag}`));
  expect(flags).toEqual(["1 --no-parallel-scavenge"]);
});

test("V8 knows the flag", () => {
  const code = `require("node:v8").setFlagsFromString("--no-parallel-scavenge"); gc({ type: "minor" });`;
  const { status, stderr } = spawnSync(process.execPath, ["--expose-gc", "-e", code], { encoding: "utf8" });
  // Of one it does not know it says so, and goes on.
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
