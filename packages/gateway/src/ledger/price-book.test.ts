import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { noUsage } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { costOf } from "../core/money.ts";
import { bookPrice } from "./price-book.ts";

const AT = Date.parse("2026-11-29T12:00:00Z");

describe("the price book", () => {
  it("knows a model of each vendor it is told of", () => {
    const price = bookPrice("openai", null, "gpt-4o-2024-11-20", AT)?.price;
    expect(price).toMatchObject({
      input: 2_500_000_000,
      cachedInput: 1_250_000_000,
      output: 10_000_000_000,
      source: "book",
    });
    expect(bookPrice("azure-openai", null, "gpt-4o", AT)?.entry?.provider).toBe("azure");
    expect(bookPrice("openai-compatible", "xai", "grok-4", AT)?.entry?.provider).toBe("x-ai");
    expect(bookPrice("openai-compatible", "moonshot", "kimi-k2-0905-preview", AT)?.entry?.provider).toBe("moonshotai");
    const writes = bookPrice("anthropic", null, "claude-sonnet-4-5", AT)?.price;
    expect(writes).toMatchObject({ input: 3e9, cacheWrite: 3.75e9, cacheWrite1h: 6e9 });
  });

  it("does not know what it was not told of: an unknown price is no price", () => {
    expect(bookPrice("openai", null, "gpt-that-never-was", AT)).toBeNull();
    expect(bookPrice("openai-compatible", null, "gpt-4o", AT)).toBeNull();
    expect(bookPrice("openai-compatible", "nvidia-nim", "meta/llama-3.1-8b-instruct", AT)).toBeNull();
    expect(bookPrice("openai", null, "whisper-1", AT), "charged by the hour").toBeNull();
    expect(bookPrice("openai-compatible", "openrouter", "deepseek/deepseek-r1:free", AT)).toBeNull();
  });

  it("takes own servers for free and the simulator for something", () => {
    for (const preset of ["vllm", "tgi", "llama-cpp", "ollama", "lm-studio"]) {
      expect(bookPrice("openai-compatible", preset, "llama3.2", AT)?.price).toMatchObject({ input: 0, output: 0 });
    }
    const simulator = bookPrice("simulator", null, "sim/echo", AT)?.price;
    expect(simulator).toMatchObject({ input: 1e9, cachedInput: 1e8, cacheWrite: 1e9, output: 2e9, tiers: [] });
  });

  it("gives each price the date from which it holds", () => {
    const before = bookPrice("openai", null, "o3", Date.parse("2025-06-09T23:59:59.999Z"));
    expect(before?.price.input).toBe(10e9);
    expect(before?.prices.map(({ fromMs, price }) => [fromMs, price.input])).toEqual([
      [0, 10e9],
      [Date.parse("2025-06-10"), 2e9],
    ]);
    expect(bookPrice("openai", null, "o3", Date.parse("2025-06-10"))?.price.input).toBe(2e9);
  });

  it("keeps the edge of a tier where the book has it", () => {
    const price = bookPrice("openai", null, "gpt-5.4", AT)?.price;
    expect(price?.tiers).toEqual([{ above: 271_999, rates: expect.objectContaining({ input: 5e9, output: 22.5e9 }) }]);
  });

  it("says what it leaves out, and takes the dearest hours of a day", () => {
    const night = bookPrice("openai-compatible", "deepseek", "deepseek-v4-flash", AT);
    expect(night?.price.output).toBe(1_320_000_000);
    expect(night?.notes).toEqual(["the book's price varies within a day; the dearest is used"]);
    expect(bookPrice("openai-compatible", "perplexity", "sonar", AT)?.notes.join()).toContain("requests_kcount");
  });

  it("agrees with the book's own arithmetic for every model it prices", () => {
    const usage = { ...noUsage(), input_tokens: 300_000, cached_input_tokens: 100_000, output_tokens: 50_000 };
    const theirs = { input_tokens: 300_000, cache_read_tokens: 100_000, output_tokens: 50_000 };
    const vendors = { openai: "openai", anthropic: "anthropic", gemini: "google", mistral: "mistral", bedrock: "aws" };
    let compared = 0;
    for (const [kind, provider] of Object.entries(vendors)) {
      for (const { id } of findProvider({ providerId: provider })?.models ?? []) {
        const ours = bookPrice(kind, null, id, AT);
        if (!ours) continue;
        const tokensOnly = { ...theirs, cache_write_tokens: 0 };
        const expected = calcPrice(tokensOnly, id, { providerId: provider, timestamp: new Date(AT) });
        const flat = (expected?.model_price["requests_kcount"] as number | undefined) ?? 0;
        expect(costOf(usage, ours.price), id).toBeCloseTo(((expected?.total_price ?? 0) - flat / 1_000) * 1e6, -0.5);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(150);
  });
});
