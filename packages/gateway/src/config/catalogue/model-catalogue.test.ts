import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { trafficDir } from "../../../test/support/replay-server.ts";
import { entryPrice } from "../../ledger/price-book.ts";
import { AZURE_STARTER, BEDROCK_STARTER, STARTER_PROVIDERS } from "../starter-models.ts";
import { modelCatalogue, SHIPPED } from "./model-catalogue.ts";
import { catalogueSchema } from "./schema.ts";

const catalogue = modelCatalogue(SHIPPED);
const OPENAI = { kind: "openai", preset: null } as const;
const via = (preset: string) => ({ kind: "openai-compatible", preset }) as const;

describe("the shipped catalogue", () => {
  test("is one that `models update` would take", () => {
    expect(catalogueSchema.safeParse(SHIPPED).error?.issues ?? []).toEqual([]);
  });

  test("names no model twice", () => {
    const names = SHIPPED.models.flatMap((model) => model.names);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  test("has a window for what writes, and none smaller than an answer", () => {
    const writing = catalogue.list().filter(({ capabilities }) => capabilities?.includes("tools"));
    expect(writing.length).toBeGreaterThan(80);
    const windowless = writing.filter(({ contextWindow }) => contextWindow === null).map(({ id }) => id);
    expect(windowless).toEqual(["qwen-vl*", "qwen2.5-vl*", "qwen3-vl*"]);
    for (const { id, contextWindow, maxOutputTokens } of writing)
      expect(maxOutputTokens ?? 0, id).toBeLessThanOrEqual(contextWindow ?? Number.POSITIVE_INFINITY);
  });

  test("uses every source it names", () => {
    const used = new Set([
      ...SHIPPED.models.flatMap(({ sources }) => sources),
      ...SHIPPED.retirements.map(({ source }) => source),
    ]);
    expect(Object.keys(SHIPPED.sources).filter((source) => !used.has(source))).toEqual([]);
  });

  test("links to entries that the price book has", () => {
    const links = [...new Set(SHIPPED.models.flatMap(({ book }) => book ?? []))];
    expect(links.filter((link) => entryPrice(link, Date.parse("2026-11-30")) === null)).toEqual([]);
  });
});

describe("names", () => {
  test.each([
    [OPENAI, "gpt-4o", 128_000],
    [OPENAI, "gpt-4o-2024-11-20", 128_000],
    [{ kind: "azure-openai", preset: null } as const, "gpt-35-turbo-0125", 16_385],
    [via("openrouter"), "openai/gpt-4o-2024-11-20", 128_000],
    [via("openrouter"), "anthropic/claude-opus-4.5", 200_000],
    [via("openrouter"), "deepseek/deepseek-chat:free", 1_000_000],
    [{ kind: "anthropic", preset: null } as const, "claude-haiku-4-5-20251001", 200_000],
    [{ kind: "bedrock", preset: null } as const, "anthropic.claude-haiku-4-5-20251001-v1:0", 200_000],
    [{ kind: "bedrock", preset: null } as const, "us.anthropic.claude-opus-4-6-v1", 1_000_000],
    [{ kind: "bedrock", preset: null } as const, "global.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000],
    [{ kind: "bedrock", preset: null } as const, "us.meta.llama3-3-70b-instruct-v1:0", 131_072],
    [{ kind: "bedrock", preset: null } as const, "openai.gpt-oss-120b-1:0", 131_072],
    [
      { kind: "bedrock", preset: null } as const,
      "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
      200_000,
    ],
    [{ kind: "vertex", preset: null } as const, "claude-haiku-4-5@20251001", 200_000],
    [{ kind: "vertex", preset: null } as const, "publishers/google/models/gemini-2.5-flash", 1_048_576],
    [{ kind: "gemini", preset: null } as const, "models/gemini-2.0-flash-001", 1_048_576],
    [via("fireworks"), "accounts/fireworks/models/llama-v3p1-8b-instruct", 131_072],
    [via("together"), "meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", 131_072],
    [via("huggingface"), "meta-llama/Llama-3.3-70B-Instruct:groq", 131_072],
    [via("cerebras"), "llama3.1-8b", 131_072],
    [via("groq"), "openai/gpt-oss-20b", 131_072],
  ])("%j %s", (provider, model, window) => {
    expect(catalogue.find(provider, model)?.contextWindow).toBe(window);
  });

  test.each([
    [OPENAI, "gpt-9"],
    [OPENAI, "gpt-4o-search-preview"],
    [OPENAI, "ft:gpt-4o-2024-08-06:acme::abc"],
    [{ kind: "gemini", preset: null } as const, "gemini-2.5-flash-preview-tts"],
    [{ kind: "bedrock", preset: null } as const, "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc123"],
    // A server of one's own may call anything by any name.
    [via("ollama"), "gpt-oss-20b"],
    [{ kind: "openai-compatible", preset: null } as const, "gpt-4o"],
    [{ kind: "simulator", preset: null } as const, "gpt-4o"],
  ])("%j %s is unknown", (provider, model) => {
    expect(catalogue.find(provider, model)).toBeNull();
  });

  test("a snapshot of its own goes before the family", () => {
    expect(catalogue.find(OPENAI, "gpt-4o-2024-05-13")?.maxOutputTokens).toBe(4_096);
    expect(catalogue.find(OPENAI, "gpt-4o-2024-08-06")?.maxOutputTokens).toBe(16_384);
  });

  test("an end is that of the platform whose word it is, and of the names it gives", () => {
    const end = (kind: "openai" | "azure-openai" | "anthropic" | "bedrock" | "gemini" | "vertex", model: string) =>
      catalogue.find({ kind, preset: null }, model)?.retires?.atMs;
    expect(end("openai", "gpt-5-2025-08-07")).toBe(Date.parse("2026-12-11"));
    expect(end("azure-openai", "gpt-5-2025-08-07")).toBeUndefined();
    expect(end("openai", "gpt-4o")).toBeUndefined();
    expect(end("anthropic", "claude-sonnet-4-5-20250929")).toBe(Date.parse("2026-11-30"));
    expect(end("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0")).toBeUndefined();
    expect(end("gemini", "gemini-2.5-pro")).toBe(Date.parse("2026-12-01"));
    expect(end("vertex", "gemini-2.5-pro")).toBe(Date.parse("2026-10-20"));
  });
});

describe("a catalogue over another", () => {
  const over = modelCatalogue(SHIPPED, {
    updated: "2027-01-02",
    sources: { us: { url: "https://models.example", read: "2027-01-02" } },
    models: [{ names: ["gpt-4o", "house-*"], context_window: 1_000, capabilities: ["tools"], sources: ["us"] }],
    retirements: [{ on: "openai", names: ["gpt-5"], date: "2027-06-01", source: "us" }],
  });

  test("takes its place name by name", () => {
    expect(over.updated).toBe("2027-01-02");
    expect(over.find(OPENAI, "gpt-4o-2024-11-20")).toMatchObject({ contextWindow: 1_000, capabilities: ["tools"] });
    expect(over.find(OPENAI, "house-blend-2")?.sources).toEqual([
      { url: "https://models.example", read: "2027-01-02" },
    ]);
    expect(over.find(OPENAI, "gpt-4o-mini-2024-07-18")?.contextWindow).toBe(128_000);
    expect(over.find(OPENAI, "gpt-5")?.retires?.atMs).toBe(Date.parse("2027-06-01"));
  });
});

describe("the models of zero config", () => {
  const starters = [
    ...STARTER_PROVIDERS.map(({ kind, preset = null, models }) => ({ kind, preset, models })),
    { kind: "azure-openai" as const, preset: null, models: AZURE_STARTER.models },
    { kind: "bedrock" as const, preset: null, models: BEDROCK_STARTER.models },
  ].flatMap(({ kind, preset, models }) => [models.default, models.fast].map((model) => ({ kind, preset, model })));

  test.each(starters)(
    "$kind $preset $model is in the catalogue, chats, and is there for a month at least",
    (starter) => {
      const found = catalogue.find(starter, starter.model);
      expect(found?.capabilities).toContain("tools");
      expect(found?.retires?.atMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(
        Date.parse(SHIPPED.updated) + 30 * 86_400_000,
      );
    },
  );
});

/** What a recorded request asks for, told from its words alone. */
function asked(body: Record<string, unknown>, text: string): string[] {
  const { tools, toolConfig, n, logprobs, top_logprobs: top } = body;
  const has = (pattern: RegExp, need: string): string[] => (pattern.test(text) ? [need] : []);
  return [
    ...((Array.isArray(tools) && tools.length > 0) || toolConfig ? ["tools"] : []),
    ...has(/"image_url"|"input_image"|"type":"image"|"image\/(png|jpeg)"/, "vision"),
    ...has(/"json_schema"|"responseSchema"|"responseJsonSchema"/, "json_schema"),
    ...has(/"application\/pdf"|"document_url"/, "documents"),
    ...has(/"input_audio"/, "audio"),
    ...(typeof n === "number" && n > 1 ? ["n"] : []),
    ...(logprobs || top ? ["logprobs"] : []),
  ];
}

describe.skipIf(trafficDir() === null)("what providers have really answered (needs shared/traffic)", () => {
  const KINDS: Record<string, Parameters<typeof catalogue.find>[0]> = {
    openai: OPENAI,
    azure: { kind: "azure-openai", preset: null },
    anthropic: { kind: "anthropic", preset: null },
    "vertex-anthropic": { kind: "vertex", preset: null },
    bedrock: { kind: "bedrock", preset: null },
    gemini: { kind: "gemini", preset: null },
    vertex: { kind: "vertex", preset: null },
    mistral: { kind: "mistral", preset: null },
    cohere: { kind: "cohere", preset: null },
    ...Object.fromEntries(
      ["deepseek", "groq", "xai", "openrouter", "together", "cerebras", "huggingface"].map((name) => [name, via(name)]),
    ),
  };

  test("is within what the catalogue says they can", () => {
    const dir = trafficDir() ?? "";
    expect(existsSync(dir)).toBe(true);
    let checked = 0;
    const beyond = new Set<string>();
    for (const file of readdirSync(dir).filter((name) =>
      /-(chat|responses|messages|generate|converse)\.jsonl$/.test(name),
    )) {
      for (const line of readFileSync(join(dir, file), "utf8").split("\n")) {
        if (line === "") continue;
        const { provider, model, request, response } = JSON.parse(line);
        const kind = KINDS[provider];
        if (!kind || !model || response.status !== 200 || typeof request.body !== "object" || !request.body) continue;
        const { capabilities } = catalogue.find(kind, model) ?? {};
        if (!capabilities) continue;
        checked++;
        for (const need of asked(request.body, JSON.stringify(request.body)))
          if (!(capabilities as readonly string[]).includes(need)) beyond.add(`${provider} ${model}: ${need}`);
      }
    }
    expect([...beyond]).toEqual([]);
    expect(checked).toBeGreaterThan(400);
  });
});
