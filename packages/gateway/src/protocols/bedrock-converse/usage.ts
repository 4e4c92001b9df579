import type { Usage } from "@sluicegate/contract";
import { isObject } from "../field-checks.ts";
import { tokenCount } from "../protocol.ts";

/**
 * What a `usage` object says, normalised; undefined for what is none. Bedrock counts what was read from a cache and written to
 * one beside the input, and tells by `cacheDetails` how long the written part is kept (WIRE C2).
 */
export function usageOf(raw: unknown): Partial<Usage> | undefined {
  if (!isObject(raw)) return undefined;
  const input = tokenCount(raw["inputTokens"]);
  const output = tokenCount(raw["outputTokens"]);
  const read = tokenCount(raw["cacheReadInputTokens"] ?? raw["cacheReadInputTokenCount"]);
  const written = tokenCount(raw["cacheWriteInputTokens"] ?? raw["cacheWriteInputTokenCount"]);
  const usage: Partial<Usage> = {};
  if (input !== undefined || read !== undefined || written !== undefined) {
    usage.input_tokens = (input ?? 0) + (read ?? 0) + (written ?? 0);
  }
  if (read !== undefined) usage.cached_input_tokens = read;
  if (written !== undefined) usage.cache_write_tokens = written;
  if (written !== undefined) usage.cache_write_1h_tokens = Math.min(writtenFor("1h", raw["cacheDetails"]), written);
  if (output !== undefined) usage.output_tokens = output;
  return usage;
}

function writtenFor(ttl: string, details: unknown): number {
  if (!Array.isArray(details)) return 0;
  return details
    .filter((entry) => isObject(entry) && entry["ttl"] === ttl)
    .reduce<number>((sum, entry: { inputTokens?: unknown }) => sum + (tokenCount(entry.inputTokens) ?? 0), 0);
}
