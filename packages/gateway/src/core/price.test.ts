import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Price } from "./money.ts";
import { parseUsdPerMillion, priceAt, roundUsdPerMillion } from "./price.ts";

describe("a price in USD per million tokens", () => {
  it("becomes exact nano-dollars, whatever its float looks like", () => {
    expect(parseUsdPerMillion(2.5)).toBe(2_500_000_000);
    expect(parseUsdPerMillion("0.30")).toBe(300_000_000);
    expect(parseUsdPerMillion(0.07)).toBe(70_000_000);
    expect(parseUsdPerMillion(0.0028)).toBe(2_800_000);
    expect(parseUsdPerMillion("1e-7")).toBe(100);
    expect(parseUsdPerMillion(0)).toBe(0);
    expect(parseUsdPerMillion("1000000")).toBe(10 ** 15);
  });

  it("holds for every number of nano-dollars, written as a decimal", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 15 }), (nano) => {
        const digits = String(nano).padStart(10, "0");
        expect(parseUsdPerMillion(`${digits.slice(0, -9)}.${digits.slice(-9)}`)).toBe(nano);
      }),
    );
  });

  it("is refused when it is negative, no number, too fine, or over $1 a token", () => {
    expect(() => parseUsdPerMillion(-1)).toThrow("-1 is negative");
    expect(() => parseUsdPerMillion("$2.50")).toThrow('"$2.50" is not a price');
    expect(() => parseUsdPerMillion("")).toThrow("is not a price");
    expect(() => parseUsdPerMillion(Number.NaN)).toThrow("is not a price");
    expect(() => parseUsdPerMillion(Number.POSITIVE_INFINITY)).toThrow("is not a price");
    expect(() => parseUsdPerMillion("0.0000000001")).toThrow("finer than a billionth");
    expect(() => parseUsdPerMillion("1000000.000000001")).toThrow("unit mistake");
    expect(() => parseUsdPerMillion("1e300")).toThrow("unit mistake");
  });

  it("is rounded half up where a book lists a fraction", () => {
    expect(roundUsdPerMillion(1 / 12)).toBe(83_333_333);
    expect(roundUsdPerMillion("0.0000000005")).toBe(1);
    expect(roundUsdPerMillion("0.0000000004")).toBe(0);
  });
});

describe("the price at a moment", () => {
  const price = (input: number) => ({ input }) as Price;

  it("is the last one that has begun, its first millisecond included", () => {
    const prices = [
      { fromMs: 100, price: price(1) },
      { fromMs: 200, price: price(2) },
    ];
    expect(priceAt(prices, 99)).toBeNull();
    expect([100, 199, 200, 999].map((at) => priceAt(prices, at)?.input)).toEqual([1, 1, 2, 2]);
    expect(priceAt([], 5)).toBeNull();
  });
});
