import { CHAT_SOURCES, UPSTREAM_MODEL } from "./chat-sources.ts";
import type { ClientName } from "./client-dialects.ts";
import type { Json } from "./loose-json.ts";

/** A dialect of recorded answers. */
export type SourceDialect = ClientName | "bedrock" | "cohere";

/** A file of recorded chat traffic, and the provider that stands for its origin. */
export interface MatrixSource {
  /** Name of the traffic file without `.jsonl`; alias, deployment and provider are called so too. */
  file: string;
  /** The dialect that it speaks itself: a client's, or one that only providers speak. */
  own: SourceDialect;
  kind:
    | "anthropic"
    | "azure-openai"
    | "bedrock"
    | "cohere"
    | "gemini"
    | "mistral"
    | "openai"
    | "openai-compatible"
    | "vertex";
  preset: string | null;
  /** What the provider's kind wants to be told besides, as YAML. */
  settings?: string;
  /** The provider's name of the model; default: UPSTREAM_MODEL. */
  model?: string;
  /** The path at which it is asked. */
  path?: (stream: boolean) => string;
  /** A client's own body as it reaches the provider. */
  asked?: (body: Json) => Json;
}

const VERTEX = "project: p-1, location: europe-west4";
const CLAUDE = "claude-upstream@20260101";

function vertexPath(model: string): string {
  return `/v1/projects/p-1/locations/europe-west4/publishers/${model}`;
}

function source(
  file: string,
  own: SourceDialect,
  kind: MatrixSource["kind"],
  preset: string | null = null,
): MatrixSource {
  return { file, own, kind, preset };
}

/** Records of Anthropic Messages, wherever they were hosted. */
export const MESSAGES_SOURCES: readonly MatrixSource[] = [
  source("anthropic-messages", "messages", "anthropic"),
  {
    ...source("vertex-anthropic-messages", "messages", "vertex"),
    settings: VERTEX,
    model: CLAUDE,
    path: (stream) => vertexPath(`anthropic/models/${CLAUDE}:${stream ? "streamRawPredict" : "rawPredict"}`),
    // The version comes last, whether the client sent it or not, and the path alone names the model.
    asked: ({ model: _, anthropic_version: __, ...body }) => ({ ...body, anthropic_version: "vertex-2023-10-16" }),
  },
  source("local-messages", "messages", "anthropic"),
];

/** Records of generateContent. */
export const GEMINI_SOURCES: readonly MatrixSource[] = [
  source("gemini-generate", "gemini", "gemini"),
  {
    ...source("vertex-generate", "gemini", "vertex"),
    settings: VERTEX,
    path: (stream) =>
      vertexPath(`google/models/${UPSTREAM_MODEL}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`),
    asked: ({ model: _, ...body }) => body,
  },
];

/** Records of the Responses API. Servers whose own kind or preset this build has not, stand behind one that speaks it. */
export const RESPONSES_SOURCES: readonly MatrixSource[] = [
  source("openai-responses", "responses", "openai"),
  { ...source("azure-responses", "responses", "azure-openai"), path: () => "/openai/v1/responses" },
  source("xai-responses", "responses", "openai-compatible", "xai"),
  source("openrouter-responses", "responses", "openai-compatible", "openrouter"),
  source("deepseek-responses", "responses", "openai-compatible", "deepseek"),
  source("bedrock-mantle-responses", "responses", "openai-compatible", "vllm"),
  source("local-responses", "responses", "openai-compatible", "vllm"),
];

/** Records of Converse, which no client speaks. */
export const BEDROCK_SOURCES: readonly MatrixSource[] = [source("bedrock-converse", "bedrock", "bedrock")];

/** Records of Cohere's v2 chat, which no client speaks. */
export const COHERE_SOURCES: readonly MatrixSource[] = [source("cohere-chat", "cohere", "cohere")];

/** Records of chat completions. */
export const CHAT_MATRIX: readonly MatrixSource[] = CHAT_SOURCES.map(({ file, kind, preset, settings }) => ({
  ...source(file, "chat", kind, preset),
  ...(settings !== undefined && { settings }),
}));

/** Records of legacy completions: nothing is translated towards them. */
export const COMPLETIONS_SOURCES: readonly MatrixSource[] = [source("openai-completions", "completions", "openai")];

/** Which API of error-shapes.jsonl a dialect is. */
const SHAPES: Readonly<Partial<Record<SourceDialect, string>>> = {
  chat: "chat",
  responses: "responses",
  messages: "messages",
  gemini: "generate",
  bedrock: "converse",
};

/** The source that stands for the provider of a row of error-shapes.jsonl; undefined: none of these. */
export function shapeSource(sources: readonly MatrixSource[], provider: string, api: string): MatrixSource | undefined {
  return sources.find(({ file, own }) => file.startsWith(`${provider}-`) && SHAPES[own] === api);
}

/** Config lines of one deployment behind the replay server. */
interface Lines {
  provider: string;
  deployment: string;
  route: string;
}

/** The config lines of a source; its records are served behind `url`/FILE. */
function linesOf(
  { file, own, kind, preset, settings, model = UPSTREAM_MODEL }: MatrixSource,
  url: string,
  forwarded: string,
): Lines {
  const base = `${url}/${file}${/^(?:openai|mistral)/.test(kind) ? "/v1" : ""}`;
  const named = (preset === null ? "" : `preset: ${preset}, `) + (settings === undefined ? "" : `${settings}, `);
  // A server of both APIs is asked for the one that the record is of.
  const api = own === "chat" || own === "responses" ? `, api: ${own}` : "";
  return {
    provider: `${file}: { kind: ${kind}, ${named}base_url: '${base}', api_key: 'key-for-${file}', forward_headers: [${forwarded}] }`,
    deployment: `${file}: { provider: ${file}, model: '${model}'${api}, price: { input: 1, output: 2 } }`,
    route: `${file}: { chain: [${file}], retries: { attempts: 1 } }`,
  };
}

/** A config in which every source is an alias of its own; `forwarded` is a header that goes on. */
export function matrixConfig(sources: readonly MatrixSource[], url: string, forwarded: string): string {
  const lines = sources.map((each) => linesOf(each, url, forwarded));
  const section = (key: keyof Lines): string[] => lines.map((each) => `  ${each[key]}`);
  return [
    "providers:",
    ...section("provider"),
    "deployments:",
    ...section("deployment"),
    "routes:",
    ...section("route"),
    "tenants: { default: { models: { allow: ['*'] } } }",
    "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
  ].join("\n");
}
