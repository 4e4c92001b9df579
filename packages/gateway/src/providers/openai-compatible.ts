import { type ChatApi, type Preset, type PresetName, presetNamed } from "../config/presets.ts";
import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiCompletions } from "../protocols/openai-completions/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { OPENAI_ENDPOINTS } from "../protocols/openai-endpoints.ts";
import { RESPONSES_API } from "../protocols/openai-responses/index.ts";
import type { Protocol, Quirks } from "../protocols/protocol.ts";
import { BY_PRESET, type ChatQuirks, UNKNOWN } from "./chat-quirks.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** A server nobody has described: it is taken at its word that it speaks the protocol. */
const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: null, ...UNKNOWN };

/** Servers that show their list of models to nobody without a key; the others' lists prove nothing. */
const KEYED_LISTS: ReadonlySet<PresetName> = new Set<PresetName>([
  ...(["groq", "together", "fireworks", "deepseek", "xai", "cerebras", "moonshot"] as const),
]);

const CHAT_APIS: Readonly<Record<ChatApi, readonly Protocol[]>> = { chat: [openaiChat], responses: RESPONSES_API };
const BESIDE_CHAT: readonly Protocol[] = [openaiEmbeddings, openaiCompletions, ...OPENAI_ENDPOINTS];

/** All that has to be known of a server of the family: its row, and what it wants different. */
export interface CompatibleServer extends Omit<Preset, "name">, ChatQuirks {
  /** Its list of models is for those with a key. */
  keyedList: boolean;
}

/** Any server that speaks OpenAI's protocol; what it wants different is its preset's row. */
export function openaiCompatible(config: ProviderConfig): Provider {
  const preset = config.preset === null ? null : presetNamed(config.preset);
  if (preset) {
    return compatibleServer(config, { ...preset, ...BY_PRESET[preset.name], keyedList: KEYED_LISTS.has(preset.name) });
  }
  // Whether it has the Responses API is for a deployment's `api` to say.
  const protocols = [openaiChat, ...BESIDE_CHAT];
  return jsonProvider({ config, baseUrl: baseUrlOf(config, null), quirks: PLAIN, protocols, onlyNamed: RESPONSES_API });
}

/** The server that a row describes: data, so that one more server is one more row. */
export function compatibleServer(config: ProviderConfig, server: CompatibleServer): Provider {
  const { baseUrl, keyedList, apis } = server;
  return jsonProvider({
    config,
    baseUrl: baseUrlOf(config, baseUrl),
    quirks: server,
    modelsPath: keyedList ? "/models" : undefined,
    protocols: [...apis.flatMap((api) => CHAT_APIS[api]), ...BESIDE_CHAT],
  });
}

function baseUrlOf(config: ProviderConfig, usual: string | null): string {
  const baseUrl = config.baseUrl ?? usual;
  if (baseUrl === null) throw new Error(`provider ${config.name}: no base_url`);
  return baseUrl;
}
