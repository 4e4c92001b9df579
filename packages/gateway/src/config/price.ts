import type { Price, Rates } from "../core/money.ts";
import { type DatedPrice, roundUsdPerMillion } from "../core/price.ts";
import type { PriceInput } from "./schema/deployments.ts";

/** Prices the gateway ships with, ascending by date; empty: none is known. */
export type BookPrice = (kind: string, preset: string | null, model: string) => readonly DatedPrice[];

/** Prices as written, in dollars per million tokens, as integer nano-dollars per million. Dates must differ. */
export function datedPrices(inputs: readonly PriceInput[]): DatedPrice[] {
  const dated = inputs.map((input) => ({ fromMs: input.from ?? 0, price: priceOf(input) }));
  return dated.sort((a, b) => a.fromMs - b.fromMs);
}

function priceOf(input: PriceInput): Price {
  const base = ratesOf(input, { input: nano(input.input), output: nano(input.output) });
  const tiers = (input.tiers ?? [])
    .map(({ above, ...tier }) => {
      const own = tier.input === undefined ? base : undefined;
      const fallback = { input: own?.input ?? nano(tier.input ?? 0), output: base.output };
      return { above, rates: ratesOf(tier, fallback, own) };
    })
    .sort((a, b) => a.above - b.above);
  return { ...base, tiers, source: "config" };
}

interface RatesInput {
  cached_input?: number | undefined;
  cache_write?: number | undefined;
  cache_write_1h?: number | undefined;
  output?: number | undefined;
}

/** Ruling 10: cached input and cache writes default to input, 1-hour writes to cache writes. A tier that keeps the input price keeps the others too. */
function ratesOf(written: RatesInput, floor: { input: number; output: number }, kept?: Rates): Rates {
  const cacheWrite = written.cache_write === undefined ? (kept?.cacheWrite ?? floor.input) : nano(written.cache_write);
  const keptWrite1h = written.cache_write === undefined ? kept?.cacheWrite1h : undefined;
  return {
    input: floor.input,
    cachedInput: written.cached_input === undefined ? (kept?.cachedInput ?? floor.input) : nano(written.cached_input),
    cacheWrite,
    cacheWrite1h: written.cache_write_1h === undefined ? (keptWrite1h ?? cacheWrite) : nano(written.cache_write_1h),
    output: written.output === undefined ? floor.output : nano(written.output),
  };
}

/** Amounts have passed the schema, which refuses what is finer than a nano-dollar. */
function nano(usd: number): number {
  return roundUsdPerMillion(usd);
}
