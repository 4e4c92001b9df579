import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, payloadsOf } from "./support/loose-json.ts";
import { startUpstream, type Upstream } from "./support/upstream.ts";

/* Cohere through the whole gateway: the simulator's, and one that answers by hand. */

let gateway: TestGateway;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
  const models = { echo: "echo", tool: "tool?calls=2", think: "reason", later: "errorafter?after=2" };
  const names = Object.keys(models);
  gateway = await startTestGateway({
    forgives: true,
    config: [
      "providers:",
      "  sim: { kind: cohere, base_url: SIMULATOR_HOST, api_key: k }",
      "  broken: { kind: cohere, base_url: SIMULATOR_HOST, api_key: broken-key }",
      `  hand: { kind: cohere, base_url: '${upstream.url}', api_key: k }`,
      "deployments:",
      ...Object.entries(models).map(
        ([name, model]) => `  ${name}: { provider: sim, model: '${model}', price: { input: 1, output: 2 } }`,
      ),
      "  broken: { provider: broken, model: echo }",
      "  hand: { provider: hand, model: command-a-03-2025 }",
      "  thinks: { provider: hand, model: command-a-reasoning-08-2025 }",
      "  embed: { provider: sim, model: 'embed-v4.0', price: { input: 1, output: 2 } }",
      "routes:",
      ...[...names, "broken", "hand", "thinks", "embed"].map(
        (n) => `  ${n}: { chain: [${n}], retries: { attempts: 1 } }`,
      ),
      "tenants: { default: { models: { allow: ['*'] } } }",
      "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    ].join("\n"),
  });
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const HELLO = { messages: [{ role: "user", content: "hello there" }] };
const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };

async function asked(model: string, more: Json = {}): Promise<{ response: Response; body: Json; sent: Json }> {
  const before = upstream.hits.length;
  const response = await gateway.post({ model, ...HELLO, ...more });
  const body = (await response.json()) as Json;
  const hit = upstream.hits[before]?.body.toString("utf8");
  return { response, body, sent: hit === undefined ? {} : (JSON.parse(hit) as Json) };
}

describe("answers", () => {
  test("are billed by what is billed: the row, the cost and the invoice agree", async () => {
    gateway.simulator.reset();
    const { response, body } = await asked("echo");
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    const { total } = gateway.simulator.invoice();
    expect(at(body, "choices", 0, "message", "content")).toBe("hello there");
    expect(row.usage).toMatchObject({ input_tokens: total.input_tokens, cached_input_tokens: 0 });
    expect(row.usage.output_tokens).toBe(total.output_tokens);
    expect(row.cost_micro_usd).toBe(total.input_tokens + 2 * total.output_tokens);
  });

  test("with calls, whole and streamed, and a second turn with their results", async () => {
    const tools = { tools: [TOOL], tool_choice: "required" };
    const { body } = await asked("tool", tools);
    const message = at(body, "choices", 0, "message") as Json;
    const calls = listAt(message, "tool_calls");
    expect(calls).toHaveLength(2);
    const stream = await gateway.post({ model: "tool", ...HELLO, ...tools, stream: true });
    const events = payloadsOf(await stream.text());
    const names = events
      .flatMap((event) => listAt(event, "choices", 0, "delta", "tool_calls"))
      .map((call) => at(call, "function", "name"));
    expect(names.filter(Boolean)).toEqual(["f", "f"]);
    const results = calls.map((call) => ({ role: "tool", tool_call_id: at(call, "id"), content: "done" }));
    const next = await asked("tool", { tools: [TOOL], messages: [...HELLO.messages, message, ...results] });
    expect([next.response.status, at(next.body, "choices", 0, "finish_reason")]).toEqual([200, "stop"]);
  });

  test("with thoughts, to a client of Anthropic's dialect", async () => {
    const body = { model: "think", max_tokens: 500, ...HELLO };
    const answer = (await (await gateway.post(body, { path: "/v1/messages" })).json()) as Json;
    expect(listAt(answer, "content").map((block) => at(block, "type"))).toEqual(["thinking", "text"]);
  });

  test("of vectors, in the coding that was asked for", async () => {
    const floats = await gateway.post({ model: "embed", input: ["a b", "c"] }, { path: "/v1/embeddings" });
    const list = listAt(await floats.json(), "data").map((entry) => listAt(entry, "embedding").length);
    expect(list).toEqual([1_536, 1_536]);
    const sized = { model: "embed", input: "a", dimensions: 256, encoding_format: "base64" };
    const coded = (await (await gateway.post(sized, { path: "/v1/embeddings" })).json()) as Json;
    expect(Buffer.from(String(at(coded, "data", 0, "embedding")), "base64")).toHaveLength(1_024);
    const odd = await gateway.post({ model: "embed", input: Array(97).fill("x") }, { path: "/v1/embeddings" });
    expect([odd.status, at(await odd.json(), "error", "param")]).toEqual([400, "input"]);
  });
});

