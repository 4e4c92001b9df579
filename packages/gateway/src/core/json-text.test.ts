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
  const draws = fc.nat({ max: 1e9 }).map((billionths) => billionths / 1e9);
  const moments = fc.integer({ min: 2 ** 31 - 5, max: 2 ** 42 });
  const around = fc.tuple(fc.constantFrom(0.1, 1, 2 ** 31, 1e15, 1_796_047_000_000), fc.integer({ min: -3, max: 3 }));
  const edges = around.map(([edge, steps]) => edge + (steps * edge) / (edge < 2 ? 1e9 : edge));
  for (const some of [draws, moments, edges])
    fc.assert(
      fc.property(some, (value) => void expect(numberText(value)).toBe(JSON.stringify(value))),
      { numRuns: 1_000 },
    );
  fc.assert(fc.property(numbers, (value) => void expect(numberText(value)).toBe(JSON.stringify(value))));
  const times = fc.oneof(
    numbers,
    fc.integer().map((tenths) => tenths / 10),
    fc.maxSafeInteger().map((tenths) => tenths / 10),
    fc.constantFrom(0, 0.1, 0.05, 1e8, 1e8 + 0.1),
  );
  fc.assert(fc.property(times, (ms) => void expect(msText(ms)).toBe(JSON.stringify(ms))));
});
