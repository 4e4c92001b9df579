import type { ErrorClass } from "@sluicegate/contract";
import type { Route } from "../config/snapshot.ts";
import { CLASSES, type ProviderFailure } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";

/** What the one retry decision looks at. Times in ms. */
export interface RetryFacts {
  failure: ProviderFailure;
  retries: Route["retries"];
  /** Attempts made so far: at this deployment, and in all. */
  attemptsHere: number;
  attemptsTotal: number;
  /** The credential was refused, and there is another one now. */
  renewed?: boolean;
  /** Another deployment of the plan is still untried. */
  othersLeft: boolean;
  /** One of them takes a longer context than this one, and the route lets an overflow go there. Absent: none. */
  largerWindowLeft?: boolean;
  /** Route and caller allow moving on to another deployment. */
  fallback: boolean;
  sideEffecting: boolean;
  /** The conversation holds tool results and the caller has not said that repeating is safe. */
  guardsToolResults: boolean;
  remainingMs: number;
  /** The retry budget of this deployment allows one more. Asked only when a retry is the choice. */
  budgetAllows: () => boolean;
  /** In [0, 1). */
  random: number;
}

/** What happens after a failed attempt. */
export type NextStep = { do: "retry"; waitMs: number } | { do: "move_on" } | { do: "stop" };

/** May be tried once more in place although another deployment waits (ruling 3): their failures are often of the moment. */
const IN_PLACE_FIRST: readonly ErrorClass[] = ["connection_failed", "provider_error", "invalid_response"];

const STOP: NextStep = { do: "stop" };
const MOVE_ON: NextStep = { do: "move_on" };

/** THE retry decision (ruling 3, SPEC RES-3, RES-5): pure, and made in this one place. */
export function nextStep(facts: RetryFacts): NextStep {
  const { failure } = facts;
  const kind = CLASSES[failure.class];
  if (facts.sideEffecting || facts.attemptsTotal >= LIMITS.attemptsMax || facts.remainingMs <= 0) return STOP;
  // Turned away at the door, the call has not been made: it is made once more, whatever `retries` says of calls that were.
  if (facts.renewed) return { do: "retry", waitMs: 0 };
  const canMove = facts.fallback && hasElsewhere(facts);
  // With somewhere else to go, once more and not as often as `retries` says.
  const inPlace = kind.retryable && (!canMove || (IN_PLACE_FIRST.includes(failure.class) && facts.attemptsHere === 1));
  if (inPlace && facts.attemptsHere < facts.retries.attempts && !(facts.guardsToolResults && failure.ambiguous)) {
    const waitMs = failure.retryAfterMs ?? backOffMs(facts);
    // With somewhere else to go, waiting for this one long is worse than going.
    const fits = waitMs < facts.remainingMs && (!canMove || waitMs <= facts.retries.baseMs);
    if (fits && facts.budgetAllows()) return { do: "retry", waitMs };
  }
  return canMove ? MOVE_ON : STOP;
}

/** Whether another deployment is worth asking after this failure: an overflow only ends where there is more room. */
function hasElsewhere({ failure, othersLeft, largerWindowLeft }: RetryFacts): boolean {
  if (failure.class === "context_overflow") return largerWindowLeft === true;
  return CLASSES[failure.class].fallOver && othersLeft;
}

/** Full jitter: anywhere between nothing and base × 2^(attempt - 1), capped. */
function backOffMs(facts: RetryFacts): number {
  const { baseMs, capMs } = facts.retries;
  return facts.random * Math.min(capMs, baseMs * 2 ** (facts.attemptsHere - 1));
}
