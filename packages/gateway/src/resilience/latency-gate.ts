import type { HealthFacts } from "../core/health.ts";

/** The configured prior counts as much as this many calls seen. */
const PRIOR_CALLS = 10;
/** What was seen long ago, when nothing has been lately. */
const OLD_CALLS = 5;

/**
 * What a call to a deployment is expected to take (RES-2), ms: its prior, blended with the p50 that was seen, the more so the
 * more calls there were. The first output of a stream, the whole of an answer. Null: nothing is known.
 */
export function expectedMs(
  priorMs: number | null,
  health: Pick<HealthFacts, "requests" | "p50Ms" | "ttftP50Ms">,
  stream: boolean,
): number | null {
  const seenMs = stream ? health.ttftP50Ms : health.p50Ms;
  if (seenMs === null) return priorMs;
  if (priorMs === null) return seenMs;
  const calls = Math.max(OLD_CALLS, health.requests);
  return (priorMs * PRIOR_CALLS + seenMs * calls) / (PRIOR_CALLS + calls);
}

/** Whether a call may begin with `remainingMs` of the budget left. What nothing is known of may. */
export function fitsBudget(remainingMs: number, expected: number | null): boolean {
  return remainingMs > 0 && remainingMs >= (expected ?? 0);
}
