import type { ErrorClass } from "@sluicegate/contract";
import fc from "fast-check";
import { expect, it } from "vitest";
import { call, oneBoard } from "../../test/support/health-boards.ts";
import { OutcomeWindow } from "./outcome-window.ts";

const kinds: (ErrorClass | null)[] = [null, null, null, "provider_error", "timeout", "rate_limited", "invalid_request"];
const step = fc.record({
  kind: fc.constantFrom(...kinds),
  slow: fc.boolean(),
  latencyMs: fc.constantFrom(50, 100, 5_000),
  hand: fc.constantFrom(null, null, null, null, "open" as const, "close" as const, "reset" as const),
  laterMs: fc.constantFrom(0, 10, 5_000, 20_000, 60_000, 400_000),
});
/** Nothing that routing minds. */
const WELL = { failures: 0, circuit: "closed", coolingUntil: 0, ramp: 1, degraded: false };
const WINDOWS_MS = [undefined, 5_000, 60_000, 600_000];

it("is never said of a deployment that a read finds anything wrong with", () => {
  let said = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), fc.constantFrom(60_000, 600_000), (steps, spanMs) => {
      const { clock, board } = oneBoard({}, spanMs);
      for (const { kind, slow, latencyMs, hand, laterMs } of steps) {
        if (hand) board.force("a", hand, { by: "somebody", forMs: 30_000 });
        call(board, kind, { slow, latencyMs });
        clock.advance(laterMs);
        if (!board.isWell("a")) continue;
        said++;
        for (const windowMs of WINDOWS_MS) expect(board.read("a", windowMs)).toMatchObject(WELL);
      }
    }),
    { numRuns: 500 },
  );
  expect(said).toBeGreaterThan(500);
});

it("is said of what nothing is known of, and of one that has been well for as long as anybody looks back", () => {
  const { clock, board } = oneBoard({}, 60_000);
  expect(board.isWell("never heard of")).toBe(true);
  call(board, null);
  expect(board.isWell("a")).toBe(true);
  call(board, "provider_error");
  expect(board.isWell("a")).toBe(false);
  clock.advance(70_000);
  expect(board.isWell("a")).toBe(true);
});

it("is not said of one that is slower than it used to be", () => {
  const { clock, board } = oneBoard();
  const calls = (count: number, latencyMs: number): void => {
    for (let i = 0; i < count; i++) {
      call(board, null, { latencyMs });
      clock.advance(3_000);
    }
  };
  calls(200, 100);
  expect(board.isWell("a")).toBe(true);
  calls(19, 900);
  expect(board.read("a").degraded).toBe(true);
  expect(board.isWell("a")).toBe(false);
});

it("survives another length of the window", () => {
  const window = new OutcomeWindow(60_000, 60_000);
  window.add(1_000, false, true);
  const other = window.resized(120_000, 120_000);
  expect(other.allWell(2_000)).toBe(false);
  expect(other.allWell(130_000)).toBe(true);
  other.add(130_000, true, false);
  other.clear();
  expect(other.allWell(130_000)).toBe(true);
});

it("is not said before the last part of time that a window can hold is over", () => {
  const window = new OutcomeWindow(60_000, 60_000);
  window.add(0, true, false);
  expect(window.allWell(59_999)).toBe(false);
  expect(window.allWell(60_000)).toBe(true);
});
