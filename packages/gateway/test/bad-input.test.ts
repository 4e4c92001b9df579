import type { ErrorBody } from "@sluicegate/contract";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { errorIn, errorOf, expectNothingInside, seen } from "./support/answers.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { CLIENT_KEY, configOf, keyHash, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { postHead, type RawAnswer, rawClient } from "./support/raw-client.ts";
import { until } from "./support/until.ts";
import { chatAnswer, startUpstream, type Upstream } from "./support/upstream.ts";

const EXPIRED_KEY = `sg_old_${"b2".repeat(32)}`;
const PATH = "/v1/chat/completions";
const HI = { role: "user", content: "hi" };
const GOOD = { model: "default", messages: [HI] };
const GOOD_TEXT = JSON.stringify(GOOD);
const AUTH = { authorization: `Bearer ${CLIENT_KEY}`, "content-type": "application/json" };
const MIB = 1024 * 1024;

/** `{"a":{"a":…}}`, or `[[…]]`, this deep. */
const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + 1 + close.repeat(depth);

let gateway: TestGateway;
let upstream: Upstream;
let log: FaultLog;
/** Calls to the simulator before a test, and how many the test is meant to make. */
let before = 0;
let hits = 0;

beforeAll(async () => {
  log = faultLog();
  upstream = await startUpstream();
  const config = configOf(
    { default: ["sim/echo"], fast: ["sim/echo"], bytes: ["own/plain"] },
    "gateway: { body_limit: 1MiB }",
  );
  gateway = await startTestGateway({
    log,
    config: config
      .replace("base_url: SIMULATOR } }", `base_url: SIMULATOR }, own: OWN }`)
      .replace("OWN", `{ kind: openai-compatible, base_url: '${upstream.url}/v1' }`)
      .replace("tenant: default }]", `tenant: default }, ${expired()}]`),
  });
});

beforeEach(() => {
  before = gateway.simulator.requests().total;
  hits = 0;
});

afterEach(async () => {
  // Whatever was sent: nothing of it went on to a provider, and the gateway is there for the next one.
  expect(gateway.simulator.requests().total - before).toBe(hits);
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
});

afterAll(async () => {
  expect((await gateway.post(GOOD)).status).toBe(200);
  log.expectNoFault();
  await gateway.close();
  await upstream.close();
});

function expired(): string {
  return `{ id: old, hash: '${keyHash(EXPIRED_KEY)}', tenant: default, expires: 2020-01-01 }`;
}

/** Checks a refusal as every client sees it. */
async function refused(response: Response, want: Partial<ErrorBody> & { status: number }): Promise<ErrorBody> {
  const { status, ...error } = want;
  expect(response.headers.get("x-should-retry")).toBe("false");
  const found = await errorOf(response);
  expect({ ...found, status: response.status }).toMatchObject({ ...error, status });
  return found;
}

/** The same for an answer that came over a raw socket. */
function refusedRaw(answer: RawAnswer | undefined, status: number, code: string): void {
  expect(answer?.status).toBe(status);
  expect(JSON.parse(answer?.body ?? "").error).toMatchObject({ code, type: "invalid_request_error", param: null });
  expectNothingInside({ status, headers: new Headers(), text: answer?.body ?? "" });
}

