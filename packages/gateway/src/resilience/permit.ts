import type { ErrorClass } from "@sluicegate/contract";

/** How a call went, as far as the health of its deployment goes. */
export interface CallOutcome {
  /** Null: well. */
  class: ErrorClass | null;
  /** Says nothing about the deployment (the client left, or gave it too little time): counts for nothing, frees a probe's place. */
  neutral?: boolean;
  /** How long the provider asked to be left alone, ms. */
  retryAfterMs: number | null;
  /** To the first output of a stream, ms; null for whole answers. */
  ttftMs: number | null;
  /** Of the whole call, ms. */
  latencyMs: number;
  /** Of a whole answer, reasoning included: a long answer is not a slow one. Absent: not known. */
  outputTokens?: number;
  /** A stream slower than its route wants. */
  slow?: boolean;
}

/** Leave to make one call. */
export interface Permit {
  readonly ok: true;
  /** It decides whether an open circuit closes. */
  readonly probe: boolean;
  /** Says how the call went, once; later calls do nothing. Every permit is given back so, whatever happens to its call. */
  done(outcome: CallOutcome): void;
}

/** No leave now. */
export interface NoPermit {
  readonly ok: false;
  readonly why: "open" | "cooling" | "probing";
  /** Epoch ms at which to ask again; NEVER_MS: nobody knows. */
  readonly retryAtMs: number;
  /** What cools it; null: it does not cool. */
  readonly class: ErrorClass | null;
}
