import type { Price } from "./money.ts";

/** A price and the moment from which it holds, epoch ms. */
export interface DatedPrice {
  fromMs: number;
  price: Price;
}

/** Nano-USD per million tokens in one USD per million tokens. */
const NANO_DIGITS = 9;

/** $1 a token, in nano-USD per million tokens. */
const NANO_PER_MILLION_MAX = 10n ** 15n;

/** The price that holds at a moment, or null when none does yet. `prices` ascend by `fromMs`. */
export function priceAt(prices: readonly DatedPrice[], atMs: number): Price | null {
  let held: Price | null = null;
  for (const { fromMs, price } of prices) if (fromMs <= atMs) held = price;
  return held;
}

/**
 * USD per million tokens as integer nano-USD per million tokens, exactly: from the decimal digits, not from the float.
 * Throws RangeError for what is no price: not a decimal number, negative, finer than a nano-dollar, over $1 a token.
 */
export function parseUsdPerMillion(value: string | number): number {
  const { nano, exact } = nanoOf(value);
  if (!exact) throw new RangeError(`${value} is finer than a billionth of a dollar per million tokens`);
  return nano;
}

/** The same, rounded half up to a nano-dollar: for a book that lists fractions such as 1/12. */
export function roundUsdPerMillion(value: string | number): number {
  return nanoOf(value).nano;
}

/** True for a price that `parseUsdPerMillion` takes: nothing finer than a nano-dollar. */
export function isUsdPerMillion(value: number): boolean {
  try {
    parseUsdPerMillion(value);
    return true;
  } catch {
    return false;
  }
}

function nanoOf(value: string | number): { nano: number; exact: boolean } {
  const text = String(value).trim();
  const parts = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (!parts) throw new RangeError(`"${text}" is not a price: prices are decimal numbers in USD per million tokens`);
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const digits = BigInt(whole + fraction);
  if (sign === "-" && digits > 0n) throw new RangeError(`${text} is negative: a price is 0 or more`);
  const shift = NANO_DIGITS - fraction.length + Number(exponent);
  const unit = 10n ** BigInt(Math.max(0, -shift));
  const nano = shift >= 0 ? digits * 10n ** BigInt(shift) : (digits * 2n + unit) / (unit * 2n);
  if (nano > NANO_PER_MILLION_MAX) {
    throw new RangeError(`${text} is over $1 a token, a unit mistake: prices are in USD per MILLION tokens`);
  }
  return { nano: Number(nano), exact: shift >= 0 || digits % unit === 0n };
}
