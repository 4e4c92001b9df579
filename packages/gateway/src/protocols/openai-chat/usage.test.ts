import { noUsage, type Usage } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeUsage, type Quirks } from "../protocol.ts";
import { readUsage } from "./usage.ts";

const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };
const XAI: Quirks = { ...PLAIN, reasoningInOutput: false };

describe("usage as each provider reports it", () => {
  it.each<[string, Record<string, unknown>, Partial<Usage>, Quirks?]>([
    [
      "OpenAI: cached and written inside prompt, reasoning inside completion",
      {
        prompt_tokens: 2_006,
        completion_tokens: 300,
        total_tokens: 2_306,
        prompt_tokens_details: { cached_tokens: 1_920, cache_write_tokens: 64, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 256,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
      {
        input_tokens: 2_006,
        cached_input_tokens: 1_920,
        cache_write_tokens: 64,
        output_tokens: 300,
        reasoning_tokens: 256,
      },
    ],
    [
      "Azure-hosted DeepSeek: reasoning at the top",
      { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14, reasoning_tokens: 7 },
      { input_tokens: 5, output_tokens: 9, reasoning_tokens: 7 },
    ],
    [
      "Gemini's compatible endpoint: thoughts only in the total",
      { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 },
      { input_tokens: 35, output_tokens: 74 },
    ],
    [
      "Mistral: its own name for cached",
      { prompt_tokens: 40, completion_tokens: 8, total_tokens: 48, num_cached_tokens: 32, prompt_audio_seconds: null },
      { input_tokens: 40, cached_input_tokens: 32, output_tokens: 8 },
    ],
    [
      "Mistral: in the details",
      { prompt_tokens: 40, completion_tokens: 8, total_tokens: 48, prompt_tokens_details: { cached_tokens: 16 } },
      { input_tokens: 40, cached_input_tokens: 16, output_tokens: 8 },
    ],
    [
      "DeepSeek: hit and miss",
      {
        prompt_tokens: 339,
        completion_tokens: 2,
        total_tokens: 341,
        prompt_tokens_details: { cached_tokens: 320 },
        prompt_cache_hit_tokens: 320,
        prompt_cache_miss_tokens: 19,
      },
      { input_tokens: 339, cached_input_tokens: 320, output_tokens: 2 },
    ],
    [
      "DeepSeek: hit alone",
      {
        prompt_tokens: 339,
        completion_tokens: 2,
        total_tokens: 341,
        prompt_cache_hit_tokens: 320,
        prompt_cache_miss_tokens: 19,
      },
      { input_tokens: 339, cached_input_tokens: 320, output_tokens: 2 },
    ],
    [
      "xAI: reasoning outside completion, in the total",
      {
        prompt_tokens: 12,
        completion_tokens: 1,
        total_tokens: 303,
        prompt_tokens_details: { cached_tokens: 11 },
        completion_tokens_details: { reasoning_tokens: 290 },
        num_sources_used: 0,
        cost_in_usd_ticks: 1_466_250,
      },
      { input_tokens: 12, cached_input_tokens: 11, output_tokens: 291, reasoning_tokens: 290 },
      XAI,
    ],
    [
      "xAI without a total",
      { prompt_tokens: 12, completion_tokens: 1, completion_tokens_details: { reasoning_tokens: 290 } },
      { input_tokens: 12, output_tokens: 291, reasoning_tokens: 290 },
      XAI,
    ],
    [
      "Azure-hosted Grok: cached above prompt is clamped",
      {
        prompt_tokens: 325,
        completion_tokens: 4,
        total_tokens: 329,
        prompt_tokens_details: { cached_tokens: 492 },
        audio_prompt_tokens: 0,
      },
      { input_tokens: 325, cached_input_tokens: 325, output_tokens: 4 },
    ],
    [
      "OpenRouter: reasoning above completion was written too",
      {
        prompt_tokens: 43,
        completion_tokens: 10,
        total_tokens: 53,
        cost: 0,
        is_byok: false,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 11 },
      },
      { input_tokens: 43, cached_input_tokens: 0, cache_write_tokens: 3, output_tokens: 11, reasoning_tokens: 11 },
    ],
    [
      "Vercel: the same, with cache writes at the top",
      {
        prompt_tokens: 61,
        completion_tokens: 10,
        total_tokens: 71,
        completion_tokens_details: { reasoning_tokens: 96 },
        cache_creation_input_tokens: 7,
        market_cost: 0.1,
      },
      { input_tokens: 61, cache_write_tokens: 7, output_tokens: 96, reasoning_tokens: 96 },
    ],
    [
      "Groq: times beside",
      {
        queue_time: 0.04,
        prompt_tokens: 210,
        prompt_time: 0.01,
        completion_tokens: 15,
        completion_time: 0.05,
        total_tokens: 225,
        total_time: 0.06,
      },
      { input_tokens: 210, output_tokens: 15 },
    ],
    [
      "Moonshot, Together: cached at the top",
      { prompt_tokens: 30, completion_tokens: 5, total_tokens: 35, cached_tokens: 20 },
      { input_tokens: 30, cached_input_tokens: 20, output_tokens: 5 },
    ],
    [
      "Databricks",
      {
        prompt_tokens: 30,
        completion_tokens: 5,
        total_tokens: 35,
        cache_read_input_tokens: 12,
        cache_creation_input_tokens: 6,
      },
      { input_tokens: 30, cached_input_tokens: 12, cache_write_tokens: 6, output_tokens: 5 },
    ],
    [
      "Perplexity",
      {
        prompt_tokens: 7,
        completion_tokens: 3,
        total_tokens: 10,
        search_context_size: "low",
        cost: { total_cost: 0.005 },
      },
      { input_tokens: 7, output_tokens: 3 },
    ],
    [
      "llama.cpp, gpustack: speeds beside",
      { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12, tokens_per_second: 41.5, draft_tokens: 0 },
      { input_tokens: 9, output_tokens: 3 },
    ],
    [
      "a zero in one place and the count in another",
      {
        prompt_tokens: 90,
        completion_tokens: 3,
        total_tokens: 93,
        prompt_tokens_details: { cached_tokens: 0 },
        cached_tokens: 64,
      },
      { input_tokens: 90, cached_input_tokens: 64, output_tokens: 3 },
    ],
    [
      "the count in one place and a zero in another",
      {
        prompt_tokens: 90,
        completion_tokens: 3,
        total_tokens: 93,
        prompt_tokens_details: { cached_tokens: 64 },
        cached_tokens: 0,
      },
      { input_tokens: 90, cached_input_tokens: 64, output_tokens: 3 },
    ],
    [
      "details that are null",
      {
        prompt_tokens: 9,
        completion_tokens: 3,
        total_tokens: 12,
        prompt_tokens_details: null,
        completion_tokens_details: null,
      },
      { input_tokens: 9, output_tokens: 3 },
    ],
    [
      "nothing used",
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      { input_tokens: 0, output_tokens: 0 },
    ],
    ["input alone: the rest is not known", { prompt_tokens: 9, total_tokens: 12 }, { input_tokens: 9 }],
    ["output alone: the total is not all output", { completion_tokens: 3, total_tokens: 12 }, { output_tokens: 3 }],
    [
      "fractions are rounded",
      { prompt_tokens: 9.4, completion_tokens: 2.6, total_tokens: 12 },
      { input_tokens: 9, output_tokens: 3 },
    ],
  ])("%s", (_name, raw, expected, quirks = PLAIN) => {
    expect(readUsage(raw, quirks)).toEqual(expected);
  });

  it.each([
    [null],
    [undefined],
    [{}],
    ["none"],
    [[]],
    [{ prompt_tokens: "9", completion_tokens: null }],
    [{ prompt_tokens: -1, completion_tokens: Number.NaN }],
    [{ total_tokens: 9 }],
    // No call has that many: a fault of theirs is not to become one of the ledger's.
    [{ prompt_tokens: 1e300, completion_tokens: Number.POSITIVE_INFINITY }],
  ])("%j is no usage", (raw) => {
    expect(readUsage(raw, PLAIN)).toBeNull();
  });

  it("is made of whole numbers that contain each other, whatever is sent", () => {
    const count = fc.option(fc.oneof(fc.nat(5_000), fc.double(), fc.constantFrom("7", null, -3)), { nil: undefined });
    const details = fc.record({ cached_tokens: count, cache_write_tokens: count, reasoning_tokens: count });
    const raw = fc.record({
      prompt_tokens: count,
      completion_tokens: count,
      total_tokens: count,
      cached_tokens: count,
      prompt_cache_hit_tokens: count,
      cache_creation_input_tokens: count,
      reasoning_tokens: count,
      prompt_tokens_details: details,
      completion_tokens_details: details,
    });
    fc.assert(
      fc.property(raw, fc.boolean(), (given, reasoningInOutput) => {
        const read = readUsage(given, { ...PLAIN, reasoningInOutput });
        if (!read) return;
        for (const value of Object.values(read)) expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
        if (read.input_tokens !== undefined) {
          expect((read.cached_input_tokens ?? 0) + (read.cache_write_tokens ?? 0)).toBeLessThanOrEqual(
            read.input_tokens,
          );
        }
        if (read.output_tokens !== undefined && given.total_tokens === undefined) {
          expect(read.reasoning_tokens ?? 0).toBeLessThanOrEqual(read.output_tokens);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a later report", () => {
  it("replaces an earlier one field by field, and what it leaves out stays", () => {
    const usage = noUsage();
    mergeUsage(usage, { input_tokens: 43, output_tokens: 1, cached_input_tokens: 20 });
    mergeUsage(usage, { input_tokens: 61, output_tokens: 9 });
    mergeUsage(usage, {});
    mergeUsage(usage, { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0 });
    expect(usage).toEqual({ ...noUsage(), input_tokens: 61, output_tokens: 9, cached_input_tokens: 20 });
  });
});
