import { expect, test } from "vitest";
import { ScriptedTransport } from "../../test/support/scripted-transport.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { aDeployment } from "../config/fixtures/parts.ts";
import { KIND_NAMES } from "../config/kinds.ts";
import type { Deployment } from "../config/snapshot.ts";
import { loadText } from "../config/test/load-text.ts";
import { buildProvider } from "../providers/build.ts";
import { providerMeans } from "../providers/means.ts";
import type { Provider } from "../providers/provider.ts";
import { smallGeneration } from "./small-generation.ts";

const CONFIG = `
providers:
  openai: { kind: openai, api_key: env:KEY }
  azure: { kind: azure-openai, endpoint: https://bank.openai.azure.com, api_key: env:KEY }
  anthropic: { kind: anthropic, api_key: env:KEY }
  gemini: { kind: gemini, api_key: env:KEY }
  vertex: { kind: vertex, project: p, location: eu, api_key: env:KEY }
  bedrock: { kind: bedrock, region: us-east-1, api_key: env:KEY }
  cohere: { kind: cohere, api_key: env:KEY }
  mistral: { kind: mistral, api_key: env:KEY }
  vllm: { kind: openai-compatible, preset: vllm, base_url: http://127.0.0.1:8000/v1 }
  own: { kind: openai-compatible, base_url: http://127.0.0.1:8001/v1 }
  acme: { kind: ai-sdk, package: "@ai-sdk/openai", options: { apiKey: env:KEY } }
  sim: { kind: simulator, base_url: http://127.0.0.1:9100/v1 }
routes: { default: { chain: [sim/echo] } }
`;

async function providers(): Promise<Map<string, Provider>> {
  const { snapshot } = await loadText(CONFIG, { variables: { KEY: "k-1234567890" } });
  const means = providerMeans(new VirtualClock(), new ScriptedTransport());
  const configs = [...(snapshot?.providers.values() ?? [])];
  expect(new Set(configs.map(({ kind }) => kind))).toEqual(new Set(KIND_NAMES));
  return new Map(configs.map((config) => [config.name, buildProvider(config, means)]));
}

function deploymentOf(provider: string, model: string, api: string | null = null): Deployment {
  return aDeployment("d", { provider, model, api });
}

/** What is sent to a deployment: by which protocol, and in which words. */
async function sent(provider: Provider | undefined, deployment: Deployment, cap?: number) {
  const small = provider && smallGeneration(provider, deployment, cap);
  if (!small) return null;
  const { call, protocol, crossing } = small;
  const { request } = provider.request({ call, protocol, deployment, crossing, pool: "p", header: () => undefined });
  const { path, body } = await request;
  return { by: protocol.name, path, body: JSON.parse(String(body)) as Record<string, unknown> };
}

const said = [{ role: "user", content: "Hi" }];
const parts = [{ role: "user", parts: [{ text: "Hi" }] }];

test.each([
  ["openai", "gpt-4o-2024-11-20", null, "openai-chat", { messages: said, max_completion_tokens: 8 }],
  ["openai", "gpt-4o-2024-11-20", "responses", "openai-responses", { max_output_tokens: 16 }],
  ["openai", "text-embedding-3-small", null, "openai-embeddings", { input: ["Hi"], model: "text-embedding-3-small" }],
  ["acme", "gpt-4o-2024-11-20", null, "ai-sdk", { options: { maxOutputTokens: 8 } }],
  ["azure", "gpt-4o-2024-11-20", null, "openai-chat", { messages: said, max_completion_tokens: 8 }],
  ["anthropic", "claude-sonnet-4-5-20250929", null, "anthropic-messages", { max_tokens: 8 }],
  ["gemini", "gemini-2.5-pro", null, "gemini-generate", { contents: parts, generationConfig: { maxOutputTokens: 8 } }],
  ["gemini", "gemini-embedding-001", null, "gemini-embeddings", {}],
  ["vertex", "gemini-2.5-pro", null, "gemini-generate", { contents: parts, generationConfig: { maxOutputTokens: 8 } }],
  ["vertex", "claude-sonnet-4-5@20250929", null, "anthropic-messages", { max_tokens: 8 }],
  ["vertex", "text-embedding-005", null, "vertex-predict", {}],
  ["bedrock", "amazon.nova-lite-v1:0", null, "bedrock-converse", { inferenceConfig: { maxTokens: 8 } }],
  ["bedrock", "amazon.titan-embed-text-v2:0", null, "bedrock-embeddings", {}],
  ["cohere", "command-a-03-2025", null, "cohere-chat", { max_tokens: 8 }],
  ["cohere", "embed-v4.0", null, "cohere-embeddings", {}],
  ["mistral", "mistral-large-2411", null, "openai-chat", { messages: said, max_tokens: 8 }],
  ["vllm", "llama-3.1-8b", null, "openai-chat", { messages: said, max_completion_tokens: 8 }],
  ["vllm", "nomic-embed-text", null, "openai-embeddings", { input: ["Hi"] }],
  ["own", "llama-3.1-8b", null, "openai-chat", { messages: said }],
  ["own", "llama-3.1-8b", "responses", "openai-responses", { max_output_tokens: 16 }],
  ["sim", "echo", null, "openai-chat", { messages: said }],
] as const)("of %s, %s (api %s) is asked by %s", async (name, model, api, by, body) => {
  const asked = await sent((await providers()).get(name), deploymentOf(name, model, api));
  expect(asked?.by).toBe(by);
  expect(asked?.body).toMatchObject(body);
  expect(asked?.body).not.toHaveProperty("stream", true);
});

test("the cap is what was asked for, where the API takes one that small", async () => {
  const openai = (await providers()).get("openai");
  const cap = async (api: string | null, tokens: number): Promise<unknown> => {
    const { body } = (await sent(openai, deploymentOf("openai", "gpt-4o-2024-11-20", api), tokens)) ?? {};
    return body?.["max_completion_tokens"] ?? body?.["max_output_tokens"];
  };
  expect([await cap(null, 1), await cap("responses", 1), await cap("responses", 40)]).toEqual([1, 16, 40]);
});

test("what is said of its capabilities goes before its name", async () => {
  const vllm = (await providers()).get("vllm");
  const by = async (model: string, capabilities: Deployment["capabilities"] & object): Promise<string | undefined> =>
    (await sent(vllm, { ...deploymentOf("vllm", model), capabilities }))?.by;
  expect(await by("bge-m3", ["embeddings"])).toBe("openai-embeddings");
  expect(await by("embedded-systems-chat", ["tools"])).toBe("openai-chat");
  expect(await by("plain", [])).toBe("openai-chat");
  expect(await by("whisper-large-v3", ["transcription"])).toBeUndefined();
});

test("a model with neither chat nor vectors is asked nothing", async () => {
  const vertex = (await providers()).get("vertex");
  expect(await sent(vertex, deploymentOf("vertex", "multimodalembedding@001"))).toBeNull();
});
