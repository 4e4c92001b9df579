import { expect, it } from "vitest";
import type { JsonObject } from "./json-value.ts";
import { mergeDelta } from "./merge-delta.ts";

function merged(...deltas: JsonObject[]): JsonObject {
  const into: JsonObject = {};
  for (const delta of deltas) mergeDelta(into, delta);
  return into;
}

it("joins pieces of text and replaces what comes whole", () => {
  const deltas = [
    { role: "assistant", content: null },
    { content: "a", id: "x" },
    { content: "b", id: "y", role: "" },
  ];
  expect(merged(...deltas)).toEqual({ role: "assistant", content: "ab", id: "y" });
});

it("lets null say nothing", () => {
  expect(merged({ content: null }, { content: "a" }, { content: null })).toEqual({ content: "a" });
});

it("makes lists longer, and items of the same index one", () => {
  const deltas = [
    { of: [{ index: 0, text: "a" }, { n: 1 }] },
    { of: [{ index: 1, text: "c" }, { index: 0, text: "b" }, { n: 2 }] },
  ];
  expect(merged(...deltas)).toEqual({ of: [{ index: 0, text: "ab" }, { n: 1 }, { index: 1, text: "c" }, { n: 2 }] });
});

it("copies, so that the delta stays as it was, and leaves prototypes alone", () => {
  const delta = JSON.parse('{"a":{"text":"x"},"l":[{"text":"x"}],"__proto__":{"bad":true}}');
  const into = merged(delta, delta);
  expect(into).toEqual({ a: { text: "xx" }, l: [{ text: "x" }, { text: "x" }] });
  expect(delta.a.text).toBe("x");
  expect(into["bad"]).toBeUndefined();
});
