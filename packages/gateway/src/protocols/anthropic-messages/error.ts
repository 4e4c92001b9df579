import type { ErrorCode } from "@sluicegate/contract";
import type { GatewayError, ProviderFailure } from "../../core/errors.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { detailMembers, errorHeaders, verbatimUpstream } from "../error-headers.ts";
import { entryOf, type Fields, isObject } from "../field-checks.ts";
import { classifyFailure as classify } from "../openai-error.ts";
import { type ErrorAnswer, replyObject } from "../protocol.ts";
import { sseEvent, type Wire } from "./wire.ts";

/** Anthropic's `type` for each code; everything else is an invalid_request_error (INTERFACE, Errors). */
const TYPES: Partial<Record<ErrorCode, string>> = {
  invalid_api_key: "authentication_error",
  model_not_allowed: "permission_error",
  permission_denied: "permission_error",
  residency_violation: "permission_error",
  classification_violation: "permission_error",
  model_not_found: "not_found_error",
  not_found: "not_found_error",
  request_too_large: "request_too_large",
  rate_limit_exceeded: "rate_limit_error",
  budget_exceeded: "rate_limit_error",
  runaway_stopped: "rate_limit_error",
  overloaded: "overloaded_error",
  no_healthy_deployment: "overloaded_error",
  draining: "overloaded_error",
  latency_budget_exhausted: "timeout_error",
  provider_timeout: "timeout_error",
  all_providers_failed: "api_error",
  internal: "api_error",
};
/** Anthropic's own status for "too busy". */
const OVERLOADED_STATUS = 529;
/** What Claude Code looks for before it compacts a conversation (ruling 18). */
const TOO_LONG = "prompt is too long";

/** Statuses of the types, for an error inside a 200 stream. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: OVERLOADED_STATUS,
};

/** Anthropic's words for an account that has spent what it may: as a rate limit, or as a bad request (WIRE A3.5). */
const SPENT = /enforced_spend_limit|specified api usage limits/;
const SPENT_FROM: ReadonlySet<string> = new Set(["rate_limited", "bad_request"]);

/** Dimensions of Anthropic's own rate limit headers (WIRE A3.5). */
const DIMENSIONS = ["requests", "tokens", "input-tokens", "output-tokens"] as const;

/** The error as the Anthropic SDKs read it: status, headers with the retry advice, and the `error` object. */
export function encodeError(error: GatewayError, requestId: string): ErrorAnswer {
  return (
    verbatimUpstream(error) ?? {
      status: typeOf(error) === "overloaded_error" ? OVERLOADED_STATUS : error.status,
      headers: errorHeaders(error),
      body: JSON.stringify(errorBody(error, requestId)),
    }
  );
}

/** The one event that ends a failed stream. Ruling 18 holds for it too. */
export function encodeStreamError(error: GatewayError, requestId: string): Buffer {
  const { upstream } = error.details;
  const said = upstream ? replyObject(upstream.body) : null;
  if (upstream && said?.["type"] === "error") {
    return Buffer.from(`event: error\ndata: ${upstream.body.toString("utf8").replace(/\r\n|[\r\n]/g, "\ndata: ")}\n\n`);
  }
  const { type: _, ...rest } = errorBody(error, requestId);
  return Buffer.from(sseEvent("error", `,${JSON.stringify(rest).slice(1, -1)}`));
}

/** The class of an error answer: the shared tables know Anthropic's types; its reset headers are read here. */
export function classifyFailure(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  nowMs: number,
): ProviderFailure {
  const failure = classify(status, headers, body, nowMs);
  // Both come under types that say something else.
  if (SPENT.test(failure.message) && SPENT_FROM.has(failure.class)) return { ...failure, class: "quota_exhausted" };
  if (failure.retryAfterMs !== null || failure.class !== "rate_limited") return failure;
  return { ...failure, retryAfterMs: resetMs(headers, nowMs) };
}

/** An error under a 200: the dialect's own object, or another server's that only has an `error`. */
export function saidError(body: Fields, eventName: string | null = null): boolean {
  return body["type"] === "error" || eventName === "error" || (holdsError(body["error"]) && body["type"] !== "message");
}

/** The status that an error's own type stands for; null when it names none. */
export function statusOf(body: Fields): number | null {
  const error = isObject(body["error"]) ? body["error"] : body;
  const type = error["type"];
  return (typeof type === "string" ? entryOf(STATUSES, type) : undefined) ?? statusNamed(body);
}

function typeOf(error: GatewayError): string {
  return TYPES[error.code] ?? "invalid_request_error";
}

function errorBody(error: GatewayError, requestId: string): Wire {
  const { details, code, message } = error;
  const said = code === "context_length_exceeded" && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message;
  return {
    type: "error",
    error: {
      type: typeOf(error),
      message: said,
      code,
      ...(details.param !== undefined && { param: details.param }),
      ...detailMembers(details),
    },
    request_id: requestId,
  };
}

/** When the used-up limit is refilled (RFC 3339); null where no limit is said to be used up. */
function resetMs(headers: Record<string, string>, nowMs: number): number | null {
  for (const dimension of DIMENSIONS) {
    const prefix = `anthropic-ratelimit-${dimension}`;
    if (headers[`${prefix}-remaining`]?.trim() !== "0") continue;
    const at = Date.parse(headers[`${prefix}-reset`] ?? "");
    if (Number.isFinite(at)) return Math.max(0, at - nowMs);
  }
  return null;
}
