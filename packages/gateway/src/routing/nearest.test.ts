import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearest } from "./nearest.ts";

const names = ["default", "fast", "reasoning", "wholesale-chat", "gpt-4o", "gpt-4o-mini"];

describe("nearest", () => {
  it.each([
    ["defualt", ["default"]],
    ["DEFAULT", ["default"]],
    ["fats", ["fast"]],
    ["gpt-4o-min", ["gpt-4o-mini", "gpt-4o"]],
    ["gpt", ["gpt-4o", "gpt-4o-mini"]],
    ["chat", ["wholesale-chat"]],
    ["zzzzzzzz", []],
    ["", []],
  ])("%j → %j", (wanted, expected) => {
    expect(nearest(wanted, names, 3)).toEqual(expected);
  });

  it("gives no more than asked for", () => {
    expect(nearest("a", ["aa", "ab", "ac", "ad"], 3)).toHaveLength(3);
  });

  it("finds a name in spite of any one mistake", () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.nat(20), fc.constantFrom("", "x", "-"), (name, place, letter) => {
        const at = place % name.length;
        expect(nearest(name.slice(0, at) + letter + name.slice(at + 1), names, 6)).toContain(name);
      }),
    );
  });
});
