import type { ProviderConfig } from "../config/snapshot.ts";
import { anthropicCountTokens } from "../protocols/anthropic-count-tokens/index.ts";
import { anthropicMessages } from "../protocols/anthropic-messages/index.ts";
import { jsonProvider, type Provider } from "./provider.ts";

/** Anthropic itself: api.anthropic.com, or whatever `base_url` stands in for it. */
export function anthropic(config: ProviderConfig): Provider {
  return jsonProvider({
    config,
    baseUrl: config.baseUrl ?? "https://api.anthropic.com",
    modelsPath: "/v1/models",
    quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: true },
    protocols: [anthropicMessages, anthropicCountTokens],
    defaultAuth: { header: "x-api-key", prefix: "" },
  });
}
