import type { ProviderKind } from "./snapshot.ts";

/** What is known of a kind of provider before anything is said about one: data, so that one more kind is one more row. */
export interface KindFacts {
  /** What the vendor's SDK takes; null: there is none by default. */
  baseUrl: string | null;
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
}

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
  },
  anthropic: {
    baseUrl: "https://api.anthropic.com",
    hostOnly: true,
    needsKey: true,
    keyVariable: "ANTHROPIC_API_KEY",
    auth: { header: "x-api-key", prefix: "" },
    vendor: true,
  },
  gemini: {
    baseUrl: "https://generativelanguage.googleapis.com",
    hostOnly: true,
    needsKey: true,
    keyVariable: "GEMINI_API_KEY",
    auth: { header: "x-goog-api-key", prefix: "" },
    vendor: true,
  },
  "openai-compatible": {
    baseUrl: null,
    hostOnly: false,
    needsKey: false,
    keyVariable: "API_KEY",
    auth: BEARER,
    vendor: false,
  },
  simulator: {
    baseUrl: null,
    hostOnly: false,
    needsKey: false,
    keyVariable: "API_KEY",
    auth: BEARER,
    vendor: false,
  },
};

/** The kinds' names. */
export const KIND_NAMES = Object.keys(KINDS) as [ProviderKind, ...ProviderKind[]];
