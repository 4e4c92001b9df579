import { describe, expect, it } from "vitest";
import {
  AuthenticationError,
  BudgetError,
  ConnectionError,
  ContentBlockedError,
  InternalServerError,
  InvalidRequestError,
  NotFoundError,
  OverloadedError,
  PermissionError,
  ProviderError,
  RateLimitError,
  Sluicegate,
  SluicegateError,
  TimeoutError,
} from "../src/index.ts";
import { json, ORIGIN_HEADERS, refuse, startTinyGateway, WIRE_USAGE } from "./tiny-gateway.ts";

const ASK = { model: "default", messages: [{ role: "user" as const, content: "hi" }] };

function completion(message: object, finish_reason = "stop", more: object = {}) {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    model: "gpt-4o-2024-11-20",
    choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }],
    usage: WIRE_USAGE,
    ...more,
  };
}

const toolCall = (id: string, args: unknown) => ({
  id,
  type: "function",
  function: { name: "weather", arguments: args },
});

describe("chat", () => {
  it("sends the body with the key and gives the reply", async () => {
    const metadata = { request_id: "req_1", cost_usd: 0.0125, latency_ms: 7 };
    const raw = completion({ content: "Hello", reasoning_content: "greet" }, "stop", { gateway_metadata: metadata });
    const gateway = await startTinyGateway(json(raw, 200, ORIGIN_HEADERS));
    const reply = await gateway.client().chat({
      ...ASK,
      temperature: 0,
      gateway: { task_class: "reasoning", tags: { tier: "gold" } },
      extra: { top_k: 3 },
    });

    expect(gateway.received[0]).toMatchObject({
      method: "POST",
      path: "/v1/chat/completions",
      headers: { authorization: "Bearer sg_test_secret", "content-type": "application/json" },
    });
    expect(gateway.received[0]!.body).toEqual({
      ...ASK,
      temperature: 0,
      top_k: 3,
      stream: false,
      gateway: { task_class: "reasoning", tags: { tier: "gold" } },
    });
    expect(reply).toEqual({
      message: { role: "assistant", text: "Hello", reasoning: "greet", toolCalls: [], wire: raw.choices[0]!.message },
      alias: "default",
      deployment: "gpt-uae",
      provider: "azure-uae",
      model: "gpt-4o-2024-11-20",
      usage: {
        input_tokens: 50,
        cached_input_tokens: 40,
        cache_write_tokens: 6,
        cache_write_1h_tokens: 0,
        output_tokens: 12,
        reasoning_tokens: 5,
      },
      finishReason: "stop",
      latencyMs: expect.any(Number),
      requestId: "req_1",
      costUsd: 0.0125,
      metadata,
      raw,
    });
  });

  it("says null for what a minimal answer does not say", async () => {
    const gateway = await startTinyGateway(json(completion({ content: "x" }, "eos", { usage: null })));
    const reply = await gateway.client().chat({ ...ASK, model: "fast" });
    expect(reply).toMatchObject({
      alias: "fast",
      deployment: null,
      provider: null,
      model: "gpt-4o-2024-11-20",
      requestId: null,
      costUsd: null,
      usage: null,
      finishReason: "error",
    });
    expect(reply).not.toHaveProperty("metadata");
  });

  it("parses tool arguments and keeps them as they came", async () => {
    const calls = [
      toolCall("a", '{"city": "Oslo"}'),
      toolCall("b", ""),
      toolCall("c", '{"ci'),
      toolCall("d", { x: 1 }),
    ];
    const gateway = await startTinyGateway(json(completion({ tool_calls: calls })));
    const { message, finishReason } = await gateway.client().chat(ASK);
    expect(finishReason).toBe("tool_calls");
    expect(message.toolCalls).toEqual([
      { id: "a", name: "weather", arguments: { city: "Oslo" }, rawArguments: '{"city": "Oslo"}' },
      { id: "b", name: "weather", arguments: {}, rawArguments: "" },
      { id: "c", name: "weather", arguments: undefined, rawArguments: '{"ci' },
      { id: "d", name: "weather", arguments: { x: 1 }, rawArguments: '{"x":1}' },
    ]);
  });

  it("goes on with the message as it came, with members that it does not know", async () => {
    const said = {
      role: "assistant",
      content: null,
      tool_calls: [toolCall("a", "{}")],
      reasoning_details: [{ signature: "s" }],
    };
    const gateway = await startTinyGateway(json(completion(said)), json(completion({ content: "sunny" })));
    const client = gateway.client();
    const { message } = await client.chat(ASK);
    const result = { role: "tool" as const, tool_call_id: "a", content: "sun" };
    await client.chat({ ...ASK, messages: [...ASK.messages, message.wire, result] });
    expect(gateway.received[1]!.body.messages[1]).toEqual(said);
  });

  it("takes a base URL with a path, with or without /v1", async () => {
    const gateway = await startTinyGateway(json(completion({ content: "x" })));
    for (const path of ["/", "/v1", "/v1/", "/team/llm/"]) {
      await gateway.client({ baseUrl: gateway.baseUrl + path }).chat(ASK);
    }
    expect(gateway.received.map(({ path }) => path)).toEqual([
      ...Array(3).fill("/v1/chat/completions"),
      "/team/llm/v1/chat/completions",
    ]);
    expect(() => new Sluicegate({ baseUrl: "localhost:8080", apiKey: "k" })).toThrow(TypeError);
  });
});

