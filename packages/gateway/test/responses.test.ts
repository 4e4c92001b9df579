import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI, { APIError, BadRequestError, NotFoundError } from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkedEvents } from "../src/protocols/openai-responses/fixtures/event-order.ts";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";

const OTHER_KEY = `sg_other_${"b2".repeat(32)}`;
const NEIGHBOUR_KEY = `sg_next_${"c3".repeat(32)}`;
const DRESSED = /^resp_[0-9a-f]{12}_.+/;
const WEATHER = {
  type: "function" as const,
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};

/** One simulator: behind `default` it is asked in Responses, behind the `chat-…` aliases in Chat. */
function configOf(): string {
  const models = ["echo", "tool", "reason", "refuse", "mirror", "cut", "blocked"];
  const chat = models.map((name) => `  chat-${name}: { provider: sim, model: sim/${name}, api: chat }`);
  return [
    "providers: { sim: { kind: simulator, base_url: SIMULATOR } }",
    "deployments:",
    "  echo: { provider: sim, model: sim/echo, price: { input: 1, output: 2 } }",
    "  tool: { provider: sim, model: sim/tool }",
    "  slow: { provider: sim, model: 'sim/slow?first_token=500ms' }",
    ...chat,
    "routes:",
    "  default: { chain: [echo] }",
    "  tool: { chain: [tool] }",
    "  slow: { chain: [slow] }",
    "  mixed: { chain: [chat-echo, echo] }",
    ...models.map((name) => `  ${name}: { chain: [chat-${name}] }`).filter((line) => !line.startsWith("  tool")),
    "  chat-tool: { chain: [chat-tool] }",
    "tenants:",
    "  default: { models: { allow: ['*'] } }",
    "  narrow: { models: { allow: [tool] } }",
    "  neighbour: { models: { allow: ['*'] } }",
    "keys:",
    "  - { id: test, hash: 'KEYHASH', tenant: default }",
    "  - { id: other, key: env:OTHER_KEY, tenant: narrow }",
    "  - { id: next, key: env:NEIGHBOUR_KEY, tenant: neighbour }",
  ].join("\n");
}

let gateway: TestGateway;
let client: OpenAI;
let stranger: OpenAI;
/** Of another tenant, which may use every alias. */
let neighbour: OpenAI;

beforeAll(async () => {
  gateway = await startTestGateway({ config: configOf(), variables: { OTHER_KEY, NEIGHBOUR_KEY } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 });
  stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: OTHER_KEY, maxRetries: 0 });
  neighbour = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: NEIGHBOUR_KEY, maxRetries: 0 });
});
afterAll(() => gateway.close());

/** What a promise rejects with. */
async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

