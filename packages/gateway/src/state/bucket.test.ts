import fc from "fast-check";
import { expect, it } from "vitest";
import {
  ALMOST,
  amountOf,
  available,
  capsOf,
  covers,
  credited,
  debited,
  drawn,
  type Pair,
  refilled,
  unused,
  waitMs,
} from "./bucket.ts";
import { ceilingOf } from "./state.contract.ts";

const size = fc.integer({ min: 0, max: 5_000 });
/** Sizes, and levels from one size of debt to full. */
const buckets = fc.record({ floor: size, shared: size }).chain((caps) =>
  fc.record({
    caps: fc.constant(caps),
    levels: fc.record({
      floor: fc.integer({ min: -caps.floor, max: caps.floor }),
      shared: fc.integer({ min: -caps.shared, max: caps.shared }),
    }),
  }),
);

function later({ floor, shared }: Pair, caps: Pair, ms: number): Pair {
  return { floor: refilled(floor, 0, caps.floor, ms), shared: refilled(shared, 0, caps.shared, ms) };
}

const sum = ({ floor, shared }: Pair): number => floor + shared;

it("what has to be waited for is there then, and was not there a millisecond before", () => {
  fc.assert(
    fc.property(buckets, fc.integer({ min: 1, max: 12_000 }), ({ caps, levels }, wanted) => {
      const amount = amountOf(wanted, caps);
      fc.pre(sum(caps) > 0 && !covers(levels, caps, amount));
      const ms = waitMs(levels, caps, amount);
      expect(available(later(levels, caps, ms))).toBeGreaterThanOrEqual(amount - 2 * ALMOST);
      if (ms > 1) expect(available(later(levels, caps, ms - 1))).toBeLessThan(amount);
    }),
    { numRuns: 500 },
  );
});

it("what is drawn and given back unused leaves everything as it was; what was used is gone, once", () => {
  fc.assert(
    fc.property(
      buckets,
      fc.integer({ min: 0, max: 12_000 }),
      fc.nat({ max: 12_000 }),
      ({ caps, levels }, wanted, part) => {
        const amount = amountOf(wanted, caps);
        fc.pre(covers(levels, caps, amount));
        const draw = drawn(levels, amount);
        const rest = { floor: levels.floor - draw.floor, shared: levels.shared - draw.shared };
        expect(draw.floor).toBeGreaterThanOrEqual(0);
        expect(draw.shared === 0 || rest.shared >= 0).toBe(true);
        expect(credited(rest, caps, unused(draw, 0))).toEqual(levels);
        const used = Math.min(part, amount);
        const after = credited(rest, caps, unused(draw, used));
        expect(sum(after)).toBe(sum(levels) - used);
        // As if only what was used had been drawn.
        const exact = drawn(levels, used);
        expect(after).toEqual({ floor: levels.floor - exact.floor, shared: levels.shared - exact.shared });
      },
    ),
    { numRuns: 500 },
  );
});

it("debts are taken in full, no deeper than one size of each bucket, and never from the others before the own", () => {
  fc.assert(
    fc.property(buckets, size, ({ caps, levels }, extra) => {
      const after = debited(levels, caps, extra);
      expect(after.floor).toBeGreaterThanOrEqual(Math.min(levels.floor, -caps.floor));
      expect(after.shared).toBeGreaterThanOrEqual(-caps.shared);
      const isDeepest = after.floor === -caps.floor && after.shared === -caps.shared;
      if (!isDeepest) expect(sum(after)).toBe(sum(levels) - extra);
      if (after.shared < Math.min(0, levels.shared)) expect(after.floor).toBeLessThanOrEqual(-caps.floor);
    }),
    { numRuns: 500 },
  );
});

it("a tenant's buckets are its floor and what all floors leave", () => {
  const ceiling = ceilingOf({ rpm: 10, tpm: 100, floors: { a: { rpm: 3, tpm: null }, b: { rpm: 4, tpm: 90 } } });
  expect(capsOf(ceiling, "rpm", "a")).toEqual({ floor: 3, shared: 3 });
  expect(capsOf(ceiling, "tpm", "a")).toEqual({ floor: 0, shared: 10 });
  expect(capsOf(ceiling, "tpm", "nobody")).toEqual({ floor: 0, shared: 10 });
  expect(capsOf({ ...ceiling, tpm: 50 }, "tpm", "b")).toEqual({ floor: 90, shared: 0 });
  expect(capsOf({ ...ceiling, tpm: null }, "tpm", "b")).toBeNull();
});

it("a clock that goes back fills nothing, and one that leaps fills a bucket once", () => {
  expect(refilled(5, 60_000, 100, 0)).toBe(5);
  expect(refilled(5, 0, 100, 1e15)).toBe(100);
  expect(refilled(undefined, 0, 100, 0)).toBe(100);
  expect(refilled(-100, 0, 100, 60_000)).toBe(0);
});
