import fc from "fast-check";
import { expect, it } from "vitest";
import { startedMs } from "./started-at.ts";

it("says what Date.parse says, of times and of anything like them", () => {
  const time = fc
    .integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 })
    .map((ms) => new Date(ms).toISOString());
  const close = fc.integer({ min: 0, max: 180_000 }).map((ms) => new Date(Date.UTC(2026, 10, 1) + ms).toISOString());
  const broken = fc
    .tuple(fc.oneof(time, close), fc.nat(23), fc.constantFrom(..."019:-.TZ +xé"))
    .map(([text, at, char]) => text.slice(0, at) + char + text.slice(at + 1));
  fc.assert(
    fc.property(fc.array(fc.oneof(time, close, broken, fc.string()), { minLength: 1, maxLength: 20 }), (texts) => {
      for (const text of texts) expect(startedMs(text), text).toBe(Date.parse(text));
    }),
    { numRuns: 300 },
  );
});

it("keeps to the rules of minutes that have no seconds", () => {
  for (const text of ["2026-11-01T24:00:00.000Z", "2026-11-01T24:00:05.000Z", "2026-02-30T12:00:01.000Z"])
    expect(startedMs(text), text).toBe(Date.parse(text));
  expect(startedMs("")).toBeNaN();
});