async function collect(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe("Responses, passed on", () => {
  test("are their tenant's own: a neighbour who learns an id can do nothing with it", async () => {
    const { id } = await client.responses.create({ model: "default", input: "secret" });
    expect(await thrownBy(neighbour.responses.retrieve(id))).toMatchObject({ status: 404 });
    expect(await thrownBy(neighbour.responses.delete(id))).toMatchObject({ status: 404 });
    const next = neighbour.responses.create({ model: "default", input: "go on", previous_response_id: id });
    expect(await thrownBy(next)).toMatchObject({ status: 400, param: "previous_response_id" });
    expect((await client.responses.retrieve(id)).id).toBe(id);
  });

  test("an answer, with its id dressed and its usage in the ledger", async () => {
    const { data, response } = await client.responses.create({ model: "default", input: "hello" }).withResponse();
    expect(data.output_text).toContain("hello");
    expect(data.id).toMatch(DRESSED);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({
      dialect: "openai-responses",
      status: "ok",
      finish_reason: "stop",
      cost_state: "known",
    });
    expect(row.usage.input_tokens).toBe(data.usage?.input_tokens);
    expect(row.usage.output_tokens).toBe(data.usage?.output_tokens);
  });

  test("a stream, whose ids are the same from its first event to its last", async () => {
    const events = await collect(await client.responses.create({ model: "default", input: "hello you", stream: true }));
    const ids = events.flatMap((event) => ("response" in event ? [event.response.id] : []));
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(DRESSED);
    const items = events.flatMap((event) =>
      "item_id" in event ? [event.item_id] : "item" in event ? [event.item.id] : [],
    );
    expect(new Set(items).size).toBe(1);
    const final = events.at(-1);
    expect(final?.type).toBe("response.completed");
  });

  test("the SDK's own reading of a stream", async () => {
    const final = await client.responses.stream({ model: "tool", input: "weather?", tools: [WEATHER] }).finalResponse();
    const [call] = final.output;
    if (call?.type !== "function_call") throw new Error(JSON.stringify(final.output));
    expect(call.name).toBe("get_weather");
  });

  test("a conversation that is kept: next turn, look, items, and gone", async () => {
    const first = await client.responses.create({ model: "default", input: "one" });
    const second = await client.responses.create({ model: "default", input: "two", previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    const kept = await client.responses.retrieve(first.id);
    expect(kept).toMatchObject({ id: first.id, output: first.output });
    const items = await client.responses.inputItems.list(second.id);
    expect(items.data.length).toBeGreaterThan(0);
    const events = await collect(await client.responses.retrieve(first.id, { stream: true }));
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { id: first.id } });
    await client.responses.delete(first.id);
    expect(await thrownBy(client.responses.retrieve(first.id))).toBeInstanceOf(NotFoundError);
  });

  test("an item is referred to by the id it had in the answer", async () => {
    const first = await client.responses.create({ model: "default", input: "one" });
    const [message] = first.output;
    const input = [
      { type: "item_reference" as const, id: message?.id ?? "" },
      { role: "user" as const, content: "two" },
    ];
    const second = await client.responses.create({ model: "default", input });
    expect(second.output_text).toContain("two");
  });

  test("a call in the background is cancelled where it runs", async () => {
    const asked = client.responses.create({ model: "slow", input: "hello", background: true });
    const { data: running, response } = await asked.withResponse();
    expect(["queued", "in_progress"]).toContain(running.status);
    const cancelled = await client.responses.cancel(running.id);
    expect(cancelled).toMatchObject({ id: running.id });
    // What it used is not known when it is made.
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ status: "ok", finish_reason: null });
    expect(row.usage.input_tokens).toBeGreaterThan(0);
  });

  test("compaction is a call that is metered, and counting is one that is free", async () => {
    const compacted = await gateway.post(
      { model: "default", input: "a long story" },
      { path: "/v1/responses/compact" },
    );
    expect(compacted.status).toBe(200);
    const body = (await compacted.json()) as { id: string; usage: { input_tokens: number } };
    expect(body.id).toMatch(DRESSED);
    const row = await gateway.row(compacted.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ dialect: "openai-responses-compact", status: "ok" });
    expect(row.usage.input_tokens).toBe(body.usage.input_tokens);
    const counted = await gateway.post({ model: "default", input: "hello" }, { path: "/v1/responses/input_tokens" });
    expect(await counted.json()).toMatchObject({ object: "response.input_tokens" });
    expect(await gateway.row(counted.headers.get("x-request-id") ?? "")).toMatchObject({ cost_micro_usd: 0 });
  });

  test("metadata stands in the answer, or in the last event, for who asks for it", async () => {
    const headers = { "x-sluicegate-metadata": "on" };
    const path = "/v1/responses";
    const answer = await gateway.post({ model: "default", input: "hello" }, { path, headers });
    expect(await answer.json()).toMatchObject({ gateway_metadata: { deployment: "echo" } });
    for (const model of ["default", "echo"]) {
      const stream = await gateway.post({ model, input: "hello", stream: true }, { path, headers });
      const text = await stream.text();
      const last = JSON.parse(text.trim().split("\ndata: ").at(-1) ?? "");
      expect(last).toMatchObject({ type: "response.completed", gateway_metadata: { provider: "sim" } });
    }
  });
});

describe("ids that lead nowhere", () => {
  test("one without a token is a 400, one of nobody's a 404, and neither tells more", async () => {
    expect(await thrownBy(client.responses.retrieve("resp_0a7836d50cf181dd"))).toBeInstanceOf(BadRequestError);
    expect(await thrownBy(client.responses.retrieve("resp_0123456789ab_xyz"))).toBeInstanceOf(NotFoundError);
    const chained = client.responses.create({
      model: "default",
      input: "x",
      previous_response_id: "resp_0a7836d50cf181dd",
    });
    expect(await thrownBy(chained)).toMatchObject({ status: 400, param: "previous_response_id" });
    const elsewhere = client.responses.create({
      ...{ model: "default", input: "x" },
      previous_response_id: "resp_0123456789ab_xyz",
    });
    expect(await thrownBy(elsewhere)).toMatchObject({ status: 400, param: "previous_response_id" });
  });

  test("a key that may not use the deployment sees no more than of one that is not there", async () => {
    const mine = await client.responses.create({ model: "default", input: "mine" });
    const seen = (await thrownBy(stranger.responses.retrieve(mine.id))) as APIError;
    const absent = (await thrownBy(stranger.responses.retrieve("resp_0123456789ab_xyz"))) as APIError;
    expect(seen.status).toBe(404);
    expect(seen.message.replace(mine.id, "")).toBe(absent.message.replace("resp_0123456789ab_xyz", ""));
    expect(await thrownBy(stranger.responses.delete(mine.id))).toBeInstanceOf(NotFoundError);
    expect((await client.responses.retrieve(mine.id)).id).toBe(mine.id);
    const anonymous = await fetch(`${gateway.url}/v1/responses/${mine.id}`);
    expect(anonymous.status).toBe(401);
    const wrong = await fetch(`${gateway.url}/v1/responses/${mine.id}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${CLIENT_KEY}` },
    });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, DELETE"]);
  });
});

