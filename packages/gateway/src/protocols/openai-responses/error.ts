import type { GatewayError } from "../../core/errors.ts";
import { isObject } from "../field-checks.ts";
import { encodeOpenAiError } from "../openai-answer.ts";

/**
 * The one event that ends a failed stream. The members stand flat, as documented, and once more under `error`, as the API
 * sends them (WIRE A2.4): the official SDKs raise for the latter. Ruling 18 holds for it: a provider's own words come first.
 */
export function encodeStreamError(error: GatewayError, requestId: string): Buffer {
  const answer: unknown = parsed(encodeOpenAiError(error, requestId).body);
  const said = isObject(answer) && isObject(answer["error"]) ? answer["error"] : { message: error.message };
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
