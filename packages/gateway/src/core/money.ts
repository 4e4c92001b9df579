import type { Usage } from "@sluicegate/contract";

/** Micro-USD are integers: 1 USD = 1,000,000. */
export type MicroUsd = number;

/**
 * Price of one deployment, in integer nano-USD per MILLION tokens ($2.50 per million = 2_500_000_000).
 * A missing part means: cached input costs as input, cache writes as input, 1-hour writes as cache writes.
 */
export interface Rates {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWrite1h: number;
  output: number;
}

/** A price with its context tiers, ascending; a tier holds when the input tokens are MORE than `above`. */
export interface Price extends Rates {
  tiers: { above: number; rates: Rates }[];
  /** Where it came from: `config` or `book`. */
  source: "config" | "book";
}

/** The rates that hold for a call of `inputTokens` (cached included). */
export function ratesFor(price: Price, inputTokens: number): Rates {
  let rates: Rates = price;
  for (const tier of price.tiers) if (inputTokens > tier.above) rates = tier.rates;
  return rates;
}

const NANO_PER_MILLION_TO_MICRO = 1_000_000_000;

/**
 * Cost of one attempt, rounded half up once: uncached input, cached, writes and output (reasoning inside) each at its rate.
 * Exact for every count: where a sum leaves the safe integers it is taken in BigInt.
 */
export function costOf(usage: Usage, price: Price): MicroUsd {
  const rates = ratesFor(price, usage.input_tokens);
  const cached = Math.min(usage.cached_input_tokens, usage.input_tokens);
  const write = Math.min(usage.cache_write_tokens, usage.input_tokens - cached);
  const write1h = Math.min(usage.cache_write_1h_tokens, write);
  const plain = usage.input_tokens - cached - write;
  const total =
    plain * rates.input +
    cached * rates.cachedInput +
    (write - write1h) * rates.cacheWrite +
    write1h * rates.cacheWrite1h +
    usage.output_tokens * rates.output;
  if (total <= Number.MAX_SAFE_INTEGER) return divideHalfUp(total);
  const exact =
    BigInt(plain) * BigInt(rates.input) +
    BigInt(cached) * BigInt(rates.cachedInput) +
    BigInt(write - write1h) * BigInt(rates.cacheWrite) +
    BigInt(write1h) * BigInt(rates.cacheWrite1h) +
    BigInt(usage.output_tokens) * BigInt(rates.output);
  return Number((exact * 2n + BigInt(NANO_PER_MILLION_TO_MICRO)) / BigInt(NANO_PER_MILLION_TO_MICRO * 2));
}

function divideHalfUp(total: number): MicroUsd {
  const whole = Math.floor(total / NANO_PER_MILLION_TO_MICRO);
  const rest = total - whole * NANO_PER_MILLION_TO_MICRO;
  return rest * 2 >= NANO_PER_MILLION_TO_MICRO ? whole + 1 : whole;
}

const MICRO = 1_000_000;

/** Micro-USD as a decimal USD string without needless zeros: 1500 → "0.0015". */
export function usdString(microUsd: MicroUsd): string {
  const sign = microUsd < 0 ? "-" : "";
  const amount = Math.abs(microUsd);
  let fraction = amount % MICRO;
  const whole = (amount - fraction) / MICRO;
  if (fraction === 0) return `${sign}${whole}`;
  // A one before the digits keeps their zeros.
  let unit = MICRO;
  for (; fraction % 10 === 0; fraction /= 10) unit /= 10;
  return `${sign}${whole}.${String(unit + fraction).slice(1)}`;
}
