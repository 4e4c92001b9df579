import type { AttemptSummary, ErrorClass, ErrorCode } from "@sluicegate/contract";

/** Whose fault an error is: a client's faults never page the operator and never count against a deployment. */
export type Blame = "client" | "provider" | "gateway" | "policy";

interface CodeFacts {
  status: number;
  blame: Blame;
  /** What `x-should-retry` tells an SDK; undefined leaves the decision to it. */
  shouldRetry: boolean | undefined;
}

/** The one table of client-visible codes. Statuses are INTERFACE's; `cancelled` only reaches the ledger. */
export const CODES: Readonly<Record<ErrorCode, CodeFacts>> = {
  invalid_request: { status: 400, blame: "client", shouldRetry: false },
  unsupported_feature: { status: 400, blame: "client", shouldRetry: false },
  missing_platform_field: { status: 400, blame: "client", shouldRetry: false },
  context_length_exceeded: { status: 400, blame: "client", shouldRetry: false },
  content_filter: { status: 400, blame: "policy", shouldRetry: false },
  guardrail_blocked: { status: 400, blame: "policy", shouldRetry: false },
  invalid_api_key: { status: 401, blame: "client", shouldRetry: false },
  model_not_allowed: { status: 403, blame: "policy", shouldRetry: false },
  permission_denied: { status: 403, blame: "client", shouldRetry: false },
  residency_violation: { status: 403, blame: "policy", shouldRetry: false },
  classification_violation: { status: 403, blame: "policy", shouldRetry: false },
  model_not_found: { status: 404, blame: "client", shouldRetry: false },
  not_found: { status: 404, blame: "client", shouldRetry: false },
  method_not_allowed: { status: 405, blame: "client", shouldRetry: false },
  request_timeout: { status: 408, blame: "client", shouldRetry: false },
  request_too_large: { status: 413, blame: "client", shouldRetry: false },
  idempotency_conflict: { status: 422, blame: "client", shouldRetry: false },
  rate_limit_exceeded: { status: 429, blame: "policy", shouldRetry: undefined },
  budget_exceeded: { status: 429, blame: "policy", shouldRetry: false },
  runaway_stopped: { status: 429, blame: "policy", shouldRetry: false },
  overloaded: { status: 503, blame: "gateway", shouldRetry: undefined },
  no_healthy_deployment: { status: 503, blame: "provider", shouldRetry: undefined },
  draining: { status: 503, blame: "gateway", shouldRetry: true },
  latency_budget_exhausted: { status: 504, blame: "provider", shouldRetry: false },
  provider_timeout: { status: 504, blame: "provider", shouldRetry: false },
  all_providers_failed: { status: 502, blame: "provider", shouldRetry: false },
  cancelled: { status: 499, blame: "client", shouldRetry: false },
  internal: { status: 500, blame: "gateway", shouldRetry: undefined },
};

interface ClassFacts {
  /** May the same deployment be asked again? */
  retryable: boolean;
  /** May the next deployment be asked? */
  fallOver: boolean;
}

/** The one table of provider-side failures (SPEC PROV-5). */
export const CLASSES: Readonly<Record<ErrorClass, ClassFacts>> = {
  rate_limited: { retryable: true, fallOver: true },
  overloaded: { retryable: true, fallOver: true },
  provider_error: { retryable: true, fallOver: true },
  timeout: { retryable: true, fallOver: true },
  connection_failed: { retryable: true, fallOver: true },
  invalid_response: { retryable: true, fallOver: true },
  quota_exhausted: { retryable: false, fallOver: true },
  auth_failed: { retryable: false, fallOver: true },
  model_not_found: { retryable: false, fallOver: true },
  context_overflow: { retryable: false, fallOver: false },
  content_filtered: { retryable: false, fallOver: false },
  bad_request: { retryable: false, fallOver: false },
  cancelled: { retryable: false, fallOver: false },
};

/** A provider's own error answer, kept so that a same-dialect client can be shown it word for word. */
export interface UpstreamAnswer {
  status: number;
  contentType: string;
  body: Buffer;
}

/** What an error can carry besides its code and words. */
export interface ErrorDetails {
  /** The request field at fault, as a path: `messages[2].content`. */
  param?: string;
  /** Machine-readable refinement, for example `no_policy` under model_not_allowed. */
  reason?: string;
  scope?: string;
  dimension?: "requests" | "tokens" | "concurrency" | "usd";
  retryAfterMs?: number;
  resetsAt?: string;
  limit?: number;
  used?: number;
  attempts?: AttemptSummary[];
  /** Methods to name in `allow`, for method_not_allowed. */
  allow?: string;
  upstream?: UpstreamAnswer;
  /** False when the gateway has already retried, true to invite a retry: overrides the table. */
  shouldRetry?: boolean;
  cause?: unknown;
}

/** The only error the data plane throws on purpose. Its message is shown to the client: no secrets, no stack. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "GatewayError";
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return CODES[this.code].status;
  }
}

/** Any thrown value as a GatewayError; what is not one becomes `internal`, its words kept for the log only. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError("internal", "something went wrong inside the gateway; quote the request id to its operator", {
    cause: thrown,
  });
}

/** One failed call to one deployment, classified. `message` is for logs and never reaches a client of another dialect. */
export interface ProviderFailure {
  class: ErrorClass;
  message: string;
  httpStatus: number | null;
  /** How long the provider asked to be left alone, in ms. */
  retryAfterMs: number | null;
  /** True when the provider may have done the work although it failed (the request had been sent). */
  ambiguous: boolean;
  /** True when the call was broken off (timed out, cut, cancelled) rather than answered: its work is billed by estimate. */
  broken?: boolean;
  upstream?: UpstreamAnswer;
}
