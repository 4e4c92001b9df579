import type { DeploymentTimeouts, Route } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";

/** Ruling 4's defaults, ms. */
const FIRST_TOKEN_MS = 10_000;
const FIRST_TOKEN_REASONING_MS = 60_000;
const STREAM_HOP_MS = 15_000;
const STREAM_TOTAL_MS = 60_000;
const JSON_UNIT_MS = 60_000;
const JSON_UNIT_TOKENS = 2_000;
/** A client's cap is the client's to choose; how long a connection is held for it is not. */
const JSON_MS_MAX = 24 * 3_600_000;
/** What a JSON call without a cap may write before it is taken to hang; reasoning writes more than is seen. */
const UNCAPPED_TOKENS = 4_096;
const UNCAPPED_REASONING_TOKENS = 16_384;

/** The time one attempt has, ms from its own start unless said otherwise. */
export interface AttemptTimeouts {
  /** Until the request is on its way. */
  connectMs: number;
  /** From the moment it is sent to the first output of a stream; null for JSON. */
  firstTokenMs: number | null;
  /** Until the first output of a stream, or the whole JSON answer. */
  hopMs: number;
  /** Between two chunks of a stream. */
  idleMs: number;
  /** For a whole stream. */
  streamMaxMs: number;
}

/** Time the whole chain has until its first output (a stream) or its answer (JSON), ms; clipped by the caller's latency budget. */
export function totalTimeoutMs(call: Call, route: Pick<Route, "timeouts">): number {
  const set = route.timeouts.totalMs;
  const total = set ?? (call.stream ? STREAM_TOTAL_MS : jsonMs(call));
  return Math.min(total, call.platform.latency_budget_ms ?? Number.POSITIVE_INFINITY);
}

/** The timeouts of one attempt: deployment and route, the shorter of each, and never more than `remainingMs` of the chain. */
export function attemptTimeouts(
  call: Call,
  deployment: { timeouts: DeploymentTimeouts },
  route: Pick<Route, "timeouts">,
  remainingMs: number,
): AttemptTimeouts {
  const { connectMs, idleMs } = deployment.timeouts;
  return {
    connectMs,
    firstTokenMs: call.stream ? firstTokenMs(call, deployment) : null,
    hopMs: Math.min(fullHopMs(call, deployment, route), remainingMs),
    idleMs,
    streamMaxMs: route.timeouts.streamMaxMs,
  };
}

/** What an attempt has where the chain leaves it all its time, ms. */
export function fullHopMs(
  call: Call,
  deployment: { timeouts: DeploymentTimeouts },
  route: Pick<Route, "timeouts">,
): number {
  // A first token that may take long needs a hop that lets it: only the default moves, a set one holds.
  const byDefault = call.stream ? Math.max(STREAM_HOP_MS, firstTokenMs(call, deployment)) : jsonMs(call);
  return route.timeouts.hopMs ?? byDefault;
}

function firstTokenMs(call: Call, { timeouts }: { timeouts: DeploymentTimeouts }): number {
  return timeouts.firstTokenMs ?? (call.reasons ? FIRST_TOKEN_REASONING_MS : FIRST_TOKEN_MS);
}

function jsonMs(call: Call): number {
  const cap = call.maxOutputTokens ?? (call.reasons ? UNCAPPED_REASONING_TOKENS : UNCAPPED_TOKENS);
  return Math.min(JSON_MS_MAX, JSON_UNIT_MS * Math.max(1, cap / JSON_UNIT_TOKENS));
}
