import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiCompletions } from "../protocols/openai-completions/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { OPENAI_ENDPOINTS } from "../protocols/openai-endpoints.ts";
import { RESPONSES_API } from "../protocols/openai-responses/index.ts";
import { OPENAI } from "./chat-quirks.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** OpenAI itself: api.openai.com, or whatever `base_url` stands in for it. */
export function openai(config: ProviderConfig): Provider {
  return jsonProvider({
    config,
    baseUrl: config.baseUrl ?? "https://api.openai.com/v1",
    modelsPath: "/models",
    quirks: { maxTokensField: null, streamOptions: true, reasoningInOutput: true, ...OPENAI },
    protocols: [openaiChat, ...RESPONSES_API, openaiEmbeddings, openaiCompletions, ...OPENAI_ENDPOINTS],
  });
}
