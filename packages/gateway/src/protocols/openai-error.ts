import type { ErrorClass } from "@sluicegate/contract";
import type { ProviderFailure } from "../core/errors.ts";
import { isObject } from "./field-checks.ts";
import { retryAfterMs } from "./retry-hint.ts";

/** The few fields every error body of the family can be brought down to. */
interface ErrorFacts {
  status: number;
  code: string;
  type: string;
  message: string;
}

const CODES: Readonly<Record<string, ErrorClass>> = {
  context_length_exceeded: "context_overflow",
  context_window_exceeded: "context_overflow",
  exceed_context_size_error: "context_overflow",
  max_tokens_exceeded: "context_overflow",
  content_filter: "content_filtered",
  content_policy_violation: "content_filtered",
  responsibleaipolicyviolation: "content_filtered",
  cyber_policy: "content_filtered",
  bio_policy: "content_filtered",
  moderation_blocked: "content_filtered",
  refusal: "content_filtered",
  insufficient_quota: "quota_exhausted",
  credit_balance_exhausted: "quota_exhausted",
  organization_spend_limit_exceeded: "quota_exhausted",
  project_spend_limit_exceeded: "quota_exhausted",
  organization_usage_limit_exceeded: "quota_exhausted",
  billing_hard_limit_reached: "quota_exhausted",
  billing_error: "quota_exhausted",
  payment_required: "quota_exhausted",
  usage_limit_reached: "quota_exhausted",
  quota_exceeded: "quota_exhausted",
  overloaded_error: "overloaded",
  overloaded: "overloaded",
  server_is_overloaded: "overloaded",
  slow_down: "overloaded",
  capacity_exceeded: "overloaded",
  nocapacity: "overloaded",
  provider_overloaded: "overloaded",
  unavailable_error: "overloaded",
  rate_limit_exceeded: "rate_limited",
  rate_limit_error: "rate_limited",
  ratelimitreached: "rate_limited",
  dynamic_request_limited: "rate_limited",
  dynamic_token_limited: "rate_limited",
  invalid_api_key: "auth_failed",
  api_key_invalid: "auth_failed",
  authentication_error: "auth_failed",
  authentication: "auth_failed",
  permissiondenied: "auth_failed",
  model_not_found: "model_not_found",
  deploymentnotfound: "model_not_found",
  unknown_model: "model_not_found",
  invalid_model: "model_not_found",
  // The model wrote a call or a JSON it could not finish: the provider's failure, worth another try (Groq).
  tool_use_failed: "provider_error",
  json_validate_failed: "provider_error",
};

/** Words are asked only where neither code, type nor status says it: the table keeps what providers were seen to write. */
const WORDS: readonly [ErrorClass, RegExp][] = [
  [
    "context_overflow",
    /prompt is too long|exceeds the context window|maximum prompt length is \d+|maximum context length|exceeds the available context size|context window exceeds limit|exceeded model token limit|context[_ ]length|reduce the length of the messages|`inputs` tokens \+ `max_new_tokens`|maximum input length is|current length is \d+ while limit is/,
  ],
  [
    "content_filtered",
    /violating our usage policy|rejected as a result of our safety system|content management policy|content filtering policy/,
  ],
  ["quota_exhausted", /credit balance is too low|insufficient balance|exceeded your current quota|spend(?:ing)? limit/],
  ["auth_failed", /incorrect api key|invalid api key|api key not valid/],
  ["model_not_found", /model .{0,200}(?:does not exist|not found|has been (?:deprecated|retired|decommissioned))/],
];

const BUSY = /high demand|temporarily unable|service tier capacity|overloaded|at capacity|no healthy upstream/;
const TOO_LARGE_FOR_RATE = /request too large/;

/** The class of an error answer of the OpenAI family, in the order of WIRE C10: codes first, then status, words last. */
export function classifyFailure(status: number, headers: Record<string, string>, body: Buffer): ProviderFailure {
  const facts = factsOf(status, body);
  return {
    class: classOf(facts),
    message: facts.message.slice(0, 500),
    httpStatus: status,
    retryAfterMs: retryAfterMs(headers, Date.now()),
    ambiguous: status >= 500 || status === 408,
    upstream: { status, contentType: headers["content-type"] ?? "application/json", body },
  };
}

function classOf(facts: ErrorFacts): ErrorClass {
  const { status, message } = facts;
  if (status === 413) return "bad_request";
  for (const word of [facts.code, facts.type]) {
    const found = CODES[word.toLowerCase()];
    if (found === "rate_limited" && BUSY.test(message)) return "overloaded";
    // A request over the whole minute's tokens never fits: asking again cannot help.
    if (found === "rate_limited" && TOO_LARGE_FOR_RATE.test(message)) return "bad_request";
    if (found) return found;
  }
  if (status === 402) return "quota_exhausted";
  if (status === 529 || status === 503 || status === 498) return "overloaded";
  if (status === 429)
    return wordClass(message, "quota_exhausted") ?? (BUSY.test(message) ? "overloaded" : "rate_limited");
  if (status === 401) return "auth_failed";
  if (status === 408 || status === 504 || status === 524) return "timeout";
  if (status >= 500 || status === 424) return "provider_error";
  if (status === 499) return "cancelled";
  return wordClass(message) ?? (status === 403 ? "auth_failed" : status === 404 ? "model_not_found" : "bad_request");
}

function wordClass(message: string, only?: ErrorClass): ErrorClass | null {
  for (const [name, words] of WORDS) if ((!only || only === name) && words.test(message)) return name;
  return null;
}

function factsOf(status: number, body: Buffer): ErrorFacts {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch {
    return { status, code: "", type: "", message: plain(body.toString("utf8", 0, 400)) };
  }
  if (Array.isArray(parsed)) parsed = parsed[0];
  if (!isObject(parsed)) return { status, code: "", type: "", message: plain(String(parsed)) };
  const groq = parsed["x_groq"];
  const error = parsed["error"] ?? (isObject(groq) ? groq["error"] : undefined);
  const from = isObject(error) ? error : parsed;
  const inner = isObject(from["innererror"]) ? from["innererror"] : {};
  const metadata = isObject(from["metadata"]) ? from["metadata"] : {};
  const code = word(inner["code"]) || word(from["code"]) || word(metadata["error_type"]);
  const message = typeof error === "string" ? error : (from["message"] ?? from["detail"] ?? "");
  return {
    status,
    code: Array.isArray(metadata["reasons"]) ? "content_filter" : code,
    type: word(from["type"]) || word(parsed["error_type"]),
    message: plain(typeof message === "string" ? message : JSON.stringify(message)),
  };
}

/** A code that is a number repeats the status and says nothing more. */
function word(value: unknown): string {
  return typeof value === "string" && !/^\d+$/.test(value) ? value : "";
}

function plain(text: string): string {
  return text.toLowerCase();
}
