import { awsRegion, bedrockUrl } from "./aws-region.ts";
import type { Environment } from "./env.ts";
import { presetNamed } from "./presets.ts";
import type { ProviderConfig, ProviderKind } from "./snapshot.ts";

/** Keys of a provider that only some kinds have. */
export const KIND_KEYS = [
  ...(["endpoint", "api_version", "entra"] as const),
  ...(["project", "location", "credentials", "token_url"] as const),
  ...(["region", "role_arn", "profile"] as const),
  ...(["package", "export", "options"] as const),
] as const;

/** One of them. */
export type KindKey = (typeof KIND_KEYS)[number];

/** Keys that say who calls: what a tenant may bring of its own. Which of them a kind has is the kind's business. */
export const CREDENTIAL_KEYS = ["api_key", "entra", "credentials", "role_arn", "profile"] as const;

/** One of them. */
export type CredentialKey = (typeof CREDENTIAL_KEYS)[number];

/** What is known of a kind of provider before anything is said about one: data, so that one more kind is one more row. */
export interface KindFacts {
  /** What the vendor's SDK takes; null: there is none by default. */
  baseUrl: string | null;
  /** The same where it follows from the provider's own keys; undefined: from these it does not. */
  baseUrlFrom?: (
    keys: { location?: string | undefined; region?: string | undefined },
    environment: Pick<Environment, "get">,
  ) => string | undefined;
  /** Its SDK takes the host alone, and calls add the version. */
  hostOnly: boolean;
  /** The vendor refuses calls without a key. */
  needsKey: boolean;
  /** Variable that holds the key by custom. */
  keyVariable: string;
  /** How the key is sent unless `auth` says otherwise. */
  auth: { header: string; prefix: string };
  /** A vendor's model names may float. */
  vendor: boolean;
  /** What a credential is that is written as one text; default: `api_key`. */
  credential?: CredentialKey;
  /** Which of the keys that are not everybody's it has; none by default. */
  keys?: readonly KindKey[];
  /** Keys of everybody's that say nothing to it. */
  lacks?: readonly ("base_url" | "api_key" | "auth" | "tls" | "proxy" | "pool")[];
  /** What of a base URL's end calls add themselves, where that is more than a version. */
  adds?: RegExp;
  /** Its deployments have names that are not the model's. */
  namesDeployments?: true;
  /** The words for `api` that mean something for a model of such a provider. */
  apis: (of: Pick<ProviderConfig, "preset" | "azure">, model: string) => readonly string[];
  /** What is wrong with a model's name, as a predicate; null: nothing. */
  modelFault?: (model: string) => string | null;
}

/** The two APIs of OpenAI's for chat. */
const BOTH: readonly string[] = ["chat", "responses"];
/** Azure's dated versions have Responses from this one on. */
const AZURE_RESPONSES_SINCE = "2025-03-01";

const BEARER = { header: "authorization", prefix: "Bearer " };

