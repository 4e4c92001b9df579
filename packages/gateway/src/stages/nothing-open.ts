import type { Call } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import { GatewayError } from "../core/errors.ts";
import { type HopStanding, whenNone } from "../resilience/when-none.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import type { Refusal } from "./ceilings.ts";
import type { Skipped } from "./enter.ts";
import { callsTo, lastWord, type Standing, standAt, type Work } from "./execute.ts";
import { summaryOf } from "./final-error.ts";
import { LATE_MS, pause } from "./pause.ts";
import type { DataPlane } from "./plane.ts";

/**
 * None of the chain takes the call now (RES-14): waits for the soonest recovery, or sends the request to the least bad one, by
 * moving `standing`; else throws what the client is to see, with the time at which asking again makes sense.
 */
export async function nothingOpen(plane: DataPlane, work: Work, standing: Standing, cancel: Cancel): Promise<void> {
  const { visit, call, plan, lease } = work;
  const skipped = standing.skipped.splice(0);
  const remainingMs = standing.deadline - plane.clock.monotonic();
  const tried = lease.attempts.length > 0;
  const inTheWay = obstacle(skipped, plane.clock.now());
  const decision = whenNone({
    hops: skipped.map((one) => standingOf(plane, one)),
    // What has failed by itself is told as that; and what stands in the way besides breakers is not got round by force.
    settings: tried || inTheWay ? { ...plan.settings, whenAllOpen: "refuse" } : plan.settings,
    ...{ nowMs: plane.clock.now(), remainingMs, waited: standing.waited, random: plane.random.float() },
  });
  if (decision.do !== "refuse") {
    if (decision.do === "wait") {
      standing.waited = true;
      await pause(plane, visit, decision.ms + LATE_MS, cancel);
    }
    const next = decision.do === "try" ? skipped[decision.index] : soonest(skipped);
    if (!next) throw new Error("a deployment that was not passed over cannot be waited for");
    standAt(standing, plan.hops.indexOf(next.hop), callsTo(work, next.hop));
    standing.forced = decision.do === "try";
    return;
  }
  const isLate = skipped.some(({ why }) => why === "late");
  const isSpent = (isLate || remainingMs <= 0) && call.platform.latency_budget_ms !== undefined;
  if (isSpent) throw late(call, lease.attempts);
  if (tried) throw lastWord(plane, work, standing);
  if (inTheWay) throw inTheWay;
  if (isLate)
    throw new GatewayError("provider_timeout", "the time of this request was over before a call could be made");
  const retryAfterMs = wholeMs(decision.retryAfterMs);
  if (decision.code === "rate_limit_exceeded") throw limited(skipped, retryAfterMs);
  const message = `no deployment behind ${JSON.stringify(call.alias)} takes calls now: ${whyNot(skipped)}`;
  throw new GatewayError(decision.code, message, { retryAfterMs });
}

/** What keeps each of them from taking the call. */
function whyNot(skipped: readonly Skipped[]): string {
  return skipped
    .map(({ hop, why, coolingFor }) => {
      const cause = why === "cooling" && coolingFor !== null ? ` after ${coolingFor}` : "";
      return `${hop.deployment.name} (${WORDS[why]}${cause})`;
    })
    .join(", ");
}

/** Of a ceiling that is only reached the client is told by another error. */
const WORDS: Readonly<Record<Skipped["why"], string>> = {
  open: "its circuit is open",
  cooling: "it cools down",
  full: "the request is larger than its ceiling",
  late: "too slow for the time that is left",
};

/**
 * What a client is told to wait, ms. Rounded down: two clocks are read, and a millisecond too much would be a second in
 * Retry-After; who comes that much too early is kept waiting for it here.
 */
export function wholeMs(ms: number): number {
  return Math.max(1, Math.floor(ms));
}

/** The one that cools and is the first to be back. */
function soonest(skipped: readonly Skipped[]): Skipped | undefined {
  const cooling = skipped.filter(({ why }) => why === "cooling");
  return cooling.sort((a, b) => a.retryAt - b.retryAt)[0];
}

function standingOf(plane: DataPlane, { hop, why, retryAt, coolingFor }: Skipped): HopStanding | null {
  if (why === "late" || why === "full") return null;
  const { requests, failures } = plane.health.read(hop.health);
  return { why, retryAtMs: retryAt, class: coolingFor, errorRate: requests === 0 ? 0 : failures / requests };
}

/** The ceiling that keeps a call out, the last one that was asked; null: none does. One that no waiting opens counts where there is no other. */
function obstacle(skipped: readonly Skipped[], nowMs: number): GatewayError | null {
  const comesBack = ({ why, refusal }: Skipped): boolean => why !== "late" && refusal?.tooLarge !== true;
  const passing = skipped.some(comesBack) ? skipped.filter(comesBack) : skipped;
  const full = passing.findLast(({ why }) => why === "full")?.refusal;
  return full
    ? fullError(full, Math.ceil(Math.min(...passing.map(({ retryAt }) => Math.max(1, retryAt - nowMs)))))
    : null;
}

/** No call was made (RES-2): it could not have been answered in time. */
function late({ platform }: Call, attempts: readonly AttemptRecord[]): GatewayError {
  const budget = platform.latency_budget_ms;
  const message = `what is left of the latency budget of ${budget} ms is less than the next deployment is expected to take`;
  return new GatewayError("latency_budget_exhausted", message, {
    attempts: attempts.flatMap(summaryOf),
    shouldRetry: false,
  });
}

function fullError({ scope, dimension, tooLarge }: Refusal, retryAfterMs: number): GatewayError {
  if (tooLarge === true) {
    const message = `the request's input is larger than ${scope} allows in a whole minute`;
    return new GatewayError("request_too_large", message, { scope, dimension });
  }
  if (dimension === "concurrency") {
    const message = `${scope} has no place for another call`;
    return new GatewayError("overloaded", message, { scope, dimension, retryAfterMs });
  }
  const message = `the ${dimension} of ${scope} are used up for now`;
  return new GatewayError("rate_limit_exceeded", message, { scope, dimension, retryAfterMs });
}

function limited(skipped: readonly Skipped[], retryAfterMs: number): GatewayError {
  const provider = skipped.find(({ why }) => why === "cooling")?.hop.deployment.provider ?? "";
  return new GatewayError(
    "rate_limit_exceeded",
    `provider ${provider} is rate-limiting and nothing else is left to try`,
    {
      ...{ scope: `provider:${provider}`, dimension: "requests", retryAfterMs },
    },
  );
}
