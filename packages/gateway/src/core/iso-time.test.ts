import fc from "fast-check";
import { expect, it } from "vitest";
import { isoTime } from "./iso-time.ts";

const DAY_MS = 86_400_000;
/** All that a Date can hold, before and after 1970. */
const anyTime = fc.integer({ min: -8.64e15, max: 8.64e15 - 1 });
const nearby = fc.integer({ min: 0, max: 3_000 });

it("writes every time as Date does, whichever was written before it", () => {
  fc.assert(
    fc.property(anyTime, nearby, fc.double({ min: 0, max: 0.999, noNaN: true }), (start, later, fraction) => {
      const end = Math.min(start + later, 8.64e15);
      for (const ms of [start, start, end, start, start + fraction])
        expect(isoTime(ms)).toBe(new Date(ms).toISOString());
    }),
  );
});

it("turns the second, the day and the year where they turn", () => {
  const newYear = Date.UTC(2027, 0, 1);
  for (const turn of [newYear, newYear + DAY_MS, newYear + 1_000, 0, -1_000]) {
    for (const ms of [turn - 1, turn, turn + 1]) expect(isoTime(ms)).toBe(new Date(ms).toISOString());
  }
});

it("is no time for what is none, and remembers nothing of it", () => {
  for (const none of [Number.NaN, Number.POSITIVE_INFINITY, 9e15]) expect(() => isoTime(none)).toThrow(RangeError);
  expect(isoTime(0)).toBe("1970-01-01T00:00:00.000Z");
});
