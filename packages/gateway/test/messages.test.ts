import Anthropic from "@anthropic-ai/sdk";
import type { RequestRecord } from "@sluicegate/contract";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

/* Anthropic Messages at both doors: its own clients on every deployment, and other clients on its deployments. */

let gateway: TestGateway;
let upstream: Upstream;
let anthropic: Anthropic;
let openai: OpenAI;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    config: `
providers:
  claude: { kind: anthropic, base_url: '${upstream.url}', api_key: vendor-key }
  plain: { kind: openai-compatible, base_url: '${upstream.url}/v1' }
routes:
  claude: { chain: [claude/claude-sonnet-4-5], retries: { attempts: 1 } }
  plain: { chain: [plain/some-model], retries: { attempts: 1 } }
  both: { chain: [plain/some-model, claude/claude-sonnet-4-5], retries: { attempts: 1 } }
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
  anthropic = new Anthropic({ baseURL: gateway.url, apiKey: CLIENT_KEY, maxRetries: 0 });
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 });
});

beforeEach(() => {
  upstream.hits.splice(0);
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const ASKED = { max_tokens: 64, messages: [{ role: "user" as const, content: "hi" }] };
const TOOLS = [{ name: "weather", description: "d", input_schema: { type: "object" as const, properties: {} } }];
const USAGE = { input_tokens: 40, cache_creation_input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 1 };
const MESSAGE = {
  id: "msg_up",
  type: "message",
  role: "assistant",
  model: "claude-up",
  content: [{ type: "text", text: "hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { ...USAGE, output_tokens: 48 },
};

const event = (data: Record<string, unknown>): string =>
  `event: ${String(data["type"])}\ndata: ${JSON.stringify(data)}\n\n`;
const STREAM = [
  { type: "message_start", message: { ...MESSAGE, content: [], stop_reason: null, usage: USAGE } },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Need weather." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
  },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"city":"Oslo"}' } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 48 } },
  { type: "message_stop" },
]
  .map(event)
  .join("");

function answer(body: string, type = "application/json", status = 200): void {
  upstream.answer((response) => void response.writeHead(status, { "content-type": type }).end(body));
}

/** What reached the upstream last. */
function hit(): { path: string; headers: Record<string, unknown>; body: Record<string, unknown> } {
  const { path, headers, body } = upstream.hits.at(-1) ?? { path: "", headers: {}, body: Buffer.from("{}") };
  return { path, headers, body: JSON.parse(body.toString()) as Record<string, unknown> };
}

const rowOf = (response: Response): Promise<RequestRecord> => gateway.row(response.headers.get("x-request-id") ?? "");
const post = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  gateway.post({ ...ASKED, ...body }, { path: "/v1/messages?beta=true", headers });

describe("a Messages client on an Anthropic deployment", () => {
  it("gets the bytes as they came, and its versions, betas and unknown fields arrive", async () => {
    const text = JSON.stringify(MESSAGE, null, 1);
    answer(text);
    const response = await post(
      { model: "claude", new_in_2030: 1.5 },
      { "anthropic-beta": "a-1,b-2", "anthropic-version": "2023-06-01" },
    );
    expect(await response.text()).toBe(text);
    expect(response.headers.get("request-id")).toBe(response.headers.get("x-request-id"));
    expect(hit().path).toBe("/v1/messages?beta=true");
    expect(hit().headers).toMatchObject({
      "x-api-key": "vendor-key",
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "a-1,b-2",
    });
    expect(hit().headers["authorization"]).toBeUndefined();
    expect(hit().body).toEqual({ ...ASKED, model: "claude-sonnet-4-5", new_in_2030: 1.5 });
    expect(await rowOf(response)).toMatchObject({
      dialect: "anthropic-messages",
      status: "ok",
      finish_reason: "stop",
      response_model: "claude-up",
      usage: { input_tokens: 1040, cached_input_tokens: 1000, output_tokens: 48 },
    });
  });

  it("gets a stream as it came, with metadata in the end mark where it asks", async () => {
    answer(STREAM, "text/event-stream");
    const plain = await post({ model: "claude", stream: true });
    expect(await plain.text()).toBe(STREAM);
    expect(await rowOf(plain)).toMatchObject({
      finish_reason: "tool_calls",
      usage: { input_tokens: 1040, output_tokens: 48 },
    });
    const dressed = await (await post({ model: "claude", stream: true }, { "x-sluicegate-metadata": "on" })).text();
    const end = dressed.slice(dressed.lastIndexOf("event: "));
    expect(dressed.slice(0, dressed.lastIndexOf("event: "))).toBe(STREAM.slice(0, STREAM.lastIndexOf("event: ")));
    expect(end).toMatch(
      /^event: message_stop\ndata: \{"type":"message_stop","gateway_metadata":\{.*"request_id":"req_/,
    );
  });

  it("gets a provider's refusal word for word, and its own SDK's errors", async () => {
    const refusal =
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"},"request_id":"r"}';
    answer(refusal, "application/json", 400);
    expect(await (await post({ model: "claude" })).text()).toBe(refusal);
    answer('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "application/json", 529);
    await expect(anthropic.messages.create({ ...ASKED, model: "claude" })).rejects.toMatchObject({
      status: 529,
      requestID: expect.stringMatching(/^req_/),
    });
    await expect(anthropic.messages.create({ ...ASKED, model: "nothing" })).rejects.toBeInstanceOf(
      Anthropic.NotFoundError,
    );
    const wrong = new Anthropic({ baseURL: gateway.url, apiKey: "sg_no", maxRetries: 0 });
    await expect(wrong.messages.create({ ...ASKED, model: "claude" })).rejects.toBeInstanceOf(
      Anthropic.AuthenticationError,
    );
  });
});

describe("a Messages client on a chat deployment", () => {
  it("is answered by its SDK's own types, and hears what was dropped", async () => {
    answer(chatAnswer("hello"));
    const { data, response } = await anthropic.messages
      .create(
        { ...ASKED, model: "plain", system: "be brief", metadata: { user_id: "u1" } },
        { headers: { "anthropic-beta": "x-1" } },
      )
      .withResponse();
    expect(data).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: "message",
      model: "upstream-model",
      content: [{ type: "text", text: "hello" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 7, output_tokens: 3 },
    });
    expect(response.headers.get("x-sluicegate-dropped")).toContain("anthropic-beta");
    expect(hit().body).toMatchObject({ model: "some-model", max_tokens: 64 });
    expect(hit().body["messages"]).toMatchObject([{ role: "system" }, { role: "user" }]);
    expect(hit().headers["anthropic-beta"]).toBeUndefined();
  });

  it("streams thoughts, words and parallel calls in the order its SDK wants", async () => {
    const fragment = (index: number, more: Record<string, unknown>, args: string) => ({
      tool_calls: [{ index, ...more, function: { ...(more["id"] ? { name: "weather" } : {}), arguments: args } }],
    });
    const chunks = [
      chatChunk({ role: "assistant", content: "" }),
      chatChunk({ reasoning_content: "hm" }),
      chatChunk({ content: "Looking." }),
      chatChunk(fragment(0, { id: "call_a", type: "function" }, "")),
      chatChunk(fragment(0, {}, '{"city":')),
      chatChunk(fragment(1, { id: "call_b", type: "function" }, '{"city":"Bergen"}')),
      chatChunk(fragment(0, {}, '"Oslo"}')),
      chatChunk({}, "tool_calls"),
      chatChunk({}, null, { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } }),
      "data: [DONE]\n\n",
    ];
    answer(chunks.join(""), "text/event-stream");
    const message = await anthropic.messages.stream({ ...ASKED, model: "plain", tools: TOOLS }).finalMessage();
    expect(message).toMatchObject({
      content: [
        { type: "thinking", thinking: "hm", signature: expect.any(String) },
        { type: "text", text: "Looking." },
        { type: "tool_use", id: "call_a", name: "weather", input: { city: "Oslo" } },
        { type: "tool_use", id: "call_b", name: "weather", input: { city: "Bergen" } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 7, output_tokens: 3 },
    });

    // The next turn, on the provider that made it and on Anthropic, which must not see foreign thoughts.
    const results = ["call_a", "call_b"].map((id) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: "rain",
    }));
    const messages = [
      ...ASKED.messages,
      { role: "assistant" as const, content: message.content },
      { role: "user" as const, content: results },
    ];
    answer(chatAnswer("It rains."));
    await anthropic.messages.create({ max_tokens: 64, model: "plain", tools: TOOLS, messages });
    expect((hit().body["messages"] as { role: string }[]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
    ]);
    answer(JSON.stringify(MESSAGE));
    await anthropic.messages.create({ max_tokens: 64, model: "claude", tools: TOOLS, messages });
    const sent = hit().body["messages"] as { content: { type: string }[] }[];
    expect(sent[1]?.content.map(({ type }) => type)).toEqual(["text", "tool_use", "tool_use"]);
  });

  it("is told of an error inside the stream by its SDK", async () => {
    answer(`${chatChunk({ content: "a" })}data: {"error":{"message":"boom","code":503}}\n\n`, "text/event-stream");
    const stream = anthropic.messages.stream({ ...ASKED, model: "plain" });
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
  });

  it("cannot have Anthropic's own tools there", async () => {
    const tools = [{ type: "web_search_20250305" as const, name: "web_search" as const }];
    await expect(anthropic.messages.create({ ...ASKED, model: "plain", tools })).rejects.toMatchObject({
      status: 400,
      error: { error: { type: "invalid_request_error", message: expect.stringContaining("tools[0]") } },
    });
  });
});

describe("a chat client on an Anthropic deployment", () => {
  it("is answered in its own dialect", async () => {
    answer(JSON.stringify(MESSAGE));
    const { data, response } = await openai.chat.completions
      .create({
        model: "claude",
        seed: undefined,
        messages: [
          { role: "system", content: "be brief" },
          { role: "user", content: "hi" },
        ],
        user: "u1",
        verbosity: "low",
      })
      .withResponse();
    expect(data.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "hello" } });
    expect(data.usage).toMatchObject({
      prompt_tokens: 1040,
      completion_tokens: 48,
      prompt_tokens_details: { cached_tokens: 1000 },
    });
    expect(response.headers.get("x-sluicegate-dropped")).toBe("verbosity");
    expect(hit().path).toBe("/v1/messages");
    expect(hit().body).toEqual({
      model: "claude-sonnet-4-5",
      max_tokens: expect.any(Number),
      system: [{ type: "text", text: "be brief" }],
      messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      metadata: { user_id: "u1" },
    });
  });

  it("streams a call with its proof, and gives the proof back", async () => {
    answer(STREAM, "text/event-stream");
    const tools = [
      { type: "function" as const, function: { name: "weather", parameters: { type: "object", properties: {} } } },
    ];
    const asked = { model: "claude", tools, messages: [{ role: "user" as const, content: "hi" }] };
    const response = await gateway.post({ ...asked, stream: true, stream_options: { include_usage: true } });
    const chunks = (await response.text())
      .split("\n\n")
      .filter((line) => line.startsWith("data: {"))
      .map(
        (line) =>
          JSON.parse(line.slice(6)) as {
            choices: { delta: Record<string, unknown>; finish_reason: string | null }[];
            usage?: unknown;
          },
      );
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    const details = deltas.flatMap(
      (delta) => (delta["reasoning_details"] as Record<string, unknown>[] | undefined) ?? [],
    );
    expect(deltas.map((delta) => delta["reasoning_content"] ?? "").join("")).toBe("Need weather.");
    expect(chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).filter(Boolean)).toEqual([
      "tool_calls",
    ]);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 1040, completion_tokens: 48 });

    answer(JSON.stringify(MESSAGE));
    const call = { id: "toolu_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };
    const again = await gateway.post({
      ...asked,
      messages: [
        ...asked.messages,
        {
          role: "assistant",
          content: null,
          reasoning_content: "Need weather.",
          reasoning_details: details,
          tool_calls: [call],
        },
        { role: "tool", tool_call_id: "toolu_1", content: "rain" },
      ],
    });
    expect(again.status).toBe(200);
    expect(hit().body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Need weather.", signature: "c2ln" },
          { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "rain" }] }],
      },
    ]);
  });

  it("goes elsewhere with what Anthropic cannot say, and is told of it where there is no elsewhere", async () => {
    const messages = [{ role: "user" as const, content: "hi" }];
    await expect(openai.chat.completions.create({ model: "claude", messages, seed: 1 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("seed"),
    });
    await expect(
      openai.chat.completions.create({ model: "claude", messages, response_format: { type: "json_object" } }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining("response_format") });
    answer(chatAnswer("hello"));
    await openai.chat.completions.create({ model: "both", messages, seed: 1 });
    expect(hit().path).toBe("/v1/chat/completions");
  });

  it("falls over to Anthropic from another dialect", async () => {
    upstream.answer((response, { path }) => {
      if (path === "/v1/messages")
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(MESSAGE));
      else response.writeHead(503).end("{}");
    });
    const { choices } = await openai.chat.completions.create({
      model: "both",
      messages: [{ role: "user", content: "hi" }],
    });
    expect(choices[0]?.message.content).toBe("hello");
  });
});

it("metadata is put into the translated answer, not into the one that came", async () => {
  upstream.answer((response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("plain words")),
  );
  const answer = await gateway.post(
    { model: "plain", ...ASKED },
    { path: "/v1/messages", headers: { "x-sluicegate-metadata": "on" } },
  );
  expect(await answer.json()).toMatchObject({
    type: "message",
    content: [{ type: "text", text: "plain words" }],
    gateway_metadata: { provider: "plain" },
  });
});
