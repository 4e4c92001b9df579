import type { Problem, ProblemKind } from "../models/problem.ts";
import { openAiErrorBody } from "../openai-error.ts";
import type { Step } from "../wire.ts";

const INVALID = "invalid_request_error";

const TYPE_OF_STATUS: Readonly<Record<number, string>> = {
  400: INVALID,
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** What Anthropic says where the message is a stand-in, and the status where it has another. */
const OWN_WORDS: Readonly<Partial<Record<ProblemKind, readonly [message: string, status?: number]>>> = {
  bad_key: ["invalid x-api-key"],
  content_filter: ["Output blocked by content filtering policy"],
  context: ["prompt is too long: 200001 tokens > 200000 maximum"],
  model_not_found: ["model: missing"],
  rate_limited: ["This request would exceed the rate limit of your organization. Please try again later."],
  quota: ["Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.", 402],
};

/** A problem in Anthropic's words. */
export interface Said {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

/** What Anthropic says to a problem; the options of the model name win. */
export function said({ kind, status, message, stock, type }: Problem): Said {
  const [words, instead] = (stock === true ? OWN_WORDS[kind] : undefined) ?? [message];
  const answered = instead ?? status;
  const family = answered >= 500 ? "api_error" : INVALID;
  // A limit's `type` is the unit in OpenAI's body, which Anthropic has no place for.
  const own = kind === "rate_limited" && (type === "requests" || type === "tokens") ? undefined : type;
  return { status: answered, message: words, type: own ?? TYPE_OF_STATUS[answered] ?? family };
}

/** The JSON body of an error; one that is too large is refused at the edge, which knows of no request id. */
export function errorBody(problem: Problem, requestId: string): string {
  if (problem.shape !== undefined) return openAiErrorBody(problem);
  const { type, message } = said(problem);
  if (problem.kind === "too_large") return JSON.stringify({ error: { type, message } });
  return JSON.stringify({ type: "error", error: { type, message }, request_id: requestId });
}

/** The same as an event of a stream, after which nothing comes. */
export function errorStep(problem: Problem, requestId: string): Step {
  return { kind: "finish", event: "error", data: errorBody({ ...problem, kind: streamed(problem) }, requestId) };
}

function streamed({ kind }: Problem): ProblemKind {
  return kind === "too_large" ? "invalid_request" : kind;
}
