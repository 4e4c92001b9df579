import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** The built-in simulator, or one started by hand: a real HTTP server that speaks the OpenAI protocol. */
export function simulator(config: ProviderConfig): Provider {
  if (config.baseUrl === null) throw new Error(`provider ${config.name}: the simulator has not been started`);
  return jsonProvider({
    config,
    baseUrl: config.baseUrl,
    quirks: { maxTokensField: null, streamOptions: true, reasoningInOutput: true },
    protocols: [openaiChat, openaiEmbeddings],
  });
}
