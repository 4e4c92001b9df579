import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, payloadsOf } from "./support/loose-json.ts";
import { until } from "./support/until.ts";
import { startUpstream, type Upstream } from "./support/upstream.ts";

/* Packages of Vercel's AI SDK as providers, in front of the simulator: their own HTTP, our doors. */

let gateway: TestGateway;
let upstream: Upstream;

const PACKAGES = ["openai", "anthropic"] as const;
const MODELS = { echo: "echo", tool: "tool?calls=2", think: "reason" };

beforeAll(async () => {
  upstream = await startUpstream();
  const names = PACKAGES.flatMap((of) => Object.keys(MODELS).map((name) => `${of}-${name}`));
  gateway = await startTestGateway({
    variables: { PACKAGE_KEY: "package-key" },
    config: [
      "providers:",
      ...PACKAGES.map(
        (of) =>
          `  ${of}: { kind: ai-sdk, package: '@ai-sdk/${of}', options: { baseURL: SIMULATOR, apiKey: env:PACKAGE_KEY } }`,
      ),
      "  hand: { kind: ai-sdk, package: '@ai-sdk/anthropic', options: { baseURL: 'UPSTREAM/v1', apiKey: env:PACKAGE_KEY } }".replace(
        "UPSTREAM",
        upstream.url,
      ),
      "  gone: { kind: ai-sdk, package: '@ai-sdk/openai', options: { baseURL: 'http://127.0.0.1:1/v1', apiKey: env:PACKAGE_KEY } }",
      "deployments:",
      ...PACKAGES.flatMap((of) =>
        Object.entries(MODELS).map(
          ([name, model]) => `  ${of}-${name}: { provider: ${of}, model: '${model}', price: { input: 1, output: 2 } }`,
        ),
      ),
      "  hand: { provider: hand, model: claude-x }",
      "  gone: { provider: gone, model: gpt-x }",
      "  embed: { provider: openai, model: echo, price: { input: 1, output: 2 } }",
      "routes:",
      ...[...names, "hand", "gone", "embed"].map((n) => `  ${n}: { chain: [${n}], retries: { attempts: 1 } }`),
      "  falls: { chain: [gone, openai-echo], retries: { attempts: 1 } }",
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

async function asked(model: string, more: Json = {}): Promise<{ response: Response; body: Json }> {
  const response = await gateway.post({ model, ...HELLO, ...more });
  return { response, body: (await response.json()) as Json };
}

describe.each(PACKAGES)("@ai-sdk/%s", (of) => {
  test("answers whole: the row, the cost and the invoice agree", async () => {
    gateway.simulator.reset();
    const { response, body } = await asked(`${of}-echo`);
    expect(at(body, "choices", 0, "message", "content")).toBe("hello there");
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    const { total } = gateway.simulator.invoice();
    expect(row.usage).toMatchObject({ input_tokens: total.input_tokens, output_tokens: total.output_tokens });
    expect(row.cost_micro_usd).toBe(total.input_tokens + 2 * total.output_tokens);
  });

  test("streams to a client of Chat and to one of Messages", async () => {
    const chat = await gateway.post({ model: `${of}-echo`, ...HELLO, stream: true });
    const said = payloadsOf(await chat.text()).map((event) => at(event, "choices", 0, "delta", "content") ?? "");
    expect(said.join("")).toBe("hello there");
    const row = await gateway.row(chat.headers.get("x-request-id") ?? "");
    expect(row.usage.output_tokens).toBeGreaterThan(0);
    const request = { model: `${of}-echo`, max_tokens: 100, ...HELLO, stream: true };
    const messages = await gateway.post(request, { path: "/v1/messages" });
    const text = payloadsOf(await messages.text()).map((event) => at(event, "delta", "text") ?? "");
    expect(text.join("")).toBe("hello there");
  });

  test("calls tools, whole and streamed, and takes their results", async () => {
    const tools = { tools: [TOOL], tool_choice: "required" };
    const { body } = await asked(`${of}-tool`, tools);
    const message = at(body, "choices", 0, "message") as Json;
    const calls = listAt(message, "tool_calls");
    expect(calls).toHaveLength(2);
    expect(at(body, "choices", 0, "finish_reason")).toBe("tool_calls");
    const stream = await gateway.post({ model: `${of}-tool`, ...HELLO, ...tools, stream: true });
    const names = payloadsOf(await stream.text())
      .flatMap((event) => listAt(event, "choices", 0, "delta", "tool_calls"))
      .map((call) => at(call, "function", "name"));
    expect(names.filter(Boolean)).toEqual(["f", "f"]);
    const results = calls.map((call) => ({ role: "tool", tool_call_id: at(call, "id"), content: "done" }));
    const next = await asked(`${of}-tool`, { tools: [TOOL], messages: [...HELLO.messages, message, ...results] });
    expect(next.response.status).toBe(200);
  });

  test("refuses what the package cannot be told", async () => {
    const { response } = await asked(`${of}-echo`, { n: 2 });
    expect(response.status).toBe(400);
    // Neither package has a seed for these models, and says so after it has asked.
    const seeded = await asked(`${of}-echo`, { seed: 1 });
    expect(seeded.response.status).toBe(400);
    expect(at(seeded.body, "error", "attempts", 0, "class")).toBe("bad_request");
  });
});

test("what a package thinks comes back to it with its proof", async () => {
  const first = await gateway.post(
    { model: "anthropic-think", max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 }, ...HELLO },
    { path: "/v1/messages" },
  );
  const { content } = (await first.json()) as { content: Json[] };
  const thought = content.find(({ type }) => type === "thinking");
  expect(thought?.["signature"]).toBeTypeOf("string");
  const messages = [...HELLO.messages, { role: "assistant", content }, { role: "user", content: "go on" }];
  const next = await gateway.post({ model: "anthropic-think", max_tokens: 4000, messages }, { path: "/v1/messages" });
  expect(next.status).toBe(200);
  expect(next.headers.get("x-sluicegate-dropped") ?? "").not.toContain("reasoning_history");
});

test("embeds", async () => {
  const response = await gateway.post({ model: "embed", input: ["a", "b"] }, { path: "/v1/embeddings" });
  expect(response.status).toBe(200);
  expect(listAt((await response.json()) as Json, "data")).toHaveLength(2);
});

test("a server that is not there is passed over, and nothing is billed for it", async () => {
  const { response, body } = await asked("falls");
  expect(at(body, "choices", 0, "message", "content")).toBe("hello there");
  const row = await gateway.row(response.headers.get("x-request-id") ?? "");
  expect(row.attempts.map((attempt) => attempt.error_class)).toEqual(["connection_failed", null]);
});

test("an error of the provider's keeps its class and its words", async () => {
  const body = { type: "error", error: { type: "rate_limit_error", message: "slow down" } };
  upstream.answer((response) => {
    response.writeHead(429, { "content-type": "application/json", "retry-after": "7" }).end(JSON.stringify(body));
  });
  const { response } = await asked("hand");
  expect(response.status).toBe(429);
  expect(response.headers.get("retry-after")).toBe("7");
});

test("a client that leaves in the middle ends the package's call", async () => {
  let left = false;
  const events = [
    { type: "message_start", message: { id: "m", model: "claude-x", role: "assistant", usage: { input_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "begun" } },
  ];
  upstream.answer((response) => {
    response.on("close", () => {
      left = true;
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  });
  const leaving = new AbortController();
  const response = await gateway.post({ model: "hand", ...HELLO, stream: true }, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await until("the upstream to be left", () => left);
});
