import { type ChatApi, type PresetName, presetNamed } from "../config/presets.ts";
import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiCompletions } from "../protocols/openai-completions/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { OPENAI_ENDPOINTS } from "../protocols/openai-endpoints.ts";
import { RESPONSES_API } from "../protocols/openai-responses/index.ts";
import type { Protocol, Quirks } from "../protocols/protocol.ts";
import { BY_PRESET, UNKNOWN } from "./chat-quirks.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** A server nobody has described: it is taken at its word that it speaks the protocol. */
const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: null, ...UNKNOWN };

/** Servers that show their list of models to nobody without a key; the others' lists prove nothing. */
const KEYED_LISTS: ReadonlySet<PresetName> = new Set<PresetName>([
  ...(["groq", "together", "fireworks", "deepseek", "xai", "cerebras", "moonshot"] as const),
]);

const CHAT_APIS: Readonly<Record<ChatApi, readonly Protocol[]>> = { chat: [openaiChat], responses: RESPONSES_API };

/** Any server that speaks OpenAI's protocol; what it wants different is its preset's row. */
export function openaiCompatible(config: ProviderConfig): Provider {
  const preset = config.preset === null ? null : presetNamed(config.preset);
  const baseUrl = config.baseUrl ?? preset?.baseUrl;
  if (!baseUrl) throw new Error(`provider ${config.name}: no base_url`);
  const chat = (preset?.apis ?? ["chat"]).flatMap((api) => CHAT_APIS[api]);
  return jsonProvider({
    config,
    baseUrl,
    quirks: preset ? { ...preset, ...BY_PRESET[preset.name] } : PLAIN,
    modelsPath: preset && KEYED_LISTS.has(preset.name) ? "/models" : undefined,
    protocols: [...chat, openaiEmbeddings, openaiCompletions, ...OPENAI_ENDPOINTS],
  });
}
