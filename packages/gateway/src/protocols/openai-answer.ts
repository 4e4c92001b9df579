import type { ErrorBody, ErrorCode } from "@sluicegate/contract";
import type { GatewayError } from "../core/errors.ts";
import { detailMembers, errorHeaders, verbatimUpstream } from "./error-headers.ts";
import { isObject } from "./field-checks.ts";
import { type ErrorAnswer, replyObject } from "./protocol.ts";

const SPACE = 32;
const CLOSE_BRACE = 125;
const OPEN_BRACE = 123;

/** OpenAI's `type` for each code; everything else is an invalid_request_error (INTERFACE, Errors). */
const TYPES: Partial<Record<ErrorCode, string>> = {
  model_not_allowed: "permission_error",
  permission_denied: "permission_error",
  residency_violation: "permission_error",
  classification_violation: "permission_error",
  rate_limit_exceeded: "rate_limit_error",
  budget_exceeded: "insufficient_quota",
  runaway_stopped: "insufficient_quota",
  overloaded: "service_unavailable",
  no_healthy_deployment: "service_unavailable",
  draining: "service_unavailable",
  latency_budget_exhausted: "server_error",
  provider_timeout: "server_error",
  all_providers_failed: "server_error",
  internal: "server_error",
};

/** The error as the OpenAI SDKs read it: status, headers with the retry advice, and the `error` object. */
export function encodeOpenAiError(error: GatewayError, requestId: string): ErrorAnswer {
  return (
    verbatimUpstream(error) ?? {
      status: error.status,
      headers: errorHeaders(error),
      body: JSON.stringify({ error: errorBody(error, requestId) }),
    }
  );
}

/** The one event that ends a failed stream, and the terminator clients wait for. Ruling 18 holds for it too. */
export function encodeOpenAiStreamError(error: GatewayError, requestId: string): Buffer {
  const data = upstreamEvent(error) ?? JSON.stringify({ error: errorBody(error, requestId) });
  return Buffer.from(`data: ${data.replace(/\r\n|[\r\n]/g, "\ndata: ")}\n\ndata: [DONE]\n\n`);
}

/** The provider's own event, where SDKs would know it for an error: they look for a top-level `error`. */
function upstreamEvent({ details }: GatewayError): string | null {
  const { upstream } = details;
  return upstream && isObject(replyObject(upstream.body)?.["error"]) ? upstream.body.toString("utf8") : null;
}

/** The JSON answer with `gateway_metadata`, which is JSON, as the last member; all of it text of Latin-1. `body` is a JSON object. */
export function decorateOpenAiReply(body: string, metadata: string): string {
  let end = body.length - 1;
  while (end > 0 && body.charCodeAt(end) !== CLOSE_BRACE) end--;
  let before = end - 1;
  while (before > 0 && body.charCodeAt(before) <= SPACE) before--;
  const comma = body.charCodeAt(before) === OPEN_BRACE ? "" : ",";
  return `${body.slice(0, end)}${comma}"gateway_metadata":${metadata}${body.slice(end)}`;
}

function errorBody(error: GatewayError, requestId: string): ErrorBody {
  const { details } = error;
  return {
    message: error.message,
    type: TYPES[error.code] ?? "invalid_request_error",
    param: details.param ?? null,
    code: error.code,
    request_id: requestId,
    ...detailMembers(details),
  };
}
