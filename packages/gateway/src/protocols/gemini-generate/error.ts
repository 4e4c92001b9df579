import type { Call } from "../../core/call.ts";
import type { GatewayError, ProviderFailure } from "../../core/errors.ts";
import { errorHeaders, verbatimUpstream } from "../error-headers.ts";
import { isObject, wordOf } from "../field-checks.ts";
import { classifyFailure as classifyFamily } from "../openai-error.ts";
import { type ErrorAnswer, replyObject } from "../protocol.ts";
import { pick, pickObject } from "./fields.ts";
import { wantsEvents } from "./path.ts";

/** google.rpc.Code's word for each status of ours. */
const WORDS: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  408: "DEADLINE_EXCEEDED",
  413: "INVALID_ARGUMENT",
  422: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
const RPC = "type.googleapis.com/google.rpc.";

/** The error in Google's frame (WIRE B4): our code is the reason of an ErrorInfo, a wait a RetryInfo, a field a BadRequest. */
export function encodeError(error: GatewayError, requestId: string): ErrorAnswer {
  return (
    verbatimUpstream(error) ?? {
      status: error.status,
      headers: errorHeaders(error),
      body: JSON.stringify({ error: errorBody(error, requestId) }),
    }
  );
}

/**
 * What ends a failed stream. Google writes it between the events as it is, without `data:` (js-genai issue 461), and the SDKs
 * take nothing else for an error: an event that holds one passes for an empty answer. Without a blank line behind it, as those
 * for JavaScript would skip it then, where it shares a packet with the event before. Ruling 18 holds for it too.
 */
export function encodeStreamError(error: GatewayError, requestId: string, call: Call, begun: boolean): Buffer {
  const body = upstreamEvent(error) ?? JSON.stringify({ error: errorBody(error, requestId) });
  if (wantsEvents(call)) return Buffer.from(body);
  // Without alt=sse the stream is one JSON array, which may not have been opened yet.
  return Buffer.from(`${begun ? ",\n" : "["}${body}\n]`);
}

/** The provider's own event, where SDKs would know it for an error. */
function upstreamEvent({ details }: GatewayError): string | null {
  const { upstream } = details;
  return upstream && isObject(replyObject(upstream.body)?.["error"]) ? upstream.body.toString("utf8") : null;
}

function errorBody(error: GatewayError, requestId: string): object {
  const { details, status, code } = error;
  const message =
    code === "context_length_exceeded"
      ? `The input token count exceeds what is allowed: ${error.message}`
      : error.message;
  // Values of an ErrorInfo's metadata are strings.
  const metadata: Record<string, string> = { request_id: requestId };
  for (const key of ["reason", "scope", "dimension", "limit", "used"] as const) {
    if (details[key] !== undefined) metadata[key] = String(details[key]);
  }
  if (details.resetsAt) metadata["resets_at"] = details.resetsAt;
  if (details.attempts) metadata["attempts"] = JSON.stringify(details.attempts);
  const list: object[] = [{ "@type": `${RPC}ErrorInfo`, reason: code, domain: "sluicegate", metadata }];
  if (details.param !== undefined) {
    list.push({ "@type": `${RPC}BadRequest`, fieldViolations: [{ field: details.param, description: message }] });
  }
  if (details.retryAfterMs !== undefined) {
    list.push({ "@type": `${RPC}RetryInfo`, retryDelay: `${details.retryAfterMs / 1_000}s` });
  }
  return { code: status, message, status: WORDS[status] ?? "UNKNOWN", details: list };
}

/**
 * The class of an error of Google's. What the family's tables do not say: a blocked prompt, an account that may not call
 * from where it is (FAILED_PRECONDITION), a quota that is zero.
 */
export function classifyFailure(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  nowMs: number,
): ProviderFailure {
  const failure = classifyFamily(status, headers, body, nowMs);
  const said = parsed(body);
  if (blockReason(said) !== null) {
    // A 200 that refuses is no error body: nothing of it is shown as one.
    const { upstream: _, ...blocked } = failure;
    return { ...blocked, class: "content_filtered" };
  }
  const error = isObject(said) && isObject(said["error"]) ? said["error"] : {};
  if (failure.class === "bad_request" && error["status"] === "FAILED_PRECONDITION") {
    return { ...failure, class: "auth_failed" };
  }
  if (failure.class === "rate_limited" && /\blimit: 0\b|"quotaValue"\s*:\s*"?0"?\s*[,}]/.test(body.toString("utf8"))) {
    return { ...failure, class: "quota_exhausted" };
  }
  return failure;
}

/** An object, or the first of an array of them: streams wrap their errors in one. */
function parsed(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return Array.isArray(value) ? value[0] : value;
  } catch {
    return null;
  }
}

/** Why the prompt was refused; null when it was not. Google says so with a 200 that holds no candidates. */
export function blockReason(reply: unknown): string | null {
  if (!isObject(reply)) return null;
  const candidates = reply["candidates"];
  if (Array.isArray(candidates) && candidates.length > 0) return null;
  const reason = pick(pickObject(reply, "promptFeedback") ?? {}, "blockReason");
  if (typeof reason === "number") return reason === 0 ? null : wordOf(reason);
  return typeof reason === "string" && reason !== "" && reason !== "BLOCK_REASON_UNSPECIFIED" ? reason : null;
}
