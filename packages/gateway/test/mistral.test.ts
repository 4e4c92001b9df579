import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt } from "./support/loose-json.ts";
import { chatAnswer, startUpstream, type Upstream } from "./support/upstream.ts";

/*
 * Mistral through the whole gateway: the simulator's, which refuses what it does not know, and one whose calls are looked at
 * byte by byte.
 */

const FOREIGN_ID = "call_abcdefghijklmnop";
const MISTRAL_ID = "D681PevKs";
let gateway: TestGateway;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    config: `
providers:
  sim: { kind: mistral, base_url: SIMULATOR_HOST/mistral/v1, api_key: k }
  seen: { kind: mistral, base_url: '${upstream.url}/v1', api_key: k }
deployments:
  sim: { provider: sim, model: 'echo?tag=mistral-medium-2508' }
  error: { provider: sim, model: 'error?status=429' }
  busy: { provider: sim, model: 'error?status=503' }
  tool: { provider: sim, model: 'tool?calls=2' }
  think: { provider: sim, model: reason }
  seen: { provider: seen, model: mistral-medium-2508 }
  vectors: { provider: seen, model: mistral-embed-2312 }
  sounds: { provider: seen, model: voxtral-mini-2507 }
routes:
  sim: { chain: [sim] }
  error: { chain: [error], retries: { attempts: 1 } }
  busy: { chain: [busy], retries: { attempts: 1 } }
  tool: { chain: [tool] }
  think: { chain: [think] }
  seen: { chain: [seen] }
  lax: { chain: [seen], drop_unsupported: true }
  vectors: { chain: [vectors] }
  sounds: { chain: [sounds] }
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** What reaches the provider of a raw chat body, the answer's status and what was dropped. */
async function sent(raw: string, path = "/v1/chat/completions") {
  const before = upstream.hits.length;
  const response = await gateway.post(null, { raw, path });
  const body = (await response.json()) as Json;
  const hit = upstream.hits[before];
  return {
    status: response.status,
    dropped: response.headers.get("x-sluicegate-dropped"),
    bytes: hit?.body.toString("utf8") ?? null,
    body,
  };
}

describe("the client's own bytes", () => {
  test("go on as they are where nothing of them is refused", async () => {
    const raw = `{ "model":"seen" ,\n"messages":[{"role":"user","content":"h\\u0069"}],"temperature":1.0, "top_p" : 1e0,"safe_prompt":true,"prompt_mode":"reasoning"}`;
    const { bytes, dropped } = await sent(raw);
    expect(bytes).toBe(raw.replace('"seen"', '"mistral-medium-2508"'));
    expect(dropped).toBeNull();
  });

  test("lose what is refused, and it is told", async () => {
    const raw = `{"model":"seen","messages":[{"role":"user","content":"hi"}],"user":"u","seed":7,"store":false,"logprobs":false,"service_tier":"flex","max_completion_tokens":9,"x_mine":[1],"verbosity":null,"stream_options":null}`;
    const { bytes, dropped } = await sent(raw);
    expect(bytes).toBe(
      `{"model":"mistral-medium-2508","messages":[{"role":"user","content":"hi"}],"random_seed":7,"max_tokens":9}`,
    );
    expect(dropped?.split(", ")).toEqual(["user", "service_tier", "x_mine"]);
  });

  test.each([
    ["logprobs", { logprobs: true }],
    ["logit_bias", { logit_bias: { "1": 2 } }],
    ["temperature", { temperature: 1.7 }],
    ["tools[0]", { tools: [{ type: "web_search" }] }],
  ])("that ask for what it has not are refused: %s", async (param, more) => {
    const { status, body, bytes } = await sent(
      JSON.stringify({ model: "seen", messages: [{ role: "user", content: "hi" }], ...more }),
    );
    expect([status, at(body, "error", "code"), at(body, "error", "param"), bytes]).toEqual([
      ...[400, "unsupported_feature", param, null],
    ]);
  });

  test("lose that, too, where the route lets it", async () => {
    const { bytes, dropped } = await sent(
      JSON.stringify({ model: "lax", messages: [{ role: "user", content: "hi" }], temperature: 1.7, logprobs: true }),
    );
    expect(JSON.parse(bytes ?? "")).toEqual({
      ...{ model: "mistral-medium-2508", messages: [{ role: "user", content: "hi" }] },
    });
    expect(dropped?.split(", ").sort()).toEqual(["logprobs", "temperature"]);
  });

  test("have their messages mended: ids, roles, names, thoughts, parts, order", async () => {
    const call = (id: string): Json => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
    const messages = [
      { role: "developer", content: "be brief" },
      { role: "user", name: "ann", content: [{ type: "file", file: { filename: "a.pdf", file_data: "JVBERi0=" } }] },
      { role: "assistant", content: null, refusal: null, reasoning_content: "hm", tool_calls: [call(FOREIGN_ID)] },
      { role: "tool", tool_call_id: FOREIGN_ID, content: "1" },
      { role: "user", content: "and?" },
      { role: "assistant", content: "well", tool_calls: [call(MISTRAL_ID)] },
      { role: "tool", tool_call_id: MISTRAL_ID, content: "2" },
    ];
    const { bytes, dropped } = await sent(JSON.stringify({ model: "seen", messages }));
    const got = at(JSON.parse(bytes ?? ""), "messages") as Json[];
    const id = at(got[2], "tool_calls", 0, "id");
    expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(got).toEqual([
      { role: "system", content: "be brief" },
      {
        role: "user",
        content: [
          { type: "document_url", document_url: "data:application/pdf;base64,JVBERi0=", document_name: "a.pdf" },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }],
        tool_calls: [call(String(id))],
      },
      { role: "tool", tool_call_id: id, content: "1" },
      { role: "assistant", content: "OK" },
      { role: "user", content: "and?" },
      { role: "assistant", content: "well", tool_calls: [call(MISTRAL_ID)] },
      { role: "tool", tool_call_id: MISTRAL_ID, content: "2" },
    ]);
    expect(dropped).toBe("messages.name");
  });

  test("that end with the model's words are gone on with", async () => {
    const messages = [
      { role: "user", content: "count" },
      { role: "assistant", content: "one," },
    ];
    const { bytes } = await sent(JSON.stringify({ model: "seen", messages }));
    expect(at(JSON.parse(bytes ?? ""), "messages", 1)).toEqual({ role: "assistant", content: "one,", prefix: true });
  });

  test("of the older functions are turned, and the answer back", async () => {
    upstream.answer((response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          ...{ id: "1", model: "m", usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
          choices: [
            {
              ...{ index: 0, finish_reason: "tool_calls" },
              message: { content: "", tool_calls: [{ id: MISTRAL_ID, function: { name: "f", arguments: "{}" } }] },
            },
          ],
        }),
      ),
    );
    const { body, bytes } = await sent(
      JSON.stringify({
        ...{ model: "seen", messages: [{ role: "user", content: "hi" }] },
        functions: [{ name: "f", parameters: { type: "object", properties: {} } }],
      }),
    );
    upstream.answer((response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("hello")),
    );
    expect(Object.keys(JSON.parse(bytes ?? ""))).toEqual(["model", "messages", "tools", "parallel_tool_calls"]);
    expect(at(body, "choices", 0, "message", "function_call")).toEqual({ name: "f", arguments: "{}" });
    expect(at(body, "choices", 0, "finish_reason")).toBe("function_call");
  });
});

test("sounds are transcribed by it, byte for byte", async () => {
  const answer = JSON.stringify({ model: "m", text: "hi", usage: { prompt_tokens: 4, completion_tokens: 1 } });
  upstream.answer((response) => response.writeHead(200, { "content-type": "application/json" }).end(answer));
  const form = new FormData();
  form.set("model", "sounds");
  form.set("file", new Blob(["RIFF"]), "a.wav");
  const encoded = new Response(form);
  const response = await gateway.post(null, {
    path: "/v1/audio/transcriptions",
    raw: new Uint8Array(await encoded.arrayBuffer()),
    headers: { "content-type": encoded.headers.get("content-type") ?? "" },
  });
  upstream.answer((res) => res.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("hello")));
  expect([response.status, await response.text()]).toEqual([200, answer]);
  const hit = upstream.hits.at(-1);
  expect([hit?.path, hit?.headers.authorization]).toEqual(["/v1/audio/transcriptions", "Bearer k"]);
  expect(hit?.body.toString()).toContain("voxtral-mini-2507");
});

test("embeddings are asked for in its words", async () => {
  upstream.answer((response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ data: [{ index: 0, embedding: [1, 2] }], model: "m", usage: { prompt_tokens: 3 } })),
  );
  const { bytes, dropped, body } = await sent(
    `{"model":"vectors","input":"hi","dimensions":256,"user":"u"}`,
    "/v1/embeddings",
  );
  upstream.answer((response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("hello")),
  );
  expect(bytes).toBe(`{"model":"mistral-embed-2312","input":"hi","output_dimension":256}`);
  expect([dropped, at(body, "data", 0, "embedding")]).toEqual(["user", [1, 2]]);
});

describe("the simulator's", () => {
  const ask = (model: string, more: Json = {}): Promise<Response> =>
    gateway.post({ model, messages: [{ role: "user", content: "hi" }], user: "u", ...more });

  test("takes what is left of a request, streamed too", async () => {
    const response = await ask("sim", { stream: true, stream_options: { include_usage: true }, seed: 1 });
    expect([response.status, (await response.text()).includes('"finish_reason":"stop"')]).toEqual([200, true]);
  });

  test("calls are told to a client of another dialect, and their ids come back", async () => {
    const tools = [{ name: "f", input_schema: { type: "object", properties: {} } }];
    const first = { role: "user", content: "go" };
    const asked = { model: "tool", max_tokens: 100, tools, tool_choice: { type: "any" }, messages: [first] };
    const answer = (await (await gateway.post(asked, { path: "/v1/messages" })).json()) as Json;
    const uses = listAt(answer, "content").filter((block) => at(block, "type") === "tool_use");
    expect(uses).toHaveLength(2);
    const results = uses.map((use) => ({ type: "tool_result", tool_use_id: at(use, "id"), content: "1" }));
    const second = [
      ...[first, { role: "assistant", content: answer["content"] }],
      { role: "user", content: [...results, { type: "text", text: "and now?" }] },
    ];
    const { tool_choice: _, ...rest } = asked;
    const next = await gateway.post({ ...rest, messages: second }, { path: "/v1/messages" });
    expect([next.status, await next.text()]).toEqual([200, expect.stringContaining("stop_reason")]);
  });

  test("thoughts are thoughts", async () => {
    const answer = (await (await ask("think", { user: undefined })).json()) as Json;
    const content = listAt(answer, "choices", 0, "message", "content");
    expect(content.map((piece) => at(piece, "type"))).toEqual(["thinking", "text"]);
    const told = await gateway.post({ model: "think", input: "hi" }, { path: "/v1/responses" });
    expect(listAt(await told.json(), "output").map((item) => at(item, "type"))).toEqual(["reasoning", "message"]);
  });

  test.each([
    ["error", 429, "rate_limited"],
    ["busy", 503, "overloaded"],
  ])("failures are of their class: %s", async (model, status, failed) => {
    const response = await ask(model);
    await response.text();
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect([response.status, row.attempts[0]?.error_class]).toEqual([status, failed]);
  });

  test("its 422 reaches a client of its dialect word for word", async () => {
    const response = await ask("sim", { reasoning_effort: "enormous" });
    expect([response.status, at(await response.json(), "detail", 0, "loc")]).toEqual([
      ...[400, ["body", "reasoning_effort"]],
    ]);
  });
});
