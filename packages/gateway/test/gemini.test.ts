import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

const HI = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
const EVENTS = "text/event-stream";

const geminiAnswer = (parts: object[], more: object = {}): string =>
  JSON.stringify({
    candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 12 },
    modelVersion: "gemini-x",
    responseId: "r1",
  });
const event = (json: string): string => `data: ${json}\r\n\r\n`;

describe("Gemini at both doors", () => {
  let upstream: Upstream;
  let gateway: TestGateway;

  beforeAll(async () => {
    upstream = await startUpstream();
    gateway = await startTestGateway({
      forgives: true,
      config: [
        "providers:",
        `  google: { kind: gemini, base_url: "${upstream.url}", api_key: google-key }`,
        `  other: { kind: openai-compatible, base_url: "${upstream.url}/v1", api_key: other-key }`,
        "deployments:",
        "  g: { provider: google, model: gemini-3-flash }",
        "  o: { provider: other, model: gpt-x }",
        "routes:",
        "  google: { chain: [g], retries: { attempts: 1 } }",
        "  other: { chain: [o], retries: { attempts: 1 } }",
        "  vendor/both: { chain: [g, o] }",
        "  hidden: { chain: [g] }",
        "tenants: { default: { models: { allow: ['*'], deny: [hidden] } } }",
        "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
      ].join("\n"),
    });
  });
  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });
  beforeEach(() => {
    upstream.hits.length = 0;
  });

  const reply = (body: string, type = "application/json", status = 200): void =>
    upstream.answer((response) => void response.writeHead(status, { "content-type": type }).end(body));
  const ask = (alias: string, method = "generateContent", body: unknown = HI): Promise<Response> =>
    gateway.post(body, {
      path: `/v1beta/models/${alias}:${method}`,
      key: null,
      headers: { "x-goog-api-key": CLIENT_KEY },
    });

  test("its own client is passed through, byte for byte", async () => {
    const body = geminiAnswer([{ text: "hello" }], { finishReason: "STOP" });
    reply(body);
    const response = await ask("google");
    expect(await response.text()).toBe(body);
    expect(upstream.hits[0]).toMatchObject({ path: "/v1beta/models/gemini-3-flash:generateContent" });
    expect(upstream.hits[0]?.headers).toMatchObject({ "x-goog-api-key": "google-key" });
    expect(upstream.hits[0]?.body.toString()).toBe(JSON.stringify(HI));
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ status: "ok", usage: { input_tokens: 7, output_tokens: 5, reasoning_tokens: 2 } });
  });

  test("a stream is passed through as events, or framed as an array", async () => {
    const pieces = [geminiAnswer([{ text: "hel" }]), geminiAnswer([{ text: "lo" }], { finishReason: "STOP" })];
    reply(pieces.map(event).join(""), EVENTS);
    const events = await ask("google", "streamGenerateContent?alt=sse");
    expect(events.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(await events.text()).toBe(pieces.map(event).join(""));
    const array = await ask("google", "streamGenerateContent");
    expect(array.headers.get("content-type")).toBe("application/json");
    expect((await array.text()).trim().replace(/\s*\]$/, "]")).toBe(`[${pieces.join(",\n")}]`);
    expect(upstream.hits.map((hit) => hit.path)).toEqual(
      Array(2).fill("/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"),
    );
  });

  test("its client is served by an OpenAI deployment, whole and streamed", async () => {
    reply(chatAnswer("hello"));
    const whole = (await (await ask("other")).json()) as { candidates: unknown[] };
    expect(whole).toMatchObject({
      candidates: [{ content: { role: "model", parts: [{ text: "hello" }] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
      modelVersion: "upstream-model",
    });
    reply(
      `${chatChunk({ content: "hel" })}${chatChunk({ content: "lo" })}${chatChunk({}, "stop")}data: [DONE]\n\n`,
      EVENTS,
    );
    const array = (await (await ask("other", "streamGenerateContent")).json()) as object[];
    expect(array).toMatchObject([
      { candidates: [{ content: { parts: [{ text: "hel" }] } }] },
      { candidates: [{ content: { parts: [{ text: "lo" }] } }] },
      { candidates: [{ finishReason: "STOP" }] },
    ]);
  });

  test("an OpenAI client is served by Gemini, whole and streamed, and its calls keep their proof", async () => {
    const call = { functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "c2ln" };
    reply(geminiAnswer([call], { finishReason: "STOP" }));
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
    const messages: unknown[] = [{ role: "user", content: "hi" }];
    const first = await gateway.post({ model: "google", messages, tools });
    const { choices } = (await first.json()) as {
      choices: { finish_reason: string; message: { tool_calls: { id: string }[] } }[];
    };
    const [choice] = choices;
    expect(choice).toMatchObject({
      finish_reason: "tool_calls",
      message: { tool_calls: [{ function: { name: "f", arguments: '{"a":1}' } }] },
    });
    messages.push(choice?.message, { role: "tool", tool_call_id: choice?.message.tool_calls[0]?.id, content: "done" });
    reply([event(geminiAnswer([{ text: "ok" }])), event(geminiAnswer([], { finishReason: "STOP" }))].join(""), EVENTS);
    const second = await gateway.post({
      model: "google",
      messages,
      tools,
      stream: true,
      stream_options: { include_usage: true },
    });
    const text = await second.text();
    expect(text).toContain('"content":"ok"');
    expect(text).toContain('"reasoning_tokens":2');
    expect(JSON.parse(upstream.hits.at(-1)?.body.toString() ?? "")).toMatchObject({
      contents: [
        { role: "user", parts: [{ text: "hi" }] },
        { role: "model", parts: [call] },
        { role: "user", parts: [{ functionResponse: { name: "f", response: { output: "done" } } }] },
      ],
    });
  });

  test("the key may stand in the query, on these paths alone", async () => {
    reply(geminiAnswer([{ text: "x" }], { finishReason: "STOP" }));
    const asked = (path: string): Promise<Response> => gateway.post(HI, { path, key: null });
    expect((await asked(`/v1beta/models/google:generateContent?key=${CLIENT_KEY}`)).status).toBe(200);
    expect(upstream.hits[0]?.path).not.toContain(CLIENT_KEY);
    expect((await asked(`/v1beta/models/google:generateContent?key=${CLIENT_KEY}x`)).status).toBe(401);
    expect((await asked(`/v1/chat/completions?key=${CLIENT_KEY}`)).status).toBe(401);
    expect((await fetch(`${gateway.url}/v1beta/models?key=${CLIENT_KEY}`)).status).toBe(200);
    expect((await fetch(`${gateway.url}/v1/models?key=${CLIENT_KEY}`)).status).toBe(401);
  });

  test("an alias may hold a slash, as it is or encoded, and nobody may use what is denied", async () => {
    reply(geminiAnswer([{ text: "x" }], { finishReason: "STOP" }));
    expect((await ask("vendor%2Fboth")).status).toBe(200);
    expect((await ask("vendor/both")).status).toBe(200);
    const denied = await ask("hidden");
    expect(denied.status).toBe(403);
    expect(await denied.json()).toMatchObject({
      error: { code: 403, status: "PERMISSION_DENIED", details: [{ reason: "model_not_allowed" }, {}] },
    });
    expect((await (await ask("nobody")).json()) as object).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
  });

  test("errors come in Google's frame: ours, the provider's own, and one in a stream that has begun", async () => {
    reply('{"error":{"code":400,"message":"no such field","status":"INVALID_ARGUMENT"}}', "application/json", 400);
    expect(await (await ask("google")).text()).toBe(
      '{"error":{"code":400,"message":"no such field","status":"INVALID_ARGUMENT"}}',
    );
    expect(await (await ask("google", "generateContent", {})).json()).toMatchObject({
      error: {
        status: "INVALID_ARGUMENT",
        details: [{ reason: "invalid_request" }, { fieldViolations: [{ field: "contents" }] }],
      },
    });
    reply(
      event(geminiAnswer([{ text: "hel" }])) + event('{"error":{"code":500,"message":"broke","status":"INTERNAL"}}'),
      EVENTS,
    );
    const array = (await (await ask("google", "streamGenerateContent")).json()) as object[];
    expect(array).toMatchObject([{ candidates: [{}] }, { error: { code: 502, status: "UNAVAILABLE" } }]);
    reply(JSON.stringify({ promptFeedback: { blockReason: "SAFETY" } }));
    expect(await (await ask("google")).json()).toMatchObject({
      error: { code: 400, details: [{ reason: "content_filter" }] },
    });
  });

  test("an error that stands between the events as it is, as Google writes it, is one", async () => {
    const bare = JSON.stringify({ error: { code: 503, message: "busy", status: "UNAVAILABLE" } }, null, 2);
    upstream.answer((response, hit) => {
      const text = hit.path.includes("gemini") ? bare : `${chatChunk({ content: "other" }, "stop")}data: [DONE]\n\n`;
      response.writeHead(200, { "content-type": EVENTS }).end(text);
    });
    expect(await (await ask("vendor/both", "streamGenerateContent?alt=sse")).text()).toContain("other");
    reply(event(geminiAnswer([{ text: "hel" }])) + bare, EVENTS);
    for (const path of ["/v1beta/models/google:streamGenerateContent?alt=sse", "/v1/chat/completions"]) {
      const asked = { ...HI, model: "google", stream: true, messages: [{ role: "user", content: "hi" }] };
      const broken = await gateway.post(path.includes("chat") ? { ...asked, contents: undefined } : HI, { path });
      const text = await broken.text();
      expect(text).toContain("hel");
      expect(text.match(/"error":/g)).toHaveLength(1);
      const row = await gateway.row(broken.headers.get("x-request-id") ?? "");
      expect(row).toMatchObject({ status: "failed", attempts: [{ error_class: "overloaded" }] });
    }
  });

  test("a blocked prompt is not taken elsewhere, a call nobody declared is", async () => {
    upstream.answer((response, hit) => {
      const body = hit.path.includes("generateContent")
        ? geminiAnswer([{ functionCall: { name: "x" } }], { finishReason: "UNEXPECTED_TOOL_CALL" })
        : chatAnswer("from the other");
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
    expect(await (await ask("vendor/both")).text()).toContain("from the other");
    upstream.hits.length = 0;
    reply(JSON.stringify({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }));
    expect((await ask("vendor/both")).status).toBe(400);
    expect(upstream.hits).toHaveLength(1);
  });

  test("what only Google has is refused elsewhere by its name", async () => {
    const body = { ...HI, cachedContent: "cachedContents/1" };
    const refused = await ask("other", "generateContent", body);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { details: [{ reason: "unsupported_feature" }, { fieldViolations: [{ field: "cachedContent" }] }] },
    });
    reply(chatAnswer("hello"));
    const hints = await ask("other", "generateContent", {
      ...HI,
      safetySettings: [],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    });
    expect(hints.status).toBe(200);
    expect(hints.headers.get("x-sluicegate-dropped")).toContain("safetySettings");
  });

  test("embeddings are served from either dialect by either provider", async () => {
    reply(JSON.stringify({ embeddings: [{ values: [0.5] }, { values: [1] }], usageMetadata: { promptTokenCount: 2 } }));
    const requests = ["a", "b"].map((text) => ({ model: "models/google", content: { parts: [{ text }] } }));
    expect(await (await ask("google", "batchEmbedContents", { requests })).json()).toMatchObject({
      embeddings: [{ values: [0.5] }, {}],
    });
    expect(upstream.hits[0]?.body.toString()).toContain("models/gemini-3-flash");
    const fromOpenai = await gateway.post({ model: "google", input: ["a", "b"] }, { path: "/v1/embeddings" });
    expect(await fromOpenai.json()).toMatchObject({ data: [{ embedding: [0.5] }, { embedding: [1] }] });
    reply(
      JSON.stringify({
        object: "list",
        data: [{ index: 0, embedding: [0.25] }],
        model: "e",
        usage: { prompt_tokens: 4, total_tokens: 4 },
      }),
    );
    const other = await ask("other", "embedContent", { content: { parts: [{ text: "a" }] } });
    expect(await other.json()).toMatchObject({ embedding: { values: [0.25] } });
  });

  test("tokens are counted by Google, or by the gateway", async () => {
    reply('{"totalTokens":12}');
    expect(await (await ask("google", "countTokens")).json()).toEqual({ totalTokens: 12 });
    expect(await (await ask("other", "countTokens")).json()).toMatchObject({ totalTokens: expect.any(Number) });
    expect(upstream.hits).toHaveLength(1);
  });

  test("models are listed in the asking dialect's shape, only those the key may use", async () => {
    const get = async (path: string, headers: Record<string, string>): Promise<unknown> =>
      (await fetch(`${gateway.url}${path}`, { headers })).json();
    const google = { "x-goog-api-key": CLIENT_KEY };
    const anthropic = { "x-api-key": CLIENT_KEY, "anthropic-version": "2023-06-01" };
    expect(await get("/v1beta/models", google)).toMatchObject({
      models: [{ name: "models/google" }, { name: "models/other" }, { name: "models/vendor/both" }],
    });
    expect(await get("/v1beta/models/vendor%2Fboth", google)).toMatchObject({ name: "models/vendor/both" });
    expect(await get("/v1beta/models/hidden", google)).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
    expect(await get("/v1/models", anthropic)).toMatchObject({
      data: [{ type: "model", id: "google", display_name: "google" }, {}, {}],
      ...{ has_more: false, first_id: "google", last_id: "vendor/both" },
    });
    expect(await get("/v1/models/google", anthropic)).toMatchObject({ type: "model", id: "google" });
    expect(await get("/v1/models/hidden", anthropic)).toMatchObject({
      type: "error",
      error: { type: "not_found_error" },
    });
    expect(await get("/v1/models", { authorization: `Bearer ${CLIENT_KEY}` })).toMatchObject({ object: "list" });
    expect(await get("/v1beta/nothing", google)).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
  });
});
