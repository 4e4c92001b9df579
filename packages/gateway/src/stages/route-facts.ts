import type { Call } from "../core/call.ts";
import { promptSize } from "../protocols/prompt-size.ts";
import type { RouteFacts } from "../routing/facts.ts";
import { fewestTokens } from "../routing/fewest-tokens.ts";
import { mayOverflow } from "../routing/gates.ts";
import { rawName, tableOf } from "../routing/route-tables.ts";
import type { Caller } from "./authenticate.ts";
import type { Runtime } from "./plane.ts";
import { deploymentOf } from "./route.ts";

/** Bytes a token takes in the estimate of a call (`Call.inputTokensEstimate`). */
const BYTES_PER_TOKEN = 4;

/** How finely the random number is told: it stands on every row, and more digits than these decide nothing. */
const DRAWS = 1e9;

/** What of a decision is neither the request's nor the config's. */
export interface Moment {
  /** Epoch ms. */
  at: number;
  /** In [0, 1). */
  draw: number;
}

/** What routing looks at of a call; `route` adds what it learns of deployments. */
export function routeFacts(runtime: Runtime, { key, tenant }: Caller, call: Call, { at, draw }: Moment): RouteFacts {
  const { platform } = call;
  const { revision } = runtime.snapshot;
  const facts: RouteFacts = {
    at,
    revision,
    alias: call.alias,
    operation: call.operation,
    dialect: call.dialect,
    input_tokens: call.inputTokensEstimate,
    tenant: tenant.name,
    draw: Math.min(Math.round(draw * DRAWS), DRAWS - 1) / DRAWS,
  };
  if (call.stream) facts.stream = true;
  if (call.needs.size > 0) facts.needs = [...call.needs];
  if (call.mayBeShortened === true) facts.may_be_shortened = true;
  if (call.maxOutputTokens !== null) facts.max_output_tokens = call.maxOutputTokens;
  if (call.pinnedTo !== null) facts.pinned_to = call.pinnedTo;
  if (key.team !== null) facts.team = key.team;
  if (platform.session_id !== undefined) facts.session = platform.session_id;
  if (platform.tags !== undefined && Object.keys(platform.tags).length > 0) facts.tags = platform.tags;
  if (platform.priority !== undefined && platform.priority !== "normal") facts.priority = platform.priority;
  copyFields(platform, facts);
  if (key.application !== null) facts.application = key.application;
  measure(runtime, call, facts);
  return facts;
}

/** Platform fields that are the same in the facts. The application may be the key's. */
export const PLATFORM_FACTS = [
  ...(["user", "agent", "application", "task_class", "classification", "residency"] as const),
  ...(["hedge", "fallback", "side_effecting", "latency_budget_ms"] as const),
];

/** Those of PLATFORM_FACTS, name by name: a loop over names looks each of them up anew. */
function copyFields(platform: Call["platform"], facts: RouteFacts): void {
  if (platform.user !== undefined) facts.user = platform.user;
  if (platform.agent !== undefined) facts.agent = platform.agent;
  if (platform.application !== undefined) facts.application = platform.application;
  if (platform.task_class !== undefined) facts.task_class = platform.task_class;
  if (platform.classification !== undefined) facts.classification = platform.classification;
  if (platform.residency !== undefined) facts.residency = platform.residency;
  if (platform.hedge !== undefined) facts.hedge = platform.hedge;
  if (platform.fallback !== undefined) facts.fallback = platform.fallback;
  if (platform.side_effecting !== undefined) facts.side_effecting = platform.side_effecting;
  if (platform.latency_budget_ms !== undefined) facts.latency_budget_ms = platform.latency_budget_ms;
}

function measure(runtime: Runtime, call: Call, facts: RouteFacts): void {
  if (call.operation === "chat" || call.operation === "completions") {
    const { lastMessageChars, tools } = promptSize(call);
    facts.last_message_chars = lastMessageChars;
    if (tools > 0) facts.tools = tools;
  }
  // Counted for those alone that may be too long for somebody.
  if (mayOverflow(facts, smallestWindow(runtime, call.alias))) {
    const dataChars = Math.max(0, call.raw.length - call.inputTokensEstimate * BYTES_PER_TOKEN);
    facts.input_tokens_min = fewestTokens(call.raw, dataChars);
  }
}

function smallestWindow(runtime: Runtime, alias: string): number {
  const { snapshot } = runtime;
  if (snapshot.routes.has(alias)) return tableOf(snapshot, alias).smallestWindow;
  return deploymentOf(runtime, rawName(snapshot, alias))?.contextWindow ?? Number.POSITIVE_INFINITY;
}
