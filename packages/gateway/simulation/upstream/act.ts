import type { ErrorClass, Usage } from "@sluicegate/contract";

/** What an upstream can do with one call. */
export type ActKind = keyof typeof ACTS;

/** How a provider says how long it wants to be left alone. */
export type RetryHint = "none" | "seconds" | "date" | "ms";

/** One call's script. Times are ms. */
export interface Act {
  kind: ActKind;
  /** Until the connection is there and the request on its way. */
  connectMs: number;
  /** From there to the head of the answer, and from the head to the first piece. */
  headMs: number;
  firstMs: number;
  /** Words of the answer, and the time between two of them. */
  words: number;
  paceMs: number;
  /** Words after which it breaks, where it breaks. */
  breaksAfter: number;
  hint: RetryHint;
  hintMs: number;
  /** How events are put into packets. */
  packets: "events" | "halves" | "bursts";
  /** What is billed, where that is not what the text comes to. */
  usage?: Partial<Usage>;
  /** What every word of the answer is; absent: words of several scripts. */
  word?: string;
  /** Another model than was asked for answers. */
  model?: string;
}

/** A good answer, at once and without chance, changed in some of its parts. */
export function actOf(change: Partial<Act> = {}): Act {
  return {
    ...{ kind: "answer", connectMs: 1, headMs: 1, firstMs: 1, words: 1, paceMs: 1, breaksAfter: 0 },
    ...{ hint: "none", hintMs: 0, packets: "events" },
    ...change,
  };
}

/** What each is to be taken for, as a stream and as a whole answer; null: a good answer. */
export const ACTS = {
  answer: { stream: null, whole: null },
  no_usage: { stream: null, whole: null },
  no_done: { stream: null, whole: null },
  late_close: { stream: null, whole: null },
  cut_short: { stream: null, whole: null },
  filtered: { stream: null, whole: null },
  limited: both("rate_limited"),
  overloaded: both("overloaded"),
  fault: both("provider_error"),
  quota: both("quota_exhausted"),
  auth: both("auth_failed"),
  gone: both("model_not_found"),
  filter: both("content_filtered"),
  overflow: both("context_overflow"),
  bad: both("bad_request"),
  refused: both("connection_failed"),
  unreachable: both("connection_failed"),
  reset: both("connection_failed"),
  mute: both("timeout"),
  mute_body: both("timeout"),
  cut: both("invalid_response"),
  eof: both("invalid_response"),
  stall: both("timeout"),
  garbage: both("invalid_response"),
  html: both("invalid_response"),
  empty: both("invalid_response"),
  error_first: both("overloaded"),
  error_mid: both("overloaded"),
} as const satisfies Record<string, { stream: ErrorClass | null; whole: ErrorClass | null }>;

function both<Name extends ErrorClass>(name: Name): { stream: Name; whole: Name } {
  return { stream: name, whole: name };
}
