import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { type FileWatch, watchFiles } from "./watch.ts";

let folder: string;
let watching: FileWatch;
let clock: VirtualClock;
let changes: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluicegate-test-"));
  writeFileSync(join(folder, "sluicegate.yaml"), "one");
  clock = new VirtualClock();
  changes = 0;
  watching = watchFiles(
    () => [join(folder, "sluicegate.yaml")],
    () => changes++,
    clock,
  );
  // The first look, after which it knows what has changed.
  await pause(50);
});

afterEach(() => {
  watching.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a change is told once, and a change of something beside it is not", async () => {
  writeFileSync(join(folder, "other"), "noise");
  await pause(20);
  clock.advance(600);
  await pause(20);
  expect(changes).toBe(0);
  writeFileSync(join(folder, "sluicegate.yaml"), "two");
  await pause(20);
  clock.advance(600);
  await expect.poll(() => changes).toBe(1);
});

test("a change is seen although the folder never rests, long before the look that comes in any case", async () => {
  writeFileSync(join(folder, "sluicegate.yaml"), "two");
  for (let n = 0; n < 20; n++) {
    writeFileSync(join(folder, "ledger"), String(n));
    await pause(5);
    clock.advance(60);
  }
  await expect.poll(() => changes).toBe(1);
});
