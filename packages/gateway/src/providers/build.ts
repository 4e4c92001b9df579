import type { ProviderConfig, ProviderKind } from "../config/snapshot.ts";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { openai } from "./openai.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import type { Provider } from "./provider.ts";
import { simulator } from "./simulator.ts";

const KINDS: Readonly<Record<ProviderKind, (config: ProviderConfig) => Provider>> = {
  gemini,
  openai,
  "openai-compatible": openaiCompatible,
  anthropic,
  simulator,
};

/** The provider a config entry describes. Adding a kind is a file here and a line in the table. */
export function buildProvider(config: ProviderConfig): Provider {
  return KINDS[config.kind](config);
}