describe("a body that is not what it should be", () => {
  const deep = 10_000;
  test.each<[string, string | Uint8Array, Partial<ErrorBody>]>([
    ["nothing", "", { message: expect.stringContaining("empty") }],
    ["white space", "  \n ", {}],
    ["half a JSON", GOOD_TEXT.slice(0, -3), { message: expect.stringContaining("ends too early") }],
    [
      "a trailing comma",
      `{"model":"default",\n "messages":[],}`,
      { message: expect.stringMatching(/line 2, column \d/) },
    ],
    ["two values", `${GOOD_TEXT}${GOOD_TEXT}`, {}],
    ["a word", "hello", {}],
    ["an array", `[${GOOD_TEXT}]`, { message: expect.stringContaining("JSON object") }],
    ["a string", '"default"', { message: expect.stringContaining("JSON object") }],
    ["null", "null", { message: expect.stringContaining("JSON object") }],
    ["NaN", '{"model":"default","temperature":NaN}', {}],
    ["single quotes", "{'model':'default'}", {}],
    ["a byte order mark", `\ufeff${GOOD_TEXT}`, {}],
    ["UTF-16", Buffer.from(GOOD_TEXT, "utf16le"), {}],
    ["bad UTF-8", Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]), utf8()],
    ["half a character", Buffer.from('{"model":"dé').subarray(0, -1), utf8()],
    ["an overlong slash", Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc0, 0xaf, 0x22, 0x7d])]), utf8()],
    ["NUL bytes", Buffer.alloc(64), {}],
    ["a NUL inside", GOOD_TEXT.replace("hi", "h\0i"), {}],
    ["random bytes", Buffer.from(Array.from({ length: 512 }, (_, i) => (i * 197 + 31) % 256)), {}],
    ["deep arrays", `{"model":"default","messages":${nested(deep, "[", "]")}}`, nesting()],
    ["deep objects", `{"model":"default","messages":[],"x":${nested(deep, '{"a":', "}")}}`, nesting()],
    ["deep arrays under gateway", withMember(`"gateway":{"tags":${nested(deep, "[", "]")}}`), nesting()],
    ["deep objects under gateway", withMember(`"gateway":${nested(deep, '{"a":', "}")}`), nesting()],
    ["200,000 open brackets", "[".repeat(200_000), {}],
    ["200,000 open objects", '{"a":'.repeat(100_000), {}],
    ["a deep array alone", nested(deep, "[", "]"), {}],
    ["bad escapes", String.raw`{"model":"\x41"}`, {}],
    ["a number that is none", '{"model":"default","temperature":1e}', {}],
  ])("%s", async (_, raw, want) => {
    await refused(await gateway.post(null, { raw }), { status: 400, code: "invalid_request", param: null, ...want });
  });

  function utf8(): Partial<ErrorBody> {
    return { message: expect.stringContaining("UTF-8") };
  }
  function nesting(): Partial<ErrorBody> {
    return { message: expect.stringContaining("nests deeper than 100") };
  }
  function withMember(member: string): string {
    return `{"model":"default","messages":[{"role":"user","content":"hi"}],${member}}`;
  }

  test("has its place named, and none of its own words repeated", async () => {
    const raw = '{"model":"default",\n  "messages":[{"role":"user","content":"my secret" "x"}]}';
    const error = await refused(await gateway.post(null, { raw }), { status: 400, code: "invalid_request" });
    expect(error.message).toContain("line 2");
    expect(error.message).not.toContain("secret");
  });
});

