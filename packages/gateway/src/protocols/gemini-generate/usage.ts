import type { Usage } from "@sluicegate/contract";
import { isObject } from "../field-checks.ts";
import { tokenCount } from "../protocol.ts";
import { pick } from "./fields.ts";

/**
 * `usageMetadata` in canonical counts (WIRE C2): input = prompt (cached inside) + tool-use prompt, output = candidates +
 * thoughts. Counts of zero are left out on the wire, so that whatever stands beside a count that is there is zero. A total
 * above input + output means that the rest was output too (ruling 11). Null where nothing is counted (Vertex's first
 * events hold only `trafficType`).
 */
export function readUsage(raw: unknown): Partial<Usage> | null {
  if (!isObject(raw)) return null;
  const count = (name: string): number | undefined => tokenCount(pick(raw, name));
  const prompt = count("promptTokenCount");
  const candidates = count("candidatesTokenCount") ?? count("responseTokenCount");
  const total = count("totalTokenCount");
  if (prompt === undefined && candidates === undefined && total === undefined) return null;
  const usage: Partial<Usage> = {};
  const input = (prompt ?? 0) + (count("toolUsePromptTokenCount") ?? 0);
  const cached = count("cachedContentTokenCount");
  const thoughts = count("thoughtsTokenCount") ?? 0;
  const output = (candidates ?? 0) + thoughts;
  if (prompt !== undefined) {
    usage.input_tokens = input;
    usage.cached_input_tokens = Math.min(cached ?? 0, input);
    usage.output_tokens = Math.max(output, (total ?? 0) - input);
  } else {
    usage.output_tokens = output;
  }
  usage.reasoning_tokens = thoughts;
  return usage;
}

/** Canonical counts as `usageMetadata`: thoughts stand outside candidates, cached inside prompt, and the total holds all. */
export function writeUsage(usage: Usage): Record<string, number> {
  const thoughts = Math.min(usage.reasoning_tokens, usage.output_tokens);
  return {
    promptTokenCount: usage.input_tokens,
    candidatesTokenCount: usage.output_tokens - thoughts,
    totalTokenCount: usage.input_tokens + usage.output_tokens,
    ...(usage.cached_input_tokens > 0 && { cachedContentTokenCount: usage.cached_input_tokens }),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
  };
}
