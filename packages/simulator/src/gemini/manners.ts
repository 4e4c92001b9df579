import type { Headers } from "../delivery/failure.ts";
import type { Exchange } from "../exchange.ts";
import type { Manners } from "../manners.ts";
import { type Problem, ProblemError, problem } from "../models/problem.ts";
import { statusOf } from "./error.ts";
import { queryOf, type Target } from "./target.ts";

const JSON_TYPE = "application/json; charset=UTF-8";
const SSE_TYPE = "text/event-stream";
const KEYLESS =
  "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.";

/** How Google behaves at every endpoint; a stream without `alt=sse` is one JSON array. `target` null: no model is called. */
export function geminiManners(target: Target | null): Manners {
  const streams = target?.method === "streamGenerateContent";
  const array = streams && !target.sse;
  return {
    checkKey: (exchange, required) => checkKey(exchange, target, required),
    headers: () => ({ "x-content-type-options": "nosniff", vary: "Origin, X-Origin, Referer" }),
    limitHeaders: () => ({}),
    errorHead: (problem, headers) => errorHead(problem, headers, streams && !array),
    unreadable: problem("invalid_request", 400, "Invalid JSON payload received. Unexpected end of string."),
    modelless: problem("invalid_request", 400, "* GenerateContentRequest.model: unexpected model name format"),
    jsonType: JSON_TYPE,
    streamType: array ? JSON_TYPE : SSE_TYPE,
    framing: array ? "array" : "crlf",
    keepalive: array ? "\n" : ": keep-alive\r\n\r\n",
    namedEvents: false,
  };
}

function checkKey({ req }: Exchange, target: Target | null, required: boolean | undefined): void {
  const { authorization, "x-goog-api-key": header } = req.headers;
  const key = header ?? target?.key ?? queryOf(req.url ?? "").get("key");
  if (key === "bad-key") throw new ProblemError(problem("bad_key", 400, "bad key", { stock: true }));
  if (key !== null) return;
  // A bearer token is OAuth, which Vertex AI takes and an API key is no such thing.
  const token = authorization?.startsWith("Bearer ") === true ? authorization.slice(7) : null;
  if (target?.vertex === true ? token === "bad-key" : token !== null) {
    const text =
      "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.";
    throw new ProblemError(problem("bad_key", 401, text));
  }
  if (token === null && required !== false) throw new ProblemError(problem("forbidden", 403, KEYLESS));
}

/** Retry hints stand in the body. A refused stream keeps the content type of a stream, as recorded. */
function errorHead(said: Problem, headers: Headers, sse: boolean): { status: number; headers: Headers } {
  const { "retry-after": _, "retry-after-ms": __, ...rest } = headers;
  return { status: statusOf(said), headers: sse ? { ...rest, "content-type": SSE_TYPE } : rest };
}
