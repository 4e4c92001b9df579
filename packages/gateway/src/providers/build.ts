import type { ProviderConfig, ProviderKind } from "../config/snapshot.ts";
import { aiSdk } from "./ai-sdk.ts";
import { anthropic } from "./anthropic.ts";
import { azureOpenai } from "./azure-openai.ts";
import { bedrock } from "./bedrock.ts";
import { cohere } from "./cohere.ts";
import { gemini } from "./gemini.ts";
import type { ProviderMeans } from "./means.ts";
import { mistral } from "./mistral.ts";
import { openai } from "./openai.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import type { Provider } from "./provider.ts";
import { simulator } from "./simulator.ts";
import { vertex } from "./vertex.ts";

const KINDS: Readonly<Record<ProviderKind, (config: ProviderConfig, means: ProviderMeans) => Provider>> = {
  gemini,
  openai,
  "azure-openai": azureOpenai,
  vertex,
  bedrock,
  cohere,
  mistral,
  "ai-sdk": aiSdk,
  "openai-compatible": openaiCompatible,
  anthropic,
  simulator,
};

/** The provider a config entry describes. Adding a kind is a file here and a line in the table. */
export function buildProvider(config: ProviderConfig, means: ProviderMeans): Provider {
  return KINDS[config.kind](config, means);
}
