/**
 * Tokens of one call, normalised over providers.
 * `input_tokens` includes cached and written tokens; `output_tokens` includes reasoning;
 * `cache_write_tokens` includes the 1-hour part. Every count is a non-negative integer.
 */
export interface Usage {
  input_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  cache_write_1h_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
}

/** A usage of all zeros: what a call that reached nobody used. */
export function noUsage(): Usage {
  return {
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
  };
}

/** How well a cost is known: from reported usage, from an estimate, or not at all (no price). */
export type CostState = "known" | "estimated" | "unknown";
