import type { ErrorShape, Problem, ProblemKind } from "./models/problem.ts";
import type { Step } from "./wire.ts";

const INVALID = "invalid_request_error";

/** Type and code that OpenAI answers with, by kind. */
const TYPE_AND_CODE: Readonly<Record<ProblemKind, readonly [string, string | null]>> = {
  invalid_request: [INVALID, null],
  bad_key: [INVALID, "invalid_api_key"],
  forbidden: [INVALID, null],
  not_found: [INVALID, null],
  model_not_found: [INVALID, "model_not_found"],
  too_large: [INVALID, null],
  rate_limited: ["requests", "rate_limit_exceeded"],
  quota: ["insufficient_quota", "insufficient_quota"],
  context: [INVALID, "context_length_exceeded"],
  content_filter: [INVALID, "content_filter"],
  overloaded: ["service_unavailable_error", "server_is_overloaded"],
  server: ["server_error", null],
};

const PARAM: Readonly<Partial<Record<ProblemKind, string>>> = { context: "messages", content_filter: "prompt" };

/** The members of an error before a shape arranges them. */
export interface Parts {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly status: number;
}

/** The bodies of OpenAI and of those who say they are compatible. */
const SHAPES: Readonly<Record<ErrorShape, (parts: Parts) => unknown>> = {
  openai: ({ message, type, param, code }) => ({ error: { message, type, param, code } }),
  azure: ({ message, code, status }) => ({ error: { code: code ?? String(status), message } }),
  string: ({ message, code, type }) => ({ code: code ?? type, error: message }),
  flat: ({ message, type, param, code }) => ({ object: "error", message, type, param, code }),
  detail: ({ message }) => ({ detail: message }),
  message: ({ message }) => ({ message }),
  number: ({ message, status }) => ({ error: { message, code: status } }),
  none: () => undefined,
};

/** What OpenAI says of a problem, whatever the shape. */
export function openAiErrorParts(problem: Problem): Parts {
  const [type, code] = TYPE_AND_CODE[problem.kind];
  return {
    message: problem.message,
    type: problem.type ?? type,
    param: problem.param ?? PARAM[problem.kind] ?? null,
    code: problem.code === undefined ? code : problem.code,
    status: problem.status,
  };
}

/** The JSON body of an error, in the shape the problem asks for; shape `none` gives an empty body. */
export function openAiErrorBody(problem: Problem): string {
  const shaped = SHAPES[problem.shape ?? "openai"](openAiErrorParts(problem));
  return shaped === undefined ? "" : JSON.stringify(shaped);
}

/** The same body as an event of a stream. */
export function openAiErrorStep(problem: Problem, named: boolean): Step {
  return { kind: "finish", data: openAiErrorBody(problem), ...(named && { event: "error" }) };
}
