import type { ErrorBody } from "@sluicegate/contract";
import { CODES, type ErrorDetails, type GatewayError } from "../core/errors.ts";
import type { ErrorAnswer } from "./protocol.ts";

/**
 * The headers every dialect's error answer carries, flat: the content type of JSON, the advice on retries (`x-should-retry`
 * as true or false, `retry-after` in whole seconds, `retry-after-ms`) and, for a wrong method, `allow`.
 */
export function errorHeaders(error: GatewayError): string[] {
  const { details } = error;
  const headers = ["content-type", "application/json"];
  const shouldRetry = details.shouldRetry ?? CODES[error.code].shouldRetry;
  if (shouldRetry !== undefined) headers.push("x-should-retry", String(shouldRetry));
  if (details.retryAfterMs !== undefined) {
    headers.push(
      "retry-after",
      String(Math.ceil(details.retryAfterMs / 1_000)),
      "retry-after-ms",
      String(details.retryAfterMs),
    );
  }
  if (details.allow) headers.push("allow", details.allow);
  return headers;
}

/** What is known of an error beside its words, as members of its JSON: the same in every dialect that lets errors have some. */
export function detailMembers(
  details: ErrorDetails,
): Omit<ErrorBody, "message" | "type" | "param" | "code" | "request_id"> {
  return {
    ...(details.reason && { reason: details.reason }),
    ...(details.scope && { scope: details.scope }),
    ...(details.dimension && { dimension: details.dimension }),
    ...(details.retryAfterMs !== undefined && { retry_after_ms: details.retryAfterMs }),
    ...(details.resetsAt && { resets_at: details.resetsAt }),
    ...(details.limit !== undefined && { limit: details.limit }),
    ...(details.used !== undefined && { used: details.used }),
    ...(details.attempts && { attempts: details.attempts }),
  };
}

/**
 * Ruling 18: a provider's own 400 reaches a client of the same dialect word for word, because clients match on it.
 * Null where the error is the gateway's own; the pipeline keeps `details.upstream` only where the dialects agree.
 */
export function verbatimUpstream(error: GatewayError): ErrorAnswer | null {
  const { upstream } = error.details;
  if (!upstream) return null;
  const headers = errorHeaders(error);
  headers[1] = upstream.contentType;
  return { status: error.status, headers, body: upstream.body.toString("utf8") };
}
