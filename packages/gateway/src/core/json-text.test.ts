import fc from "fast-check";
import { expect, it } from "vitest";
import { msText, numberText, quotedText } from "./json-text.ts";

it("puts strings, numbers and times as JSON.stringify does", () => {
  const characters = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.constantFrom('"', "\\", "\u007f", "\ud800"),
  );
  fc.assert(fc.property(characters, (text) => void expect(quotedText(text)).toBe(JSON.stringify(text))));
  const numbers = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double(), fc.constantFrom(-0, 1e21, 1e-7));
  fc.assert(fc.property(numbers, (value) => void expect(numberText(value)).toBe(JSON.stringify(value))));
  const times = fc.oneof(
    numbers,
    fc.integer().map((tenths) => tenths / 10),
    fc.maxSafeInteger().map((tenths) => tenths / 10),
    fc.constantFrom(0, 0.1, 0.05, 1e8, 1e8 + 0.1),
  );
  fc.assert(fc.property(times, (ms) => void expect(msText(ms)).toBe(JSON.stringify(ms))));
});
