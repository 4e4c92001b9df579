import type { Usage } from "@sluicegate/contract";
import { isObject } from "../field-checks.ts";
import { tokenCount } from "../protocol.ts";

/**
 * Usage of a Responses answer (WIRE C2), normalised: cached and written tokens are inside input, reasoning is inside output.
 * Only the counts that were reported are set. Null for anything that is no usage.
 *
 * Perplexity has Anthropic's names for its cache counts. A total above input + output means that the rest was output too.
 */
export function readUsage(raw: unknown): Partial<Usage> | null {
  if (!isObject(raw)) return null;
  const input = tokenCount(raw["input_tokens"]);
  const output = tokenCount(raw["output_tokens"]);
  if (input === undefined && output === undefined) return null;
  const inputDetails = isObject(raw["input_tokens_details"]) ? raw["input_tokens_details"] : {};
  const outputDetails = isObject(raw["output_tokens_details"]) ? raw["output_tokens_details"] : {};
  const usage: Partial<Usage> = {};
  if (input !== undefined) usage.input_tokens = input;
  const room = input ?? Number.POSITIVE_INFINITY;
  const cached = tokenCount(inputDetails["cached_tokens"] ?? inputDetails["cache_read_input_tokens"]);
  if (cached !== undefined) usage.cached_input_tokens = Math.min(cached, room);
  const written = tokenCount(inputDetails["cache_write_tokens"] ?? inputDetails["cache_creation_input_tokens"]);
  if (written !== undefined) usage.cache_write_tokens = Math.min(written, room - (usage.cached_input_tokens ?? 0));
  const reasoning = tokenCount(outputDetails["reasoning_tokens"]);
  if (reasoning !== undefined) usage.reasoning_tokens = reasoning;
  if (output !== undefined) {
    const total = tokenCount(raw["total_tokens"]) ?? 0;
    usage.output_tokens = Math.max(output, reasoning ?? 0, total - (input ?? total));
  }
  return usage;
}

/** Usage as a Responses client reads it. */
export function writeUsage(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.input_tokens,
    input_tokens_details: {
      cached_tokens: usage.cached_input_tokens,
      ...(usage.cache_write_tokens > 0 && { cache_write_tokens: usage.cache_write_tokens }),
    },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: usage.input_tokens + usage.output_tokens,
  };
}
