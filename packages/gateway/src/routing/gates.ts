import type { Deployment } from "../config/snapshot.ts";
import type { Call, Capability } from "../core/call.ts";
import { fewestTokens } from "./fewest-tokens.ts";

/** Gates of which each looks at one thing and may take a deployment out of a plan. */
export type Gate = "permission" | "capability" | "context" | "expressibility" | "pin";

/** Bytes a token takes in the estimate of a call (`Call.inputTokensEstimate`). */
const BYTES_PER_TOKEN = 4;

/** What a call needs and a deployment lacks (ruling 8). A deployment of which nothing is known lacks nothing. */
export function lackedBy({ capabilities }: Pick<Deployment, "capabilities">, call: NeedyCall): Capability[] {
  // Tokens can be counted for any model, if need be by the gateway.
  if (capabilities === undefined || call.needs.size === 0 || call.operation === "count_tokens") return [];
  return [...call.needs].filter((need) => !capabilities.includes(need));
}

/** What the capability gate looks at. */
export type NeedyCall = Pick<Call, "needs" | "operation">;

/** A call that is too long: at least so many tokens of input, and the output it asks for. */
export interface Overflow {
  inputTokensMin: number;
  outputTokens: number;
  window: number;
}

/** What the context gate looks at. */
export type LongCall = Pick<Call, "operation" | "inputTokensEstimate" | "maxOutputTokens" | "mayBeShortened" | "raw">;

/**
 * Says for each deployment whether a call fits its window (ROUTE-6): null, or by how much it does not. The estimate says which
 * calls are looked at; only the fewest tokens they can be refuse them, counted once for all deployments. Where the provider may
 * shorten the input, nothing is refused, and neither are texts to be embedded: each of them has a window of its own.
 */
export function windowGate(call: LongCall): (deployment: Window) => Overflow | null {
  let fewest: number | null = null;
  return ({ contextWindow, maxOutputTokens }) => {
    if (contextWindow === undefined || call.operation !== "chat" || call.mayBeShortened === true) return null;
    // A cap above what the model can write asks for no more than that.
    const outputTokens = Math.min(call.maxOutputTokens ?? 0, maxOutputTokens ?? Number.POSITIVE_INFINITY);
    if (call.inputTokensEstimate + outputTokens <= contextWindow) return null;
    fewest ??= fewestTokens(call.raw, Math.max(0, call.raw.length - call.inputTokensEstimate * BYTES_PER_TOKEN));
    if (fewest + outputTokens <= contextWindow) return null;
    return { inputTokensMin: fewest, outputTokens, window: contextWindow };
  };
}

/** What of a deployment the context gate looks at. */
export type Window = Pick<Deployment, "contextWindow" | "maxOutputTokens">;

/** The canonical field that asks for a capability; calls of other operations ask by their endpoint. */
const FIELDS: Readonly<Record<Capability, string>> = {
  tools: "tools",
  parallel_tools: "tools",
  vision: "images",
  documents: "documents",
  audio: "audio",
  json_schema: "response_format",
  logprobs: "logprobs",
  n: "n",
  embeddings: "model",
  images: "model",
  speech: "model",
  transcription: "model",
};

/** Where a client's dialect asks for a capability, for errors. */
export function fieldOf(need: Capability, fieldNames: Readonly<Record<string, string>>): string {
  const field = FIELDS[need];
  return fieldNames[field] ?? field;
}
