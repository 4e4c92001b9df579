import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { jsonText } from "./kept-json.ts";

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
