import { describe, expect, test } from "vitest";
import type { Clock } from "../core/clock.ts";
import { type LoadedConfig, type LoadOptions, loadConfig } from "./load.ts";
import { folderWith, lines, optionsFor } from "./test/load-text.ts";

async function load(variables: Record<string, string>, rest: Partial<LoadOptions> = {}): Promise<LoadedConfig> {
  const folder = folderWith({});
  try {
    return await loadConfig({ ...optionsFor(folder.dir, variables), ...rest });
  } finally {
    folder.remove();
  }
}

const chains = ({ snapshot }: LoadedConfig): Record<string, string[]> =>
  Object.fromEntries([...(snapshot?.routes.values() ?? [])].map(({ alias, chain }) => [alias, chain]));

describe("without a config", () => {
  test("and with nothing at all, the simulator answers", async () => {
    const loaded = await load({});
    expect(loaded.problems).toEqual([]);
    expect(loaded.source).toMatchObject({ file: null, overlay: null, watched: [], texts: null });
    expect(chains(loaded)).toEqual({ default: ["sim/echo"], fast: ["sim/echo"] });
    expect(loaded.snapshot?.tenants.get("default")?.models).toEqual({ allow: ["*", "sim/*"], deny: [] });
    expect(loaded.snapshot?.gateway).toMatchObject({ listen: { host: "127.0.0.1", port: 8080 }, portFixed: false });
  });

  test("keys in the environment make providers, aliases and patterns", async () => {
    const loaded = await load({ OPENAI_API_KEY: "sk-1", GROQ_API_KEY: "gsk-1", XAI_API_KEY: "" });
    expect(loaded.problems).toEqual([]);
    expect(chains(loaded)).toEqual({
      default: ["openai/gpt-4o-2024-11-20", "groq/openai/gpt-oss-120b"],
      fast: ["openai/gpt-4o-mini-2024-07-18", "groq/openai/gpt-oss-20b"],
    });
    expect(loaded.snapshot?.deployments.get("groq/openai/gpt-oss-120b")).toMatchObject({
      provider: "groq",
      model: "openai/gpt-oss-120b",
    });
    const groq = loaded.snapshot?.providers.get("groq");
    expect(groq).toMatchObject({
      kind: "openai-compatible",
      preset: "groq",
      baseUrl: "https://api.groq.com/openai/v1",
    });
    expect(groq?.apiKey?.reveal()).toBe("gsk-1");
    expect(loaded.snapshot?.tenants.get("default")?.models?.allow).toEqual(["*", "openai/*", "groq/*"]);
  });

  test("every key of INTERFACE is taken up or told of", async () => {
    const made = [
      "OPENAI",
      "ANTHROPIC",
      "GEMINI",
      "MISTRAL",
      "COHERE",
      "GROQ",
      "DEEPSEEK",
      "XAI",
      "OPENROUTER",
      "TOGETHER",
      "FIREWORKS",
      "CEREBRAS",
    ];
    const skipped = ["REDIS_URL"];
    const all = [...made.map((name) => `${name}_API_KEY`), ...skipped];
    const loaded = await load(Object.fromEntries(all.map((name) => [name, "x"])));
    expect([...(loaded.snapshot?.providers.keys() ?? [])]).toEqual(made.map((name) => name.toLowerCase()));
    expect(loaded.problems.map(({ severity, path }) => `${severity} ${path}`)).toEqual(
      skipped.map((name) => `warning ${name}`),
    );
    expect(lines(loaded).at(-1)).toMatch(/^- warning REDIS_URL: REDIS_URL is neither `memory` nor a Redis/);
  });
});

test("a Redis in the environment is what replicas share; without one it is memory", async () => {
  const { snapshot, problems } = await load({ REDIS_URL: "redis://:secret@cache:6379/2" });
  const state = snapshot?.state;
  expect(problems).toEqual([]);
  expect(state?.kind === "redis" && [state.url.reveal(), state.url.origin]).toEqual([
    "redis://:secret@cache:6379/2",
    "env:REDIS_URL",
  ]);
  expect((await load({})).snapshot?.state).toEqual({ kind: "memory" });
});

test("whoever comes without a config may ask for all there is", async () => {
  expect((await load({})).snapshot?.tenants.get("default")?.allow).toEqual(["hedge", "priority_high"]);
});

describe("Azure, whose deployments' names cannot be known", () => {
  const azure = { AZURE_OPENAI_API_KEY: "key", AZURE_OPENAI_ENDPOINT: "https://bank.openai.azure.com/" };

  test("alone, leads the aliases to the names that Azure proposes", async () => {
    const loaded = await load(azure);
    expect(loaded.problems).toEqual([]);
    expect(chains(loaded)).toEqual({ default: ["azure/gpt-4o"], fast: ["azure/gpt-4o-mini"] });
    expect(loaded.snapshot?.tenants.get("default")?.models?.allow).toEqual(["*", "azure/*"]);
    const provider = loaded.snapshot?.providers.get("azure");
    expect(provider).toMatchObject({ kind: "azure-openai", baseUrl: "https://bank.openai.azure.com" });
    expect(provider?.apiKey?.reveal()).toBe("key");
  });

  test("beside others, is asked by name alone", async () => {
    const loaded = await load({ ...azure, ANTHROPIC_API_KEY: "sk-ant" });
    expect(chains(loaded).default).toEqual(["anthropic/claude-sonnet-5"]);
    expect(loaded.snapshot?.tenants.get("default")?.models?.allow).toEqual(["*", "anthropic/*", "azure/*"]);
  });

  test("without an address is told of, and not used", async () => {
    const loaded = await load({ AZURE_OPENAI_API_KEY: "key" });
    expect([...(loaded.snapshot?.providers.keys() ?? [])]).toEqual(["sim"]);
    expect(lines(loaded)[0]).toContain("AZURE_OPENAI_ENDPOINT is not, so there is nowhere to call");
  });
});

