import type { Usage } from "../models/plan.ts";

/** The input side of `usage`: what was cached stands outside `input_tokens`. */
export function inputJson({ input, cached, cacheWrite }: Usage): string {
  const fresh = Math.max(0, input - cached - cacheWrite);
  return `"input_tokens":${fresh},"cache_creation_input_tokens":${cacheWrite},"cache_read_input_tokens":${cached}`;
}

/** The output side: thinking is inside `output_tokens`. */
export function outputJson({ output, reasoning }: Usage): string {
  const details = reasoning > 0 ? `,"output_tokens_details":{"thinking_tokens":${reasoning}}` : "";
  return `"output_tokens":${output}${details}`;
}

/** The whole `usage` object; `output` is its output side. */
export function usageJson(usage: Usage, output: string): string {
  const hour = Math.min(usage.cacheWrite, usage.cacheWriteHour ?? 0);
  const creation = `{"ephemeral_5m_input_tokens":${usage.cacheWrite - hour},"ephemeral_1h_input_tokens":${hour}}`;
  return `{${inputJson(usage)},"cache_creation":${creation},${output},"service_tier":"standard","inference_geo":"not_available"}`;
}
