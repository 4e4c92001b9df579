import type { ProviderFailure } from "../core/errors.ts";
import { classifyFailure } from "./openai-error.ts";

/** Cohere's status for a token it does not know; Groq's for a lack of room. */
const INVALID_TOKEN = 498;
const UNAUTHORIZED = 401;
/** It does not do this at all (`501`): no other try will help, and it is the call's fault. */
const NOT_IMPLEMENTED = 501;

/** The class of an error answer of Cohere (WIRE B6): `{ id, message }`, a status that says it, and words for the rest. */
export function classifyCohereFailure(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  nowMs: number,
): ProviderFailure {
  const read = status === INVALID_TOKEN ? UNAUTHORIZED : status === NOT_IMPLEMENTED ? 400 : status;
  const failure = classifyFailure(read, headers, body, nowMs);
  return { ...failure, httpStatus: status, ...(failure.upstream && { upstream: { ...failure.upstream, status } }) };
}
