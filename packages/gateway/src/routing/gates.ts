import type { Deployment, Snapshot } from "../config/snapshot.ts";
import type { Capability } from "../core/call.ts";
import { classAllowed, regionWithin } from "../core/placement.ts";
import type { RouteFacts } from "./facts.ts";

/** Gates of which each looks at one thing and may take a deployment out of a plan. Static: none of them looks at health. */
export type Gate =
  | "permission"
  | "tenants"
  | "residency"
  | "classification"
  | "capability"
  | "context"
  | "expressibility"
  | "pin";

/** Where a request's data may be: its own word, else its tenant's (ruling 7). Null: nothing was said. */
export interface Placement {
  classification: string | null;
  residency: string | null;
}

/** What holds for a request. The lowest class is said only where classes are declared. */
export function placementOf(facts: RouteFacts, snapshot: Snapshot): Placement {
  const defaults = snapshot.tenants.get(facts.tenant)?.defaults;
  return {
    classification: facts.classification ?? defaults?.classification ?? snapshot.classifications[0] ?? null,
    residency: facts.residency ?? defaults?.residency ?? null,
  };
}

/** Why a deployment may not have this request's data (ROUTE-4), or null. */
export function misplaced(
  deployment: Deployment,
  facts: RouteFacts,
  { classification, residency }: Placement,
  { classifications, regions }: Pick<Snapshot, "classifications" | "regions">,
): { gate: Gate; reason: string } | null {
  if (deployment.tenants !== undefined && !deployment.tenants.includes(facts.tenant)) {
    return { gate: "tenants", reason: "is kept for other tenants" };
  }
  if (residency !== null && !regionWithin(regions, residency, deployment.region)) {
    const where = deployment.region === null ? "has no region" : `is in ${deployment.region}`;
    return { gate: "residency", reason: `${where}, and the data has to stay in ${residency}` };
  }
  if (!classAllowed(classifications, deployment.maxClassification, classification)) {
    const holds = deployment.maxClassification ?? classifications[0] ?? "nothing";
    return { gate: "classification", reason: `may hold ${holds} at most, and this is ${classification}` };
  }
  return null;
}

/** What a request needs and a deployment lacks (ruling 8). A deployment of which nothing is known lacks nothing. */
export function lackedBy(
  { capabilities }: Pick<Deployment, "capabilities">,
  { needs, operation }: Pick<RouteFacts, "needs" | "operation">,
): Capability[] {
  // Tokens can be counted for any model, if need be by the gateway.
  if (capabilities === undefined || needs === undefined || operation === "count_tokens") return [];
  return needs.filter((need) => !capabilities.includes(need));
}

/** A request that is too long: at least so many tokens of input, and the output it asks for. */
export interface Overflow {
  inputTokensMin: number;
  outputTokens: number;
  window: number;
}

/** What of a request the context gate looks at. */
export type Length = Pick<
  RouteFacts,
  "operation" | "input_tokens" | "input_tokens_min" | "max_output_tokens" | "may_be_shortened"
>;

/** The fewest tokens of an input that nobody has counted, as a share of the estimate. */
const FEWEST_SHARE = 0.5;

/**
 * By how much a request does not fit a deployment's window (ROUTE-6), or null. The estimate says which requests are looked at;
 * only the fewest tokens they can be refuse them. Where the provider may shorten the input, nothing is refused, and neither are
 * texts to be embedded: each of them has a window of its own.
 */
export function overflowOf(length: Length, { contextWindow, maxOutputTokens }: Window): Overflow | null {
  if (contextWindow === undefined || !hasLength(length)) return null;
  // A cap above what the model can write asks for no more than that.
  const outputTokens = Math.min(length.max_output_tokens ?? 0, maxOutputTokens ?? Number.POSITIVE_INFINITY);
  if (length.input_tokens + outputTokens <= contextWindow) return null;
  const fewest = length.input_tokens_min ?? Math.floor(length.input_tokens * FEWEST_SHARE);
  if (fewest + outputTokens <= contextWindow) return null;
  return { inputTokensMin: fewest, outputTokens, window: contextWindow };
}

/** What of a deployment the context gate looks at. */
export type Window = Pick<Deployment, "contextWindow" | "maxOutputTokens">;

/** Whether the fewest tokens of an input have to be counted, where the smallest window it may meet has this size. */
export function mayOverflow(length: Length, smallestWindow: number): boolean {
  return hasLength(length) && length.input_tokens + (length.max_output_tokens ?? 0) > smallestWindow;
}

function hasLength({ operation, may_be_shortened }: Length): boolean {
  return operation === "chat" && may_be_shortened !== true;
}

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
