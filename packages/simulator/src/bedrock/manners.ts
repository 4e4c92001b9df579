import type { Headers } from "../delivery/failure.ts";
import type { Exchange } from "../exchange.ts";
import type { Manners } from "../manners.ts";
import { type Problem, ProblemError, problem } from "../models/problem.ts";
import { said } from "./error.ts";
import { checkSignature } from "./signature.ts";

const ERROR_ORIGIN = "http://internal.amazon.com/coral/com.amazon.bedrock/";

/** How Bedrock behaves at every endpoint. */
export const BEDROCK_MANNERS: Manners = {
  checkKey,
  headers: ({ requestId }) => ({ "x-amzn-requestid": requestId }),
  limitHeaders: () => ({}),
  errorHead,
  unreadable: problem("invalid_request", 400, "Unexpected end-of-input", { type: "SerializationException" }),
  modelless: problem("invalid_request", 400, "The provided model identifier is invalid."),
  jsonType: "application/json",
  streamType: "application/vnd.amazon.eventstream",
  framing: "frames",
  keepalive: "",
  namedEvents: false,
};

/** An API key as a bearer token, or a signature. */
function checkKey({ req }: Exchange, required: boolean | undefined): void {
  const { authorization } = req.headers;
  if (authorization === undefined) {
    if (required === false) return;
    const type = "MissingAuthenticationTokenException";
    throw new ProblemError(problem("forbidden", 403, "Missing Authentication Token", { type }));
  }
  if (!authorization.startsWith("Bearer ")) return checkSignature(req);
  if (authorization !== "Bearer bad-key") return;
  const words = "Authentication failed: Please make sure your API Key is valid.";
  throw new ProblemError(problem("forbidden", 403, words, { type: "AccessDeniedException" }));
}

function errorHead(refused: Problem, headers: Headers): { status: number; headers: Headers } {
  const { type, status } = said(refused);
  return { status, headers: { ...headers, "x-amzn-errortype": `${type}:${ERROR_ORIGIN}` } };
}
