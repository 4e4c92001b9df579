import type { Deployment, Route } from "../config/snapshot.ts";
import type { HealthFacts } from "../core/health.ts";

/** A deployment with what is known of its health. */
export interface Known {
  deployment: Deployment;
  health: HealthFacts;
}

/** The least a deployment scores: it is called now and then, so that a recovery is seen. */
const SCORE_MIN = 0.01;
/** How much of the score a full deployment loses. */
const SATURATION_WEIGHT = 0.9;

/** Failures as a share of the calls that count; until there are enough of those, as a share of enough. */
function errorRate({ deployment, health }: Known): number {
  const { requests, failures } = health;
  return failures === 0 ? 0 : failures / Math.max(requests, deployment.breaker.minRequests, 1);
}

/** Over the route's ceiling for errors (ROUTE-7): less liked, and not stopped. */
export function isOverCeiling(known: Known, { errorCeiling }: Route["health"]): boolean {
  return known.health.requests >= known.deployment.breaker.minRequests && errorRate(known) > errorCeiling;
}

/** What a call takes, ms: to the first token where it streams. As observed, else as the config expects; null: nobody knows. */
export function latencyOf({ deployment, health }: Known, stream: boolean): number | null {
  return observed(health, stream) ?? deployment.expectedLatencyMs ?? null;
}

/** What calls took, ms; null: none was seen lately. */
export function observed({ p50Ms, ttftP50Ms }: HealthFacts, stream: boolean): number | null {
  return stream ? (ttftP50Ms ?? p50Ms) : p50Ms;
}

/**
 * A score between 0 and 1 of errors, latency (against the fastest of `among`) and saturation. A deployment of which nothing is
 * known scores 1, and so gets the traffic that makes it known.
 */
export function scoreOf(known: Known, among: readonly Known[], stream: boolean): number {
  const own = latencyOf(known, stream);
  let pace = 1;
  if (own !== null && own > 0) {
    for (const other of among) pace = Math.min(pace, (latencyOf(other, stream) ?? own) / own);
  }
  const room = 1 - SATURATION_WEIGHT * Math.min(1, known.health.saturation);
  return Math.max(SCORE_MIN, (1 - errorRate(known)) ** 2 * pace * room);
}
