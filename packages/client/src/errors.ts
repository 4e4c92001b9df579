import type { AttemptSummary, ErrorBody, ErrorCode } from "@sluicegate/contract";

/**
 * Codes of failures that the SDK itself saw; no answer of the gateway carries them.
 * `connection_lost`: no answer came, or not all of it. `client_timeout`: `timeoutMs` ran out. `stream_cut`: a stream ended before it
 * was finished. `invalid_answer`: what came is not an answer of the gateway.
 */
export type ClientErrorCode = "connection_lost" | "client_timeout" | "stream_cut" | "invalid_answer";

/** What a SluicegateError is made of. */
export interface ErrorDetails {
  message: string;
  code: string;
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  body?: ErrorBody | undefined;
  cause?: unknown;
}

/** Every failure of a call, except an abort by the caller's own signal, which throws that signal's reason. */
export class SluicegateError extends Error {
  override readonly name: string = "SluicegateError";
  /** Stable: match on it, never on the message. A provider's own 400 comes with the provider's own code. */
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** HTTP status; for an error inside a stream the one its code stands for; undefined when no answer came. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** Which policy scope refused, for example `tenant:acme`. */
  readonly scope: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** The calls to deployments that failed, in order. */
  readonly attempts: AttemptSummary[] | undefined;
  /** The whole `error` member of the answer: limits, dimension, reset time. */
  readonly body: ErrorBody | undefined;

  constructor(details: ErrorDetails) {
    super(details.message, "cause" in details ? { cause: details.cause } : undefined);
    this.code = details.code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.scope = details.body?.scope;
    this.retryAfterMs = details.retryAfterMs;
    this.attempts = details.body?.attempts;
    this.body = details.body;
  }
}

/** The request cannot be served as it stands: a field, its size, its method, a model's limits. */
export class InvalidRequestError extends SluicegateError {
  override readonly name = "InvalidRequestError";
}

/** A provider's content filter or a guardrail refused the prompt or the answer. */
export class ContentBlockedError extends SluicegateError {
  override readonly name = "ContentBlockedError";
}

/** The key is missing, unknown, expired or revoked. */
export class AuthenticationError extends SluicegateError {
  override readonly name = "AuthenticationError";
}

/** The key is good, but may not use this model, or not with this residency or classification. */
export class PermissionError extends SluicegateError {
  override readonly name = "PermissionError";
}

/** No such alias or path. */
export class NotFoundError extends SluicegateError {
  override readonly name = "NotFoundError";
}

/** A rate limit or concurrency limit is full; see `scope` and `retryAfterMs`. */
export class RateLimitError extends SluicegateError {
  override readonly name = "RateLimitError";
}

/** Money or tokens are spent until the budget resets, or a runaway was stopped. Retrying does not help. */
export class BudgetError extends SluicegateError {
  override readonly name = "BudgetError";
}

/** Nothing can serve right now: overloaded, no healthy deployment, or the gateway is draining. */
export class OverloadedError extends SluicegateError {
  override readonly name = "OverloadedError";
}

/** Time ran out: the latency budget, a provider's, or `timeoutMs` here. */
export class TimeoutError extends SluicegateError {
  override readonly name = "TimeoutError";
}

/** Every deployment that was tried failed; see `attempts`. */
export class ProviderError extends SluicegateError {
  override readonly name = "ProviderError";
}

/** The hop to the gateway failed: no answer, a cut stream, or an answer that is not the gateway's. */
export class ConnectionError extends SluicegateError {
  override readonly name = "ConnectionError";
}

/** The gateway itself failed; quote `requestId` when reporting it. */
export class InternalServerError extends SluicegateError {
  override readonly name = "InternalServerError";
}
