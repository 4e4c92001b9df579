import { expect, test } from "vitest";
import { usageOf } from "./usage.ts";

/* Every package of AI SDK 5 counts as its vendor does; those of AI SDK 6 say which part is which. */

test.each([
  ["nothing", undefined, undefined, undefined],
  ["no counts", {}, undefined, undefined],
  [
    "OpenAI's: thoughts and what was cached are inside",
    { inputTokens: 10, cachedInputTokens: 4, outputTokens: 7, reasoningTokens: 5, totalTokens: 17 },
    undefined,
    { input_tokens: 10, cached_input_tokens: 4, output_tokens: 7, reasoning_tokens: 5 },
  ],
  [
    "Google's: thoughts are beside the output",
    { inputTokens: 10, outputTokens: 7, reasoningTokens: 5, totalTokens: 22 },
    undefined,
    { input_tokens: 10, output_tokens: 12, reasoning_tokens: 5 },
  ],
  [
    "Anthropic's: what was cached is beside the input, an hour's writes are told apart",
    { inputTokens: 10, cachedInputTokens: 4, outputTokens: 7 },
    { anthropic: { cacheCreationInputTokens: 6, usage: { cache_creation: { ephemeral_1h_input_tokens: 2 } } } },
    {
      ...{ input_tokens: 20, cached_input_tokens: 4, cache_write_tokens: 6, cache_write_1h_tokens: 2 },
      output_tokens: 7,
    },
  ],
  ["half of it", { inputTokens: null, outputTokens: 7 }, undefined, { output_tokens: 7 }],
  ["more thoughts than output", { outputTokens: 3, reasoningTokens: 5 }, {}, { output_tokens: 3, reasoning_tokens: 3 }],
  ["what is no count", { inputTokens: -1, outputTokens: "7" }, undefined, undefined],
  [
    "AI SDK 6",
    {
      inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
      outputTokens: { total: 7, text: 2, reasoning: 5 },
    },
    { anthropic: { cacheCreationInputTokens: 1 } },
    {
      ...{ input_tokens: 10, cached_input_tokens: 5, cache_write_tokens: 1, output_tokens: 7, reasoning_tokens: 5 },
    },
  ],
])("%s", (_, raw, metadata, usage) => {
  expect(usageOf(raw, metadata)).toEqual(usage);
});
