/**
 * Every code Sluicegate puts in an error answer. The code is stable: match on it, never on the message.
 * `cancelled` appears in the ledger only, because the client that would read it has left.
 */
export const ERROR_CODES = [
  "invalid_request",
  "unsupported_feature",
  "missing_platform_field",
  "context_length_exceeded",
  "content_filter",
  "guardrail_blocked",
  "invalid_api_key",
  "model_not_allowed",
  "permission_denied",
  "residency_violation",
  "classification_violation",
  "model_not_found",
  "not_found",
  "method_not_allowed",
  "request_timeout",
  "request_too_large",
  "idempotency_conflict",
  "rate_limit_exceeded",
  "budget_exceeded",
  "runaway_stopped",
  "overloaded",
  "no_healthy_deployment",
  "draining",
  "latency_budget_exhausted",
  "provider_timeout",
  "all_providers_failed",
  "cancelled",
  "internal",
] as const;

/** One of ERROR_CODES. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What went wrong with one call to one deployment: the provider-side taxonomy. */
export const ERROR_CLASSES = [
  "rate_limited",
  "overloaded",
  "provider_error",
  "timeout",
  "connection_failed",
  "invalid_response",
  "quota_exhausted",
  "auth_failed",
  "model_not_found",
  "context_overflow",
  "content_filtered",
  "bad_request",
  "cancelled",
] as const;

/** One of ERROR_CLASSES. */
export type ErrorClass = (typeof ERROR_CLASSES)[number];

/** One failed call as an error answer names it: which deployment, what class. No provider text. */
export interface AttemptSummary {
  deployment: string;
  class: ErrorClass;
}

/** The `error` member of an OpenAI-dialect error answer. */
export interface ErrorBody {
  message: string;
  type: string;
  param: string | null;
  code: ErrorCode | string;
  request_id: string;
  /** Which policy scope refused, for example `tenant:acme` or `provider:openai`. */
  scope?: string;
  dimension?: "requests" | "tokens" | "concurrency" | "usd";
  retry_after_ms?: number;
  resets_at?: string;
  limit?: number;
  used?: number;
  attempts?: AttemptSummary[];
}
