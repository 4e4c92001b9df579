import type { Problem, ProblemKind } from "../models/problem.ts";

interface Said {
  readonly type: string;
  readonly status: number;
  readonly message: string;
}

/** What Bedrock says where the message is a stand-in: type, status, words. */
const OWN_WORDS: Readonly<Partial<Record<ProblemKind, readonly [type: string, status: number, words: string]>>> = {
  bad_key: ["UnrecognizedClientException", 403, "The security token included in the request is invalid."],
  model_not_found: ["ValidationException", 400, "The provided model identifier is invalid."],
  rate_limited: ["ThrottlingException", 429, "Too many tokens, please wait before trying again."],
  quota: ["ThrottlingException", 429, "Too many tokens per day, please wait before trying again."],
  context: ["ValidationException", 400, "Input is too long for requested model."],
  content_filter: ["ValidationException", 400, "The request was blocked by the guardrail."],
  overloaded: ["ServiceUnavailableException", 503, "Bedrock is unable to process your request."],
};

const TYPE_OF_STATUS: Readonly<Record<number, string>> = {
  400: "ValidationException",
  401: "UnrecognizedClientException",
  402: "ServiceQuotaExceededException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  408: "ModelTimeoutException",
  409: "ConflictException",
  424: "ModelErrorException",
  429: "ThrottlingException",
  500: "InternalServerException",
  503: "ServiceUnavailableException",
};

/** A problem in Bedrock's words; the options of the model name win. */
export function said({ kind, status, message, stock, type }: Problem): Said {
  const [own, ownStatus, words] = (stock === true ? OWN_WORDS[kind] : undefined) ?? [undefined, status, message];
  const named = kind === "rate_limited" && stock === true ? undefined : type;
  const byStatus = TYPE_OF_STATUS[ownStatus] ?? (ownStatus < 500 ? "ValidationException" : "InternalServerException");
  return { type: named ?? own ?? byStatus, status: ownStatus, message: words };
}

/** The body of an error; its type stands in a header. */
export function errorBody(problem: Problem): string {
  return JSON.stringify({ message: said(problem).message });
}

/** Name of an exception within a stream: there types begin with a small letter. */
export function exceptionOf(problem: Problem): string {
  const { type } = said(problem);
  return type.charAt(0).toLowerCase() + type.slice(1);
}
