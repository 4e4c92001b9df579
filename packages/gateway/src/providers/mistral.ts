import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { openaiTranscription } from "../protocols/openai-transcription/index.ts";
import { MISTRAL } from "./chat-quirks.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** Mistral (WIRE B7): OpenAI's chat, held to a list of what it takes. */
export function mistral(config: ProviderConfig): Provider {
  return jsonProvider({
    config,
    baseUrl: config.baseUrl ?? "https://api.mistral.ai/v1",
    modelsPath: "/models",
    quirks: { maxTokensField: "max_tokens", streamOptions: false, reasoningInOutput: true, ...MISTRAL },
    protocols: [openaiChat, openaiEmbeddings, openaiTranscription],
  });
}
