import { CHAT_SOURCES, UPSTREAM_MODEL } from "./chat-sources.ts";
import type { ClientName } from "./client-dialects.ts";

/** A file of recorded chat traffic, and the provider that stands for its origin. */
export interface MatrixSource {
  /** Name of the traffic file without `.jsonl`; alias, deployment and provider are called so too. */
  file: string;
  /** The client dialect that it speaks itself. */
  own: ClientName;
  kind: "anthropic" | "gemini" | "openai" | "openai-compatible";
  preset: string | null;
}

function source(file: string, own: ClientName, kind: MatrixSource["kind"], preset: string | null = null): MatrixSource {
  return { file, own, kind, preset };
}

/** Records of Anthropic Messages, wherever they were hosted. */
export const MESSAGES_SOURCES: readonly MatrixSource[] = [
  source("anthropic-messages", "messages", "anthropic"),
  source("vertex-anthropic-messages", "messages", "anthropic"),
  source("local-messages", "messages", "anthropic"),
];

/** Records of generateContent. */
export const GEMINI_SOURCES: readonly MatrixSource[] = [
  source("gemini-generate", "gemini", "gemini"),
  source("vertex-generate", "gemini", "gemini"),
];

/** Records of the Responses API. Servers whose own kind or preset this build has not, stand behind one that speaks it. */
export const RESPONSES_SOURCES: readonly MatrixSource[] = [
  source("openai-responses", "responses", "openai"),
  source("azure-responses", "responses", "openai"),
  source("xai-responses", "responses", "openai-compatible", "xai"),
  source("openrouter-responses", "responses", "openai-compatible", "openrouter"),
  source("deepseek-responses", "responses", "openai-compatible", "vllm"),
  source("bedrock-mantle-responses", "responses", "openai-compatible", "vllm"),
  source("local-responses", "responses", "openai-compatible", "vllm"),
];

/** Records of chat completions. */
export const CHAT_MATRIX: readonly MatrixSource[] = CHAT_SOURCES.map(({ file, kind, preset }) =>
  source(file, "chat", kind, preset),
);

/** Records of legacy completions: nothing is translated towards them. */
export const COMPLETIONS_SOURCES: readonly MatrixSource[] = [source("openai-completions", "completions", "openai")];

/** Which API of error-shapes.jsonl a dialect is. */
const SHAPES: Readonly<Partial<Record<ClientName, string>>> = {
  chat: "chat",
  responses: "responses",
  messages: "messages",
  gemini: "generate",
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
function linesOf({ file, own, kind, preset }: MatrixSource, url: string, forwarded: string): Lines {
  const base = `${url}/${file}${kind.startsWith("openai") ? "/v1" : ""}`;
  const named = preset === null ? "" : `preset: ${preset}, `;
  // A server of both APIs is asked for the one that the record is of.
  const api = own === "chat" || own === "responses" ? `, api: ${own}` : "";
  return {
    provider: `${file}: { kind: ${kind}, ${named}base_url: '${base}', api_key: 'key-for-${file}', forward_headers: [${forwarded}] }`,
    deployment: `${file}: { provider: ${file}, model: ${UPSTREAM_MODEL}${api}, price: { input: 1, output: 2 } }`,
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
