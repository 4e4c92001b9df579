import type { ErrorClass } from "@sluicegate/contract";
import type { ProviderFailure } from "../core/errors.ts";
import { type ErrorFacts, errorFacts } from "./error-facts.ts";
import { retryAfterMs } from "./retry-hint.ts";

/** Codes and types of the family, in lower case, by class. Where a body holds several, the class that stands first counts. */
const CODES = new Map<string, ErrorClass>(
  Object.entries({
    context_overflow: [
      ...["context_length_exceeded", "context_window_exceeded", "exceed_context_size_error", "max_tokens_exceeded"],
      "model_length",
    ],
    content_filtered: [
      ...["content_filter", "content_policy_violation", "responsibleaipolicyviolation", "cyber_policy", "bio_policy"],
      ...["moderation_blocked", "refusal"],
    ],
    quota_exhausted: [
      ...["insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded"],
      ...["project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached"],
      ...["billing_error", "payment_required", "usage_limit_reached", "quota_exceeded"],
    ],
    overloaded: [
      ...["overloaded_error", "overloaded", "server_is_overloaded", "slow_down", "capacity_exceeded", "nocapacity"],
      ...["provider_overloaded", "unavailable_error"],
    ],
    rate_limited: [
      ...["rate_limit_exceeded", "rate_limit_error", "ratelimitreached", "rate_limited", "resource_exhausted"],
      ...["dynamic_request_limited", "dynamic_token_limited"],
    ],
    auth_failed: [
      ...["invalid_api_key", "api_key_invalid", "authentication_error", "authentication", "permissiondenied"],
      ...["permission_denied", "unsupported_country_region_territory"],
    ],
    model_not_found: ["model_not_found", "deploymentnotfound", "unknown_model", "invalid_model"],
    timeout: ["timeout", "timeout_error", "deadline_exceeded"],
    // The model wrote a call or a JSON it could not finish: the provider's failure, worth another try (Groq).
    provider_error: ["tool_use_failed", "json_validate_failed", "provider_unavailable"],
    bad_request: [
      ...[
        "unsupported_parameter",
        "unknown_parameter",
        "unsupported_value",
        "invalid_value",
        "missing_required_parameter",
      ],
      ...["decimal_above_max_value", "integer_above_max_value", "integer_below_min_value", "string_above_max_length"],
      ...["array_above_max_length", "invalid_type"],
    ],
  } satisfies Partial<Record<ErrorClass, string[]>>).flatMap(([name, codes]) =>
    codes.map((code): [string, ErrorClass] => [code, name as ErrorClass]),
  ),
);
const PRECEDENCE: readonly ErrorClass[] = [...new Set(CODES.values())];

