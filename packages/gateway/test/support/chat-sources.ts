/** How a recorded provider is set up behind the gateway, and what is known of it from its documentation. */
export interface ChatSource {
  /** Name of the traffic file without `.jsonl`; alias, deployment and provider are called so too. */
  file: string;
  kind: "azure-openai" | "mistral" | "openai" | "openai-compatible";
  preset: string | null;
  /** The only spelling of the output cap that goes to it; null where the client's own goes. */
  cap: "max_tokens" | "max_completion_tokens" | null;
  /** Where reasoning tokens are counted: within completion_tokens, beside them, or as the numbers show. */
  reasoning: "inside" | "outside" | "by numbers";
  /** It refuses members that it does not know, the family's wish for usage among them. */
  strict?: true;
  /** What its kind wants to be told besides, as YAML. */
  settings?: string;
  /** Behind the server's address; default: /v1/chat/completions. */
  path?: string;
  /** The header that holds the key as it is; default: a bearer token. */
  keyHeader?: string;
}

type Facts = Partial<Omit<ChatSource, "file">>;

function compatible(file: string, facts: Facts = {}): ChatSource {
  return { file, kind: "openai-compatible", preset: null, cap: null, reasoning: "by numbers", ...facts };
}

function preset(file: string, name: string, cap: ChatSource["cap"], facts: Facts = {}): ChatSource {
  return compatible(file, { preset: name, cap, reasoning: "inside", ...facts });
}

/** Every file of recorded chat completions in OpenAI's dialect. */
export const CHAT_SOURCES: readonly ChatSource[] = [
  { file: "openai-chat", kind: "openai", preset: null, cap: null, reasoning: "inside" },
  preset("groq-chat", "groq", "max_completion_tokens"),
  preset("deepseek-chat", "deepseek", "max_tokens"),
  preset("xai-chat", "xai", "max_completion_tokens", { reasoning: "outside" }),
  preset("openrouter-chat", "openrouter", null),
  preset("together-chat", "together", "max_tokens"),
  preset("cerebras-chat", "cerebras", "max_completion_tokens"),
  preset("huggingface-chat", "huggingface", "max_tokens"),
  preset("ollama-chat", "ollama", "max_tokens"),
  preset("ollama-cloud-chat", "ollama", "max_tokens"),
  preset("alibaba-chat", "alibaba", "max_tokens"),
  preset("zai-chat", "zai", "max_tokens"),
  preset("moonshot-chat", "moonshot", "max_tokens"),
  preset("local-chat", "llama-cpp", "max_tokens"),
  compatible("azure-chat", {
    kind: "azure-openai",
    settings: "api_version: 2024-12-01-preview",
    path: "/openai/deployments/upstream-model-2026-01-01/chat/completions?api-version=2024-12-01-preview",
    keyHeader: "api-key",
  }),
  compatible("mistral-chat", { kind: "mistral", cap: "max_tokens", reasoning: "inside", strict: true }),
  // Vendors without a preset, or whose own kind or preset this build does not have, as any server of the family.
  compatible("vercel-gateway-chat"),
  compatible("crusoe-chat"),
  compatible("snowflake-chat"),
  compatible("perplexity-chat"),
  compatible("gemini-openai-chat"),
  compatible("anthropic-openai-chat"),
  compatible("bedrock-mantle-chat"),
];

/** Files of chat traffic that is not in OpenAI's dialect. */
export const OTHER_DIALECTS: Readonly<Record<string, string>> = {
  "cohere-chat": "Cohere's own v2 API",
  "ollama-native-chat": "Ollama's own API",
};

/** Where a row of error-shapes.jsonl goes: the source that stands for its provider, or why it is not one of the family. */
export function errorShapeSource(provider: string, api: string): ChatSource | string {
  if (api !== "chat") return `the ${api} API of ${provider} is not chat completions`;
  return CHAT_SOURCES.find(({ file }) => file === `${provider}-chat`) ?? `no chat source is called ${provider}`;
}

/** Prices of every deployment, USD per million tokens: uneven, so that a wrong share shows. */
export const PRICE = { input: 2.5, cached_input: 0.315, cache_write: 3.125, output: 10.005 } as const;

/** The name under which every deployment asks for its model. */
export const UPSTREAM_MODEL = "upstream-model-2026-01-01";

/** The key that the gateway has for a source. */
export function upstreamKey(source: ChatSource): string {
  return `key-for-${source.file}`;
}

/** A config in which every source is an alias of its own, its base URL `URL/FILE/v1`; `forwarded` is a header that goes on. */
export function chatConfig(url: string, forwarded: string): string {
  const price = JSON.stringify(PRICE);
  const lines = (make: (source: ChatSource) => string): string => CHAT_SOURCES.map((s) => `  ${make(s)}`).join("\n");
  return [
    "providers:",
    lines((source) => {
      const named =
        (source.preset === null ? "" : `preset: ${source.preset}, `) +
        (source.settings === undefined ? "" : `${source.settings}, `);
      const base = `${url}/${source.file}${source.kind === "azure-openai" ? "" : "/v1"}`;
      return `${source.file}: { kind: ${source.kind}, ${named}base_url: '${base}', api_key: '${upstreamKey(source)}', forward_headers: [${forwarded}] }`;
    }),
    "deployments:",
    lines(({ file }) => `${file}: { provider: ${file}, model: ${UPSTREAM_MODEL}, price: ${price} }`),
    "routes:",
    lines(({ file }) => `${file}: { chain: [${file}], retries: { attempts: 1 } }`),
    "tenants: { default: { models: { allow: ['*'] } } }",
    "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
  ].join("\n");
}
