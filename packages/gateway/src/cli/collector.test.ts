import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { suitBuffers, suitCollector } from "./collector.ts";

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

test("a small buffer holds on to eight kilobytes at most, whatever this version of Node.js would have", () => {
  const before = Buffer.poolSize;
  Buffer.poolSize = 64 * 1024;
  suitBuffers();
  // What is left of the pool that was there is used up first.
  for (let i = 0; i < 64; i++) Buffer.from("x".repeat(2_000));
  expect(Buffer.from("x".repeat(2_000)).buffer.byteLength).toBe(8 * 1024);
  Buffer.poolSize = before;
});