describe("Responses over a deployment that speaks Chat", () => {
  test("an answer and a stream in the vendor's order", async () => {
    const answer = await client.responses.create({ model: "echo", input: "hello there", instructions: "be kind" });
    expect(answer).toMatchObject({ status: "completed", store: false, instructions: "be kind" });
    expect(answer.output_text).toContain("hello there");
    const raw = await gateway.post({ model: "echo", input: "hello there", stream: true }, { path: "/v1/responses" });
    const events = checkedEvents(await raw.text());
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { usage: { input_tokens: expect.any(Number) } },
    });
  });

  test("tools, thoughts, refusals", async () => {
    const called = await client.responses
      .stream({ model: "chat-tool", input: "weather?", tools: [WEATHER] })
      .finalResponse();
    expect(called.output.at(-1)).toMatchObject({ type: "function_call", name: "get_weather", status: "completed" });
    const result = { type: "function_call_output" as const, call_id: "", output: "sunny" };
    const call = called.output.at(-1);
    if (call?.type !== "function_call") throw new Error("no call");
    const input = [{ role: "user" as const, content: "weather?" }, call, { ...result, call_id: call.call_id }];
    expect((await client.responses.create({ model: "chat-tool", input, tools: [WEATHER] })).status).toBe("completed");
    const thought = await client.responses.create({ model: "reason", input: "hm", reasoning: { effort: "low" } });
    expect(thought.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    const refused = await client.responses.create({ model: "refuse", input: "no" });
    expect(refused.output[0]).toMatchObject({ content: [{ type: "refusal" }] });
  });

  test("what only Responses has is a 400 that names it, or moves on to who speaks it", async () => {
    for (const [param, extra] of [
      ["store", { store: true }],
      ["background", { background: true }],
      ["tools[0]", { tools: [{ type: "web_search" as const }] }],
    ] as const) {
      expect(await thrownBy(client.responses.create({ model: "echo", input: "x", ...extra }))).toMatchObject({
        status: 400,
        param,
      });
    }
    expect((await client.responses.create({ model: "mixed", input: "x", store: true })).id).toMatch(DRESSED);
  });

  test("what Codex sends is served, and what found no place is listed", async () => {
    const body = {
      model: "chat-tool",
      instructions: "You are Codex.",
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "fix it" }] }],
      tools: [
        { ...WEATHER, name: "shell" },
        {
          type: "custom",
          name: "apply_patch",
          description: "patch",
          format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
        },
        { type: "web_search", external_web_access: false },
        { type: "namespace", name: "mcp__docs", description: "docs", tools: [{ ...WEATHER, name: "find" }] },
      ],
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "medium", summary: "auto" },
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "0190-abc",
      text: { verbosity: "low" },
      client_metadata: { "x-codex-installation-id": "i" },
    };
    const served = await gateway.post(body, { path: "/v1/responses" });
    expect(served.status).toBe(200);
    expect(served.headers.get("x-sluicegate-dropped")?.split(", ")).toEqual(
      expect.arrayContaining(["tools[2]", "client_metadata"]),
    );
    const events = checkedEvents(await served.text());
    expect(events.at(-1)).toMatchObject({
      response: { id: expect.any(String), usage: { output_tokens: expect.any(Number) } },
    });
  });

  test("an answer that is nothing but its end", async () => {
    const whole = await client.responses.create({ model: "blocked", input: "x" });
    expect(whole).toMatchObject({ status: "incomplete", incomplete_details: { reason: "content_filter" } });
    const raw = await gateway.post({ model: "blocked", input: "x", stream: true }, { path: "/v1/responses" });
    expect(raw.status).toBe(200);
    expect(checkedEvents(await raw.text()).at(-1)).toMatchObject({ type: "response.incomplete" });
  });

  test("a stream that breaks raises in the SDK", async () => {
    const stream = await client.responses.create({ model: "cut", input: "a b c d e f g h", stream: true });
    expect(await thrownBy(collect(stream))).toBeInstanceOf(APIError);
  });
});

describe("the Vercel AI SDK, which speaks Responses by default", () => {
  const tools = {
    get_weather: tool({
      description: "weather",
      inputSchema: jsonSchema<{ city: string }>(WEATHER.parameters as never),
      execute: async () => "sunny",
    }),
  };

  test.each([
    ["tool", {}],
    ["tool", { store: false }],
    ["chat-tool", { store: false }],
  ])("runs a loop of tools on %s %j", async (alias, openai) => {
    const model = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY })(alias);
    const asked = { model, tools, prompt: "weather?", stopWhen: stepCountIs(3), providerOptions: { openai } };
    const whole = await generateText(asked);
    expect(whole.steps).toHaveLength(2);
    expect(whole.finishReason).toBe("stop");
    const streamed = streamText({ ...asked, onError: ({ error }) => expect(error).toBeUndefined() });
    await streamed.consumeStream();
    expect(await streamed.steps).toHaveLength(2);
    expect((await streamed.totalUsage).outputTokens).toBeGreaterThan(0);
  });

  test("shows thoughts", async () => {
    const model = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY })("reason");
    const { reasoningText, text } = await generateText({
      model,
      prompt: "hm",
      providerOptions: { openai: { reasoningSummary: "auto" } },
    });
    expect(reasoningText).toBeTruthy();
    expect(text).toBe("hm");
  });
});
