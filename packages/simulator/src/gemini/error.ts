import type { Headers } from "../delivery/failure.ts";
import type { Problem } from "../models/problem.ts";
import { openAiErrorBody } from "../openai-error.ts";

const TYPES = "type.googleapis.com/google.rpc.";

const WORD_OF_STATUS: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  413: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
  529: "UNAVAILABLE",
};

/** Which call an error is about. */
export interface About {
  readonly model: string;
  readonly method: string;
}

/** What Google says where the message is a stand-in. */
function ownWords({ kind, message }: Problem, about: About | null): string {
  if (kind === "bad_key") return "API key not valid. Please pass a valid API key.";
  if (kind === "context") {
    return "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).";
  }
  if (kind === "content_filter") return "The prompt was blocked: PROHIBITED_CONTENT";
  if (kind === "quota") {
    return "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 50";
  }
  if (kind === "model_not_found" && about !== null) {
    return `models/${about.model} is not found for API version v1beta, or is not supported for ${about.method}. Call ListModels to see the list of available models and their supported methods.`;
  }
  return message;
}

/** The status of an error answer: a key that is no key is a bad argument to Google. */
export function statusOf({ kind, status, stock }: Problem): number {
  return kind === "bad_key" && stock === true ? 400 : status;
}

/** The error as `{error: {code, message, status, details}}`; `headers` may hold the retry hints. */
export function errorBody(problem: Problem, headers: Headers, about: About | null): string {
  if (problem.shape !== undefined) return openAiErrorBody(problem);
  const status = statusOf(problem);
  const message = problem.stock === true ? ownWords(problem, about) : problem.message;
  const details = detailsOf(problem, status, message, headers);
  const word = problem.type !== undefined && problem.kind !== "rate_limited" ? problem.type : WORD_OF_STATUS[status];
  const error = {
    code: status,
    message,
    status: word ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT"),
    ...(details.length > 0 && { details }),
  };
  return JSON.stringify({ error });
}

function detailsOf(problem: Problem, status: number, message: string, headers: Headers): unknown[] {
  if (problem.kind === "bad_key" && status === 400) {
    const metadata = { service: "generativelanguage.googleapis.com" };
    return [
      { "@type": `${TYPES}ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com", metadata },
      { "@type": `${TYPES}LocalizedMessage`, locale: "en-US", message },
    ];
  }
  if (problem.kind === "invalid_request" && problem.param !== null) {
    const fieldViolations = [{ field: problem.param, description: message }];
    return [{ "@type": `${TYPES}BadRequest`, fieldViolations }];
  }
  const details: unknown[] = [];
  if (problem.kind === "quota" || problem.kind === "rate_limited") {
    details.push({ "@type": `${TYPES}QuotaFailure`, violations: [violation(problem)] });
  }
  const delayMs = retryMs(headers);
  if (delayMs !== null) details.push({ "@type": `${TYPES}RetryInfo`, retryDelay: `${delayMs / 1000}s` });
  return details;
}

function violation({ kind, type }: Problem): unknown {
  const span = kind === "quota" ? "PerDay" : "PerMinute";
  const tokens = type === "tokens";
  return {
    quotaMetric: `generativelanguage.googleapis.com/generate_content_free_tier_${tokens ? "input_token_count" : "requests"}`,
    quotaId: tokens
      ? `GenerateContentInputTokensPerModel${span}-FreeTier`
      : `GenerateRequests${span}PerProjectPerModel-FreeTier`,
    quotaDimensions: { location: "global", model: "simulated" },
    ...(kind === "quota" && { quotaValue: "50" }),
  };
}

function retryMs(headers: Headers): number | null {
  const { "retry-after-ms": ms, "retry-after": after } = headers;
  if (ms !== undefined) return Number(ms);
  if (after === undefined) return null;
  const seconds = Number(after);
  return Number.isFinite(seconds) ? seconds * 1000 : Math.max(0, Date.parse(after) - Date.now()) || 0;
}
