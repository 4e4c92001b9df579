import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

/* Clients of OpenAI's chat, completions and embeddings on deployments that speak something else. */

type Json = Record<string, unknown>;

let gateway: TestGateway;
let upstream: Upstream;
let openai: OpenAI;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    config: `
providers:
  claude: { kind: anthropic, base_url: '${upstream.url}', api_key: k }
  google: { kind: gemini, base_url: '${upstream.url}', api_key: k }
  plain: { kind: openai-compatible, base_url: '${upstream.url}/v1' }
deployments:
  chat-only: { provider: plain, model: some-model, api: chat }
routes:
  claude: { chain: [claude/claude-sonnet-4-5], retries: { attempts: 1 } }
  google: { chain: [google/gemini-embedding-001], retries: { attempts: 1 } }
  plain: { chain: [plain/some-model], retries: { attempts: 1 } }
  chat-only: { chain: [chat-only], retries: { attempts: 1 } }
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 });
});

beforeEach(() => {
  upstream.hits.splice(0);
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

function answer(body: string, type = "application/json", status = 200): void {
  upstream.answer((response) => void response.writeHead(status, { "content-type": type }).end(body));
}

function hit(): { path: string; body: Json } {
  const { path, body } = upstream.hits.at(-1) ?? { path: "", body: Buffer.from("{}") };
  return { path, body: JSON.parse(body.toString()) as Json };
}

const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "weather", parameters: { type: "object" } } },
];
const USAGE = { input_tokens: 40, cache_creation_input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 1 };
const STREAM = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-up",
      content: [],
      stop_reason: null,
      usage: USAGE,
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Need " } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "weather." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
  },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"city":' } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '"Oslo"}' } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 48 } },
  { type: "message_stop" },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join("");

describe("a chat client on an Anthropic deployment", () => {
  it("gets a stream it can put together, and its echo brings the signed thoughts back to their maker", async () => {
    answer(STREAM, "text/event-stream");
    const ask: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Weather in Oslo?" }];
    const stream = openai.chat.completions.stream({
      model: "claude",
      messages: ask,
      tools: TOOLS,
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    const [choice] = final.choices;
    expect(choice).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        role: "assistant",
        tool_calls: [{ id: "toolu_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
      },
    });
    expect(final.usage).toMatchObject({
      prompt_tokens: 1040,
      completion_tokens: 48,
      total_tokens: 1088,
      prompt_tokens_details: { cached_tokens: 1000 },
    });
    expect(final.model).toBe("claude-up");

    answer(
      JSON.stringify({
        id: "msg_2",
        type: "message",
        role: "assistant",
        model: "claude-up",
        content: [{ type: "text", text: "12 °C" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: USAGE,
      }),
    );
    const messages = [...ask, choice?.message, { role: "tool", tool_call_id: "toolu_1", content: "12" }];
    const next = await openai.chat.completions.create({
      model: "claude",
      messages: messages as OpenAI.ChatCompletionMessageParam[],
      tools: TOOLS,
    });
    expect(next.choices[0]).toMatchObject({ message: { content: "12 °C" }, finish_reason: "stop" });
    expect(hit().path).toBe("/v1/messages");
    const sent = hit().body["messages"] as Json[];
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(sent[1]?.["content"]).toMatchObject([
      { type: "thinking", thinking: "Need weather.", signature: "c2ln" },
      { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
    ]);
    expect(sent[2]?.["content"]).toMatchObject([{ type: "tool_result", tool_use_id: "toolu_1" }]);
  });

  it("is told which field has no place there", async () => {
    const response = await gateway.post({
      model: "claude",
      messages: [{ role: "user", content: "hi" }],
      logit_bias: { "5": 1 },
    });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error).toMatchObject({ code: "unsupported_feature", param: "logit_bias" });
    expect(error.message).toContain("leave that out, or set drop_unsupported");
    expect(upstream.hits).toEqual([]);
  });

  it("learns which hints were dropped", async () => {
    answer(
      JSON.stringify({
        id: "m",
        type: "message",
        role: "assistant",
        model: "c",
        content: [],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: USAGE,
      }),
    );
    const response = await gateway.post({
      model: "claude",
      messages: [{ role: "user", content: "hi" }],
      verbosity: "low",
      x_new: 1,
    });
    expect(response.status).toBe(200);
    const dropped = (response.headers.get("x-sluicegate-dropped") ?? "").split(", ");
    expect(dropped).toEqual(expect.arrayContaining(["verbosity", "x_new"]));
  });
});

describe("a completions client", () => {
  it("gets the bytes of a server that has completions", async () => {
    const text =
      '{"id":"cmpl-1","object":"text_completion","choices":[{"text":" world","index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}, "x":1.0}';
    answer(text);
    const response = await gateway.post({ model: "plain", prompt: "hello" }, { path: "/v1/completions" });
    expect(await response.text()).toContain('"x":1.0');
    expect(hit()).toEqual({ path: "/v1/completions", body: { model: "some-model", prompt: "hello" } });
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({
      dialect: "openai-completions",
      usage: { input_tokens: 1, output_tokens: 1 },
      finish_reason: "stop",
    });
  });

  it("can ask a chat model, whole and streamed", async () => {
    answer(chatAnswer("hello"));
    const whole = await openai.completions.create({ model: "chat-only", prompt: "say hello", max_tokens: 9 });
    expect(whole).toMatchObject({
      object: "text_completion",
      choices: [{ text: "hello", finish_reason: "stop" }],
      usage: { total_tokens: 10 },
    });
    expect(hit()).toEqual({
      path: "/v1/chat/completions",
      body: { model: "some-model", messages: [{ role: "user", content: "say hello" }], max_tokens: 9 },
    });
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    answer(
      `${chatChunk({ role: "assistant", content: "hel" })}${chatChunk({ content: "lo" })}${chatChunk({}, "stop")}${chatChunk({}, null, { choices: [], usage })}data: [DONE]\n\n`,
      "text/event-stream",
    );
    const stream = await openai.completions.create({
      model: "chat-only",
      prompt: "say hello",
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.Completion[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe("hello");
    expect(chunks.at(-1)?.usage).toMatchObject(usage);
  });

  it("cannot have a chat model complete several texts, or fill a gap", async () => {
    for (const [body, param] of [
      [{ prompt: ["a", "b"] }, "prompt"],
      [{ prompt: "a", suffix: "z" }, "suffix"],
    ] as const) {
      const response = await gateway.post({ model: "chat-only", ...body }, { path: "/v1/completions" });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: "unsupported_feature", param } });
    }
  });
});

describe("an embeddings client on a Gemini deployment", () => {
  it("gets base64 where its SDK asks for it, and can decode it", async () => {
    answer(JSON.stringify({ embeddings: [{ values: [0.5, -2] }, { values: [1, 0.25] }] }));
    const { data } = await openai.embeddings.create({ model: "google", input: ["a", "b"], dimensions: 2 });
    expect(data.map(({ embedding }) => embedding)).toEqual([
      [0.5, -2],
      [1, 0.25],
    ]);
    const response = await gateway.post({ model: "google", input: ["a", "b"] }, { path: "/v1/embeddings" });
    expect(await response.json()).toMatchObject({
      object: "list",
      data: [{ embedding: [0.5, -2] }, { index: 1, embedding: [1, 0.25] }],
    });
  });
});