describe("errors", () => {
  it.each([
    [400, "missing_platform_field", InvalidRequestError],
    [413, "request_too_large", InvalidRequestError],
    [400, "guardrail_blocked", ContentBlockedError],
    [401, "invalid_api_key", AuthenticationError],
    [403, "residency_violation", PermissionError],
    [404, "model_not_found", NotFoundError],
    [429, "rate_limit_exceeded", RateLimitError],
    [429, "budget_exceeded", BudgetError],
    [503, "no_healthy_deployment", OverloadedError],
    [504, "provider_timeout", TimeoutError],
    [502, "all_providers_failed", ProviderError],
    [500, "internal", InternalServerError],
    [400, "unsupported_parameter", InvalidRequestError],
    [418, "teapot", InvalidRequestError],
    [599, "odd", InternalServerError],
  ])("%i %s has a class of its own", async (status, code, type) => {
    const gateway = await startTinyGateway(refuse(status, code));
    const error = await gateway
      .client()
      .chat(ASK)
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(type);
    expect(error).toBeInstanceOf(SluicegateError);
    expect(error).toMatchObject({ name: type.name, status, code, requestId: "req_e", message: `said ${code}` });
    expect(gateway.received).toHaveLength(1);
  });

  it("carry scope, wait and attempts", async () => {
    const attempts = [{ deployment: "a", class: "rate_limited" }];
    const more = { scope: "tenant:acme", retry_after_ms: 1500, attempts, dimension: "tokens" };
    const gateway = await startTinyGateway(
      refuse(429, "rate_limit_exceeded", more, { "retry-after": "2" }),
      refuse(429, "rate_limit_exceeded", {}, { "retry-after": "2" }),
    );
    const client = gateway.client();
    await expect(client.chat(ASK)).rejects.toMatchObject({
      scope: "tenant:acme",
      retryAfterMs: 1500,
      attempts,
      body: { dimension: "tokens" },
    });
    await expect(client.chat(ASK)).rejects.toMatchObject({ retryAfterMs: 2000, scope: undefined, attempts: undefined });
  });

  it("of a proxy in front are typed by the status", async () => {
    const gateway = await startTinyGateway((response) => response.writeHead(503).end("<html>down</html>"));
    await expect(gateway.client().chat(ASK)).rejects.toMatchObject({
      name: "OverloadedError",
      status: 503,
      code: "unknown",
    });
    expect(gateway.received).toHaveLength(1);
  });

  it.each([
    ["HTML", "<html>hi</html>"],
    ["nothing", ""],
    ["no choices", '{"choices":[]}'],
  ])("a 200 with %s is no answer", async (_, body) => {
    const gateway = await startTinyGateway((response) => response.end(body));
    const error = await gateway
      .client()
      .chat(ASK)
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.code).toBe("invalid_answer");
  });

  it("in a 200 are errors all the same", async () => {
    const gateway = await startTinyGateway(
      json({ error: { code: "overloaded", message: "busy", request_id: "req_2" } }),
    );
    await expect(gateway.client().chat(ASK)).rejects.toMatchObject({
      name: "OverloadedError",
      status: 503,
      requestId: "req_2",
    });
  });
});
