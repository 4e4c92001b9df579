import type { ProviderConfig } from "../config/snapshot.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiCompletions } from "../protocols/openai-completions/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import { openaiImages } from "../protocols/openai-images/index.ts";
import { openaiResponsesCompact } from "../protocols/openai-responses/compact.ts";
import { openaiResponses } from "../protocols/openai-responses/index.ts";
import { openaiSpeech } from "../protocols/openai-speech/index.ts";
import { openaiTranscription } from "../protocols/openai-transcription/index.ts";
import type { Protocol, Quirks } from "../protocols/protocol.ts";
import { entraToken } from "./auth/entra-token.ts";
import { tokenAuthenticator } from "./auth/token-authenticator.ts";
import type { Authenticator } from "./authenticator.ts";
import { AZURE_DATED, OPENAI } from "./chat-quirks.ts";
import type { ProviderMeans } from "./means.ts";
import { type Envelope, jsonProvider, type Provider } from "./provider.ts";

/** There is no moderation endpoint on Azure, and none that counts tokens. */
const EVERYWHERE: readonly Protocol[] = [
  ...[openaiChat, openaiEmbeddings, openaiCompletions],
  ...[openaiImages, openaiSpeech, openaiTranscription],
];
/** Dated versions from which on something is taken. */
const RESPONSES_SINCE = "2025-03-01";
const STREAM_USAGE_SINCE = "2024-09-01";
/** Endpoints of dated versions that stand behind the name of a deployment; the others name it in the body. */
const OF_DEPLOYMENT = /^\/(?:chat\/completions|completions|embeddings|images|audio)\b/;

/**
 * Azure OpenAI (WIRE B2). A dated api_version calls /openai/deployments/{deployment}/…; without one, and for `v1` and
 * `preview`, the v1 surface at /openai/v1/… is called, where the body's `model` is the deployment's name.
 */
export function azureOpenai(config: ProviderConfig, means: ProviderMeans): Provider {
  const { azure, baseUrl } = config;
  if (!azure || baseUrl === null) throw new Error(`provider ${config.name}: no endpoint`);
  const { apiVersion } = azure;
  const dated = apiVersion === null || apiVersion === "preview" ? null : apiVersion;
  const quirks: Quirks = {
    maxTokensField: null,
    streamOptions: dated === null || dated >= STREAM_USAGE_SINCE,
    // It hosts models of others too, and they count as they please.
    reasoningInOutput: null,
    ...(dated === null ? OPENAI : AZURE_DATED),
  };
  const authenticator = entraAuthenticator(config, means);
  return jsonProvider({
    config,
    baseUrl,
    quirks,
    protocols: [...EVERYWHERE, ...responsesOf(dated)],
    modelsPath: dated === null ? "/openai/v1/models" : `/openai/models?api-version=${dated}`,
    envelope: dated === null ? v1(apiVersion) : deployments(dated),
    defaultAuth: { header: "api-key", prefix: "" },
    ...(authenticator && { authenticator }),
  });
}

function responsesOf(dated: string | null): readonly Protocol[] {
  if (dated === null) return [openaiResponses, openaiResponsesCompact];
  return dated >= RESPONSES_SINCE ? [openaiResponses] : [];
}

function v1(apiVersion: string | null): Envelope {
  return {
    path(protocol, call, { model }) {
      const path = `/openai/v1${protocol.upstreamPath(call, model)}`;
      return apiVersion === null ? path : withVersion(path, apiVersion);
    },
  };
}

function deployments(version: string): Envelope {
  return {
    path(protocol, call, { model, sentAs = model }) {
      const own = protocol.upstreamPath(call, model);
      const under = OF_DEPLOYMENT.test(own) ? `/openai/deployments/${encodeURIComponent(sentAs)}` : "/openai";
      return withVersion(under + own, version);
    },
  };
}

function withVersion(path: string, version: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}api-version=${version}`;
}

function entraAuthenticator({ name, azure }: ProviderConfig, means: ProviderMeans): Authenticator | null {
  const entra = azure?.entra;
  if (!entra) return null;
  const settings = Object.values(entra).map((value) => (value === null ? null : plain(value)));
  return tokenAuthenticator(
    name,
    means.tokens.borrow(["entra", ...settings], entraToken(entra, means.ask(name), means.clock)),
  );
}

function plain(value: string | { reveal(): string }): string {
  return typeof value === "string" ? value : value.reveal();
}
