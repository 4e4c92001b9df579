import type { GatewayError, ProviderFailure } from "../../core/errors.ts";
import { isObject, wordOf } from "../field-checks.ts";
import { encodeOpenAiError } from "../openai-answer.ts";
import { classifyFailure as classifyOpenAi } from "../openai-error.ts";
import { replyObject } from "../protocol.ts";

/** Fields that name something the client says is there. */
const REFERENCES = new Set(["input", "previous_response_id", "conversation"]);

/**
 * The one event that ends a failed stream. The members stand flat, as documented, and once more under `error`, as the API
 * sends them (WIRE A2.4): the official SDKs raise for the latter. Ruling 18 holds for it: a provider's own words come first.
 */
export function encodeStreamError(error: GatewayError, requestId: string): Buffer {
  const answer = replyObject(Buffer.from(encodeOpenAiError(error, requestId).body));
  const said = isObject(answer?.["error"]) ? answer["error"] : { message: error.message };
  const { type, code, message, param } = said;
  const event = {
    type: "error",
    code: code ?? error.code,
    message: message ?? error.message,
    param: param ?? null,
    sequence_number: 0,
    error: { ...said, type: type ?? "server_error", code: code ?? error.code, param: param ?? null },
  };
  return Buffer.from(`event: error\ndata: ${JSON.stringify(event)}\n\n`);
}

/** The class of an error answer: OpenAI's, but a 404 for an item or a response is the request's fault, not the model's. */
export function classifyFailure(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  nowMs: number,
): ProviderFailure {
  const failure = classifyOpenAi(status, headers, body, nowMs);
  const error = status === 404 ? replyObject(body)?.["error"] : null;
  if (!isObject(error) || !REFERENCES.has(wordOf(error["param"]))) return failure;
  return { ...failure, class: "bad_request" };
}
