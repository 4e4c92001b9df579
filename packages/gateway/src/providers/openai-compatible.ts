import { presetNamed } from "../config/presets.ts";
import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import type { Quirks } from "../protocols/protocol.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** A server nobody has described: it is taken at its word that it speaks the protocol. */
const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: null };

/** Any server that speaks OpenAI's protocol; what it wants different is its preset's row. */
export function openaiCompatible(config: ProviderConfig): Provider {
  const preset = config.preset === null ? null : presetNamed(config.preset);
  const baseUrl = config.baseUrl ?? preset?.baseUrl;
  if (!baseUrl) throw new Error(`provider ${config.name}: no base_url`);
  return jsonProvider({ config, baseUrl, quirks: preset ?? PLAIN, protocols: [openaiChat, openaiEmbeddings] });
}
