import { noUsage, type Usage } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costOf, type Price, type Rates, ratesFor, usdString } from "./money.ts";

const NANO = 1_000_000_000;

function flat(input: number, cachedInput: number, output: number): Price {
  const rates = { input, cachedInput, cacheWrite: input, cacheWrite1h: input, output };
  return { ...scaled(rates), tiers: [], source: "config" };
}

/** USD per million tokens, as written in a config, to nano-USD. */
function scaled(rates: Rates): Rates {
  return Object.fromEntries(
    Object.entries(rates).map(([name, usd]) => [name, Math.round(usd * NANO)]),
  ) as unknown as Rates;
}

function used(input: number, cached: number, output: number): Usage {
  return { ...noUsage(), input_tokens: input, cached_input_tokens: cached, output_tokens: output };
}

/** The formula of COST-1 in rational arithmetic: nothing is rounded before the end. */
function exactCost(usage: Usage, rates: Rates): bigint {
  const min = (a: bigint, b: bigint) => (a < b ? a : b);
  const input = BigInt(usage.input_tokens);
  const cached = min(BigInt(usage.cached_input_tokens), input);
  const write = min(BigInt(usage.cache_write_tokens), input - cached);
  const write1h = min(BigInt(usage.cache_write_1h_tokens), write);
  const nanoTimesMillion =
    (input - cached - write) * BigInt(rates.input) +
    cached * BigInt(rates.cachedInput) +
    (write - write1h) * BigInt(rates.cacheWrite) +
    write1h * BigInt(rates.cacheWrite1h) +
    BigInt(usage.output_tokens) * BigInt(rates.output);
  const [whole, rest] = [nanoTimesMillion / BigInt(NANO), nanoTimesMillion % BigInt(NANO)];
  return rest * 2n >= BigInt(NANO) ? whole + 1n : whole;
}

const rate = fc.oneof(fc.nat(100), fc.nat(100 * NANO), fc.nat(1_000_000 * NANO));
const tokens = fc.oneof(fc.nat(10), fc.nat(2_000_000), fc.nat(2 ** 31 - 1));
const someRates = fc.record({ input: rate, cachedInput: rate, cacheWrite: rate, cacheWrite1h: rate, output: rate });
const someUsage = fc.record({
  input_tokens: tokens,
  cached_input_tokens: tokens,
  cache_write_tokens: tokens,
  cache_write_1h_tokens: tokens,
  output_tokens: tokens,
  reasoning_tokens: tokens,
});
const somePrice = fc.record({
  rates: someRates,
  tiers: fc.uniqueArray(fc.record({ above: tokens, rates: someRates }), {
    maxLength: 3,
    selector: ({ above }) => above,
  }),
});

describe("the cost of an attempt", () => {
  it("is the exact sum, rounded half up once", () => {
    fc.assert(
      fc.property(someUsage, somePrice, (usage, { rates, tiers }) => {
        const price: Price = { ...rates, tiers: tiers.sort((a, b) => a.above - b.above), source: "config" };
        const exact = exactCost(usage, ratesFor(price, usage.input_tokens));
        expect(BigInt(costOf(usage, price))).toBe(
          exact <= BigInt(Number.MAX_SAFE_INTEGER) ? exact : BigInt(Number(exact)),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it("rounds exactly a half up, and less than a half down", () => {
    expect(costOf(used(1, 0, 0), flat(0.5, 0, 0))).toBe(1);
    expect(costOf(used(1, 0, 0), flat(0.499999999, 0, 0))).toBe(0);
    expect(costOf(used(3, 0, 0), flat(0.5, 0, 0))).toBe(2);
  });

  it("changes rates only above a tier's edge", () => {
    const price: Price = {
      ...flat(1, 1, 1),
      tiers: [{ above: 200_000, rates: scaled({ ...flat(0, 0, 0), input: 2 }) }],
    };
    expect(costOf(used(200_000, 0, 0), price)).toBe(200_000);
    expect(costOf(used(200_001, 0, 0), price)).toBe(400_002);
  });

  it("counts no token twice when a provider reports more cached than there were", () => {
    expect(costOf(used(100, 150, 0), flat(10, 1, 0))).toBe(100);
  });

  it("charges 5-minute and 1-hour cache writes apart", () => {
    const price: Price = { ...flat(3, 0.3, 15), cacheWrite: 3.75 * NANO, cacheWrite1h: 6 * NANO };
    const usage = {
      ...noUsage(),
      input_tokens: 1_000_000,
      cache_write_tokens: 600_000,
      cache_write_1h_tokens: 200_000,
    };
    expect(costOf(usage, price)).toBe(400_000 * 3 + 400_000 * 3.75 + 200_000 * 6);
  });
});

describe("the worked figures of COST-10", () => {
  it("come to $517.50 a day, not $1,125, when nine of ten prompts are mostly cached", () => {
    const price = flat(3, 0.3, 15);
    const cost = 45_000 * costOf(used(6_000, 5_000, 300), price) + 5_000 * costOf(used(6_000, 0, 300), price);
    expect(usdString(cost)).toBe("517.5");
    expect(usdString(50_000 * costOf(used(6_000, 0, 300), price))).toBe("1125");
  });

  it("come to $1,228 a day, not $1,066, when dropped streams are billed for what they delivered", () => {
    const price = flat(2.5, 2.5, 10);
    const whole = 82_000 * costOf(used(2_000, 0, 800), price);
    const dropped = 18_000 * costOf(used(2_000, 0, 400), price);
    expect(usdString(whole + dropped)).toBe("1228");
    expect(usdString(whole)).toBe("1066");
  });
});

describe("money in words", () => {
  it("is the same number of micro-dollars, without needless zeros", () => {
    expect([0, 1, 1_500, 1_000_000, 517_500_000, -1_500].map(usdString)).toEqual([
      "0",
      "0.000001",
      "0.0015",
      "1",
      "517.5",
      "-0.0015",
    ]);
    fc.assert(
      fc.property(fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -5_000_000, max: 5_000_000 })), (micro) => {
        const [whole = "", fraction = ""] = usdString(micro).replace("-", "").split(".");
        const back = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
        expect(micro < 0 ? -back : back).toBe(BigInt(micro));
        expect(usdString(micro)).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d{0,5}[1-9])?$/);
      }),
    );
  });
});
