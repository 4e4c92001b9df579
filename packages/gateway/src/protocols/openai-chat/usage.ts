import type { Usage } from "@sluicegate/contract";
import { type Fields, isObject } from "../field-checks.ts";
import { type Quirks, tokenCount } from "../protocol.ts";

/** The largest of the counts that are there: some send a zero in one place and the count in another. */
function anyCount(...values: unknown[]): number | undefined {
  let largest: number | undefined;
  for (const value of values) {
    const found = value === undefined ? undefined : tokenCount(value);
    if (found !== undefined && (largest === undefined || found > largest)) largest = found;
  }
  return largest;
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
  const cached = anyCount(
    inputDetails["cached_tokens"],
    raw["prompt_cache_hit_tokens"],
    raw["num_cached_tokens"],
    raw["cached_tokens"],
    raw["cache_read_input_tokens"],
  );
  if (cached !== undefined) usage.cached_input_tokens = input === undefined ? cached : Math.min(cached, input);
  const written = anyCount(inputDetails["cache_write_tokens"], raw["cache_creation_input_tokens"]);
  if (written !== undefined) {
    usage.cache_write_tokens =
      input === undefined ? written : Math.min(written, input - (usage.cached_input_tokens ?? 0));
  }
  const reasoning = anyCount(outputDetails["reasoning_tokens"], raw["reasoning_tokens"]);
  if (reasoning !== undefined) usage.reasoning_tokens = reasoning;
  if (completion !== undefined) usage.output_tokens = outputOf(raw, input, completion, reasoning ?? 0, quirks);
  return usage;
}

function outputOf(
  raw: Fields,
  input: number | undefined,
  completion: number,
  reasoning: number,
  quirks: Quirks,
): number {
  const total = tokenCount(raw["total_tokens"]);
  if (total !== undefined && input !== undefined && total > input + completion) return total - input;
  // More reasoning than completion cannot be inside it: Vercel's gateway bills Gemini's thoughts on top, and its total leaves them out.
  const inside = quirks.reasoningInOutput ?? reasoning <= completion;
  // Inside and yet more by one or two: counted with another tokenizer (OpenRouter).
  return inside ? Math.max(completion, reasoning) : completion + reasoning;
}

/** Usage in this dialect's words: cached and written tokens inside the prompt's, reasoning inside the completion's. */
export function renderUsage(usage: Usage): Fields {
  const { input_tokens: input, output_tokens: output, cache_write_tokens: written } = usage;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: usage.cached_input_tokens,
      audio_tokens: 0,
      ...(written > 0 && { cache_write_tokens: written }),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning_tokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
