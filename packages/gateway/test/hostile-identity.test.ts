import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DIALECTS } from "./support/client-dialects.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import type { Json } from "./support/loose-json.ts";
import { chatAnswer, startUpstream, type Upstream } from "./support/upstream.ts";

/* Whose call it is, and what of it goes where, whichever dialect it is in. */

const CLIENT_DIALECTS = ["chat", "responses", "messages", "gemini"] as const;
type Client = (typeof CLIENT_DIALECTS)[number];

const RESPONSE = { id: "resp_1", object: "response", model: "m", status: "completed" };
const ANSWERS: [RegExp, string][] = [
  [
    /messages/,
    JSON.stringify({
      ...{ id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn" },
      content: [{ type: "text", text: "hello" }],
      usage: { input_tokens: 7, output_tokens: 3 },
    }),
  ],
  [
    /v1beta/,
    JSON.stringify({ candidates: [{ content: { role: "model", parts: [{ text: "hello" }] }, finishReason: "STOP" }] }),
  ],
  [
    /responses/,
    JSON.stringify({
      ...RESPONSE,
      output: [{ id: "msg_1", type: "message", content: [{ type: "output_text", text: "hello", annotations: [] }] }],
    }),
  ],
  [/./, chatAnswer("hello")],
];

let gateway: TestGateway;
let upstream: Upstream;
let log: FaultLog;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.answer((response, { path }) => {
    const body = ANSWERS.find(([form]) => form.test(path))?.[1];
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  log = faultLog();
  gateway = await startTestGateway({
    log,
    config: `
providers:
  claude: { kind: anthropic, base_url: '${upstream.url}', api_key: k }
  google: { kind: gemini, base_url: '${upstream.url}', api_key: k }
  openai: { kind: openai, base_url: '${upstream.url}/v1', api_key: k }
  plain: { kind: openai-compatible, base_url: '${upstream.url}/v1' }
deployments:
  messages: { provider: claude, model: claude-sonnet-4-20250514 }
  gemini: { provider: google, model: gemini-2.5-flash-001 }
  responses: { provider: openai, model: gpt-5-2025-08-07, api: responses }
  chat: { provider: plain, model: some-model }
routes:
  messages: { chain: [messages], drop_unsupported: true }
  gemini: { chain: [gemini], drop_unsupported: true }
  responses: { chain: [responses], drop_unsupported: true }
  chat: { chain: [chat], drop_unsupported: true }
  strict: { chain: [chat] }
  'team/a@b': { chain: [chat], drop_unsupported: true }
tenants: { default: { models: { allow: ['*', 'plain/*', 'google/*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
});

beforeEach(() => {
  upstream.hits.splice(0);
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
  log.expectNoFault();
});

const PAIRS = CLIENT_DIALECTS.flatMap((client) => CLIENT_DIALECTS.map((alias) => [client, alias] as const));

function ask(client: Client, alias: string, more: Json = {}, headers: Record<string, string> = {}): Promise<Response> {
  const dialect = DIALECTS[client];
  return gateway.post({ ...dialect.body(alias, false), ...more }, { path: dialect.path(alias, false), headers });
}

/** Everything that went to a provider. */
const sent = (): string =>
  upstream.hits.map(({ path, headers, body }) => `${path} ${JSON.stringify(headers)} ${body}`).join("\n");

/** A request whose path nobody tidies up. */
function raw(path: string, body: Json, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    const asked = request({
      hostname,
      port,
      path,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
    });
    asked.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    asked.on("error", reject);
    asked.end(JSON.stringify(body));
  });
}

const CONTENTS = { contents: [{ role: "user", parts: [{ text: "x" }] }] };

describe("a credential", () => {
  test("in the query of a Gemini path goes nowhere", async () => {
    for (const alias of CLIENT_DIALECTS) {
      const found = await raw(`/v1beta/models/${alias}:generateContent?a=1&key=${CLIENT_KEY}&alt=json`, CONTENTS, {});
      expect(found.status, found.text).toBe(200);
      const stranger = await raw(`/v1beta/models/${alias}:generateContent?key=SECRET-GUESS`, CONTENTS, {});
      expect(stranger.status).toBe(401);
      expect(stranger.text).not.toContain("SECRET-GUESS");
    }
    const missing = await raw(`/v1beta/models/nobody:generateContent?key=${CLIENT_KEY}`, CONTENTS, {});
    expect(missing.status).toBe(404);
    const rows = JSON.stringify(await gateway.rows());
    for (const text of [sent(), rows, log.lines.join("\n"), missing.text]) {
      expect(text).not.toContain(CLIENT_KEY);
      expect(text).not.toContain("SECRET-GUESS");
    }
    expect(upstream.hits).toHaveLength(CLIENT_DIALECTS.length);
  });

  test("of the client's never reaches a provider, wherever it stands", async () => {
    const places = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];
    for (const alias of CLIENT_DIALECTS) {
      for (const place of places) {
        const value = place === "authorization" ? `Bearer ${CLIENT_KEY}` : CLIENT_KEY;
        const found = await raw(`/v1beta/models/${alias}:generateContent`, CONTENTS, { [place]: value });
        expect(found.status, `${place} ${found.text}`).toBe(200);
      }
    }
    expect(sent()).not.toContain(CLIENT_KEY);
  });
});

describe.each(PAIRS)("a %s client on a %s deployment", (client, alias) => {
  test("keeps the platform's own words, in the body and in headers, to the gateway", async () => {
    const gatewayFields = { task_class: "PLATFORM-1", tags: { a: "PLATFORM-2" }, user: "PLATFORM-3" };
    const more = { gateway: gatewayFields, session_id: "PLATFORM-4", cache_policy: "auto", hedge: false };
    const response = await ask(client, alias, more, { "x-sluicegate-agent": "PLATFORM-5" });
    expect(response.status, await response.text()).toBe(200);
    expect(sent()).not.toMatch(/PLATFORM-|"gateway"|x-sluicegate|cache_policy|"hedge"/);
    expect(response.headers.get("x-sluicegate-dropped") ?? "").not.toMatch(/gateway|session_id|cache_policy|hedge/);
  });

  test("names no tenant", async () => {
    const response = await ask(client, alias, { gateway: { tenant: "other" } });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("gateway.tenant");
    const ignored = await ask(client, alias, { tenant: "other" });
    expect(ignored.status, await ignored.text()).toBe(200);
  });

  test("has fields of any name dropped without a word in the wrong place", async () => {
    const names = ["a\r\nx-evil: 1", "é", "\ud800", "constructor ", "toString", "hasOwnProperty", "x".repeat(5_000)];
    const response = await ask(client, alias, Object.fromEntries(names.map((name) => [name, 1])));
    expect(response.status, await response.text()).toBe(200);
    expect(response.headers.get("x-evil")).toBeNull();
    const dropped = response.headers.get("x-sluicegate-dropped") ?? "";
    if (client !== alias) expect(dropped).toMatch(/toString|%0D%0A/);
    expect(dropped.length).toBeLessThanOrEqual(1_024);
  });
});

/** A conversation with a call by this name and id, in each dialect. */
const CONVERSATIONS: Record<Client, (name: string, id: string) => Json> = {
  chat: (name, id) => ({
    tools: [{ type: "function", function: { name, parameters: { type: "object", properties: { [name]: {} } } } }],
    metadata: { [name]: "x" },
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", tool_calls: [{ id, type: "function", function: { name, arguments: "{}" } }] },
      { role: "tool", tool_call_id: id, content: "x" },
    ],
  }),
  responses: (name, id) => ({
    tools: [{ type: "function", name, parameters: { type: "object", properties: { [name]: {} } } }],
    metadata: { [name]: "x" },
    input: [
      { role: "user", content: "x" },
      { type: "function_call", call_id: id, name, arguments: "{}" },
      { type: "function_call_output", call_id: id, output: "x" },
    ],
  }),
  messages: (name, id) => ({
    tools: [{ name, input_schema: { type: "object", properties: { [name]: {} } } }],
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", content: [{ type: "tool_use", id, name, input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x" }] },
    ],
  }),
  gemini: (name, id) => ({
    tools: [{ functionDeclarations: [{ name, parametersJsonSchema: { type: "object", properties: { [name]: {} } } }] }],
    contents: [
      { role: "user", parts: [{ text: "x" }] },
      { role: "model", parts: [{ functionCall: { id, name, args: {} } }] },
      { role: "user", parts: [{ functionResponse: { id, name, response: {} } }] },
    ],
  }),
};

test.each(PAIRS)("names that objects have of themselves are names like others: %s on %s", async (client, alias) => {
  for (const name of ["__proto__", "constructor", "toString", "valueOf", "a\r\nb: c", "\ud800"]) {
    const body = CONVERSATIONS[client](name === "__proto__" ? "proto" : name, name);
    const response = await ask(client, alias, body);
    expect(response.status, `${name}: ${await response.text()}`).toBe(200);
  }
  expect(({} as Json)["polluted"]).toBeUndefined();
  const hit = upstream.hits.at(1)?.body.toString() ?? "";
  expect(hit.match(/constructor/g)?.length, hit).toBeGreaterThanOrEqual(3);
});

describe("an alias in a path", () => {
  const key = { "x-goog-api-key": CLIENT_KEY, "api-key": CLIENT_KEY };
  const chat = { messages: [{ role: "user", content: "x" }] };
  test.each<[string, number]>([
    ["team/a%40b", 200],
    ["team%2Fa%40b", 200],
    ["team%2fa%40b", 200],
    ["team%252Fa%40b", 404],
    ["plain/some%2e%2e%2fmodel", 200],
    ["chat%0d%0ax-evil:%201", 404],
    ["..%2fadmin", 404],
    ["chat%2f..%2fmessages", 404],
    ["chat%00", 404],
    ["%E0%A4%A", 404],
    ["constructor", 404],
    ["__proto__", 404],
  ])("%s", async (alias, status) => {
    const gemini = await raw(`/v1beta/models/${alias}:generateContent`, CONTENTS, key);
    expect([gemini.status, gemini.text], gemini.text).toEqual([status, gemini.text]);
    const azure = await raw(`/openai/deployments/${alias}/chat/completions?api-version=2024-10-21`, chat, key);
    expect([azure.status, azure.text], azure.text).toEqual([status, azure.text]);
    for (const { path } of upstream.hits) expect(path).toMatch(/^\/v1\/chat\/completions$/);
  });

  test("stays one segment of the path upstream", async () => {
    const models = ["a/../../admin", "a%2f..", "x?key=1&y#z", "x:countTokens", "a\r\nb", "é"];
    for (const model of models) {
      const path = `/v1beta/models/${encodeURIComponent(`google/${model}`)}:generateContent`;
      const found = await raw(path, CONTENTS, key);
      expect(found.status, found.text).toBe(200);
      expect(upstream.hits.at(-1)?.path).toBe(`/v1beta/models/${encodeURIComponent(model)}:generateContent`);
    }
  });

  test("must be Unicode", async () => {
    const response = await ask("chat", "plain/\ud800");
    expect([response.status, (await response.text()).includes("model must be valid Unicode")]).toEqual([400, true]);
  });
});

test("an error names some of the fields that nobody can be told of, and not a million", async () => {
  const tools = Array.from({ length: 20_000 }, () => ({ type: "web_search_20250305", name: "web_search" }));
  const response = await ask("messages", "strict", { tools });
  const text = await response.text();
  expect(response.status).toBe(400);
  expect(text).toContain("tools[0]");
  expect(text).toContain("and 19984 more");
  expect(text.length).toBeLessThan(2_000);
});

test("a model's name in an answer cannot break it", async () => {
  upstream.answer((response) => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(chatAnswer("hello", { model: "\ud800\r\nx: y" }));
  });
  for (const client of CLIENT_DIALECTS) {
    const response = await ask(client, "chat");
    expect(response.status, await response.text()).toBe(200);
    expect(response.headers.get("x-sluicegate-model")).toBe("%EF%BF%BD%0D%0Ax%3A%20y");
  }
});
