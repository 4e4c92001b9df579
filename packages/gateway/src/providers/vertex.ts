import type { ProviderConfig, VertexConfig } from "../config/snapshot.ts";
import { anthropicCountTokens } from "../protocols/anthropic-count-tokens/index.ts";
import { anthropicMessages } from "../protocols/anthropic-messages/index.ts";
import { geminiCountTokens } from "../protocols/gemini-count-tokens/index.ts";
import { geminiGenerate } from "../protocols/gemini-generate/index.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { vertexEmbedContent } from "../protocols/vertex-embed-content/index.ts";
import { vertexPredict } from "../protocols/vertex-predict/index.ts";
import { googleToken } from "./auth/google-token.ts";
import { tokenAuthenticator } from "./auth/token-authenticator.ts";
import type { Authenticator } from "./authenticator.ts";
import type { ProviderMeans } from "./means.ts";
import { jsonProvider, type Provider } from "./provider.ts";
import { vertexEnvelope } from "./vertex-envelope.ts";

const GEMINI: readonly Protocol[] = [geminiGenerate, geminiCountTokens];
const CLAUDE: readonly Protocol[] = [anthropicMessages, anthropicCountTokens];
const PREDICT: readonly Protocol[] = [vertexPredict];
const EMBED: readonly Protocol[] = [vertexEmbedContent];
const NONE: readonly Protocol[] = [];

/** By what a model is reached, the first row that fits its name counting. */
const BY_NAME: readonly (readonly [RegExp, readonly Protocol[]])[] = [
  [/^publishers\/anthropic\//, CLAUDE],
  [/^claude-/, CLAUDE],
  [/^publishers\/(?!google\/)/, NONE],
  // Its vectors have other names, and its input is not texts alone.
  [/(?:^|\/)multimodalembedding/, NONE],
  [/(?:^|\/)gemini-embedding-[2-9]/, EMBED],
  [/(?:^|\/)(?:text|gemini|textembedding)[\w-]*(?:embedding|gecko)/, PREDICT],
  [/./, GEMINI],
];

/**
 * Vertex AI (WIRE B3, B4): Google's models and Anthropic's behind one project and one location, each in its vendor's own
 * protocol at other paths, with short-lived Google tokens.
 */
export function vertex(config: ProviderConfig, means: ProviderMeans): Provider {
  if (!config.vertex || config.baseUrl === null) throw new Error(`provider ${config.name}: no project`);
  const authenticator = googleAuthenticator(config.name, config.vertex, means);
  return jsonProvider({
    config,
    baseUrl: config.baseUrl,
    quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: false },
    protocols: [...GEMINI, ...CLAUDE, ...PREDICT, ...EMBED],
    protocolsOf: (model) => BY_NAME.find(([name]) => name.test(model))?.[1] ?? NONE,
    envelope: vertexEnvelope(config.vertex),
    defaultAuth: { header: "x-goog-api-key", prefix: "" },
    ...(authenticator && { authenticator }),
  });
}

function googleAuthenticator(name: string, { google }: VertexConfig, means: ProviderMeans): Authenticator | null {
  if (!google) return null;
  const settings =
    google.flow === "metadata"
      ? [google.url]
      : [google.tokenUrl, google.email, google.key.reveal(), google.keyId, google.proxy];
  const fetch = googleToken(google, means.ask(name), means.clock);
  return tokenAuthenticator(name, means.tokens.borrow(["google", google.flow, ...settings], fetch));
}
