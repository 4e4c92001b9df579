import { HEADERS } from "@sluicegate/contract";
import type { RetirementDay } from "../config/catalogue/model-catalogue.ts";
import type { Deployment } from "../config/snapshot.ts";
import type { Circuit } from "../core/health.ts";
import { msText, numberText, quotedText } from "../core/json-text.ts";
import { utf8AsLatin1 } from "../core/latin1-text.ts";
import { usdString } from "../core/money.ts";
import { headerSafe, servedNames } from "./served-names.ts";
import type { Visit } from "./visit.ts";

/** What an answer's headers and `gateway_metadata` say about how it was served. */
export interface Served {
  visit: Visit;
  alias: string;
  deployment: Pick<Deployment, "name" | "provider" | "retires">;
  /** The concrete model. */
  model: string;
  /** Hints of the client's that found no place. */
  dropped: readonly string[];
  attempts: number;
  fallbackDepth: number;
  /** A second attempt ran beside another. */
  hedged: boolean;
  /** Arm of the route's experiment; null: it has none. */
  variant: string | null;
  /** Of the deployment that serves. */
  circuit: Circuit;
  /** Micro-USD of all attempts; null where it is not known (streams, no price). */
  costMicroUsd: number | null;
  overheadMs: number;
  latencyMs: number;
  /** `minimal` keeps who served it to ourselves. */
  expose: "full" | "minimal";
}

/** A client may send any number of fields nobody knows; a header is no place for all of them. */
const DROPPED_CHARS_MAX = 1_024;

/** The request id alone: on every answer, errors included; put behind `headers`, where those are given. */
export function idHeaders({ requestId, protocol }: Visit, headers: string[] = []): string[] {
  headers.push(HEADERS.requestId, requestId);
  if (protocol.requestIdHeader !== undefined) headers.push(protocol.requestIdHeader, requestId);
  return headers;
}

/** All `x-sluicegate-*` headers of a served answer, flat; put behind `headers`, where those are given. */
export function servedHeaders(served: Served, headers: string[] = []): string[] {
  idHeaders(served.visit, headers).push(HEADERS.cache, "bypass");
  if (served.expose === "minimal") return headers;
  const { deployment, dropped } = served;
  const names = servedNames(deployment, served.alias, served.model);
  headers.push(
    HEADERS.alias,
    names.aliasHeader,
    HEADERS.deployment,
    names.deploymentHeader,
    HEADERS.provider,
    names.providerHeader,
    HEADERS.model,
    names.modelHeader,
    HEADERS.fallbackDepth,
    String(served.fallbackDepth),
    HEADERS.attempts,
    String(served.attempts),
    HEADERS.overheadMs,
    msText(served.overheadMs),
  );
  if (served.hedged) headers.push(HEADERS.hedged, "true");
  if (served.variant !== null) headers.push(HEADERS.variant, headerSafe(served.variant));
  if (dropped.length > 0) headers.push(HEADERS.dropped, droppedWords(dropped));
  if (deployment.retires) headers.push(...retirementHeaders(deployment.retires));
  if (served.costMicroUsd !== null) headers.push(HEADERS.costUsd, usdString(served.costMicroUsd));
  return headers;
}

/** Where nobody said when a model was given up: as long before its end as it is warned of. */
const NOTICE_MS = 30 * 86_400_000;

/** Since when a model is on its way out, as a structured date (RFC 9745), and its end, as an HTTP date (RFC 8594). */
function retirementHeaders({ atMs, announcedMs }: RetirementDay): string[] {
  const since = announcedMs ?? atMs - NOTICE_MS;
  return ["deprecation", `@${Math.floor(since / 1_000)}`, "sunset", new Date(atMs).toUTCString()];
}

/** The `gateway_metadata` member: as much as the headers say. `cost_usd` is null where the cost is not known. */
export function metadataOf(served: Served): Record<string, unknown> {
  if (served.expose === "minimal") return { request_id: served.visit.requestId, cache: "bypass", cache_hit: false };
  const { deployment } = served;
  return {
    request_id: served.visit.requestId,
    provider: deployment.provider,
    deployment: deployment.name,
    model: served.model,
    cost_usd: served.costMicroUsd === null ? null : served.costMicroUsd / 1_000_000,
    latency_ms: served.latencyMs,
    cache: "bypass",
    cache_hit: false,
    hedged: served.hedged,
    fallback_depth: served.fallbackDepth,
    circuit_state: served.circuit,
    variant: served.variant,
  };
}

/** Exact up to here: a decimal of 15 digits comes through a double unharmed. */
const EXACT_MICRO_USD_MAX = 1e15;

/** `metadataOf` as JSON, in text of Latin-1 (a byte a character), made from what all answers of a deployment have in common. */
export function metadataText(served: Served): string {
  if (served.expose === "minimal") return utf8AsLatin1(JSON.stringify(metadataOf(served)));
  const { deployment, costMicroUsd: cost, variant } = served;
  const { json } = servedNames(deployment, served.alias, served.model);
  // The id is of our own making: ASCII, and nothing in it needs escaping.
  return (
    `{"request_id":"${served.visit.requestId}",${json},"cost_usd":${cost === null ? "null" : usdText(cost)}` +
    `,"latency_ms":${msText(served.latencyMs)},"cache":"bypass","cache_hit":false,"hedged":${served.hedged}` +
    `,"fallback_depth":${numberText(served.fallbackDepth)},"circuit_state":"${served.circuit}"` +
    `,"variant":${variant === null ? "null" : utf8AsLatin1(quotedText(variant))}}`
  );
}

/** The JSON number of an amount: the digits are those of the header, without a fraction's way through a double. */
function usdText(microUsd: number): string {
  const exact = Number.isInteger(microUsd) && microUsd >= 0 && microUsd < EXACT_MICRO_USD_MAX;
  return exact ? usdString(microUsd) : numberText(microUsd / 1_000_000);
}

/** As many of the names as fit. */
function droppedWords(dropped: readonly string[]): string {
  let words = "";
  for (const name of dropped) {
    if (words.length >= DROPPED_CHARS_MAX) break;
    words += (words === "" ? "" : ", ") + name.slice(0, DROPPED_CHARS_MAX);
  }
  return headerSafe(words).slice(0, DROPPED_CHARS_MAX);
}
