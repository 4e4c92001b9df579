import type { ErrorCode } from "@sluicegate/contract";
import {
  AuthenticationError,
  BudgetError,
  type ClientErrorCode,
  ConnectionError,
  ContentBlockedError,
  type ErrorDetails,
  InternalServerError,
  InvalidRequestError,
  NotFoundError,
  OverloadedError,
  PermissionError,
  ProviderError,
  RateLimitError,
  type SluicegateError,
  TimeoutError,
} from "./errors.ts";

type ErrorType = new (details: ErrorDetails) => SluicegateError;
type Row = readonly [type: ErrorType, status: number | undefined];

/** Typed by the contract's codes, so that a new code does not compile until it has a class. */
const BY_CODE: Readonly<Record<Exclude<ErrorCode, "cancelled"> | ClientErrorCode, Row>> = {
  invalid_request: [InvalidRequestError, 400],
  unsupported_feature: [InvalidRequestError, 400],
  missing_platform_field: [InvalidRequestError, 400],
  context_length_exceeded: [InvalidRequestError, 400],
  content_filter: [ContentBlockedError, 400],
  guardrail_blocked: [ContentBlockedError, 400],
  invalid_api_key: [AuthenticationError, 401],
  model_not_allowed: [PermissionError, 403],
  permission_denied: [PermissionError, 403],
  residency_violation: [PermissionError, 403],
  classification_violation: [PermissionError, 403],
  model_not_found: [NotFoundError, 404],
  not_found: [NotFoundError, 404],
  method_not_allowed: [InvalidRequestError, 405],
  request_timeout: [TimeoutError, 408],
  request_too_large: [InvalidRequestError, 413],
  idempotency_conflict: [InvalidRequestError, 422],
  rate_limit_exceeded: [RateLimitError, 429],
  budget_exceeded: [BudgetError, 429],
  runaway_stopped: [BudgetError, 429],
  overloaded: [OverloadedError, 503],
  no_healthy_deployment: [OverloadedError, 503],
  draining: [OverloadedError, 503],
  latency_budget_exhausted: [TimeoutError, 504],
  provider_timeout: [TimeoutError, 504],
  all_providers_failed: [ProviderError, 502],
  internal: [InternalServerError, 500],
  connection_lost: [ConnectionError, undefined],
  stream_cut: [ConnectionError, undefined],
  invalid_answer: [ConnectionError, undefined],
  client_timeout: [TimeoutError, undefined],
};

/** For codes that are not ours: a provider's own words, or a proxy in front of the gateway. */
const BY_STATUS: { readonly [status: number]: ErrorType } = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  408: TimeoutError,
  429: RateLimitError,
  502: ProviderError,
  503: OverloadedError,
  504: TimeoutError,
};

/** The error of the class that fits the code, or for an unknown code the status (none: a provider's error, 502). */
export function createError(details: ErrorDetails): SluicegateError {
  if (isKnown(details.code)) {
    const [Type, status] = BY_CODE[details.code];
    return new Type({ ...details, status: details.status ?? status });
  }
  const status = details.status ?? 502;
  const Type = BY_STATUS[status] ?? (status >= 500 ? InternalServerError : InvalidRequestError);
  return new Type({ ...details, status });
}

function isKnown(code: string): code is keyof typeof BY_CODE {
  return Object.hasOwn(BY_CODE, code);
}
