import type { Deployment } from "../config/snapshot.ts";
import type { Call, Capability } from "../core/call.ts";
import { LIMITS } from "../core/limits.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { type Crossing, openCrossing, translates } from "../protocols/translate.ts";
import { type Provider, spokenBy } from "../providers/provider.ts";

/** A call that costs next to nothing and still makes the model work, on its way to one deployment. */
export interface SmallGeneration {
  /** The dialect it is told in. */
  client: Protocol;
  call: Call;
  protocol: Protocol;
  crossing: Crossing;
}

/** Models that make vectors, where neither the provider's protocols nor `capabilities` tell them from those that talk. */
const EMBEDS = /embed/i;
/** What a model that can do nothing else is not asked to talk for. */
const MEDIA: readonly Capability[] = ["images", "speech", "transcription"];
const TEXT = "Hi";

/**
 * The smallest thing that can be asked of a deployment: a chat of a few tokens by the API that it names or the first that
 * chats, a vector of two letters from a model that makes vectors. Null: it does neither.
 */
export function smallGeneration(
  provider: Provider,
  deployment: Deployment,
  maxOutputTokens: number = LIMITS.smallOutputTokensDefault,
): SmallGeneration | null {
  const { model, api } = deployment;
  const spoken = spokenBy(provider, deployment);
  const chat = reached(spoken, openaiChat, api);
  const embeddings = reached(spoken, openaiEmbeddings, null);
  if (embeddings && (!chat || makesVectors(deployment)))
    return asked(openaiEmbeddings, embeddings, { model, input: TEXT });
  if (!chat || makesMediaOnly(deployment)) return null;
  const max_tokens = Math.max(maxOutputTokens, chat.leastOutputTokens ?? 1);
  return asked(openaiChat, chat, { model, messages: [{ role: "user", content: TEXT }], max_tokens });
}

function makesVectors({ model, capabilities }: Deployment): boolean {
  return capabilities?.includes("embeddings") ?? EMBEDS.test(model);
}

function makesMediaOnly({ capabilities = [] }: Deployment): boolean {
  return capabilities.length > 0 && capabilities.every((one) => MEDIA.includes(one));
}

function reached(spoken: readonly Protocol[], client: Protocol, api: string | null): Protocol | undefined {
  const fitting = spoken.filter((one) => one.operation === client.operation && translates(client, one));
  return fitting.find((one) => one.api === api) ?? fitting[0];
}

function asked(client: Protocol, protocol: Protocol, body: Record<string, unknown>): SmallGeneration | null {
  const raw = Buffer.from(JSON.stringify(body));
  const header = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);
  const call = client.decodeRequest({ raw, path: { query: "" }, header });
  const crossing = openCrossing(client, call);
  return crossing && { client, call, protocol, crossing };
}
