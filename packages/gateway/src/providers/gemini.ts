import type { ProviderConfig } from "../config/snapshot.ts";
import { geminiCountTokens } from "../protocols/gemini-count-tokens/index.ts";
import { geminiEmbeddings } from "../protocols/gemini-embeddings/index.ts";
import { geminiGenerate } from "../protocols/gemini-generate/index.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** Google's Gemini API with an API key (WIRE B4). */
export function gemini(config: ProviderConfig): Provider {
  return jsonProvider({
    config,
    baseUrl: config.baseUrl ?? "https://generativelanguage.googleapis.com",
    modelsPath: "/v1beta/models?pageSize=1",
    quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: false },
    protocols: [geminiGenerate, geminiEmbeddings, geminiCountTokens],
    defaultAuth: { header: "x-goog-api-key", prefix: "" },
  });
}