describe("a field of the wrong type is named by its path", () => {
  const assistant = (call: unknown): unknown => [HI, { role: "assistant", tool_calls: [call] }];
  const part = (value: unknown): unknown => [{ role: "user", content: [value] }];
  test.each<[string, Record<string, unknown>]>([
    ["model", { model: null }],
    ["model", { model: undefined }],
    ["model", { model: 7 }],
    ["model", { model: "" }],
    ["model", { model: "  " }],
    ["model", { model: ["default"] }],
    ["model", { model: "m".repeat(513) }],
    ["model", { model: "m".repeat(200_000) }],
    ["messages", { messages: undefined }],
    ["messages", { messages: null }],
    ["messages", { messages: "hi" }],
    ["messages", { messages: { 0: HI } }],
    ["messages", { messages: [] }],
    ["messages[0]", { messages: ["hi"] }],
    ["messages[1]", { messages: [HI, null] }],
    ["messages[1]", { messages: [HI, [HI]] }],
    ["messages[0].role", { messages: [{ content: "hi" }] }],
    ["messages[0].role", { messages: [{ role: 1, content: "hi" }] }],
    ["messages[0].content", { messages: [{ role: "user" }] }],
    ["messages[0].content", { messages: [{ role: "user", content: null }] }],
    ["messages[0].content", { messages: [{ role: "user", content: 5 }] }],
    ["messages[0].content", { messages: [{ role: "user", content: { type: "text" } }] }],
    ["messages[0].content[0]", { messages: part("hi") }],
    ["messages[0].content[0].type", { messages: part({ text: "hi" }) }],
    ["messages[0].content[0].text", { messages: part({ type: "text", text: 5 }) }],
    ["messages[0].content[0].image_url.url", { messages: part({ type: "image_url", image_url: { url: 5 } }) }],
    ["messages[0].content[0].image_url.url", { messages: part({ type: "image_url" }) }],
    ["messages[0].content[0].input_audio.data", { messages: part({ type: "input_audio", input_audio: {} }) }],
    ["messages[0].content[0].file", { messages: part({ type: "file", file: "f" }) }],
    ["messages[1].tool_calls", { messages: [HI, { role: "assistant", tool_calls: {} }] }],
    ["messages[1].tool_calls[0]", { messages: assistant("call") }],
    ["messages[1].tool_calls[0].function", { messages: assistant({ id: "c", type: "function" }) }],
    ["messages[1].tool_calls[0].function.name", { messages: assistant({ id: "c", function: { name: 1 } }) }],
    ["messages[1].tool_call_id", { messages: [HI, { role: "tool", content: "x" }] }],
    ["messages[1].tool_call_id", { messages: [HI, { role: "tool", content: "x", tool_call_id: 1 }] }],
    ["messages[1].tool_call_id", { messages: [HI, { role: "tool", content: "x", tool_call_id: "call_lost" }] }],
    ["temperature", { temperature: "hot" }],
    ["top_p", { top_p: [] }],
    ["frequency_penalty", { frequency_penalty: true }],
    ["presence_penalty", { presence_penalty: {} }],
    ["seed", { seed: 1.5 }],
    ["top_logprobs", { top_logprobs: "3" }],
    ["n", { n: "two" }],
    ["n", { n: 1.5 }],
    ["max_tokens", { max_tokens: "10" }],
    ["max_tokens", { max_tokens: 0.5 }],
    ["max_tokens", { max_tokens: [1], max_completion_tokens: 5 }],
    ["max_completion_tokens", { max_completion_tokens: {} }],
    ["stream", { stream: "yes" }],
    ["stream", { stream: 1 }],
    ["logprobs", { logprobs: "yes" }],
    ["parallel_tool_calls", { parallel_tool_calls: "no" }],
    ["stream_options", { stream: true, stream_options: 3 }],
    ["stream_options.include_usage", { stream: true, stream_options: { include_usage: "true" } }],
    ["stop", { stop: 5 }],
    ["stop", { stop: ["a", 5] }],
    ["response_format", { response_format: "json" }],
    ["response_format", { response_format: { json_schema: {} } }],
    ["response_format.json_schema", { response_format: { type: "json_schema" } }],
    ["tools", { tools: {} }],
    ["tools[0]", { tools: ["search"] }],
    ["tools[0].function", { tools: [{ type: "function" }] }],
    ["tools[1].function.name", { tools: [TOOL("a"), TOOL("")] }],
    ["gateway", { gateway: "x" }],
    ["gateway", { gateway: [] }],
    ["gateway.tenant", { gateway: { tenant: "other" } }],
    ["gateway.colour", { gateway: { colour: "red" } }],
    ["gateway.constructor", { gateway: { constructor: 1 } }],
    ["gateway.toString", { gateway: { toString: "x" } }],
    ["gateway.task_class", { gateway: { task_class: 5 } }],
    ["gateway.session_id", { gateway: { session_id: "" } }],
    ["session_id", { session_id: 5 }],
    ["gateway.user", { gateway: { user: {} } }],
    ["gateway.agent", { gateway: { agent: "a".repeat(257) } }],
    ["gateway.latency_budget_ms", { gateway: { latency_budget_ms: "soon" } }],
    ["gateway.latency_budget_ms", { gateway: { latency_budget_ms: -1 } }],
    ["gateway.latency_budget_ms", { gateway: { latency_budget_ms: 1.5 } }],
    ["gateway.side_effecting", { gateway: { side_effecting: "maybe" } }],
    ["gateway.fallback", { gateway: { fallback: 0 } }],
    ["gateway.tags", { gateway: { tags: ["a"] } }],
    ["gateway.tags.a", { gateway: { tags: { a: 1 } } }],
    ["gateway.tags", { gateway: { tags: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`t${i}`, "x"])) } }],
  ])("%s (%#)", async (param, patch) => {
    const body = JSON.stringify({ ...GOOD, ...patch });
    await refused(await gateway.post(null, { raw: body }), { status: 400, code: "invalid_request", param });
  });

  test("also where it came as a header", async () => {
    const headers = { "x-sluicegate-latency-budget-ms": "soon" };
    const param = "x-sluicegate-latency-budget-ms";
    await refused(await gateway.post(GOOD, { headers }), { status: 400, code: "invalid_request", param });
  });

  test("what this build cannot do is refused, not ignored", async () => {
    const answer = await gateway.post({ ...GOOD, gateway: { cache_policy: "force" } });
    await refused(answer, { status: 400, code: "unsupported_feature" });
  });

  function TOOL(name: string): unknown {
    return { type: "function", function: { name, parameters: {} } };
  }
});

describe("embeddings", () => {
  test.each<[string, Record<string, unknown>]>([
    ["model", { model: 5 }],
    ["input", { input: undefined }],
    ["input", { input: "" }],
    ["input", { input: [] }],
    ["input", { input: { text: "hi" } }],
    ["gateway.tenant", { gateway: { tenant: "other" } }],
  ])("%s (%#)", async (param, patch) => {
    const answer = await gateway.post({ model: "default", input: "hi", ...patch }, { path: "/v1/embeddings" });
    await refused(answer, { status: 400, code: "invalid_request", param });
  });
});

describe("an alias that is not there", () => {
  test("is a 404 that names the nearest", async () => {
    const error = await refused(await gateway.post({ ...GOOD, model: "defualt" }), {
      status: 404,
      code: "model_not_found",
      param: "model",
    });
    expect(error.message).toContain('"default"');
  });

  test.each([
    "",
    "x".repeat(512),
    "\u0000",
    "../../etc/passwd",
    "deployment:nope",
    "nobody/gpt-4o",
    "__proto__",
    "sim/",
  ])("%# is refused", async (model) => {
    const answer = await gateway.post({ ...GOOD, model });
    expect([400, 404]).toContain(answer.status);
    expect((await errorOf(answer)).param).toBe("model");
  });
});