describe("requests", () => {
  test("are told in its words", async () => {
    upstream.answer((response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          ...{ id: "1", message: { role: "assistant", content: [{ type: "text", text: "ok" }] } },
          ...{ finish_reason: "COMPLETE", usage: { billed_units: { input_tokens: 1, output_tokens: 1 } } },
        }),
      ),
    );
    const { sent, response } = await asked("hand", {
      ...{ max_completion_tokens: 9, temperature: 0.2, top_p: 1, top_k: 40, seed: 3, stop: ["a", "b"], user: "u" },
      ...{ tools: [TOOL, { type: "function", function: { name: "g" } }], reasoning_effort: "high" },
      tool_choice: { type: "function", function: { name: "g" } },
    });
    expect(sent).toEqual({
      ...{ model: "command-a-03-2025", messages: [{ role: "user", content: "hello there" }], stream: false },
      tools: [{ type: "function", function: { name: "g", parameters: { type: "object", properties: {} } } }],
      ...{ tool_choice: "REQUIRED", max_tokens: 9, temperature: 0.2, p: 0.99, k: 40, seed: 3 },
      stop_sequences: ["a", "b"],
    });
    expect(response.headers.get("x-sluicegate-dropped")?.split(", ").sort()).toEqual(["reasoning_effort", "user"]);
    const thinks = await asked("thinks", { max_tokens: 1_000, reasoning_effort: "low" });
    expect(thinks.sent["thinking"]).toEqual({ type: "enabled", token_budget: 200 });
    const still = await asked("thinks", { reasoning_effort: "none" });
    expect(still.sent["thinking"]).toEqual({ type: "disabled" });
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    const formed = await asked("hand", {
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    });
    expect(formed.sent["response_format"]).toEqual({ type: "json_object", json_schema: schema });
  });

  test.each([
    ["logprobs", { logprobs: true }],
    ["n", { n: 2 }],
    ["stop", { stop: ["a", "b", "c", "d", "e", "f"] }],
    ["frequency_penalty", { frequency_penalty: -1 }],
    ["logit_bias", { logit_bias: { "1": 1 } }],
    ["response_format", { response_format: { type: "json_object" }, tools: [TOOL] }],
  ])("that it cannot be told are refused: %s", async (param, more) => {
    const { response, body } = await asked("hand", more);
    expect([response.status, at(body, "error", "param")]).toEqual([400, param]);
  });
});

describe("failures", () => {
  test.each([
    [400, "too many tokens: total number of tokens exceeds", "context_overflow"],
    [400, "invalid request: something", "bad_request"],
    [401, "invalid api token", "auth_failed"],
    [402, "please add or update your payment method", "quota_exhausted"],
    [404, "model 'x' not found", "model_not_found"],
    [422, "unprocessable", "bad_request"],
    [429, "You are using a Trial key, which is limited to 1000 API calls / month.", "quota_exhausted"],
    [429, "You are using a Trial key, which is limited to 20 API calls / minute.", "rate_limited"],
    [498, "invalid token", "auth_failed"],
    [499, "request cancelled", "provider_error"],
    [500, "internal server error", "provider_error"],
    [503, "the service is unavailable", "overloaded"],
    [504, "gateway timeout", "timeout"],
  ])("%s %s is %s", async (status, message, failed) => {
    upstream.answer((response) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ id: "1", message })),
    );
    const { response } = await asked("hand");
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]).toMatchObject({ error_class: failed, http_status: status });
  });

  test("a key that it cannot read is a failed credential", async () => {
    const { response } = await asked("broken");
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect([response.status, row.attempts[0]?.error_class]).toEqual([502, "auth_failed"]);
  });

  test.each(["ERROR", "TIMEOUT"])("an answer that ends with %s is none", async (reason) => {
    upstream.answer((response) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ id: "1", message: { role: "assistant" }, finish_reason: reason })),
    );
    const { response } = await asked("hand");
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]?.error_class).toBe(reason === "ERROR" ? "provider_error" : "timeout");
  });

  test("an error at the end of a stream is told once, and what came stays", async () => {
    const event = (type: string, rest: Json): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
    upstream.answer((response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(
        event("message-start", { id: "1", delta: { message: { role: "assistant" } } }) +
          event("content-delta", { index: 0, delta: { message: { content: { text: "so far" } } } }) +
          event("message-end", {
            delta: {
              finish_reason: "ERROR",
              error: "boom",
              usage: { billed_units: { input_tokens: 4, output_tokens: 2 } },
            },
          }),
      ),
    );
    const response = await gateway.post({ model: "hand", ...HELLO, stream: true });
    const text = await response.text();
    expect(text).toContain("so far");
    expect(text.match(/"error":/g)).toHaveLength(1);
    expect(text).not.toContain('"finish_reason":"');
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ status: "failed", usage: { input_tokens: 4, output_tokens: 2 } });
  });
});
