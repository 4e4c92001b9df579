import { anthropicCountTokens } from "./anthropic-count-tokens/index.ts";
import { anthropicMessages } from "./anthropic-messages/index.ts";
import { bedrockConverse } from "./bedrock-converse/index.ts";
import { bedrockEmbeddings } from "./bedrock-embeddings/index.ts";
import { cohereChat } from "./cohere-chat/index.ts";
import { cohereEmbeddings } from "./cohere-embeddings/index.ts";
import { geminiCountTokens } from "./gemini-count-tokens/index.ts";
import { geminiEmbeddings } from "./gemini-embeddings/index.ts";
import { geminiGenerate } from "./gemini-generate/index.ts";
import { openaiChat } from "./openai-chat/index.ts";
import { openaiCompletions } from "./openai-completions/index.ts";
import { openaiEmbeddings } from "./openai-embeddings/index.ts";
import { OPENAI_ENDPOINTS } from "./openai-endpoints.ts";
import { RESPONSES_API } from "./openai-responses/index.ts";
import { decoded } from "./path-segment.ts";
import type { PathFacts, Protocol } from "./protocol.ts";

/** Every protocol this build speaks. Adding one is a folder and a line here. */
export const PROTOCOLS: readonly Protocol[] = [
  openaiChat,
  ...RESPONSES_API,
  openaiEmbeddings,
  openaiCompletions,
  ...OPENAI_ENDPOINTS,
  anthropicMessages,
  anthropicCountTokens,
  geminiGenerate,
  geminiEmbeddings,
  geminiCountTokens,
  bedrockConverse,
  bedrockEmbeddings,
  cohereChat,
  cohereEmbeddings,
];

const BY_NAME = new Map(PROTOCOLS.map((protocol) => [protocol.name, protocol] as const));

/** The protocol of this name, as `Call.dialect` and the ledger have it. */
export function protocolNamed(name: string): Protocol | undefined {
  return BY_NAME.get(name);
}

/** A client's call, known by its path. */
export interface Addressed {
  protocol: Protocol;
  path: PathFacts;
}

const BY_PATH = new Map(PROTOCOLS.flatMap((protocol) => protocol.clientPaths.map((path) => [path, protocol] as const)));
const WITH_NAMES = PROTOCOLS.filter((protocol) => protocol.matchPath);
const AZURE_PREFIX = "/openai/deployments/";

/** The protocol a path belongs to and what the path says; null: nobody's. */
export function addressed(path: string, query: string): Addressed | null {
  const exact = BY_PATH.get(path);
  if (exact) return { protocol: exact, path: { query } };
  if (path.startsWith(AZURE_PREFIX)) return behindDeployment(path.slice(AZURE_PREFIX.length), query);
  for (const protocol of WITH_NAMES) {
    const facts = protocol.matchPath?.(path, query);
    if (facts) return { protocol, path: facts };
  }
  return null;
}

/** Azure's classes put the deployment's name, here an alias, before the usual path; a slash in it they leave as it is. */
function behindDeployment(rest: string, query: string): Addressed | null {
  for (let at = rest.indexOf("/", 1); at > 0; at = rest.indexOf("/", at + 1)) {
    const protocol = BY_PATH.get(`/v1${rest.slice(at)}`);
    if (protocol) return { protocol, path: { query, alias: decoded(rest.slice(0, at)) } };
  }
  return null;
}
