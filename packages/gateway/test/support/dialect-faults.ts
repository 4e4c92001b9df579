import type { ErrorClass } from "@sluicegate/contract";
import { type Told, toldOf } from "./matrix-expected.ts";

/** A whole answer, or a stream. */
export type Mode = "json" | "stream";

/**
 * How a call ends: `served` by the faulty deployment after all, `moved` to the one behind it, `told` with an error of its own
 * status, or `broken` off by an error in a stream that had begun.
 */
export type Ending = "served" | "moved" | "told" | "broken";

/** Calls to the faulty deployment, and what comes of the request. */
export interface Outcome {
  hits: number;
  ends: Ending;
}

/** One way for a provider to fail that speaks any dialect, and what has to come of it. */
export interface Fault {
  name: string;
  /** The simulator's model. */
  model: string;
  mode: Mode;
  /** The class of the failed attempts; null where nothing fails. */
  class: ErrorClass | null;
  /** With nothing behind it. */
  alone: Outcome;
  /** With another deployment behind it. */
  next: Outcome;
  /** Waiting is the fault: it is given short timeouts. */
  waits: boolean;
  /** A failed attempt is billed by estimate (ruling 10). */
  billed: boolean;
  /** What the client is told of asking again, when nothing is left. */
  advice: { shouldRetry: boolean; retryAfterS: readonly [least: number, most: number] | null };
  /** The least that the whole request takes, with nothing behind it, ms. */
  leastMs: number;
}

type Told4 = Pick<Fault, "class" | "alone" | "next" | "advice">;
type More = Partial<Pick<Fault, "waits" | "billed" | "advice" | "leastMs">>;

const NO_ADVICE: Fault["advice"] = { shouldRetry: false, retryAfterS: null };
const retryAfter = (least: number, most: number, shouldRetry = false): Fault["advice"] => ({
  shouldRetry,
  retryAfterS: [least, most],
});

/** Tried once more in place (ruling 3). */
const inPlace = (kind: ErrorClass): Told4 => ({
  ...{ class: kind, advice: NO_ADVICE },
  ...{ alone: { hits: 2, ends: "told" }, next: { hits: 2, ends: "moved" } },
});
/** Left at once where there is somewhere else to go. */
const left = (kind: ErrorClass): Told4 => ({ ...inPlace(kind), next: { hits: 1, ends: "moved" } });
/** The client's own affair: nobody else is asked (SPEC PROV-5). */
const final = (kind: ErrorClass): Told4 => ({
  ...{ class: kind, advice: NO_ADVICE },
  ...{ alone: { hits: 1, ends: "told" }, next: { hits: 1, ends: "told" } },
});
/** The client has some of the answer: nobody else is asked (SPEC RES-3). */
const begun = (kind: ErrorClass): Told4 => ({
  ...{ class: kind, advice: NO_ADVICE },
  ...{ alone: { hits: 1, ends: "broken" }, next: { hits: 1, ends: "broken" } },
});
const served: Told4 = {
  ...{ class: null, advice: NO_ADVICE },
  ...{ alone: { hits: 1, ends: "served" }, next: { hits: 1, ends: "served" } },
};

function fault(mode: Mode, name: string, model: string, told: Told4, more: More = {}): Fault {
  return { mode, name, model, waits: false, billed: false, leastMs: 0, ...told, ...more };
}

function both(name: string, model: string, told: Told4, more: More = {}): Fault[] {
  return [fault("json", name, model, told, more), fault("stream", name, model, told, more)];
}

const SILENT: More = { waits: true, billed: true };

/** The suite's faults. Streams and whole answers differ where the fault comes behind the first words. */
export const FAULTS: readonly Fault[] = [
  // The first one cools it for a second, which is waited for; the second one for two.
  ...both("429", "error?status=429", left("rate_limited"), { advice: retryAfter(1, 2), leastMs: 1_000 }),
  ...both(
    "429 with seconds that pass the deadline",
    "error?status=429&retry_after=60",
    { ...left("rate_limited"), alone: { hits: 1, ends: "told" } },
    { advice: retryAfter(50, 60, true) },
  ),
  ...both(
    "429 with a date that passes the deadline",
    "error?status=429&retry_after=date:40",
    { ...left("rate_limited"), alone: { hits: 1, ends: "told" } },
    { advice: retryAfter(25, 40, true) },
  ),
  ...both(
    "429 once, with seconds",
    "error?status=429&retry_after=1&times=1",
    { ...left("rate_limited"), alone: { hits: 2, ends: "served" } },
    { leastMs: 1_000 },
  ),
  ...both(
    "429 once, with milliseconds",
    "error?status=429&retry_after_ms=300&times=1",
    { ...left("rate_limited"), alone: { hits: 2, ends: "served" } },
    { leastMs: 300 },
  ),
  ...both("500 once", "error?times=1", {
    ...inPlace("provider_error"),
    ...{ alone: { hits: 2, ends: "served" }, next: { hits: 2, ends: "served" } },
  }),
  ...both("503 for ever", "error?status=503", left("overloaded"), { advice: retryAfter(1, 1) }),
  ...both("a TCP reset", "reset", inPlace("connection_failed"), { billed: true }),
  ...both("accepts and never answers", "hang", left("timeout"), SILENT),
  ...both("a slow first token", "slow?first_token=5s", left("timeout"), SILENT),
  fault("json", "a cut answer", "cut?after=2", inPlace("invalid_response"), { billed: true }),
  fault("stream", "a cut stream", "cut?after=2", begun("invalid_response")),
  fault("stream", "a cut connection", "cut?after=2&fin=1", begun("invalid_response")),
  fault("json", "a stalled answer", "hang?after=2", left("timeout"), SILENT),
  fault("stream", "a stalled stream", "hang?after=2", begun("timeout"), { waits: true }),
  fault("json", "a broken answer", "broken?after=2", inPlace("invalid_response")),
  fault("stream", "a broken event", "broken?after=2", begun("invalid_response")),
  ...both("no end mark", "nodone", served),
  ...both("too long a context", "context", final("context_overflow")),
  ...both("a filtered prompt", "filter", final("content_filtered")),
  ...both("an error inside a 200", "error200", inPlace("provider_error")),
  ...both("an overload inside a 200", "error200?status=529", left("overloaded"), { advice: retryAfter(1, 1) }),
];

const TIMED_OUT: Told = {
  ...{ code: "provider_timeout", status: 504 },
  types: { openai: "server_error", anthropic: "timeout_error", google: "DEADLINE_EXCEEDED" },
};

/** What a client is told when the last attempt failed so. */
export function finalTold(kind: ErrorClass): Told {
  return kind === "timeout" ? TIMED_OUT : toldOf(kind, 0);
}

/** What a client is told while the circuit of all there is is open. */
export const NOTHING_HEALTHY: Told = {
  ...{ code: "no_healthy_deployment", status: 503 },
  types: { openai: "service_unavailable", anthropic: "overloaded_error", google: "UNAVAILABLE" },
};
