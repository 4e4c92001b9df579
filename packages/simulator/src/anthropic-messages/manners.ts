import type { Headers } from "../delivery/failure.ts";
import type { Exchange } from "../exchange.ts";
import type { Manners } from "../manners.ts";
import { type Problem, ProblemError, problem } from "../models/problem.ts";
import type { Limit } from "../turns.ts";
import { said } from "./error.ts";

const VERSIONS = ["2026-10-21", "2023-06-01", "2023-01-01"];
/** Anthropic takes 32 MB. */
const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** How Anthropic behaves at every endpoint. */
export const ANTHROPIC_MANNERS: Manners = {
  checkKey,
  headers: ({ requestId }) => ({
    "request-id": requestId,
    "anthropic-organization-id": "00000000-0000-4000-8000-000000000000",
  }),
  limitHeaders: ({ requests, tokens }) => ({
    ...limitHeader("requests", requests, 1),
    ...limitHeader("tokens", tokens, 1000),
    ...limitHeader("input-tokens", tokens, 1000),
    ...limitHeader("output-tokens", tokens, 1000),
  }),
  errorHead,
  unreadable: problem("invalid_request", 400, "The request body is not valid JSON: expected an object"),
  modelless: problem("invalid_request", 400, "model: Field required"),
  jsonType: "application/json",
  streamType: "text/event-stream; charset=utf-8",
  framing: "lf",
  keepalive: 'event: ping\ndata: {"type": "ping"}\n\n',
  namedEvents: true,
};

function checkKey({ req, bodyBytes }: Exchange, required: boolean | undefined): void {
  const { authorization, "x-api-key": key, "anthropic-version": version } = req.headers;
  if (bodyBytes > BODY_BYTES_MAX) {
    throw new ProblemError(problem("too_large", 413, "Request exceeds the maximum size"));
  }
  if (key === undefined && authorization === undefined && required !== false) {
    throw new ProblemError(problem("bad_key", 401, "x-api-key header is required"));
  }
  if (key === "bad-key") throw new ProblemError(problem("bad_key", 401, "invalid x-api-key"));
  if (authorization === "Bearer bad-key") throw new ProblemError(problem("bad_key", 401, "Invalid bearer token"));
  if (version === undefined) {
    throw new ProblemError(problem("invalid_request", 400, "anthropic-version: header is required"));
  }
  if (typeof version !== "string" || !VERSIONS.includes(version)) {
    const text = `anthropic-version: "${version}" is not a valid version. You can find a list of valid versions at https://docs.anthropic.com/en/api/versioning`;
    throw new ProblemError(problem("invalid_request", 400, text));
  }
}

/** The SDKs are told whether to retry; milliseconds are no hint that Anthropic gives. */
function errorHead(problem: Problem, headers: Headers): { status: number; headers: Headers } {
  const { status } = said(problem);
  const { "retry-after-ms": afterMs, ...rest } = headers;
  const retry = status === 408 || status === 409 || status === 429 || status >= 500;
  return { status, headers: { "x-should-retry": String(retry), ...rest } };
}

/** Resets are times; what is left of tokens is rounded to thousands. */
function limitHeader(unit: string, limit: Limit | null, step: number): Headers {
  if (limit === null) return {};
  const reset = new Date(Math.ceil((Date.now() + limit.resetMs) / 1000) * 1000).toISOString().replace(".000", "");
  return {
    [`anthropic-ratelimit-${unit}-limit`]: String(limit.perMinute),
    [`anthropic-ratelimit-${unit}-remaining`]: String(Math.round(limit.left / step) * step),
    [`anthropic-ratelimit-${unit}-reset`]: reset,
  };
}
