import fc from "fast-check";
import { expect, it } from "vitest";
import { Cancel, type CancelReason } from "./cancel.ts";

it("tells every listener once, in order, with the first reason", () => {
  const cancel = new Cancel();
  const heard: [string, CancelReason][] = [];
  cancel.onCancel((reason) => heard.push(["a", reason]));
  cancel.onCancel((reason) => heard.push(["b", reason]));
  expect(cancel.cancelled).toBe(false);
  cancel.cancel("client_left");
  cancel.cancel("shutdown");
  expect(heard).toEqual([
    ["a", "client_left"],
    ["b", "client_left"],
  ]);
  expect(cancel.reason).toBe("client_left");
});

it("tells a late listener at once", () => {
  const cancel = new Cancel();
  cancel.cancel("timeout");
  const heard: CancelReason[] = [];
  const forget = cancel.onCancel((reason) => heard.push(reason));
  expect(heard).toEqual(["timeout"]);
  expect(forget).not.toThrow();
});

it("does not tell a listener that was removed, not even by a listener before it", () => {
  const cancel = new Cancel();
  const heard: string[] = [];
  const forgetEarly = cancel.onCancel(() => heard.push("early"));
  cancel.onCancel(() => {
    heard.push("first");
    forgetLate();
  });
  const forgetLate = cancel.onCancel(() => heard.push("late"));
  forgetEarly();
  cancel.cancel("client_left");
  expect(heard).toEqual(["first"]);
});

it("tells a listener that is added while the others are being told", () => {
  const cancel = new Cancel();
  const heard: string[] = [];
  cancel.onCancel(() => cancel.onCancel(() => heard.push("inner")));
  cancel.cancel("superseded");
  expect(heard).toEqual(["inner"]);
});

/** What a listener does when it is told: whom it removes. */
const listeners = fc.array(fc.array(fc.nat({ max: 9 }), { maxLength: 3 }), { maxLength: 10 });

it("tells exactly those that nobody has removed by then, whoever removes whom", () => {
  fc.assert(
    fc.property(listeners, fc.array(fc.nat({ max: 9 }), { maxLength: 10 }), (removals, removedBefore) => {
      const cancel = new Cancel();
      const heard: number[] = [];
      const forget: (() => void)[] = removals.map((who, index) =>
        cancel.onCancel(() => {
          heard.push(index);
          for (const other of who) forget[other]?.();
        }),
      );
      for (const index of removedBefore) forget[index]?.();
      cancel.cancel("client_left");

      const gone = new Set(removedBefore);
      const expected = removals.flatMap((who, index) => {
        if (gone.has(index)) return [];
        for (const other of who) gone.add(other);
        return [index];
      });
      expect(heard).toEqual(expected);
    }),
  );
});

it("adds behind those that are left, and keeps none that were removed", () => {
  // Few of them, so that one is removed again after its neighbours.
  const step = fc.oneof(fc.constant("add" as const), fc.nat({ max: 5 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: "max" }), (steps) => {
      const cancel = new Cancel();
      const heard: number[] = [];
      const forget: (() => void)[] = [];
      let left: number[] = [];
      for (const step of steps) {
        if (step === "add") {
          const index = forget.length;
          forget.push(cancel.onCancel(() => heard.push(index)));
          left.push(index);
        } else {
          forget[step]?.();
          left = left.filter((index) => index !== step);
        }
      }
      cancel.cancel("shutdown");
      expect(heard).toEqual(left);
    }),
  );
});
