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
