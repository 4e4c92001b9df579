import { ERROR_CLASSES, type ErrorClass } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyFailure } from "./openai-error.ts";

const NOW = Date.UTC(2026, 10, 29, 12, 0, 0);

function classify(status: number, body: unknown, headers: Record<string, string> = {}) {
  return classifyFailure(status, headers, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), NOW);
}

/** The family's usual envelope. */
const openai = (code: string | null, message = "words", type = "invalid_request_error") => ({
  error: { message, type, param: null, code },
});
const azure = (code: string, message = "words") => ({ error: { code, message } });
const openrouter = (code: number, message: string, metadata: Record<string, unknown> = {}) => ({
  error: { code, message, metadata },
  user_id: "u",
});

const ROWS: [string, ErrorClass, number, unknown, Record<string, string>?][] = [
  // OpenAI
  [
    "OpenAI: unsupported parameter",
    "bad_request",
    400,
    openai(
      "unsupported_parameter",
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
  ],
  [
    "OpenAI: unsupported value",
    "bad_request",
    400,
    openai("unsupported_value", "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
  ],
  [
    "OpenAI: a string too long is not a context too long",
    "bad_request",
    400,
    openai("string_above_max_length", "Expected a string with maximum length 64; reduce the length of the messages"),
  ],
  ["OpenAI: no code", "bad_request", 400, openai(null, "-1 is less than the minimum of 1 - 'dimensions'")],
  [
    "OpenAI: context",
    "context_overflow",
    400,
    openai("context_length_exceeded", "This model's maximum context length is 8192 tokens."),
  ],
  [
    "OpenAI: context, by words",
    "context_overflow",
    400,
    openai(null, "Your input exceeds the context window of this model. Please adjust your input and try again."),
  ],
  ["OpenAI: policy code", "content_filtered", 400, openai("content_policy_violation")],
  ["OpenAI: cyber policy", "content_filtered", 400, openai("cyber_policy")],
  [
    "OpenAI: invalid prompt with policy words",
    "content_filtered",
    400,
    openai("invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
  ],
  ["OpenAI: invalid prompt without", "bad_request", 400, openai("invalid_prompt", "Invalid prompt.")],
  [
    "OpenAI: image safety",
    "content_filtered",
    400,
    openai("moderation_blocked", "Your request was rejected as a result of our safety system."),
  ],
  ["OpenAI: key", "auth_failed", 401, openai("invalid_api_key", "Incorrect API key provided: invalid-*****2345.")],
  [
    "OpenAI: no organisation",
    "auth_failed",
    401,
    openai(null, "You must be a member of an organization to use the API"),
  ],
  [
    "OpenAI: country",
    "auth_failed",
    403,
    openai("unsupported_country_region_territory", "Country, region, or territory not supported", "request_forbidden"),
  ],
  ["OpenAI: permission", "auth_failed", 403, openai(null, "You have insufficient permissions for this operation.")],
  [
    "OpenAI: project without the model",
    "model_not_found",
    403,
    openai("model_not_found", "Project `p` does not have access to model `m`"),
  ],
  [
    "OpenAI: model",
    "model_not_found",
    404,
    openai("model_not_found", "The model `x` does not exist or you do not have access to it."),
  ],
  [
    "OpenAI: model on responses",
    "model_not_found",
    400,
    openai("model_not_found", "The requested model 'x' does not exist."),
  ],
  [
    "OpenAI: retired model, by words",
    "model_not_found",
    400,
    openai(null, "The model `x` has been deprecated, learn more here"),
  ],
  ["OpenAI: conflict", "bad_request", 409, openai(null)],
  ["OpenAI: unprocessable", "bad_request", 422, openai(null)],
  [
    "OpenAI: rate of tokens",
    "rate_limited",
    429,
    openai(
      "rate_limit_exceeded",
      "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 30000. Please try again in 9.816s.",
      "tokens",
    ),
  ],
  ["OpenAI: rate of requests", "rate_limited", 429, openai("rate_limit_exceeded", "Rate limit reached", "requests")],
  [
    "OpenAI: larger than the rate",
    "bad_request",
    429,
    openai(
      "rate_limit_exceeded",
      "Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 40000.",
      "tokens",
    ),
  ],
  [
    "OpenAI: quota",
    "quota_exhausted",
    429,
    openai(
      "insufficient_quota",
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
    ),
  ],
  ["OpenAI: quota, in the type alone", "quota_exhausted", 429, openai(null, "words", "insufficient_quota")],
  ["OpenAI: credits", "quota_exhausted", 429, openai("credit_balance_exhausted", "words", "insufficient_quota")],
  [
    "OpenAI: organisation's spend",
    "quota_exhausted",
    429,
    openai("organization_spend_limit_exceeded", "words", "insufficient_quota"),
  ],
  [
    "OpenAI: project's spend",
    "quota_exhausted",
    429,
    openai("project_spend_limit_exceeded", "words", "insufficient_quota"),
  ],
  ["OpenAI: hard limit", "quota_exhausted", 400, openai("billing_hard_limit_reached")],
  ["OpenAI: slow down", "overloaded", 503, openai("slow_down")],
  ["OpenAI: server error", "provider_error", 500, openai(null, "The server had an error", "server_error")],
  ["OpenAI: overloaded", "overloaded", 503, openai("server_is_overloaded", "words", "service_unavailable_error")],
  ["OpenAI: 400 that says overloaded by code", "overloaded", 400, openai("server_is_overloaded")],

  // Azure
  [
    "Azure: filter",
    "content_filtered",
    400,
    {
      error: {
        message: "The response was filtered",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: {} },
      },
    },
  ],
  [
    "Azure: filter, told inside alone",
    "content_filtered",
    400,
    { error: { message: "m", code: "BadRequest", innererror: { code: "ResponsibleAIPolicyViolation" } } },
  ],
  [
    "Azure: filter, by words",
    "content_filtered",
    400,
    azure(
      "BadRequest",
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ),
  ],
  [
    "Azure: key",
    "auth_failed",
    401,
    azure("401", "Access denied due to invalid subscription key or wrong API endpoint."),
  ],
  ["Azure: role", "auth_failed", 401, azure("PermissionDenied", "The principal lacks the required data action")],
  ["Azure: blocked network", "auth_failed", 403, azure("403", "Public access is disabled.")],
  [
    "Azure: deployment",
    "model_not_found",
    404,
    azure("DeploymentNotFound", "The API deployment for this resource does not exist."),
  ],
  [
    "Azure: rate",
    "rate_limited",
    429,
    azure("429", "Requests have exceeded the token rate limit. Please retry after 45 seconds."),
  ],
  ["Azure: rate, by code", "rate_limited", 429, azure("RateLimitReached", "Your requests have exceeded the limit.")],
  [
    "Azure: capacity, sent as a rate",
    "overloaded",
    429,
    azure("429", "The system is currently experiencing high demand and cannot process your request."),
  ],
  [
    "Azure: capacity, sent under the rate's code",
    "overloaded",
    429,
    azure("RateLimitReached", "The server is temporarily unable to process your request."),
  ],
  ["Azure: no capacity", "overloaded", 429, azure("NoCapacity", "words")],

  // Groq
  [
    "Groq: the model wrote a bad call",
    "provider_error",
    400,
    {
      error: {
        code: "tool_use_failed",
        message: "Tool call validation failed",
        type: "invalid_request_error",
        failed_generation: "{}",
      },
    },
  ],
  [
    "Groq: the model wrote bad JSON",
    "provider_error",
    400,
    { error: { code: "json_validate_failed", message: "Failed to generate JSON.", type: "invalid_request_error" } },
  ],
  [
    "Groq: larger than the rate",
    "bad_request",
    413,
    {
      error: {
        message: "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000",
        type: "tokens",
        code: "rate_limit_exceeded",
      },
    },
  ],
  [
    "Groq: rate of a day",
    "rate_limited",
    429,
    {
      error: {
        message: "Rate limit reached on tokens per day (TPD): Limit 100000. Please try again in 7m12s.",
        type: "tokens",
        code: "rate_limit_exceeded",
      },
    },
    { "retry-after": "432" },
  ],
  [
    "Groq: flex without capacity",
    "overloaded",
    498,
    { error: { message: "m", type: "capacity", code: "capacity_exceeded" } },
  ],
  ["Groq: no body", "overloaded", 498, ""],
  ["Groq: dependency", "provider_error", 424, { error: { message: "m", type: "x" } }],
  [
    "Groq: overflow",
    "context_overflow",
    400,
    { error: { message: "Please reduce the length of the messages or completion.", type: "invalid_request_error" } },
  ],
  [
    "Groq: says that we left; we did not",
    "provider_error",
    499,
    { error: { message: "request cancelled by the caller" } },
  ],

  // DeepSeek
  [
    "DeepSeek: 400 as an octet stream",
    "bad_request",
    400,
    openai("invalid_request_error", "unknown field", "invalid_request_error"),
    { "content-type": "application/octet-stream" },
  ],
  [
    "DeepSeek: balance",
    "quota_exhausted",
    402,
    openai("invalid_request_error", "Insufficient Balance", "unknown_error"),
  ],
  ["DeepSeek: busy", "overloaded", 503, ""],

  // xAI
  [
    "xAI: a wrong key is a 400",
    "auth_failed",
    400,
    {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: xa***ab. You can obtain an API key from https://console.x.ai.",
    },
  ],
  [
    "xAI: argument",
    "bad_request",
    400,
    { code: "invalid-argument", error: "Argument not supported on this model: presencePenalty" },
  ],
  [
    "xAI: overflow",
    "context_overflow",
    400,
    {
      code: "invalid-argument",
      error: "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    },
  ],
  [
    "xAI: credits",
    "quota_exhausted",
    403,
    {
      code: "The caller does not have permission",
      error: "Your team has either used all available credits or reached its monthly spending limit.",
    },
  ],
  [
    "xAI: credits, as a 429",
    "quota_exhausted",
    429,
    {
      code: "Some resource has been exhausted",
      error: "Your team has either used all available credits or reached its monthly spending limit.",
    },
  ],
  [
    "xAI: model",
    "model_not_found",
    404,
    {
      code: "Some requested entity was not found",
      error: "The model grok-x does not exist or your team does not have access to it.",
    },
  ],
  ["xAI: format", "bad_request", 422, { code: "x", error: "Failed to deserialize the JSON body into the target type" }],

  // OpenRouter
  ["OpenRouter: credits", "quota_exhausted", 402, openrouter(402, "Insufficient credits")],
  [
    "OpenRouter: moderation",
    "content_filtered",
    403,
    openrouter(403, "Input was flagged", { reasons: ["violence"], flagged_input: "x" }),
  ],
  ["OpenRouter: permission", "auth_failed", 403, openrouter(403, "No", { error_type: "permission_denied" })],
  ["OpenRouter: no endpoint", "model_not_found", 404, openrouter(404, "No endpoints found for x.")],
  ["OpenRouter: bad model", "model_not_found", 400, openrouter(400, "x/y is not a valid model ID")],
  ["OpenRouter: timeout", "timeout", 408, openrouter(408, "Timed out")],
  [
    "OpenRouter: the provider's rate",
    "rate_limited",
    429,
    openrouter(429, "Provider returned error", {
      provider_name: "Google",
      raw: "x is temporarily rate-limited upstream. Please retry shortly",
    }),
  ],
  [
    "OpenRouter: the provider's words",
    "context_overflow",
    400,
    openrouter(400, "Provider returned error", {
      raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215000 tokens > 200000 maximum"}}',
    }),
  ],
  [
    "OpenRouter: by error type",
    "context_overflow",
    400,
    openrouter(400, "x", { error_type: "context_length_exceeded" }),
  ],
  [
    "OpenRouter: overloaded by error type",
    "overloaded",
    502,
    openrouter(502, "x", { error_type: "provider_overloaded" }),
  ],
  ["OpenRouter: provider down", "provider_error", 502, openrouter(502, "x", { error_type: "provider_unavailable" })],
  ["OpenRouter: no provider", "overloaded", 503, openrouter(503, "x")],
  ["OpenRouter: refusal", "content_filtered", 400, openrouter(400, "x", { error_type: "refusal" })],

  // Together, Fireworks, Cerebras, Mistral, Voyage, Moonshot
  [
    "Together: dynamic limit",
    "rate_limited",
    429,
    { id: "x", error: { message: "m", type: "x" }, error_type: "dynamic_token_limited" },
  ],
  [
    "Together: overflow",
    "context_overflow",
    422,
    {
      id: "x",
      error: {
        message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193.",
        type: "invalid_request_error",
      },
    },
  ],
  ["Together: key", "auth_failed", 401, { id: "x", ...openai("invalid_api_key") }],
  ["Fireworks: suspended account", "quota_exhausted", 412, { error: { message: "Account suspended", type: "error" } }],
  [
    "Fireworks: not deployed",
    "model_not_found",
    404,
    { error: { object: "error", message: "Model not found, inaccessible, and/or not deployed", code: "NOT_FOUND" } },
  ],
  [
    "Cerebras: overflow",
    "context_overflow",
    400,
    {
      message: "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
  ],
  ["Cerebras: nothing said", "bad_request", 400, ""],
  ["Mistral: key", "auth_failed", 401, { detail: "Unauthorized" }],
  [
    "Mistral: rate",
    "rate_limited",
    429,
    {
      object: "error",
      message: "Requests rate limit exceeded",
      type: "rate_limited",
      param: null,
      code: "1300",
      raw_status_code: 429,
    },
  ],
  [
    "Mistral: tier",
    "overloaded",
    429,
    {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "x",
      param: null,
      code: "3505",
    },
  ],
  [
    "Mistral: 503 that calls itself the request's fault",
    "overloaded",
    503,
    { object: "error", message: "m", type: "invalid_request_error", param: null, code: null },
  ],
  [
    "Mistral: validation",
    "bad_request",
    422,
    { detail: [{ loc: ["body", "seed"], msg: "Extra inputs are not permitted", type: "extra_forbidden" }] },
  ],
  [
    "Mistral: a message that is an object",
    "bad_request",
    422,
    { object: "error", message: { detail: [{ msg: "x" }] }, type: "invalid_request_error" },
  ],
  [
    "Voyage: model",
    "model_not_found",
    400,
    { detail: "Model nonexistent is not supported. Supported models are ['voyage-2']." },
  ],
  ["Moonshot: overflow", "context_overflow", 400, openai(null, "Your request exceeded model token limit: 8192")],

  // Google's and Anthropic's compatible endpoints
  [
    "Gemini: a wrong key is a 400",
    "auth_failed",
    400,
    [
      {
        error: {
          code: 400,
          message: "Please pass a valid key.",
          status: "INVALID_ARGUMENT",
          details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }],
        },
      },
    ],
  ],
  [
    "Gemini: a wrong key, by words",
    "auth_failed",
    400,
    [{ error: { code: 400, message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" } }],
  ],
  [
    "Gemini: the minute's quota",
    "rate_limited",
    429,
    [
      {
        error: {
          code: 429,
          message: "You exceeded your current quota, please check your plan and billing details.",
          status: "RESOURCE_EXHAUSTED",
          details: [
            { violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }] },
            { retryDelay: "34.4s" },
          ],
        },
      },
    ],
  ],
  [
    "Gemini: the day's quota",
    "quota_exhausted",
    429,
    [
      {
        error: {
          code: 429,
          message: "You exceeded your current quota.",
          status: "RESOURCE_EXHAUSTED",
          details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }],
        },
      },
    ],
  ],
  [
    "Gemini: unavailable",
    "overloaded",
    503,
    { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } },
  ],
  ["Gemini: deadline", "timeout", 504, { error: { code: 504, message: "m", status: "DEADLINE_EXCEEDED" } }],
  [
    "Anthropic: overloaded",
    "overloaded",
    529,
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  ],
  [
    "Anthropic: overflow",
    "context_overflow",
    400,
    {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
    },
  ],
  [
    "Anthropic: balance",
    "quota_exhausted",
    400,
    {
      type: "error",
      error: { type: "invalid_request_error", message: "Your credit balance is too low to access the API." },
    },
  ],
  [
    "Anthropic: bytes",
    "bad_request",
    413,
    { error: { type: "request_too_large", message: "Request exceeds the maximum size" } },
  ],

  // Servers of one's own
  [
    "vLLM: overflow, old shape",
    "context_overflow",
    400,
    {
      object: "error",
      message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
      type: "BadRequestError",
      param: null,
      code: 400,
    },
  ],
  [
    "vLLM: model",
    "model_not_found",
    404,
    { error: { message: "The model `x` does not exist.", type: "NotFoundError", param: null, code: 404 } },
  ],
  [
    "llama.cpp: overflow",
    "context_overflow",
    400,
    {
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
        n_prompt_tokens: 9,
        n_ctx: 8,
      },
    },
  ],
  [
    "llama.cpp: loading",
    "overloaded",
    503,
    { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
  ],
  ["TGI: overloaded", "overloaded", 429, { error: "Model is overloaded", error_type: "overloaded" }],
  ["TGI: validation", "bad_request", 422, { error: "Input validation error: x", error_type: "validation" }],
  ["TGI: generation", "provider_error", 424, { error: "Request failed during generation", error_type: "generation" }],
  [
    "Ollama: model",
    "model_not_found",
    404,
    {
      error: { message: 'model "x" not found, try pulling it first', type: "not_found_error", param: null, code: null },
    },
  ],
  ["Ollama, native: a bare string", "model_not_found", 404, { error: "model 'x' not found" }],

  // What stands between
  ["a proxy: overloaded", "overloaded", 429, "no healthy upstream"],
  ["a proxy: bad gateway", "provider_error", 502, "<html><body>502 Bad Gateway</body></html>"],
  ["a proxy: entity too large", "bad_request", 413, "<html><body>413 Request Entity Too Large</body></html>"],
  ["a proxy: forbidden", "auth_failed", 403, "<html>Attention Required! | Cloudflare</html>"],
  ["a proxy: not found", "model_not_found", 404, "404 page not found"],
  ["a CDN: unknown error", "provider_error", 520, "<!DOCTYPE html>"],
  ["a CDN: connection timed out", "provider_error", 522, ""],
  ["a CDN: timed out", "timeout", 524, "<!DOCTYPE html>"],
  ["a proxy: gateway timeout", "timeout", 504, ""],
  ["a redirect: somebody else answers", "invalid_response", 302, "<html>log in</html>"],
  ["a redirect, permanent", "invalid_response", 308, ""],

  // No body, no shape
  ["401 with nothing", "auth_failed", 401, ""],
  ["402 with nothing", "quota_exhausted", 402, ""],
  ["403 with nothing", "auth_failed", 403, ""],
  ["404 with nothing", "model_not_found", 404, ""],
  ["408 with nothing", "timeout", 408, ""],
  ["413 with nothing", "bad_request", 413, ""],
  ["415 with nothing", "bad_request", 415, ""],
  ["418 with nothing", "bad_request", 418, ""],
  ["429 with nothing", "rate_limited", 429, ""],
  ["500 with nothing", "provider_error", 500, ""],
  ["503 with nothing", "overloaded", 503, ""],
  ["529 with nothing", "overloaded", 529, ""],
  ["null", "provider_error", 500, "null"],
  ["a number", "bad_request", 400, "7"],
  ["an empty array", "bad_request", 400, "[]"],
  ["an error that is null", "provider_error", 500, { error: null }],
  ["an error that is an array", "bad_request", 400, { error: ["x"] }],
  ["an event of a stream", "overloaded", 400, `event: error\ndata: ${JSON.stringify(openai("slow_down"))}\n\n`],
  ["413 that is about the context", "context_overflow", 413, openai("context_length_exceeded")],
  [
    "500 whose words say that no server could",
    "context_overflow",
    500,
    openai(null, "maximum context length is 8192 tokens", "server_error"),
  ],
  ["a code that is only a word of JavaScript's", "provider_error", 500, openai("constructor", "x", "__proto__")],
  ["the same at a 400", "bad_request", 400, openai("toString", "x", "hasOwnProperty")],
];

