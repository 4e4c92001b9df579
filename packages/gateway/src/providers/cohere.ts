import type { ProviderConfig } from "../config/snapshot.ts";
import { cohereChat } from "../protocols/cohere-chat/index.ts";
import { cohereEmbeddings } from "../protocols/cohere-embeddings/index.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { jsonProvider, type Provider } from "./provider.ts";

const CHAT: readonly Protocol[] = [cohereChat];
const EMBED: readonly Protocol[] = [cohereEmbeddings];

/** Cohere by its own v2 API (WIRE B6). */
export function cohere(config: ProviderConfig): Provider {
  return jsonProvider({
    config,
    baseUrl: config.baseUrl ?? "https://api.cohere.com",
    modelsPath: "/v1/models?page_size=1",
    quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: true },
    protocols: [...CHAT, ...EMBED],
    protocolsOf: (model) => (/embed/i.test(model) ? EMBED : CHAT),
  });
}