/** Words are asked only where neither code nor status says it: the table keeps what providers were seen to write. */
const WORDS: readonly [ErrorClass, RegExp][] = [
  [
    "context_overflow",
    /prompt is too long|exceeds the context window|maximum prompt length is \d+|maximum context length|exceeds the available context size|context window exceeds limit|exceeded model token limit|context[_ ]length|reduce the length of the messages|`inputs` tokens \+ `max_new_tokens`|maximum input length is|current length is \d+ while limit is|input is too long for requested model|input token count.{0,80}exceeds the maximum|exceed context limit|^too many tokens: /,
  ],
  [
    "content_filtered",
    /violating our usage policy|rejected as a result of our safety system|content management policy|content filtering policy|blocked by .{0,80}guardrail|prohibited_content/,
  ],
  [
    "quota_exhausted",
    /credit balance is too low|insufficient balance|exceeded your current quota|spend(?:ing)? limit|monthly (?:spend|usage)|used all available credits|enforced_spend_limit|trial key(?!.{0,200}\/ ?(?:minute|second))|tokens per day/,
  ],
  ["auth_failed", /incorrect api key|invalid api key|api key not valid/],
  [
    "model_not_found",
    /model .{0,200}(?:does not exist|not found|has been (?:deprecated|retired|decommissioned))|model ['"`]?[\w./:@-]+['"`]? is not supported|no endpoints found|is not a valid model id/,
  ],
];

const BUSY = /high demand|temporarily unable|service tier capacity|overloaded|at capacity|no healthy upstream/;
const OWN_LIMIT = /^rate limit exceeded/;
const TOO_LARGE_FOR_RATE = /request too large/;

/** Statuses that say it alone, whatever the words. */
const STATUS_CLASSES = new Map<number, ErrorClass>([
  [402, "quota_exhausted"],
  // Fireworks: the account is suspended.
  [412, "quota_exhausted"],
  [529, "overloaded"],
  [503, "overloaded"],
  // Groq: no capacity left for flex.
  [498, "overloaded"],
  [401, "auth_failed"],
]);

/**
 * The class of an error answer of the OpenAI family, in the order of WIRE C10: codes first, then status, words last.
 * `nowMs` is the wall clock, for dates in the answer. An error inside a stream has no headers of its own.
 */
export function classifyFailure(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  nowMs: number,
): ProviderFailure {
  const facts = errorFacts(status, body, nowMs);
  return {
    class: classOf(facts),
    message: facts.message.slice(0, 500),
    httpStatus: status,
    retryAfterMs: retryAfterMs(headers, nowMs) ?? facts.retryAfterMs,
    ambiguous: status >= 500 || status === 408,
    // Only what a client of the dialect can read goes on to it; some send JSON under another name (DeepSeek: octet-stream).
    ...(facts.isJson && { upstream: { status, contentType: "application/json", body } }),
  };
}

function classOf(facts: ErrorFacts): ErrorClass {
  const { status, message } = facts;
  const coded = codeClass(facts.codes);
  if (status === 413) return (coded ?? wordClass(message)) === "context_overflow" ? "context_overflow" : "bad_request";
  if (status === 429 || coded === "rate_limited") return limitClass(facts, coded);
  if (coded !== null && coded !== "bad_request") return coded;
  const plain = STATUS_CLASSES.get(status);
  if (plain) return plain;
  // An answer to another question: a redirect, a proxy's login page.
  if (status < 400) return "invalid_response";
  if (status === 408 || status === 504 || status === 524) return "timeout";
  const said = coded === "bad_request" ? null : wordClass(message);
  // A server's fault, unless the words say that no server could have done it. 499: it took us for gone, and we were not.
  if (status >= 500 || status === 424 || status === 499) {
    return said === "context_overflow" || said === "content_filtered" ? said : "provider_error";
  }
  return coded ?? said ?? (status === 403 ? "auth_failed" : status === 404 ? "model_not_found" : "bad_request");
}

/** Too many, too much at once, too much ever, or too busy: all of it is sent as a 429 by somebody. */
function limitClass({ message, codes, quotas }: ErrorFacts, coded: ErrorClass | null): ErrorClass {
  if (coded !== null && coded !== "rate_limited" && coded !== "bad_request") return coded;
  // OpenRouter tells of "high demand" where it holds its caller to so many requests a minute.
  if (BUSY.test(message) && !OWN_LIMIT.test(message)) return "overloaded";
  // A request over the whole minute's tokens never fits: asking again cannot help.
  if (TOO_LARGE_FOR_RATE.test(message)) return "bad_request";
  // Google says "exceeded your current quota" of every limit, the one of a minute too; its quotas have names.
  if (quotas.length > 0) return quotas.some((quota) => quota.includes("perday")) ? "quota_exhausted" : "rate_limited";
  const uncoded = codes.every((code) => CODES.get(code) !== "rate_limited");
  return uncoded && wordClass(message) === "quota_exhausted" ? "quota_exhausted" : "rate_limited";
}

function codeClass(codes: readonly string[]): ErrorClass | null {
  const found = new Set(codes.map((code) => CODES.get(code)));
  return PRECEDENCE.find((name) => found.has(name)) ?? null;
}

function wordClass(message: string): ErrorClass | null {
  return WORDS.find(([, words]) => words.test(message))?.[0] ?? null;
}