describe("an error answer", () => {
  it.each(ROWS)("%s: %s (%i)", (_name, kind, status, body, headers) => {
    expect(classify(status, body, headers)).toMatchObject({ class: kind, httpStatus: status });
  });

  it("is tested for every class that one can have", () => {
    const never: ErrorClass[] = ["connection_failed", "cancelled"];
    expect(new Set(ROWS.map(([, kind]) => kind))).toEqual(
      new Set(ERROR_CLASSES.filter((kind) => !never.includes(kind))),
    );
  });

  it("is never taken for a client of ours that left: that client is still waiting", () => {
    for (let status = 100; status < 600; status++) expect(classify(status, "").class).not.toBe("cancelled");
  });

  it("has a class, whatever the bytes", () => {
    const json = fc.json({ maxDepth: 4 });
    const shaped = fc
      .record({
        code: fc.anything(),
        type: fc.anything(),
        message: fc.anything(),
        metadata: fc.anything(),
        details: fc.anything(),
        innererror: fc.anything(),
      })
      .map(
        (error) =>
          JSON.stringify({ error }, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)) ??
          "",
      );
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 599 }), fc.oneof(json, shaped, fc.string()), (status, body) => {
        const failure = classify(status, body);
        expect(ERROR_CLASSES).toContain(failure.class);
        expect(failure.message.length).toBeLessThanOrEqual(500);
      }),
      { numRuns: 2_000 },
    );
  });

  it("of 64 KiB is classified in little time", () => {
    for (const word of ["model ", "input token count ", "blocked by ", "a"])
      classify(400, openai(null, word.repeat(65_536 / word.length)));
  });
});

