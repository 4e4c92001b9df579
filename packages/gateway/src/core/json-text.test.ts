import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { jsonText, msText, numberText, quotedText } from "./json-text.ts";

it("is what JSON.stringify makes, the first time and after", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      expect(jsonText(value)).toBe(JSON.stringify(value));
      expect(jsonText(value)).toBe(JSON.stringify(value));
    }),
  );
});

it("is made once for an object, also for a frozen one, and anew for a copy", () => {
  const toJSON = vi.fn(() => ({ a: 1 }));
  const value = Object.freeze({ toJSON });
  expect([jsonText(value), jsonText(value), jsonText(value)]).toEqual(['{"a":1}', '{"a":1}', '{"a":1}']);
  expect(toJSON).toHaveBeenCalledTimes(1);
  expect(jsonText({ ...value })).toBe('{"a":1}');
  expect(toJSON).toHaveBeenCalledTimes(2);
});

it("leaves no mark on the object that anybody could see", () => {
  const value = { a: 1 };
  jsonText(value);
  expect(Reflect.ownKeys(value)).toEqual(["a"]);
  expect(value).toStrictEqual({ a: 1 });
  expect(structuredClone(value)).toStrictEqual({ a: 1 });
  const changed = { ...value, b: 2 };
  expect(jsonText(changed)).toBe('{"a":1,"b":2}');
});

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
