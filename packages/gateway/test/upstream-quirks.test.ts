import type { Usage } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { type ReplayServer, startReplayServer, type TrafficRecord } from "./support/replay-server.ts";

/*
 * What recorded traffic showed to be easy to get wrong, in small exchanges written by hand, through the whole gateway.
 */

const DONE = "data: [DONE]\n\n";

let gateway: TestGateway;
let replay: ReplayServer;

beforeAll(async () => {
  replay = await startReplayServer();
  const compatible = `kind: openai-compatible, base_url: '${replay.url}/v1'`;
  gateway = await startTestGateway({
    forgives: true,
    config: `
providers:
  plain: { ${compatible} }
  openrouter: { ${compatible}, preset: openrouter }
routes:
  plain: { chain: [plain/m], retries: { attempts: 1 } }
  openrouter: { chain: [openrouter/m], retries: { attempts: 1 } }
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
});

afterAll(async () => {
  await gateway.close();
  await replay.close();
});

/** An answer as a provider sends it: a text is a stream, all else JSON. */
function answer(body: unknown, status = 200): TrafficRecord {
  const stream = typeof body === "string";
  return {
    id: "by hand",
    provider: "any",
    api: "chat",
    stream,
    model: null,
    tags: [],
    request: { method: "POST", path: "", headers: {}, body: null },
    response: { status, headers: { "content-type": stream ? "text/event-stream" : "application/json" }, body },
  };
}

async function ask(record: TrafficRecord, more: Record<string, unknown> = {}) {
  replay.serve(record, 3);
  const response = await gateway.post(
    {
      model: "plain",
      messages: [{ role: "user", content: "hi" }],
      ...(record.stream && { stream: true, stream_options: { include_usage: true } }),
      ...more,
    },
    { headers: { "x-sluicegate-metadata": "off" } },
  );
  const body = await response.text();
  return { response, body, row: await gateway.row(response.headers.get("x-request-id") ?? "") };
}

function chunk(delta: unknown, finish: string | null = null, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason: finish }], ...more });
}

const HELLO = `data: ${chunk({ content: "Hello" })}\n\n`;
const STOP = `data: ${chunk({}, "stop")}`;

describe("a stream that ends without a blank line", () => {
  it.each([
    ["nothing", "", "\n\n"],
    ["a line end", "\n", "\n"],
    ["a CRLF", "\r\n", "\n"],
    ["a blank line", "\n\n", ""],
    ["a blank line of CRLF", "\r\n\r\n", ""],
    ["two blank lines", "\n\n\n", ""],
  ])("behind %s: the end mark is an event of its own", async (_, end, missing) => {
    const { body, row } = await ask(answer(HELLO + STOP + end));
    expect(body).toBe(HELLO + STOP + end + missing + DONE);
    expect(row).toMatchObject({ status: "ok", finish_reason: "stop" });
  });

  it.each(["", "\n"])("behind its own end mark and %j: stays as it came", async (end) => {
    const stream = `${HELLO}${STOP}\n\ndata: [DONE]${end}`;
    const { body } = await ask(answer(stream));
    expect(body).toBe(stream);
  });

  it("and before its finish reason: so is the error", async () => {
    const { body, row } = await ask(answer(HELLO.trimEnd()));
    expect(body.startsWith(`${HELLO}data: {"error":{`)).toBe(true);
    expect(body.endsWith(`}}\n\n${DONE}`)).toBe(true);
    expect(row).toMatchObject({ status: "failed", error_code: "all_providers_failed", finish_reason: null });
  });
});

describe("an error inside a stream", () => {
  it("that refuses the request goes on word for word, as one event", async () => {
    const error = '{"error":{"message":"bad call","code":"tool_use_failed","failed_generation":"{","status_code":400}}';
    const { body, row } = await ask(answer(`${HELLO}event: error\ndata: ${error}\n\n`));
    expect(body).toBe(`${HELLO}data: ${error}\n\n${DONE}`);
    expect(row).toMatchObject({ status: "failed", error_code: "invalid_request" });
    expect(row.attempts[0]).toMatchObject({ status: "failed", error_class: "provider_error" });
  });

  it("that is the provider's own fault stays with the gateway", async () => {
    const { body, row } = await ask(answer(`${HELLO}data: {"error":{"message":"secret host gone","code":502}}\n\n`));
    expect(body).not.toContain("secret host");
    expect(body).toContain('"code":"all_providers_failed"');
    expect(row).toMatchObject({ status: "failed", error_code: "all_providers_failed" });
  });

  it("that keeps its reason in the row where the provider is full", async () => {
    const { body, row } = await ask(answer(`${HELLO}data: {"error":{"message":"x","code":"overloaded"}}\n\n`));
    expect(body).toContain('"code":"overloaded"');
    expect(row).toMatchObject({ status: "failed", error_code: "overloaded" });
  });

  it("behind the finish reason changes nothing, and its usage counts", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const remark = `data: ${chunk({}, null, { error: { code: 400, message: "Token limit reached" }, usage })}\n\n`;
    const stream = `${HELLO}data: ${chunk({}, "length")}\n\n${remark}${DONE}`;
    const { body, row } = await ask(answer(stream));
    expect(body).toBe(stream);
    expect(row).toMatchObject({ status: "ok", finish_reason: "length", usage: { input_tokens: 5, output_tokens: 2 } });
  });
});

describe("an error answer", () => {
  it("about a call the model wrote badly is shown word for word once nothing is left to try", async () => {
    const error = { error: { message: "no", type: "invalid_request_error", code: "tool_use_failed" } };
    const { response, body, row } = await ask(answer(error, 400));
    expect(response.status).toBe(400);
    expect(JSON.parse(body)).toEqual(error);
    expect(row.attempts[0]?.error_class).toBe("provider_error");
  });

  it.each([
    ["Rate limit exceeded: limit_rpm/m. High demand for m - limited to 1 requests per minute.", "rate_limited", 429],
    ["We are experiencing high demand, please try again later.", "overloaded", 503],
  ])("429 %s is %s", async (message, errorClass, status) => {
    const { response, row } = await ask(answer({ error: { message, code: 429 } }, 429), { model: "openrouter" });
    expect(response.status).toBe(status);
    expect(row.attempts[0]?.error_class).toBe(errorClass);
  });

  it("whose reset is past already still asks for a second", async () => {
    const record = answer({ error: { message: "slow", code: 429 } }, 429);
    record.response.headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000000000" };
    const { response } = await ask(record);
    expect(response.headers.get("retry-after-ms")).toBe("1000");
  });
});

describe("a call without a word that it is one", () => {
  const toolCall = { id: "1", type: "function", function: { name: "f", arguments: "{}" } };

  it("makes an empty finish reason tool_calls, and an empty model name is none", async () => {
    const message = { role: "assistant", content: "", tool_calls: [toolCall] };
    const { row } = await ask(answer({ model: "", choices: [{ index: 0, finish_reason: "", message }] }));
    expect(row).toMatchObject({ finish_reason: "tool_calls", response_model: null });
  });

  it("is not read into an empty function_call", async () => {
    const delta = { content: "4", function_call: { name: "", arguments: "" } };
    const { row } = await ask(answer(`data: ${chunk(delta)}\n\n${STOP}\n\n${DONE}`));
    expect(row.finish_reason).toBe("stop");
  });
});

describe("reasoning above the completion", () => {
  const usage = {
    prompt_tokens: 61,
    completion_tokens: 10,
    total_tokens: 71,
    completion_tokens_details: { reasoning_tokens: 96 },
  };
  const record = answer({
    model: "m",
    choices: [{ index: 0, finish_reason: "stop", message: { content: "x" } }],
    usage,
  });

  it.each([
    ["plain", "was not inside it, where nobody knows", 106],
    ["openrouter", "is counted otherwise, where it is known to be inside", 96],
  ])("%s: %s", async (model, _, output) => {
    const { row } = await ask(record, { model });
    const want: Partial<Usage> = { input_tokens: 61, output_tokens: output, reasoning_tokens: 96 };
    expect(row.usage).toMatchObject(want);
  });
});

describe("the usage-only chunk", () => {
  const usage = '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}';
  const other = '{"choices":[],"moderation":{"flagged":false},"usage":null}';
  const stream = (withUsage: boolean): string =>
    `${HELLO}${STOP}\n\n${withUsage ? `data: ${usage}\n\n` : ""}data: ${other}\n\n${DONE}`;

  it.each([
    ["nobody asked", {}, false],
    ["the client asked in OpenAI's way", { stream_options: { include_usage: true } }, true],
    ["the client asked in OpenRouter's way", { usage: { include: true } }, true],
  ])("%s; an empty chunk about something else is always shown", async (_, asked, shown) => {
    const { body, row } = await ask(answer(stream(true)), { stream_options: null, ...asked });
    expect(body).toBe(stream(shown));
    expect(row.usage).toMatchObject({ input_tokens: 1, output_tokens: 1 });
  });
});

describe("the output cap", () => {
  it.each(["max_tokens", "max_completion_tokens"])("reaches a server that takes either as %s", async (name) => {
    await ask(answer({ model: "m", choices: [{ index: 0, finish_reason: "stop", message: {} }] }), {
      model: "openrouter",
      [name]: 9,
    });
    expect(JSON.parse(replay.seen()?.body ?? "")).toEqual({
      model: "m",
      messages: [{ role: "user", content: "hi" }],
      [name]: 9,
    });
  });
});
