import { noUsage, type Usage } from "@sluicegate/contract";
import { asObject } from "./json-value.ts";

/** OpenAI usage in the contract's terms, or null when there is none: unknown is not zero. */
export function readUsage(value: unknown): Usage | null {
  const usage = asObject(value);
  if (usage === undefined) return null;
  const input = asObject(usage["prompt_tokens_details"]);
  const output = asObject(usage["completion_tokens_details"]);
  return {
    ...noUsage(),
    input_tokens: count(usage["prompt_tokens"]),
    cached_input_tokens: count(input?.["cached_tokens"]),
    cache_write_tokens: count(input?.["cache_write_tokens"]),
    cache_write_1h_tokens: count(input?.["cache_write_1h_tokens"]),
    output_tokens: count(usage["completion_tokens"]),
    reasoning_tokens: count(output?.["reasoning_tokens"]),
  };
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
