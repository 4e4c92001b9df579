import type { Usage } from "@sluicegate/contract";
import { type Fields, isObject } from "../field-checks.ts";
import { type Quirks, tokenCount } from "../protocol.ts";

function firstCount(...values: unknown[]): number | undefined {
  for (const value of values) {
    const found = tokenCount(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Usage as the OpenAI family reports it, normalised: input with cached and written tokens inside, output with reasoning inside.
 * Only the counts that were reported are set. Null for anything that is no usage (absent, null, an empty object).
 *
 * Oddities held here (recorded traffic): cached larger than prompt is clamped (Azure-hosted Grok); cached at the top level
 * (Moonshot, Together), as `prompt_cache_hit_tokens` (DeepSeek), as `num_cached_tokens` (Mistral), as `cache_read_input_tokens`
 * (Databricks); a total above input + output means the rest was output too (thoughts of Gemini's compatible endpoint, xAI's reasoning).
 */
export function readUsage(raw: unknown, quirks: Quirks): Partial<Usage> | null {
  if (!isObject(raw)) return null;
  const input = tokenCount(raw["prompt_tokens"]);
  const completion = tokenCount(raw["completion_tokens"]);
  if (input === undefined && completion === undefined) return null;
  const inputDetails = isObject(raw["prompt_tokens_details"]) ? raw["prompt_tokens_details"] : {};
  const outputDetails = isObject(raw["completion_tokens_details"]) ? raw["completion_tokens_details"] : {};
  const usage: Partial<Usage> = {};
  if (input !== undefined) usage.input_tokens = input;
  const cached = firstCount(
    inputDetails["cached_tokens"],
    raw["prompt_cache_hit_tokens"],
    raw["num_cached_tokens"],
    raw["cached_tokens"],
    raw["cache_read_input_tokens"],
  );
  if (cached !== undefined) usage.cached_input_tokens = input === undefined ? cached : Math.min(cached, input);
  const written = firstCount(inputDetails["cache_write_tokens"], raw["cache_creation_input_tokens"]);
  if (written !== undefined) {
    usage.cache_write_tokens =
      input === undefined ? written : Math.min(written, input - (usage.cached_input_tokens ?? 0));
  }
  const reasoning = firstCount(outputDetails["reasoning_tokens"], raw["reasoning_tokens"]);
  if (reasoning !== undefined) usage.reasoning_tokens = reasoning;
  if (completion !== undefined) usage.output_tokens = outputOf(raw, input ?? 0, completion, reasoning ?? 0, quirks);
  return usage;
}

function outputOf(raw: Fields, input: number | undefined, completion: number, reasoning: number, quirks: Quirks): number {
  const total = tokenCount(raw["total_tokens"]);
  if (total !== undefined && input !== undefined && total > input + completion) return total - input;
  if (!quirks.reasoningInOutput) return completion + reasoning;
  // Reasoning above the completion cannot be inside it (seen at two resellers); what was thought was also written.
  return Math.max(completion, reasoning);
}
