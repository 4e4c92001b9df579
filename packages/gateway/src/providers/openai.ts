import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** OpenAI itself: api.openai.com, or whatever `base_url` stands in for it. */
export function openai(config: ProviderConfig): Provider {
  return jsonProvider({
    config,
    baseUrl: config.baseUrl ?? "https://api.openai.com/v1",
    quirks: { maxTokensField: null, streamOptions: true, reasoningInOutput: true },
    protocols: [openaiChat, openaiEmbeddings],
  });
}