describe("prototype keys", () => {
  const polluting = '{"polluted":true}';
  test.each<[string, string, string]>([
    ["__proto__ at the top", `{"__proto__":${polluting},"model":"default"}`, "__proto__"],
    ["constructor at the top", `{"constructor":{"prototype":${polluting}}}`, "constructor"],
    ["prototype at the top", `{"prototype":${polluting}}`, "prototype"],
    ["__proto__, escaped", `{"__pr\\u006fto__":${polluting}}`, "__proto__"],
    ["__proto__ in a message", `{"messages":[{"role":"user","content":"x","__proto__":${polluting}}]}`, "__proto__"],
    ["__proto__ under gateway", `{"gateway":{"__proto__":${polluting}}}`, "__proto__"],
    ["__proto__ in a tag", `{"gateway":{"tags":{ "__proto__" : "x"}}}`, "__proto__"],
  ])("%s is refused", async (_, raw, param) => {
    await refused(await gateway.post(null, { raw }), { status: 400, code: "invalid_request", param });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("a tool's own constructor goes upstream byte by byte and changes nothing here", async () => {
    const raw = withTool(`"constructor":{"prototype":${polluting}}`);
    expect((await gateway.post(null, { raw })).status).toBe(200);
    expect(upstream.hits.at(-1)?.body.toString()).toBe(raw.replace('"bytes"', '"plain"'));
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test.each(["__proto__", "__pr\\u006fto__", "\\u005F_proto_\\u005f"])("%s deep down is refused", async (key) => {
    const answer = await gateway.post(null, { raw: withTool(`"${key}":${polluting}`) });
    await refused(answer, { status: 400, code: "invalid_request" });
  });

  function withTool(property: string): string {
    const tool = `{"type":"function","function":{"name":"build","parameters":{"type":"object","properties":{${property}}}}}`;
    return `{"model":"bytes","messages":[{"role":"user","content":"__proto__"}],"tools":[${tool}]}`;
  }
});

describe("odd, and fine", () => {
  test("a key that stands twice: the last one counts, and no other reaches the provider", async () => {
    const raw = '{"model":"nowhere","messages":[{"role":"user","content":"hi"}],"model":"bytes"}';
    expect((await gateway.post(null, { raw })).status).toBe(200);
    expect(upstream.hits.at(-1)?.body.toString()).toBe(raw.replace("nowhere", "plain").replace("bytes", "plain"));
    const wrong = raw.replace('"model":"bytes"', '"model":"nowhere"').replace('{"model":"nowhere"', '{"model":"bytes"');
    await refused(await gateway.post(null, { raw: wrong }), { status: 404, code: "model_not_found" });
  });

  test("a tenant at the top level is an unknown field: it changes nothing and goes on", async () => {
    hits++;
    const answer = await gateway.post({ ...GOOD, tenant: "other" }, { headers: { "x-sluicegate-tenant": "other" } });
    expect(answer.status).toBe(200);
    const row = await gateway.row(answer.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ tenant: "default", status: "ok" });
    expect(gateway.simulator.requests().recent.at(-1)?.body).toMatchObject({ tenant: "other" });
  });

  test("100,000 top-level keys arrive as they are", async () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join(",");
    const raw = `{${many.slice(0, 700_000)},"last":0,"model":"bytes","messages":[{"role":"user","content":"hi"}]}`;
    const fits = raw.replace(/,"k\d*"?:?,"last"/, ',"last"');
    expect((await gateway.post(null, { raw: fits })).status).toBe(200);
    expect(upstream.hits.at(-1)?.body.equals(Buffer.from(fits.replace('"bytes"', '"plain"')))).toBe(true);
  });

  test("names and labels may hold anything that JSON can say", async () => {
    hits++;
    const user = "\u0000 \ud800 \u202e 😀";
    const answer = await gateway.post({ ...GOOD, user, gateway: { tags: { constructor: "x", "a:b": "😀" } } });
    expect(answer.status).toBe(200);
    const row = await gateway.row(answer.headers.get("x-request-id") ?? "");
    expect(row.tags).toEqual({ constructor: "x", "a:b": "😀" });
    expect(row.user).toContain("😀");
  });

  test("content types with parameters or a suffix", async () => {
    for (const type of ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.acme+json"]) {
      hits++;
      expect((await gateway.post(GOOD, { headers: { "content-type": type } })).status).toBe(200);
    }
  });
});

describe("headers", () => {
  const length = GOOD_TEXT.length;

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", ""])(
    "content-type %j is refused",
    async (type) => {
      const answer = await gateway.post(GOOD, { headers: { "content-type": type } });
      const { message } = await refused(answer, { status: 400, code: "invalid_request" });
      expect(message).toContain("content-type");
    },
  );

  test("no content type", async () => {
    const head = postHead(PATH, { authorization: AUTH.authorization, "content-length": length });
    const [answer] = await (await rawClient(gateway.url, head + GOOD_TEXT)).take();
    expect(errorIn(rawSeen(answer)).message).toContain("content-type");
  });

  test.each(["gzip", "br", "deflate", "x"])("content-encoding %s is refused", async (coding) => {
    const answer = await gateway.post(GOOD, { headers: { "content-encoding": coding } });
    const { message } = await refused(answer, { status: 400, code: "invalid_request" });
    expect(message).toContain("content-encoding");
  });

  test("one huge header", async () => {
    const head = postHead(PATH, { ...AUTH, "x-huge": "h".repeat(100_000), "content-length": length });
    const client = await rawClient(gateway.url, head + GOOD_TEXT);
    refusedRaw((await client.take())[0], 431, "request_too_large");
  });

  test("a megabyte of headers that goes on while the answer is under way", async () => {
    const client = await rawClient(gateway.url, `POST ${PATH} HTTP/1.1\r\nhost: x\r\n`);
    for (let i = 0; i < 1_000; i++) client.socket.write(`x-flood-${i}: ${"f".repeat(1_000)}\r\n`);
    refusedRaw((await client.take())[0], 431, "request_too_large");
  });

  test("a flood of small headers", async () => {
    const flood = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x-f${i}`, "1"]));
    const client = await rawClient(
      gateway.url,
      postHead(PATH, { ...AUTH, ...flood, "content-length": length }) + GOOD_TEXT,
    );
    refusedRaw((await client.take())[0], 431, "request_too_large");
  });

  function rawSeen(answer: RawAnswer | undefined) {
    return {
      status: answer?.status ?? 0,
      headers: new Headers(answer?.headers),
      text: answer?.body ?? "",
    };
  }
});

describe("keys", () => {
  const basic = Buffer.from(`x:${CLIENT_KEY}`).toString("base64");
  test.each<[string, Record<string, string>]>([
    ["none", {}],
    ["unknown", { authorization: "Bearer sg_nobody_0000" }],
    ["one character off", { authorization: `Bearer ${CLIENT_KEY.slice(0, -1)}2` }],
    ["in other letters", { authorization: `Bearer ${CLIENT_KEY.toUpperCase()}` }],
    ["without its scheme", { authorization: CLIENT_KEY }],
    ["under another scheme", { authorization: `Basic ${basic}` }],
    ["a scheme alone", { authorization: "Bearer" }],
    ["a scheme and blanks", { authorization: "Bearer   " }],
    ["the hash of a key", { authorization: `Bearer ${keyHash(CLIENT_KEY)}` }],
    ["a very long one", { authorization: `Bearer ${"k".repeat(30_000)}` }],
    ["the admin's", { authorization: "Bearer admin-key-of-the-tests" }],
    ["empty x-api-key", { "x-api-key": "" }],
    ["a wrong one before a right one", { authorization: "Bearer sg_nobody_0000", "x-api-key": CLIENT_KEY }],
  ])("%s: 401", async (_, headers) => {
    const error = await refused(await gateway.post(GOOD, { key: null, headers }), {
      status: 401,
      code: "invalid_api_key",
      type: "invalid_request_error",
    });
    expect(error.message).not.toContain("nobody");
  });

  test("expired: 401 that names the key, never the secret", async () => {
    const error = await refused(await gateway.post(GOOD, { key: EXPIRED_KEY }), {
      status: 401,
      code: "invalid_api_key",
    });
    expect(error.message).toContain("key old has expired");
    expect(error.message).not.toContain("b2b2");
  });

  test("in the query of an OpenAI path: not looked at", async () => {
    const answer = await gateway.post(GOOD, { key: null, path: `${PATH}?key=${CLIENT_KEY}` });
    await refused(answer, { status: 401, code: "invalid_api_key" });
  });

  test.each<Record<string, string>>([
    { authorization: `Bearer ${CLIENT_KEY}` },
    { authorization: `bearer ${CLIENT_KEY}` },
    { authorization: `BEARER  ${CLIENT_KEY} ` },
    { "x-api-key": CLIENT_KEY },
    { "api-key": CLIENT_KEY },
    { "x-goog-api-key": ` ${CLIENT_KEY} ` },
  ])("taken as %j", async (headers) => {
    hits++;
    expect((await gateway.post(GOOD, { key: null, headers })).status).toBe(200);
  });

  test("a stranger leaves no row and is not asked for a body", async () => {
    const head = postHead(PATH, { authorization: "Bearer nobody", "content-length": 500_000, expect: "100-continue" });
    const client = await rawClient(gateway.url, head);
    const [answer] = await client.take();
    refusedRaw(answer, 401, "invalid_api_key");
    expect(client.received().toString()).not.toContain("100 Continue");
    await client.closed();
    const { request_id: id } = JSON.parse(answer?.body ?? "").error;
    const later = await gateway.post({ ...GOOD, model: "later" });
    await gateway.row(later.headers.get("x-request-id") ?? "");
    expect((await gateway.rows()).filter((row) => row.key_id === null || row.request_id === id)).toEqual([]);
  });

  test("a known one is told to go on", async () => {
    hits++;
    const head = postHead(PATH, { ...AUTH, "content-length": GOOD_TEXT.length, expect: "100-continue" });
    const client = await rawClient(gateway.url, head);
    client.socket.write(GOOD_TEXT);
    expect((await client.take())[0]?.status).toBe(200);
    expect(client.received().toString()).toMatch(/^HTTP\/1\.1 100 Continue\r\n/);
  });
});

describe("a body over the limit", () => {
  const large = JSON.stringify({ ...GOOD, padding: "p".repeat(3 * MIB) });

  test("declared: refused before a byte of it is sent", async () => {
    const client = await rawClient(gateway.url, postHead(PATH, { ...AUTH, "content-length": 33 * MIB }));
    const [answer] = await client.take();
    refusedRaw(answer, 413, "request_too_large");
    expect(answer?.headers["connection"]).toBe("close");
  });

  test("chunked: refused when it gets there", async () => {
    const client = await rawClient(gateway.url, postHead(PATH, { ...AUTH, "transfer-encoding": "chunked" }));
    for (let i = 0; i < 20; i++) client.socket.write(`10000\r\n${"x".repeat(0x10000)}\r\n`);
    refusedRaw((await client.take())[0], 413, "request_too_large");
  });

  test("a client that sends all of it before it reads still gets its answer", async () => {
    for (let round = 0; round < 20; round++) {
      const error = await refused(await gateway.post(null, { raw: large }), { status: 413, code: "request_too_large" });
      expect(error).toMatchObject({ limit: MIB, type: "invalid_request_error" });
    }
  });

  test.each([413, 401])("also one that reads nothing before all of it is sent: %d", async (status) => {
    const authorization = status === 401 ? "Bearer nobody" : AUTH.authorization;
    // More than the kernel's buffers hold: the other side has to go on reading.
    const padding = Buffer.alloc(24 * MIB, " ");
    const client = await rawClient(gateway.url);
    client.socket.pause();
    client.socket.write(postHead(PATH, { ...AUTH, authorization, "content-length": padding.length }));
    const failed = await new Promise((resolve) => client.socket.write(padding, resolve));
    expect(failed).toBeFalsy();
    client.socket.resume();
    expect((await client.take())[0]?.status).toBe(status);
  });

  test("also one whose headers are too many", async () => {
    const client = await rawClient(gateway.url);
    client.socket.pause();
    const flood = `POST ${PATH} HTTP/1.1\r\nhost: x\r\nx-huge: ${"h".repeat(8 * MIB)}\r\n\r\n`;
    expect(await new Promise((resolve) => client.socket.write(flood, resolve))).toBeFalsy();
    client.socket.resume();
    expect((await client.take())[0]?.status).toBe(431);
  });

  test("one that never stops sending is left in the end", async () => {
    const client = await rawClient(gateway.url, postHead(PATH, { ...AUTH, "transfer-encoding": "chunked" }));
    const piece = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    const feed = (): void => {
      while (!client.socket.destroyed && client.socket.write(piece));
    };
    client.socket.on("drain", feed);
    feed();
    await client.closed();
  });

  test("exactly at the limit is not over it", async () => {
    const frame = JSON.stringify({ ...GOOD, model: "bytes", padding: "" });
    const raw = frame.replace('"padding":""', `"padding":"${"p".repeat(MIB - frame.length)}"`);
    expect(raw.length).toBe(MIB);
    expect((await gateway.post(null, { raw })).status).toBe(200);
    await refused(await gateway.post(null, { raw: `${raw} ` }), { status: 413, code: "request_too_large" });
  });
});

describe("methods and paths", () => {
  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s on the chat path: 405", async (method) => {
    const answer = await fetch(gateway.url + PATH, { method, headers: AUTH });
    expect(answer.headers.get("allow")).toBe("POST");
    await refused(answer, { status: 405, code: "method_not_allowed" });
  });

  test("HEAD has the same head and no body", async () => {
    const answer = await fetch(gateway.url + PATH, { method: "HEAD", headers: AUTH });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    expect(await answer.text()).toBe("");
  });

  test("POST on the models path: 405", async () => {
    const answer = await gateway.post(GOOD, { path: "/v1/models" });
    expect(answer.headers.get("allow")).toBe("GET");
    await refused(answer, { status: 405, code: "method_not_allowed" });
  });

  test.each([
    "/v1/chat/completions/",
    "/v1/chat",
    "/v1//chat/completions",
    "//v1/chat/completions",
    "/v1/chat%2fcompletions",
    "/V1/chat/completions",
    "/v2/chat/completions",
    "/v1/chat/completions/../../../etc/passwd",
    "/%00",
    "/%ff%zz",
    `/${"long/".repeat(2_000)}`,
    "/constructor",
    "/__proto__",
  ])("%.40s: 404", async (path) => {
    const head = postHead(path, { ...AUTH, "content-length": GOOD_TEXT.length });
    const [answer] = await (await rawClient(gateway.url, head + GOOD_TEXT)).take();
    refusedRaw(answer, 404, "not_found");
    expect(answer?.body.length).toBeLessThan(1_000);
  });

  test("a model's name that cannot be decoded: 404", async () => {
    const answer = await fetch(`${gateway.url}/v1/models/%E0%A4%A`, { headers: AUTH });
    await refused(answer, { status: 404, code: "model_not_found" });
  });
});

describe("what is not quite HTTP", () => {
  const body = GOOD_TEXT;
  const length = body.length;
  const chunked = `${length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const post = (headers: string, rest: string): string =>
    `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTH.authorization}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${rest}`;

  test.each<[string, string | Buffer]>([
    ["words", "hello there\r\n\r\n"],
    ["a TLS hello", Buffer.from("16030100c8010000c40303", "hex")],
    ["zeros", Buffer.alloc(100)],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["HTTP/9.9", "GET / HTTP/9.9\r\nhost: x\r\n\r\n"],
    ["HTTP/0.9", "GET /\r\n\r\n"],
    ["an unknown method", `BREW ${PATH} HTTP/1.1\r\nhost: x\r\n\r\n`],
    ["a space in the path", "GET /a b HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["a header without a colon", "GET / HTTP/1.1\r\nhost x\r\n\r\n"],
    ["a header with a NUL", "GET / HTTP/1.1\r\nhost: x\0y\r\n\r\n"],
    ["no host", `POST ${PATH} HTTP/1.1\r\nauthorization: ${AUTH.authorization}\r\ncontent-length: 0\r\n\r\n`],
    ["a length and chunks", post(`content-length: ${length}\r\ntransfer-encoding: chunked`, chunked)],
    ["chunks and a length", post(`transfer-encoding: chunked\r\ncontent-length: ${length}`, chunked)],
    ["a short length and chunks", post("content-length: 4\r\ntransfer-encoding: chunked", chunked)],
    ["two lengths", post(`content-length: ${length}\r\ncontent-length: 4`, body)],
    ["the same length twice", post(`content-length: ${length}\r\ncontent-length: ${length}`, body)],
    ["lengths in a list", post(`content-length: ${length}, ${length}`, body)],
    ["a negative length", post("content-length: -1", body)],
    ["a length with a sign", post(`content-length: +${length}`, body)],
    ["a length in hex", post("content-length: 0x40", body)],
    ["a length beyond all numbers", post("content-length: 99999999999999999999999", body)],
    ["a blank before the colon", post("transfer-encoding : chunked", chunked)],
    ["a coding that is none", post("transfer-encoding: xchunked", chunked)],
    ["chunked, but not last", post("transfer-encoding: chunked, gzip", chunked)],
    ["a folded header", post("transfer-encoding:\r\n chunked", chunked)],
    ["a chunk size that is none", post("transfer-encoding: chunked", `zz\r\n${body}\r\n0\r\n\r\n`)],
    ["a chunk longer than its size", post("transfer-encoding: chunked", `4\r\n${body}\r\n0\r\n\r\n`)],
    [
      "a chunk size beyond all numbers",
      post("transfer-encoding: chunked", `fffffffffffffffff\r\n${body}\r\n0\r\n\r\n`),
    ],
  ])("%s: 400 and closed", async (_, bytes) => {
    const client = await rawClient(gateway.url, bytes);
    await client.closed();
    const answers = client.answers();
    expect(answers).toHaveLength(1);
    refusedRaw(answers[0], 400, "invalid_request");
    expect(answers[0]?.headers["connection"]).toBe("close");
  });

  test("a second request hidden behind a short length is not smuggled in", async () => {
    const hidden = `GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n`;
    const client = await rawClient(
      gateway.url,
      post("content-length: 0\r\ntransfer-encoding: chunked", `0\r\n\r\n${hidden}`),
    );
    await client.closed();
    expect(client.answers().map(({ status }) => status)).toEqual([400]);
  });

  test("HTTP/1.0 is answered, and the connection closed", async () => {
    hits++;
    const client = await rawClient(
      gateway.url,
      post(`content-length: ${length}`, body).replace("HTTP/1.1", "HTTP/1.0"),
    );
    await client.closed();
    expect(client.answers()).toMatchObject([{ status: 200, headers: { connection: "close" } }]);
  });

  test("pipelined requests are answered in their order", async () => {
    hits += 2;
    const one = (text: string): string => {
      const named = JSON.stringify({ ...GOOD, messages: [{ role: "user", content: text }] });
      return post(`content-length: ${named.length}`, named);
    };
    const wrong = post("content-length: 2", "{}");
    const client = await rawClient(gateway.url, one("first") + wrong + one("third"));
    const answers = await client.take(3);
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 200]);
    expect(JSON.parse(answers[0]?.body ?? "").choices[0].message.content).toBe("first");
    expect(JSON.parse(answers[2]?.body ?? "").choices[0].message.content).toBe("third");
  });

  test("bytes that follow a request never get into its answer", async () => {
    upstream.answer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"first"}}]}\n\n');
    });
    const stream = JSON.stringify({ ...GOOD, model: "bytes", stream: true });
    const client = await rawClient(gateway.url, post(`content-length: ${stream.length}`, stream));
    await until("the stream to begin", () => client.received().includes("first"));
    client.socket.write("garbage\r\n\r\n");
    await client.closed();
    expect(client.received().toString()).toContain("first");
    expect(
      client
        .received()
        .toString()
        .match(/HTTP\/1\.1/g),
    ).toHaveLength(1);
    upstream.answer((response) => void response.writeHead(200).end(chatAnswer("hello")));
  });
});

