import { describe, expect, it } from "vitest";
import { GatewayError } from "../../core/errors.ts";
import { classifyFailure, encodeError, encodeStreamError } from "./error.ts";
import { asked } from "./fixtures/calls.ts";
import { anthropicMessages } from "./index.ts";

const answer = (...error: ConstructorParameters<typeof GatewayError>) => {
  const { status, headers, body } = encodeError(new GatewayError(...error), "req_1");
  const flat = Object.fromEntries(headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]]] : [])));
  return { status, headers: flat, body: JSON.parse(body) as { error: { type: string; message: string } } };
};

describe("encodeError", () => {
  it.each([
    ["invalid_request", 400, "invalid_request_error"],
    ["unsupported_feature", 400, "invalid_request_error"],
    ["context_length_exceeded", 400, "invalid_request_error"],
    ["content_filter", 400, "invalid_request_error"],
    ["invalid_api_key", 401, "authentication_error"],
    ["model_not_allowed", 403, "permission_error"],
    ["model_not_found", 404, "not_found_error"],
    ["request_too_large", 413, "request_too_large"],
    ["idempotency_conflict", 422, "invalid_request_error"],
    ["rate_limit_exceeded", 429, "rate_limit_error"],
    ["budget_exceeded", 429, "rate_limit_error"],
    ["overloaded", 529, "overloaded_error"],
    ["no_healthy_deployment", 529, "overloaded_error"],
    ["draining", 529, "overloaded_error"],
    ["provider_timeout", 504, "timeout_error"],
    ["latency_budget_exhausted", 504, "timeout_error"],
    ["all_providers_failed", 502, "api_error"],
    ["internal", 500, "api_error"],
  ] as const)("%s is a %i %s", (code, status, type) => {
    expect(answer(code, "words")).toMatchObject({
      status,
      body: { type: "error", error: { type, code }, request_id: "req_1" },
    });
  });

  it("carries the retry advice and what is known", () => {
    const details = { retryAfterMs: 1_500, scope: "tenant:a", dimension: "tokens", param: "x" } as const;
    expect(answer("rate_limit_exceeded", "slow", details)).toEqual({
      status: 429,
      headers: {
        "content-type": "application/json",
        "retry-after": "2",
        "retry-after-ms": "1500",
      },
      body: {
        type: "error",
        error: {
          type: "rate_limit_error",
          message: "slow",
          code: "rate_limit_exceeded",
          param: "x",
          scope: "tenant:a",
          dimension: "tokens",
          retry_after_ms: 1_500,
        },
        request_id: "req_1",
      },
    });
    expect(answer("budget_exceeded", "spent").headers["x-should-retry"]).toBe("false");
  });

  it("says that the prompt is too long in the words Claude Code looks for", () => {
    expect(answer("context_length_exceeded", "200 > 100").body.error.message).toBe("prompt is too long: 200 > 100");
    expect(answer("context_length_exceeded", "prompt is too long!").body.error.message).toBe("prompt is too long!");
  });

  it("passes a provider's own answer on word for word (ruling 18)", () => {
    const body = '{"type":"error", "error":{"type":"invalid_request_error","message":"tools.0: odd"}}';
    const upstream = { status: 400, contentType: "application/json", body: Buffer.from(body) };
    const error = new GatewayError("invalid_request", "refused", { upstream });
    expect(encodeError(error, "req_1")).toMatchObject({ status: 400, body });
    expect(encodeStreamError(error, "req_1").toString()).toBe(`event: error\ndata: ${body}\n\n`);
  });

  it("ends a stream with one error event", () => {
    expect(encodeStreamError(new GatewayError("overloaded", "busy"), "req_1").toString()).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy","code":"overloaded"},"request_id":"req_1"}\n\n',
    );
  });
});

describe("classifyFailure", () => {
  const failure = (status: number, type: string, message: string, headers: Record<string, string> = {}) =>
    classifyFailure(
      status,
      headers,
      Buffer.from(JSON.stringify({ type: "error", error: { type, message } })),
      1_000_000,
    );

  it.each([
    [400, "invalid_request_error", "messages: odd", "bad_request"],
    [400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"],
    [400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2", "context_overflow"],
    [400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", "quota_exhausted"],
    [401, "authentication_error", "invalid x-api-key", "auth_failed"],
    [402, "billing_error", "pay", "quota_exhausted"],
    [403, "permission_error", "no", "auth_failed"],
    [404, "not_found_error", "model: claude-x", "model_not_found"],
    [413, "request_too_large", "Request exceeds the maximum size", "bad_request"],
    [429, "rate_limit_error", "This request would exceed your organization's rate limit", "rate_limited"],
    [429, "rate_limit_error", "enforced_spend_limit_reached", "quota_exhausted"],
    [400, "invalid_request_error", "You have reached your specified API usage limits.", "quota_exhausted"],
    [500, "api_error", "Internal server error", "provider_error"],
    [504, "timeout_error", "slow", "timeout"],
    [529, "overloaded_error", "Overloaded", "overloaded"],
  ])("%i %s %j is %s", (status, type, message, kind) => {
    expect(failure(status, type, message)).toMatchObject({ class: kind, httpStatus: status });
  });

  it("reads when a used-up limit is refilled", () => {
    const limits = {
      "anthropic-ratelimit-requests-remaining": "10",
      "anthropic-ratelimit-requests-reset": new Date(1_090_000).toISOString(),
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-input-tokens-reset": new Date(1_030_000).toISOString(),
    };
    expect(failure(429, "rate_limit_error", "slow", limits).retryAfterMs).toBe(30_000);
    expect(failure(429, "rate_limit_error", "slow", { ...limits, "retry-after": "7" }).retryAfterMs).toBe(7_000);
    expect(failure(529, "overloaded_error", "busy", limits).retryAfterMs).toBeNull();
  });
});

describe("the protocol", () => {
  it("pings, ends and decorates in the dialect", () => {
    const call = asked({ stream: true });
    expect(anthropicMessages.streamShape(call).keepalive.toString()).toBe('event: ping\ndata: {"type":"ping"}\n\n');
    expect(anthropicMessages.terminator.toString()).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
    expect(anthropicMessages.endWithMetadata(anthropicMessages.terminator, { cache: "miss" }, call).toString()).toBe(
      'event: message_stop\ndata: {"type":"message_stop","gateway_metadata":{"cache":"miss"}}\n\n',
    );
    expect(anthropicMessages.decorateReply('{ "id":"m" }', '{"a":1}')).toBe('{ "id":"m" ,"gateway_metadata":{"a":1}}');
  });
});
