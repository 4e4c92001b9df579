import { type ErrorDetails, GatewayError, toGatewayError } from "../core/errors.ts";
import { encodeOpenAiError } from "../protocols/openai-answer.ts";

/** A whole error answer. */
export interface AdminErrorAnswer {
  status: number;
  /** Flat: name, value, name, value. */
  headers: readonly string[];
  body: string;
  /** What went wrong inside, for the log; null when it is the client's doing. */
  fault: unknown;
}

/** Anything thrown on the way to an answer, in the OpenAI error shape. No stack and no foreign words leave. */
export function errorAnswer(thrown: unknown, requestId: string): AdminErrorAnswer {
  const error = fromFastify(thrown) ?? toGatewayError(thrown);
  const { status, headers, body } = encodeOpenAiError(error, requestId);
  const challenge = status === 401 ? ["www-authenticate", 'Bearer realm="sluicegate admin"'] : [];
  return { status, headers: [...headers, ...challenge], body, fault: error.code === "internal" ? thrown : null };
}

/** What fastify itself refuses: its code says what, its words stay here. Null: not of fastify's making. */
function fromFastify(thrown: unknown): GatewayError | null {
  if (!(thrown instanceof Error) || thrown instanceof GatewayError) return null;
  const { code, statusCode } = thrown as Error & { code?: unknown; statusCode?: unknown };
  if (typeof statusCode !== "number" || statusCode < 400 || statusCode > 499) return null;
  const details: ErrorDetails = { cause: thrown };
  if (statusCode === 413)
    return new GatewayError("request_too_large", "the body is larger than this path takes", details);
  if (code === "FST_ERR_MAX_PARAM_LENGTH")
    return new GatewayError("not_found", "there is nothing with that name", details);
  if (code === "FST_ERR_BAD_URL") return new GatewayError("invalid_request", "the path is not a valid URL", details);
  if (statusCode === 415) {
    return new GatewayError("invalid_request", "the content type of the body is not one that this path takes", details);
  }
  return new GatewayError("invalid_request", "the body of the request could not be read", details);
}