test("what was refused is in the ledger, with its code and at no cost; what had no key is not", async () => {
  const own = await startTestGateway();
  try {
    const refusals: [unknown, number, string][] = [
      [{ ...GOOD, messages: [] }, 400, "invalid_request"],
      [{ ...GOOD, model: "nope" }, 404, "model_not_found"],
      [{ ...GOOD, gateway: { cache_policy: "force" } }, 400, "unsupported_feature"],
      [{ ...GOOD, gateway: { hedge: true } }, 403, "permission_denied"],
    ];
    for (const [body, status, code] of refusals) {
      const answer = await own.post(body);
      expect(answer.status).toBe(status);
      const row = await own.row(answer.headers.get("x-request-id") ?? "");
      expect(row).toMatchObject({ status: "refused", error_code: code, key_id: "test", tenant: "default" });
      expect(row).toMatchObject({ attempts: [], cost_micro_usd: 0, cost_state: "known", repeated: 1 });
    }
    await own.post(GOOD, { key: null });
    expect(await own.rows()).toHaveLength(refusals.length);
    expect(own.simulator.requests().total).toBe(0);
    expect(own.simulator.invoice().total.requests).toBe(0);
  } finally {
    await own.close();
  }
});

describe("a client that dawdles", () => {
  let slow: TestGateway;
  beforeAll(async () => {
    slow = await startTestGateway({ log, waits: { clientBodyMs: 400, clientHeadersMs: 400 } });
  });
  afterAll(() => slow.close());

  /** Sends one byte every 20 ms until the other side has had enough. */
  async function drip(head: string, text: string): Promise<RawAnswer | undefined> {
    const client = await rawClient(slow.url, head);
    let at = 0;
    const timer = setInterval(() => client.socket.write(text[at++ % text.length] ?? ""), 20);
    try {
      return (await client.take())[0];
    } finally {
      clearInterval(timer);
    }
  }

  test("over its body: 408", async () => {
    const answer = await drip(postHead(PATH, { ...AUTH, "content-length": 100_000 }), " ");
    refusedRaw(answer, 408, "request_timeout");
    const { request_id: id } = JSON.parse(answer?.body ?? "").error;
    expect(await slow.row(id)).toMatchObject({ status: "refused", error_code: "request_timeout", attempts: [] });
  });

  test("over its headers: 408", async () => {
    refusedRaw(await drip(`POST ${PATH} HTTP/1.1\r\nhost: x\r\nx-slow: `, "s"), 408, "request_timeout");
  });

  test("and leaves: nothing hangs", async () => {
    const client = await rawClient(slow.url, postHead(PATH, { ...AUTH, "content-length": 100_000 }), "{");
    client.socket.destroy();
    const row = await until("its row", async () => (await slow.rows()).find((entry) => entry.status === "cancelled"));
    expect(row).toMatchObject({ error_code: "cancelled", cost_micro_usd: 0 });
    expect(slow.simulator.requests().total).toBe(0);
  });
});

test("bad requests by the hundred leave the gateway as it was", async () => {
  const bodies = ["", "{", "[]", '{"model":1}', JSON.stringify({ ...GOOD, model: "nope" })];
  const answers = await Promise.all(
    Array.from({ length: 300 }, async (_, i) =>
      seen(await gateway.post(null, { raw: bodies[i % bodies.length] ?? "" })),
    ),
  );
  for (const answer of answers) expect([400, 404]).toContain(answer.status);
  const rows = (await gateway.rows()).filter((row) => row.error_code === "invalid_request");
  expect(rows.length).toBeLessThanOrEqual(30);
});
