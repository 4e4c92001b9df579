import { type ConditionalPrice, calcPrice, type ModelPrice } from "@pydantic/genai-prices";
import type { Price, Rates } from "../core/money.ts";
import { type DatedPrice, priceAt, roundUsdPerMillion } from "../core/price.ts";

/** What the book says of one model. */
export interface BookPrice {
  /** The price at the moment asked for. */
  price: Price;
  /** All prices with the dates from which they hold, ascending; the first holds since ever. */
  prices: DatedPrice[];
  /** The provider and the model in the book; null for what is not from it (own servers, the simulator). */
  entry: { provider: string; model: string } | null;
  /** What these prices leave out: charges that are not per text token, or rates that vary within a day. */
  notes: string[];
}

/** The book's names for our kinds. */
const KINDS: Readonly<Record<string, string>> = {
  openai: "openai",
  "azure-openai": "azure",
  anthropic: "anthropic",
  gemini: "google",
  vertex: "google",
  bedrock: "aws",
  cohere: "cohere",
  mistral: "mistral",
};

/** The book's names for the presets. Those that are absent are not in it: their prices are unknown, not zero. */
const PRESETS: Readonly<Record<string, string>> = {
  groq: "groq",
  together: "together",
  fireworks: "fireworks",
  deepseek: "deepseek",
  xai: "x-ai",
  openrouter: "openrouter",
  perplexity: "perplexity",
  cerebras: "cerebras",
  moonshot: "moonshotai",
  zai: "zai",
};

/** Servers of one's own: a token costs nothing that a ledger could know. A configured price can say otherwise. */
const SELF_HOSTED = new Set(["vllm", "tgi", "llama-cpp", "ollama", "lm-studio"]);

const FREE: Price = priceOf({ input_mtok: 0, output_mtok: 0 }) ?? unreachable();

/** Not anybody's price: it lets budgets and spend be tried out on the simulator. */
const SIMULATOR: Price = priceOf({ input_mtok: 1, cache_read_mtok: 0.1, output_mtok: 2 }) ?? unreachable();

/**
 * The price of a model by provider kind and preset, at a moment (epoch ms); null when the book does not know it, which
 * is an unknown price, never zero. The simulator costs $1, $0.10 cached and $2 per million; own servers cost nothing.
 */
export function bookPrice(kind: string, preset: string | null, model: string, atMs: number): BookPrice | null {
  if (kind === "simulator") return fixed(SIMULATOR);
  if (preset !== null && SELF_HOSTED.has(preset)) return fixed(FREE);
  const named = inBook(kind, preset, model);
  const found = named && calcPrice({}, named.model, { providerId: named.provider });
  if (!found) return null;
  const listed = found.model.prices;
  const conditional: ConditionalPrice[] = Array.isArray(listed) ? listed : [{ prices: listed }];
  const prices = datedPrices(conditional);
  const price = prices && priceAt(prices, atMs);
  if (!prices || !price) return null;
  return { price, prices, entry: { provider: found.provider.id, model: found.model.id }, notes: notesOn(conditional) };
}

/** The maker's own price of a model by its entry in the book, `provider/model`, at a moment (epoch ms); null: none is known. */
export function entryPrice(entry: string, atMs: number): Price | null {
  const slash = entry.indexOf("/");
  const found = calcPrice({}, entry.slice(slash + 1), { providerId: entry.slice(0, slash) });
  const listed = found?.model.prices;
  const prices = listed && datedPrices(Array.isArray(listed) ? listed : [{ prices: listed }]);
  return prices ? priceAt(prices, atMs) : null;
}

function fixed(price: Price): BookPrice {
  return { price, prices: [{ fromMs: 0, price }], entry: null, notes: [] };
}

/** Hugging Face's router names the server behind it after the model, `org/model:groq`, and bills its prices. */
function inBook(kind: string, preset: string | null, model: string): { provider: string; model: string } | null {
  if (preset === "huggingface") {
    const at = model.lastIndexOf(":");
    return at < 0 ? null : { provider: `huggingface_${model.slice(at + 1)}`, model: model.slice(0, at) };
  }
  const provider = preset === null ? KINDS[kind] : PRESETS[preset];
  return provider === undefined ? null : { provider, model };
}

/**
 * Our prices know dates, not hours: where the book's vary within a day, the dearest is taken, so that a budget is
 * rather reached too early than overrun. A later entry of the book wins over an earlier one.
 */
function datedPrices(listed: ConditionalPrice[]): DatedPrice[] | null {
  const dated: DatedPrice[] = [];
  let allKnown = true;
  listed.forEach(({ constraint, prices }, index) => {
    if (constraint?.type === "time_of_date") return;
    const later = listed.slice(index + 1).filter((other) => other.constraint?.type === "time_of_date");
    const candidates = [prices, ...later.map((other) => other.prices)].map(priceOf);
    const known = candidates.filter((price) => price !== null);
    allKnown &&= known.length === candidates.length;
    known.sort((a, b) => weight(b) - weight(a));
    if (known[0]) dated.push({ fromMs: constraint ? Date.parse(constraint.start_date) : 0, price: known[0] });
  });
  return allKnown ? dated.sort((a, b) => a.fromMs - b.fromMs) : null;
}

function weight(price: Price): number {
  return price.input + price.output;
}

/** Null when it has no price per text token, or charges for output in a way that tokens do not tell. */
function priceOf(listed: ModelPrice): Price | null {
  if (listed["input_mtok"] === undefined) return null;
  if (listed["output_mtok"] === undefined && Object.keys(listed).some((key) => key.startsWith("output_"))) return null;
  const starts = new Set<number>();
  for (const value of Object.values(listed)) {
    if (typeof value === "object") for (const tier of value.tiers) starts.add(tier.start);
  }
  const tiers = [...starts].sort((a, b) => a - b).map((above) => ({ above, rates: ratesAt(listed, above + 1) }));
  return { ...ratesAt(listed, 0), tiers, source: "book" };
}

function ratesAt(listed: ModelPrice, inputTokens: number): Rates {
  const rate = (key: string): number | null => {
    const value = listed[key];
    if (value === undefined) return null;
    if (typeof value === "number") return roundUsdPerMillion(value);
    let usd = value.base;
    for (const tier of value.tiers) if (inputTokens > tier.start) usd = tier.price;
    return roundUsdPerMillion(usd);
  };
  const input = rate("input_mtok") ?? 0;
  const cacheWrite = rate("cache_write_mtok") ?? input;
  return {
    input,
    cachedInput: rate("cache_read_mtok") ?? input,
    cacheWrite,
    cacheWrite1h: rate("cache_write_1h_mtok") ?? cacheWrite,
    output: rate("output_mtok") ?? 0,
  };
}

const COUNTED = new Set(["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok"]);

function notesOn(listed: ConditionalPrice[]): string[] {
  const uncounted = new Set(listed.flatMap(({ prices }) => Object.keys(prices)).filter((key) => !COUNTED.has(key)));
  const notes = [...uncounted].sort().map((key) => `the book also charges ${key}, which is not counted`);
  if (listed.some(({ constraint }) => constraint?.type === "time_of_date")) {
    notes.push("the book's price varies within a day; the dearest is used");
  }
  return notes;
}

function unreachable(): never {
  throw new Error("a fixed price has an input rate");
}
