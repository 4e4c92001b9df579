import type { ErrorClass } from "@sluicegate/contract";
import type { Route } from "../config/snapshot.ts";
import { NEVER_MS } from "./bounds.ts";

/** Why one deployment of a chain may not be called now. */
export interface HopStanding {
  why: "open" | "probing" | "cooling";
  /** Epoch ms at which it may be tried; NEVER_MS: nobody knows. */
  retryAtMs: number;
  /** What cools it. */
  class: ErrorClass | null;
  /** Failures of its window as a share of its calls, 0 to 1: what tells the least bad. */
  errorRate: number;
}

/** What is known when no deployment of the chain may be called. */
export interface NoneFacts {
  /** In the order of the chain, not empty; null: that one is left out for another reason, and does not come back. */
  hops: readonly (HopStanding | null)[];
  settings: Pick<Route, "whenAllOpen" | "whenAllCooling">;
  nowMs: number;
  /** Of the deadline. */
  remainingMs: number;
  /** The request has waited for a recovery before: it does so once. */
  waited: boolean;
  /** In [0, 1). */
  random: number;
}

/** What happens then. `ms` and `retryAfterMs` are spans. */
export type WhenNone =
  | { do: "wait"; ms: number }
  | { do: "try"; index: number }
  | { do: "refuse"; code: "no_healthy_deployment" | "rate_limit_exceeded"; retryAfterMs: number };

/** What a client is told when nobody knows when there will be something, and while a probe is out. */
const UNKNOWN_MS = 30_000;
/** So that nobody comes back in the same millisecond. */
const WAIT_MS_MIN = 1;
/**
 * By how much a wait may be longer: what has gathered over a cooldown does not fall on the deployment at once, and when the
 * first ones are refused again, the others are spared the call.
 */
const SPREAD = 0.2;

/**
 * The decision when everything is open or cooling (RES-14, pure): wait once for the end of a cooldown when that fits the
 * deadline, try the least bad open one where the route says so, or refuse with the time of the soonest recovery: 503 with any
 * breaker open, 429 with nothing but rate limits.
 */
export function whenNone(facts: NoneFacts): WhenNone {
  const { hops, settings, nowMs, remainingMs } = facts;
  const standings = hops.filter((hop) => hop !== null);
  const soonest = Math.min(...standings.map((hop) => hop.retryAtMs));
  const anyOpen = standings.some((hop) => hop.why !== "cooling");
  // A cooldown's end is a promise; that of an open circuit is one probe's chance.
  const warm = Math.min(...standings.filter((hop) => hop.why === "cooling").map((hop) => hop.retryAtMs));
  const waitMs = Math.max(WAIT_MS_MIN, warm - nowMs);
  const mayWait = settings.whenAllCooling === "wait" && !facts.waited;
  if (mayWait && waitMs < remainingMs) {
    return { do: "wait", ms: waitMs + facts.random * Math.min(SPREAD * waitMs, remainingMs - waitMs) };
  }
  if (anyOpen && settings.whenAllOpen === "least_bad" && remainingMs > 0) {
    const index = leastBad(hops);
    if (index !== -1) return { do: "try", index };
  }
  const limited = !anyOpen && standings.length > 0 && standings.every((hop) => hop.class === "rate_limited");
  return {
    do: "refuse",
    code: limited ? "rate_limit_exceeded" : "no_healthy_deployment",
    retryAfterMs: soonest < NEVER_MS ? Math.max(WAIT_MS_MIN, soonest - nowMs) : UNKNOWN_MS,
  };
}

/**
 * The open one with the fewest failures; of equals the one that recovers first, then the first of the chain. One that cools was
 * asked for quiet, and one that is open by hand until somebody says otherwise was taken out: neither is called.
 */
function leastBad(hops: readonly (HopStanding | null)[]): number {
  let best = -1;
  let bestHop: HopStanding | null = null;
  for (const [index, hop] of hops.entries()) {
    if (!hop || hop.why === "cooling" || hop.retryAtMs >= NEVER_MS) continue;
    const better =
      !bestHop ||
      hop.errorRate < bestHop.errorRate ||
      (hop.errorRate === bestHop.errorRate && hop.retryAtMs < bestHop.retryAtMs);
    if (!better) continue;
    best = index;
    bestHop = hop;
  }
  return best;
}
