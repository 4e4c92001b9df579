import type { AttemptSummary } from "@sluicegate/contract";
import type { Call } from "../core/call.ts";
import { type ErrorDetails, GatewayError, type ProviderFailure, type UpstreamAnswer } from "../core/errors.ts";
import { secretsIn } from "../core/secret.ts";
import type { AttemptRecord } from "./attempt-record.ts";

/** Credentials a provider might quote in its own error text: by their vendors' prefixes, half masked ones too. */
const KEY_SHAPED = /\b(?:(?:sk|gsk|xai|pplx|csk|fw|r8|hf)[-_]|AIza|ya29\.|hvs\.)[A-Za-z0-9*_-]{8,}/g;
/** A configured header value shorter than this is no secret, and cutting it out would maim the text. */
const SECRET_CHARS_MIN = 8;

/** What may stand in a header of ours. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json[\x20-\x7e]*$/i;

/**
 * What the client is told when nothing is left to try: the class of the last attempt decides (INTERFACE, Errors).
 * `soonestMs`: when the first of the chain can be called again, where somebody knows.
 * A provider's own refusal of the request goes on word for word to a client of the same dialect (ruling 18), secrets cleaned.
 */
export function finalError(
  call: Call,
  attempts: readonly AttemptRecord[],
  deadlinePassed: boolean,
  soonestMs: number | null = null,
): GatewayError {
  const last = lastOf(attempts);
  const failure = last?.failure;
  if (!last || !failure) return new GatewayError("internal", "a request ended without an answer and without a failure");
  const summaries = attempts.flatMap((record) => summaryOf(record));
  const details: ErrorDetails = { attempts: summaries, shouldRetry: false };
  switch (failure.class) {
    case "cancelled":
      return new GatewayError("cancelled", "the client left");
    case "rate_limited":
      return new GatewayError(
        "rate_limit_exceeded",
        `provider ${last.hop.deployment.provider} is rate-limiting and nothing else is left to try`,
        {
          ...details,
          ...retryAdvice(failure, attempts.length, soonestMs),
          scope: `provider:${last.hop.deployment.provider}`,
          dimension: "requests",
        },
      );
    case "overloaded":
      return new GatewayError("overloaded", "the providers behind this alias are overloaded", {
        ...details,
        ...retryAdvice(failure, attempts.length, soonestMs),
      });
    case "timeout":
      return timedOut(call, details, deadlinePassed);
    case "content_filtered":
      return new GatewayError(
        "content_filter",
        `the content filter of provider ${last.hop.deployment.provider} refused the prompt`,
        {
          ...details,
          ...verbatim(call, last, failure),
        },
      );
    case "context_overflow":
      // Where they know no code, clients of every dialect look for OpenAI's "maximum context length" or for "prompt is too long".
      return new GatewayError(
        "context_length_exceeded",
        `prompt is too long: the request exceeds the maximum context length of ${last.hop.deployment.name}`,
        { ...details, ...verbatim(call, last, failure) },
      );
    case "bad_request":
      return new GatewayError(
        failure.httpStatus === 413 ? "request_too_large" : "invalid_request",
        `provider ${last.hop.deployment.provider} refused the request as malformed`,
        { ...details, ...verbatim(call, last, failure) },
      );
    case "provider_error": {
      // The model wrote a call that does not fit, and the provider says so with a 400 that clients match on (Groq).
      const shown = verbatim(call, last, failure);
      if (shown.upstream?.status !== 400) return failedAll(details, summaries);
      const message = `provider ${last.hop.deployment.provider} could not use what its model wrote`;
      return new GatewayError("invalid_request", message, { ...details, ...shown });
    }
    default:
      return failedAll(details, summaries);
  }
}

/** The attempt that ended last; one that lost a race says nothing. */
function lastOf(attempts: readonly AttemptRecord[]): AttemptRecord | undefined {
  let last: AttemptRecord | undefined;
  for (const record of attempts) {
    if (record.superseded) continue;
    if (!last || endOf(record) >= endOf(last)) last = record;
  }
  return last;
}

function endOf({ attempt }: AttemptRecord): number {
  return attempt.meter.endedAt ?? Number.POSITIVE_INFINITY;
}

function failedAll(details: ErrorDetails, summaries: readonly AttemptSummary[]): GatewayError {
  return new GatewayError("all_providers_failed", `every attempt failed: ${wordsOf(summaries)}`, details);
}

function timedOut(call: Call, details: ErrorDetails, deadlinePassed: boolean): GatewayError {
  const budget = call.platform.latency_budget_ms;
  if (budget !== undefined && deadlinePassed) {
    return new GatewayError("latency_budget_exhausted", `no answer within the latency budget of ${budget} ms`, details);
  }
  return new GatewayError("provider_timeout", "the providers behind this alias did not answer in time", details);
}

function retryAdvice(failure: ProviderFailure, attempts: number, soonestMs: number | null): ErrorDetails {
  // What is known of all of the chain says more than the last of it does.
  if (soonestMs !== null && soonestMs > 0) return { retryAfterMs: soonestMs, shouldRetry: attempts === 1 };
  // Without a word from the provider, or with one that is already past, a second is the least that can help.
  // What was retried here is not retried again by an SDK.
  return { retryAfterMs: failure.retryAfterMs || 1_000, shouldRetry: attempts === 1 };
}

function verbatim(call: Call, last: AttemptRecord, failure: ProviderFailure): { upstream?: UpstreamAnswer } {
  const { upstream } = failure;
  if (!upstream || last.hop.protocol.name !== call.dialect || upstream.body.length === 0) return {};
  if (upstream.status < 400 || upstream.status >= 500) return {};
  // A page of a proxy in between is nobody's dialect.
  if (!isJson(upstream.body)) return {};
  const { provider } = last.hop;
  const { apiKey } = provider.config;
  let text = upstream.body.toString("utf8");
  for (const secret of [apiKey, ...(provider.secrets ?? secretsIn(provider.config))]) {
    const value = secret?.reveal() ?? "";
    if (value.length >= (secret === apiKey ? 1 : SECRET_CHARS_MIN)) text = text.replaceAll(value, "***");
  }
  text = text.replace(KEY_SHAPED, "***");
  const contentType = JSON_TYPE.test(upstream.contentType) ? upstream.contentType : "application/json";
  return { upstream: { status: upstream.status, contentType, body: Buffer.from(text) } };
}

/** An object or an array, as bodies of errors are. */
function isJson(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

/** What a client is told of one attempt; nothing of one that has not failed. */
export function summaryOf(record: AttemptRecord): AttemptSummary[] {
  return record.failure ? [{ deployment: record.hop.deployment.name, class: record.failure.class }] : [];
}

function wordsOf(summaries: readonly AttemptSummary[]): string {
  return summaries.map((entry) => `${entry.deployment}: ${entry.class}`).join(", ");
}
