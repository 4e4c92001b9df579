import type { HedgeConfig } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import { LIMITS } from "../core/limits.ts";
import { hedgeDelayMs } from "../resilience/hedge.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import { enter, giveBack } from "./enter.ts";
import { laterHop, type Standing, standAt, type Work } from "./execute.ts";
import type { DataPlane } from "./plane.ts";
import type { Second } from "./race.ts";
import type { Hop } from "./route.ts";
import { startAttempt } from "./start-attempt.ts";

/** What a request gets that asks for a hedge on a route without settings of its own. */
const ASKED: HedgeConfig = { after: "p95", maxExtra: 0.1 };

/**
 * The second attempt that may run beside the one that has just begun: at the next of the chain, once a request, within the
 * hedge budget, and with a reservation of its own (ruling 20). Null where nobody wants one, or the call must not be made twice.
 */
export function hedgeFor(plane: DataPlane, work: Work, standing: Standing, cancel: Cancel): Second | null {
  const { call, plan, lease } = work;
  const { settings } = plan;
  if (call.platform.hedge === false) return null;
  const config = settings.hedge ?? (call.platform.hedge === true ? ASKED : null);
  if (!config || !mayBeDoubled(call) || lease.attempts.some((record) => record.hedge)) return null;
  if (!settings.fallback || call.platform.fallback === false || lease.attempts.length >= LIMITS.attemptsMax)
    return null;
  // Where the loop itself would go next: one that has calls left, and room for what has been too long.
  const { overflowed } = standing;
  const index = laterHop(
    work,
    standing.hopIndex,
    ({ deployment }) => !overflowed || hasMoreRoom(call, overflowed, deployment),
  );
  const next = plan.hops[index];
  const first = plan.hops[standing.hopIndex];
  if (!next || !first) return null;
  // Retries are no requests: they would make more hedges of a deployment the worse it is.
  if (standing.attemptsHere === 1) plane.hedges.request(first.health, config.maxExtra);
  const p95Ms = plane.health.p95Ms(first.health, call.stream);
  const afterMs = hedgeDelayMs(config, { p95Ms, expectedMs: first.deployment.expectedLatencyMs ?? null });
  if (afterMs === null) return null;
  return {
    afterMs,
    takesOverflow: settings.contextFallback && hasMoreRoom(call, first.deployment, next.deployment),
    async start(isOver) {
      if (cancel.cancelled || !plane.hedges.take(first.health)) return null;
      let record: AttemptRecord | null = null;
      try {
        record = await setOff(plane, work, next, aside(standing, index), isOver, cancel);
      } catch (fault) {
        // The first one runs on, whatever becomes of this one.
        plane.log.fault(work.visit.requestId, fault);
      }
      if (!record) plane.hedges.giveBack(first.health);
      return record;
    },
  };
}

async function setOff(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  standing: Standing,
  isOver: () => boolean,
  cancel: Cancel,
): Promise<AttemptRecord | null> {
  // It waits for nobody: a hedge that queues comes too late to be one.
  const entry = await enter(plane, { ...work, queues: false }, hop, standing, cancel);
  if (!entry.ok) return null;
  if (isOver()) {
    giveBack(plane, entry.grip);
    return null;
  }
  const { grip, remainingMs } = entry;
  const record = startAttempt(plane, work, hop, { retry: false, hedge: true, grip, remainingMs }, cancel);
  plane.metrics.hedged();
  return record;
}

/** Where what overflows the first one goes next. */
export function hasMoreRoom(call: Call, first: Hop["deployment"] | undefined, next: Hop["deployment"]): boolean {
  return (next.contextWindow ?? 0) > (first?.contextWindow ?? call.inputTokensEstimate);
}

/** A request stands in two places while it is hedged; where it goes on is the attempt loop's business. */
function aside(standing: Standing, hopIndex: number): Standing {
  const other = { ...standing };
  standAt(other, hopIndex, 0);
  return other;
}

/** Neither what has effects of its own, nor what may have had them already, is done twice (RES-3). */
function mayBeDoubled(call: Call): boolean {
  return call.platform.side_effecting !== true && !guardsToolResults(call);
}

/** The conversation holds tool results, and the caller has not said that repeating is safe. */
export function guardsToolResults(call: Call): boolean {
  return call.holdsToolResults && call.platform.retry_after_tool_results !== true;
}
