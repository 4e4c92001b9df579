import type { Ask } from "./ask.ts";
import type { Behaviour } from "./behaviour.ts";
import type { Draft } from "./plan.ts";
import { type Problem, type ProblemKind, problem } from "./problem.ts";
import type { OptionName, Settings } from "./settings.ts";

/** Options that shape an error body, for every model that answers with one. */
export const ERROR_OPTIONS: readonly OptionName[] = ["code", "type", "param", "message", "shape", "should_retry"];

const KIND_OF_STATUS: Readonly<Record<number, ProblemKind>> = {
  400: "invalid_request",
  401: "bad_key",
  402: "quota",
  403: "forbidden",
  404: "model_not_found",
  413: "too_large",
  422: "invalid_request",
  429: "rate_limited",
  503: "overloaded",
  529: "overloaded",
};

/** The Problem for a bare status, with a message that says it is simulated. */
export function problemOfStatus(status: number): Problem {
  const kind = KIND_OF_STATUS[status] ?? (status < 500 ? "invalid_request" : "server");
  return problem(kind, status, `simulated error ${status}`);
}

/** Applies the error options of a model name to a problem. */
export function dressed(base: Problem, settings: Settings): Problem {
  const { code, type, param, message, shape, should_retry } = settings;
  return {
    ...base,
    ...(code !== undefined && { code: code === "null" ? null : code }),
    ...(type !== undefined && { type }),
    ...(param !== undefined && { param }),
    ...(message !== undefined && { message, stock: false }),
    ...(shape !== undefined && { shape }),
    headers: { ...base.headers, ...(should_retry !== undefined && { "x-should-retry": String(should_retry) }) },
  };
}

function always(about: string, base: Problem): Behaviour {
  const draft = (_ask: Ask, settings: Settings): Draft => ({
    parts: [],
    finish: "stop",
    problem: dressed({ ...base, stock: true }, settings),
  });
  return { about, own: ERROR_OPTIONS, draft };
}

/** Models that answer with an error body and bill nothing. */
export const ERROR_MODELS: Readonly<Record<string, Behaviour>> = {
  error: {
    about: "answers `status` (500) with an error body",
    own: ["status", ...ERROR_OPTIONS],
    draft: (_ask, settings) => ({
      parts: [],
      finish: "stop",
      problem: dressed(problemOfStatus(settings.status ?? 500), settings),
    }),
  },
  filter: always(
    "400 content_filter",
    problem("content_filter", 400, "The response was filtered due to the content management policy."),
  ),
  context: always(
    "400 context_length_exceeded",
    problem(
      "context",
      400,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in more. Please reduce the length of the messages.",
    ),
  ),
  quota: always(
    "429 insufficient_quota",
    problem("quota", 429, "You exceeded your current quota, please check your plan and billing details."),
  ),
  badkey: always("401 invalid_api_key", problem("bad_key", 401, "Incorrect API key provided.")),
  missing: always(
    "404 model_not_found",
    problem("model_not_found", 404, "The model `missing` does not exist or you do not have access to it."),
  ),
};
