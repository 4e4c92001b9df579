import type { Usage } from "@sluicegate/contract";
import { type Fields, isObject } from "../field-checks.ts";
import { tokenCount } from "../protocol.ts";

/**
 * What a `usage` object says, normalised; undefined for what is none. Billed units are what counts (ruling 11): they leave out
 * Cohere's own preamble, which is most of `tokens` and all of what `cached_tokens` speaks of. Where nothing is said to be
 * billed, the tokens stand for it.
 */
export function usageOf(raw: unknown): Partial<Usage> | undefined {
  if (!isObject(raw)) return undefined;
  const billed = isObject(raw["billed_units"]) ? raw["billed_units"] : {};
  const tokens = isObject(raw["tokens"]) ? raw["tokens"] : {};
  const isBilled =
    tokenCount(billed["input_tokens"]) !== undefined || tokenCount(billed["output_tokens"]) !== undefined;
  return countsOf(isBilled ? billed : tokens, tokens, isBilled ? undefined : tokenCount(raw["cached_tokens"]));
}

function countsOf(counted: Fields, tokens: Fields, cached: number | undefined): Partial<Usage> | undefined {
  const input = tokenCount(counted["input_tokens"]);
  const output = tokenCount(counted["output_tokens"]);
  if (input === undefined && output === undefined) return undefined;
  const reasoning = tokenCount(tokens["reasoning_tokens"]);
  const usage: Partial<Usage> = {};
  if (input !== undefined) usage.input_tokens = input;
  if (cached !== undefined) usage.cached_input_tokens = Math.min(cached, input ?? cached);
  if (output !== undefined) usage.output_tokens = output;
  if (reasoning !== undefined) usage.reasoning_tokens = Math.min(reasoning, output ?? reasoning);
  return usage;
}
