import type { Usage } from "../models/plan.ts";

/** The `usage` object of chat completions. Prompt includes cached, completion includes reasoning. */
export function chatUsage(usage: Usage, quirks: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  const { input, cached, cacheWrite, output, reasoning } = usage;
  const completion = quirks.has("xai_usage") ? Math.max(0, output - reasoning) : output;
  return {
    prompt_tokens: input,
    completion_tokens: completion,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      audio_tokens: 0,
      ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    ...(quirks.has("deepseek_usage") && {
      prompt_cache_hit_tokens: cached,
      prompt_cache_miss_tokens: Math.max(0, input - cached),
    }),
    ...(quirks.has("moonshot_usage") && { cached_tokens: cached }),
  };
}

/** The same as JSON text, by the short way where no quirk is asked. */
export function usageJson(usage: Usage, quirks: ReadonlySet<string>): string {
  if (quirks.size > 0 || usage.cacheWrite > 0) return JSON.stringify(chatUsage(usage, quirks));
  const { input, cached, output, reasoning } = usage;
  return `{"prompt_tokens":${input},"completion_tokens":${output},"total_tokens":${input + output},"prompt_tokens_details":{"cached_tokens":${cached},"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":${reasoning},"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`;
}