describe("may the work have been done?", () => {
  it.each([
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [429, false],
    [500, true],
    [502, true],
    [503, true],
    [504, true],
    [529, true],
  ])("%i: %s", (status, ambiguous) => {
    expect(classify(status, "").ambiguous).toBe(ambiguous);
  });
});

describe("the time to wait", () => {
  it.each<[string, unknown, Record<string, string>, number | null]>([
    ["in a header", openai("rate_limit_exceeded", "try again in 20s"), { "retry-after": "10" }, 10_000],
    [
      "in OpenAI's words",
      openai("rate_limit_exceeded", "Rate limit reached. Please try again in 1.898s. Visit"),
      {},
      1_898,
    ],
    ["in milliseconds", openai("rate_limit_exceeded", "Please try again in 120ms."), {}, 120],
    ["in Groq's words", openai("rate_limit_exceeded", "Please try again in 7m12.5s."), {}, 432_500],
    ["in Azure's words", azure("429", "Please retry after 45 seconds."), {}, 45_000],
    [
      "in Google's details",
      [{ error: { code: 429, message: "x", details: [{ "@type": "x" }, { retryDelay: "34.4s" }] } }],
      {},
      34_400,
    ],
    [
      "in the headers OpenRouter quotes",
      openrouter(429, "x", { headers: { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${NOW + 60_000}` } }),
      {},
      60_000,
    ],
    ["nowhere", openai("rate_limit_exceeded", "Please try again later, in a minute."), {}, null],
    [
      "in details that say nothing",
      [{ error: { code: 429, details: [null, { retryDelay: 5 }, { retryDelay: "soon" }] } }],
      {},
      null,
    ],
  ])("%s", (_name, body, headers, ms) => {
    expect(classify(429, body, headers).retryAfterMs).toBe(ms);
  });
});

describe("what a client of the same dialect may be shown", () => {
  it("is the JSON as it came, called JSON", () => {
    const body = '{ "error": {"message":"x", "n":1.0} }';
    expect(classify(400, body, { "content-type": "application/octet-stream" }).upstream).toEqual({
      status: 400,
      contentType: "application/json",
      body: Buffer.from(body),
    });
  });

  it.each(["", "<html>", "no healthy upstream", "data: {}\n\n"])("is nothing of %j", (body) => {
    expect(classify(400, body).upstream).toBeUndefined();
  });
});