/** The kinds this build speaks to (INTERFACE, ruling 1 and 2). */
export const KINDS: Readonly<Record<ProviderKind, KindFacts>> = {
  openai: {
    baseUrl: "https://api.openai.com/v1",
    hostOnly: false,
    needsKey: true,
    keyVariable: "OPENAI_API_KEY",
    auth: BEARER,
    vendor: true,
    apis: () => BOTH,
  },
  "azure-openai": {
    baseUrl: null,
    hostOnly: true,
    needsKey: true,
    keyVariable: "AZURE_OPENAI_API_KEY",
    auth: { header: "api-key", prefix: "" },
    vendor: true,
    apis: ({ azure }) => (isOldAzure(azure) ? ["chat"] : BOTH),
    keys: ["endpoint", "api_version", "entra"],
    adds: /\/openai(?:\/v\d+[a-z0-9]*)?$/i,
    namesDeployments: true,
  },
  anthropic: {
    baseUrl: "https://api.anthropic.com",
    hostOnly: true,
    needsKey: true,
    keyVariable: "ANTHROPIC_API_KEY",
    auth: { header: "x-api-key", prefix: "" },
    vendor: true,
    apis: () => ["messages"],
  },
  gemini: {
    baseUrl: "https://generativelanguage.googleapis.com",
    hostOnly: true,
    needsKey: true,
    keyVariable: "GEMINI_API_KEY",
    auth: { header: "x-goog-api-key", prefix: "" },
    vendor: true,
    apis: () => ["generate"],
  },
  vertex: {
    baseUrl: null,
    baseUrlFrom: ({ location }) => (location === undefined ? undefined : vertexUrl(location)),
    hostOnly: true,
    needsKey: false,
    keyVariable: "GOOGLE_API_KEY",
    auth: { header: "x-goog-api-key", prefix: "" },
    vendor: true,
    apis: (_, model) => (/^(?:publishers\/anthropic\/|claude-)/.test(model) ? ["messages"] : ["generate"]),
    credential: "credentials",
    keys: ["project", "location", "credentials", "token_url"],
    modelFault: (model) =>
      /^publishers\/(?!(?:google|anthropic)\/models\/[^/]+$)/.test(model)
        ? "is of a publisher whose API this build does not speak on Vertex; it speaks publishers/google/models/… and publishers/anthropic/models/…"
        : null,
  },
  bedrock: {
    baseUrl: null,
    baseUrlFrom: (keys, environment) => {
      const region = awsRegion(keys, environment);
      return region === undefined ? undefined : bedrockUrl(region);
    },
    hostOnly: true,
    needsKey: false,
    keyVariable: "AWS_BEARER_TOKEN_BEDROCK",
    auth: BEARER,
    vendor: true,
    apis: () => [],
    keys: ["region", "role_arn", "profile"],
    adds: /\/model(?:\/.*)?$|\/v\d+[a-z0-9]*$/i,
  },
  cohere: {
    baseUrl: "https://api.cohere.com",
    hostOnly: true,
    needsKey: true,
    keyVariable: "COHERE_API_KEY",
    auth: BEARER,
    vendor: true,
    apis: () => ["chat"],
  },
  mistral: {
    baseUrl: "https://api.mistral.ai/v1",
    hostOnly: false,
    needsKey: true,
    keyVariable: "MISTRAL_API_KEY",
    auth: BEARER,
    vendor: true,
    apis: () => ["chat"],
  },
  "ai-sdk": {
    baseUrl: null,
    // The package knows, or is told by its own options.
    baseUrlFrom: () => undefined,
    hostOnly: false,
    needsKey: false,
    keyVariable: "API_KEY",
    auth: BEARER,
    vendor: true,
    apis: () => [],
    keys: ["package", "export", "options"],
    lacks: ["base_url", "api_key", "auth", "tls", "proxy", "pool"],
  },
  "openai-compatible": {
    baseUrl: null,
    hostOnly: false,
    needsKey: false,
    keyVariable: "API_KEY",
    auth: BEARER,
    vendor: false,
    apis: ({ preset }) => presetNamed(preset ?? "")?.apis ?? BOTH,
  },
  simulator: {
    baseUrl: null,
    hostOnly: false,
    needsKey: false,
    keyVariable: "API_KEY",
    auth: BEARER,
    vendor: false,
    apis: () => ["chat", "responses", "messages", "generate"],
  },
};

/** The kinds' names. */
export const KIND_NAMES = Object.keys(KINDS) as [ProviderKind, ...ProviderKind[]];

function isOldAzure(azure: ProviderConfig["azure"]): boolean {
  const version = azure?.apiVersion ?? null;
  return version !== null && version < AZURE_RESPONSES_SINCE;
}

/** Vertex has a host a region, one for all of them, and one for each of its two multi-regions (WIRE B4). */
function vertexUrl(location: string): string {
  if (location === "global") return "https://aiplatform.googleapis.com";
  if (location === "us" || location === "eu") return `https://aiplatform.${location}.rep.googleapis.com`;
  return `https://${location}-aiplatform.googleapis.com`;
}
