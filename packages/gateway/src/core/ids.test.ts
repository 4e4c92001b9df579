import fc from "fast-check";
import { expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { idAt, newId } from "./ids.ts";
import { systemRandom } from "./random.ts";

const random = systemRandom();

it("is a prefix, ten characters of time and sixteen of chance, in letters a header and a path can hold", () => {
  expect(newId("req", new VirtualClock(), random)).toMatch(/^req_[0-9a-hjkmnp-tv-z]{26}$/);
});

it("sorts by the millisecond it was made in", () => {
  const time = fc.integer({ min: 0, max: Date.UTC(2500, 0) });
  fc.assert(
    fc.property(time, time, (a, b) => {
      const [first, second] = [newId("req", new VirtualClock(a), random), newId("req", new VirtualClock(b), random)];
      expect(Math.sign(a - b) || 0).toBe(a === b ? 0 : first < second ? -1 : 1);
    }),
  );
});

it("does not repeat within a millisecond", () => {
  const clock = new VirtualClock();
  const ids = new Set(Array.from({ length: 20_000 }, () => newId("req", clock, random)));
  expect(ids.size).toBe(20_000);
});

it("is written digit by digit in base 32", () => {
  const time = fc.integer({ min: 0, max: Date.UTC(2500, 0) });
  const chance = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const letters = "0123456789abcdefghjkmnpqrstvwxyz";
  fc.assert(
    fc.property(time, chance, (at, bytes) => {
      const digits: number[] = [];
      for (let rest = BigInt(at); digits.length < 10; rest >>= 5n) digits.unshift(Number(rest & 31n));
      for (const byte of bytes) digits.push(byte % 32);
      const text = digits.map((digit) => letters[digit]).join("");
      for (const prefix of ["req", "", "x", "gw", "flags", "übe"])
        expect(idAt(prefix, at, { bytes: () => bytes, float: () => 0 })).toBe(`${prefix}_${text}`);
    }),
  );
});
