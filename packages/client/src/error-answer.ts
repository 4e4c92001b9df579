import { type ErrorBody, HEADERS } from "@sluicegate/contract";
import { createError } from "./error-table.ts";
import type { SluicegateError } from "./errors.ts";
import { asObject, asText, type JsonObject, parseObject } from "./json-value.ts";
import { readRetryAfterMs } from "./retry-delay.ts";

/** Reads the body of an answer that is not 2xx and makes the error it stands for. Never throws. */
export async function readErrorAnswer(response: Response): Promise<SluicegateError> {
  const text = await response.text().catch(() => "");
  return errorFromBody(parseObject(text) ?? {}, response, response.status);
}

/**
 * The error that a body with an `error` member stands for. `status` is left out where HTTP said 200:
 * then the code says which status it stands for.
 */
export function errorFromBody(body: JsonObject, response: Response, status?: number): SluicegateError {
  const error = asObject(body["error"]);
  const requestId = asText(error?.["request_id"]) ?? response.headers.get(HEADERS.requestId) ?? undefined;
  if (error === undefined) {
    const said = asText(body["error"]) ?? asText(body["message"]) ?? "an answer without an error body";
    // Not `draining` and not ours: something between here and the gateway answered.
    return createError({ message: `HTTP ${status ?? response.status}: ${said}`, code: "unknown", status, requestId });
  }
  const code = asText(error["code"]) ?? asText(error["type"]) ?? "unknown";
  return createError({
    message: asText(error["message"]) ?? code,
    code,
    status,
    requestId,
    retryAfterMs: readRetryAfterMs(error["retry_after_ms"], response.headers),
    body: error as unknown as ErrorBody,
  });
}

/** The error for an answer that cannot be what the gateway sent. */
export function invalidAnswer(what: string, response: Response): SluicegateError {
  const requestId = response.headers.get(HEADERS.requestId) ?? undefined;
  return createError({ message: `the gateway's answer ${what}`, code: "invalid_answer", requestId });
}
