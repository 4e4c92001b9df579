import { checkBearer } from "./auth.ts";
import type { Headers } from "./delivery/failure.ts";
import type { Manners } from "./manners.ts";
import { problem } from "./models/problem.ts";
import { commonHeaders } from "./provider-headers.ts";
import type { Limit, Limits } from "./turns.ts";

/** How OpenAI, and those who say they are compatible, behave at every endpoint. */
export const OPENAI_MANNERS: Manners = {
  checkKey: (exchange, required) => checkBearer(exchange, required === true),
  headers: commonHeaders,
  limitHeaders: ({ requests, tokens }: Limits): Headers => ({
    ...limitHeader("requests", requests),
    ...limitHeader("tokens", tokens),
  }),
  errorHead: ({ status }, headers) => ({ status, headers }),
  unreadable: problem("invalid_request", 400, "We could not parse the JSON body of your request.", { code: null }),
  modelless: problem("invalid_request", 400, "you must provide a model parameter", {
    param: "model",
    code: "missing_required_parameter",
  }),
  jsonType: "application/json",
  streamType: "text/event-stream; charset=utf-8",
  framing: "lf",
  keepalive: ": keep-alive\n\n",
  namedEvents: false,
};

function limitHeader(unit: string, limit: Limit | null): Headers {
  if (limit === null) return {};
  return {
    [`x-ratelimit-limit-${unit}`]: String(limit.perMinute),
    [`x-ratelimit-remaining-${unit}`]: String(limit.left),
    [`x-ratelimit-reset-${unit}`]: `${limit.resetMs}ms`,
  };
}
