import type { ProviderConfig } from "../config/snapshot.ts";
import { Secret } from "../core/secret.ts";
import { anthropicCountTokens } from "../protocols/anthropic-count-tokens/index.ts";
import { anthropicMessages } from "../protocols/anthropic-messages/index.ts";
import { geminiCountTokens } from "../protocols/gemini-count-tokens/index.ts";
import { geminiEmbeddings } from "../protocols/gemini-embeddings/index.ts";
import { geminiGenerate } from "../protocols/gemini-generate/index.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiCompletions } from "../protocols/openai-completions/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { OPENAI_ENDPOINTS } from "../protocols/openai-endpoints.ts";
import { RESPONSES_API } from "../protocols/openai-responses/index.ts";
import { SIMULATOR } from "./chat-quirks.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** The built-in simulator, or one started by hand: a real HTTP server that speaks every protocol, each as its vendor. */
export function simulator(config: ProviderConfig): Provider {
  if (config.baseUrl === null) throw new Error(`provider ${config.name}: the simulator has not been started`);
  return jsonProvider({
    config: { ...config, headers: { ...vendorKeys(config), ...config.headers } },
    baseUrl: config.baseUrl,
    quirks: { maxTokensField: null, streamOptions: true, reasoningInOutput: true, ...SIMULATOR },
    protocols: [
      ...[openaiChat, ...RESPONSES_API, openaiEmbeddings, openaiCompletions, ...OPENAI_ENDPOINTS],
      ...[anthropicMessages, anthropicCountTokens, geminiGenerate, geminiEmbeddings, geminiCountTokens],
    ],
  });
}

/** Anthropic and Gemini want the key in headers of their own, and the simulator is as strict as they are. */
function vendorKeys({ apiKey }: ProviderConfig): ProviderConfig["headers"] {
  const key = apiKey ?? new Secret("simulator", "built in");
  return { "x-api-key": key, "x-goog-api-key": key };
}
