import { expect, it, vi } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { systemClock } from "./clock.ts";

it("fires once, not before its time, and not when called off", async () => {
  const started = systemClock.monotonic();
  const off = vi.fn();
  systemClock.after(1, off).cancel();
  const elapsed = await new Promise<number>((resolve) => {
    const timer = systemClock.after(5, () => {
      resolve(systemClock.monotonic() - started);
      expect(() => timer.cancel()).not.toThrow();
    });
    // A timer of the clock does not keep the process: something else has to, here.
    setTimeout(() => {}, 200);
  });
  expect(elapsed).toBeGreaterThanOrEqual(4);
  expect(off).not.toHaveBeenCalled();
});

it("does not fire at once for a time longer than node can hold", async () => {
  const fired = vi.fn();
  const timers = [systemClock.after(3e9, fired), systemClock.after(Number.POSITIVE_INFINITY, fired)];
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(fired).not.toHaveBeenCalled();
  for (const timer of timers) timer.cancel();
});

it("never keeps the process alive", () => {
  const holding = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = holding();
  const timer = systemClock.after(60_000, () => {});
  expect(holding()).toBe(before);
  const control = setTimeout(() => {}, 60_000);
  expect(holding()).toBe(before + 1);
  clearTimeout(control);
  timer.cancel();
});

it("the tests' own clock fires in order, timers made on the way included", () => {
  const clock = new VirtualClock(1_000);
  const fired: [string, number][] = [];
  const note = (name: string) => () => fired.push([name, clock.now()]);
  clock.after(20, note("b"));
  clock.after(10, () => {
    note("a")();
    clock.after(5, note("a2"));
  });
  clock.after(20, note("c"));
  clock.after(30, note("late")).cancel();
  clock.advance(19);
  expect(fired).toEqual([
    ["a", 1_010],
    ["a2", 1_015],
  ]);
  clock.advance(1);
  expect(fired.slice(2)).toEqual([
    ["b", 1_020],
    ["c", 1_020],
  ]);
  expect(clock.timers).toBe(0);
});