describe("Bedrock, which not everybody has who has credentials of AWS's", () => {
  const region = { AWS_REGION: "eu-west-1" };

  test.each([
    { AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: "s" },
    { AWS_PROFILE: "bank" },
    { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/creds" },
    { AWS_BEARER_TOKEN_BEDROCK: "key" },
  ])("is called in the environment's region with %j, where nobody else answers", async (credentials) => {
    const loaded = await load({ ...region, ...credentials });
    expect(loaded.problems).toEqual([]);
    expect(chains(loaded).fast).toEqual(["bedrock/global.anthropic.claude-haiku-4-5-20251001-v1:0"]);
    const provider = loaded.snapshot?.providers.get("bedrock");
    expect(provider).toMatchObject({ baseUrl: "https://bedrock-runtime.eu-west-1.amazonaws.com" });
    expect(provider?.apiKey === null).toBe(!("AWS_BEARER_TOKEN_BEDROCK" in credentials));
    const beside = await load({ ...region, ...credentials, ANTHROPIC_API_KEY: "sk-ant" });
    expect(chains(beside).fast).toEqual(["anthropic/claude-haiku-4-5-20251001"]);
    expect(beside.snapshot?.tenants.get("default")?.models?.allow).toEqual(["*", "anthropic/*", "bedrock/*"]);
  });

  test("is nowhere without a region, or with half of a key", async () => {
    for (const half of [{ AWS_PROFILE: "bank" }, { ...region, AWS_ACCESS_KEY_ID: "AKID" }]) {
      const loaded = await load(half);
      expect([[...(loaded.snapshot?.providers.keys() ?? [])], lines(loaded)]).toEqual([["sim"], []]);
    }
    const keyed = await load({ AWS_BEARER_TOKEN_BEDROCK: "key" });
    expect(lines(keyed)[0]).toContain("AWS_REGION is not, so there is nowhere to call");
  });
});

describe("local model servers", () => {
  const probing = (models: Record<string, string[] | null>, asked: string[] = []): Partial<LoadOptions> => ({
    probe: async (url) => {
      asked.push(url);
      return models[url] ?? null;
    },
  });

  test("are asked at their usual ports, our own left out", async () => {
    const asked: string[] = [];
    await load({}, probing({}, asked));
    expect(asked).toEqual([
      "http://127.0.0.1:11434/v1/models",
      "http://127.0.0.1:8000/v1/models",
      "http://127.0.0.1:1234/v1/models",
    ]);
    asked.length = 0;
    await load({ SLUICEGATE_PORT: "8000" }, probing({}, asked));
    expect(asked).toContain("http://127.0.0.1:8080/v1/models");
    expect(asked).not.toContain("http://127.0.0.1:8000/v1/models");
  });

  test("that answer become providers with their first chat model, behind the vendors", async () => {
    const models = {
      "http://127.0.0.1:11434/v1/models": ["nomic-embed-text", "llama3.2:3b", "qwen3:8b"],
      "http://127.0.0.1:8000/v1/models": [],
      "http://127.0.0.1:1234/v1/models": ["google/gemma-3-12b"],
    };
    const loaded = await load({ OPENAI_API_KEY: "sk" }, probing(models));
    expect(loaded.problems).toEqual([]);
    expect(chains(loaded)["default"]).toEqual([
      "openai/gpt-4o-2024-11-20",
      "ollama/llama3.2:3b",
      "lm-studio/google/gemma-3-12b",
    ]);
    expect(loaded.snapshot?.providers.get("ollama")?.baseUrl).toBe("http://127.0.0.1:11434/v1");
    expect(loaded.snapshot?.deployments.get("ollama/llama3.2:3b")?.capacity).toBe("self_hosted");
  });

  test("cannot make the gateway read a reference", async () => {
    const ids = [`x\${OPENAI_API_KEY}`, "a b", "../x", "*", 5 as unknown as string];
    const loaded = await load({}, probing({ "http://127.0.0.1:11434/v1/models": ids }));
    expect(chains(loaded)["default"]).toEqual(["ollama/../x"]);
  });

  test("that fail, lie or hang are not there; nobody waits longer than 300 ms", async () => {
    const waits: number[] = [];
    const clock: Clock = {
      now: () => 0,
      monotonic: () => 0,
      after(ms, fn) {
        waits.push(ms);
        const timer = setTimeout(fn, 1);
        return { cancel: () => clearTimeout(timer) };
      },
    };
    const loaded = await load(
      {},
      {
        clock,
        probe: (url) => {
          if (url.includes("11434")) throw new Error("refused");
          if (url.includes("8000")) return new Promise(() => undefined);
          return Promise.resolve({ data: [] } as unknown as string[]);
        },
      },
    );
    expect(chains(loaded)["default"]).toEqual(["sim/echo"]);
    expect(new Set(waits)).toEqual(new Set([300]));
  });
});
