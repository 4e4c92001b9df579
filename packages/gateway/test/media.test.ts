import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { readTraffic, trafficDir } from "./support/replay-server.ts";
import { startUpstream, type Upstream } from "./support/upstream.ts";

/*
 * Moderations, images, speech and transcription through the whole gateway: forwarded, and all the same authenticated, checked,
 * metered and recorded.
 */

const SOUND = Buffer.from(Array.from({ length: 1_000 }, (_, i) => i % 256));
const ONE_TRY = "retries: { attempts: 1 }";

let gateway: TestGateway;
let upstream: Upstream;
let second: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
  second = await startUpstream();
  gateway = await startTestGateway({
    config: `
providers:
  sim: { kind: simulator, base_url: SIMULATOR }
  own: { kind: openai-compatible, base_url: '${upstream.url}/v1' }
  other: { kind: openai-compatible, base_url: '${second.url}/v1' }
  claude: { kind: anthropic, base_url: '${second.url}', api_key: k }
deployments:
  priced: { provider: own, model: dear, price: { input: 3, output: 9 } }
  free: { provider: own, model: gratis, price: { input: 0, output: 0 } }
routes:
  simulated: { chain: [sim/echo] }
  omni-moderation-latest: { chain: [sim/echo] }
  own: { chain: [own/upstream-model], ${ONE_TRY} }
  priced: { chain: [priced], ${ONE_TRY} }
  free: { chain: [free], ${ONE_TRY} }
  chained: { chain: [own/first, other/second], ${ONE_TRY} }
  claude: { chain: [claude/any] }
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
  await second.close();
});

function sdk(): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 });
}

function form(fields: Record<string, string>, sound: Uint8Array = SOUND): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  data.append("file", new Blob([new Uint8Array(sound)], { type: "audio/wav" }), "a.wav");
  return data;
}

interface Sent {
  key?: string | null;
  path?: string;
  headers?: Record<string, string>;
}

function transcribe(body: FormData | Buffer, { key = CLIENT_KEY, path, headers = {} }: Sent = {}): Promise<Response> {
  return fetch(`${gateway.url}${path ?? "/v1/audio/transcriptions"}`, {
    method: "POST",
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers },
    body: body as FormData,
  });
}

async function rowOf(response: { headers: Headers }) {
  return gateway.row(response.headers.get("x-request-id") ?? "");
}

/** What the upstream was sent as a form. */
async function fieldsOf({ headers, body }: Upstream["hits"][number]): Promise<Record<string, unknown>> {
  const type = String(headers["content-type"]);
  const data = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  const entries = await Promise.all(
    [...data].map(async ([name, value]) => [
      name,
      typeof value === "string" ? value : Buffer.from(await value.arrayBuffer()),
    ]),
  );
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function lastHit({ hits }: Upstream): Upstream["hits"][number] {
  const hit = hits[hits.length - 1];
  if (!hit) throw new Error("nothing was sent");
  return hit;
}

const json = (body: unknown) => (response: import("node:http").ServerResponse) =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));

describe("the official SDK", () => {
  it("moderates, with the model it does not name", async () => {
    const { data, response } = await sdk().moderations.create({ input: "I hate it" }).withResponse();
    expect(data.results[0]?.flagged).toBe(true);
    expect(await rowOf(response)).toMatchObject({
      ...{ status: "ok", dialect: "openai-moderations", alias: "omni-moderation-latest", deployment: "sim/echo" },
      cost_state: "estimated",
    });
  });

  it("draws, whole and in parts", async () => {
    const { data, response } = await sdk().images.generate({ model: "simulated", prompt: "a cat" }).withResponse();
    expect(data.data?.[0]?.b64_json).toMatch(/^iVBOR/);
    const row = await rowOf(response);
    expect(row).toMatchObject({
      status: "ok",
      dialect: "openai-images",
      usage: { input_tokens: data.usage?.input_tokens },
    });
    expect(row.usage.output_tokens).toBeGreaterThan(0);

    const asked = { model: "simulated", prompt: "a cat", stream: true, partial_images: 2 } as const;
    const streamed = await sdk().images.generate(asked).withResponse();
    const types: string[] = [];
    for await (const event of streamed.data) types.push(event.type);
    expect(types).toEqual([
      ...["image_generation.partial_image", "image_generation.partial_image"],
      "image_generation.completed",
    ]);
    expect(await rowOf(streamed.response)).toMatchObject({ status: "ok", stream: true, usage: row.usage });
  });

  it("speaks, as sound and as events", async () => {
    const ask = { model: "simulated", voice: "alloy", input: "hello you" } as const;
    const sound = await sdk().audio.speech.create({ ...ask, response_format: "wav" });
    expect(sound.headers.get("content-type")).toBe("audio/wav");
    expect(Buffer.from(await sound.arrayBuffer()).toString("latin1", 0, 4)).toBe("RIFF");
    // It says nothing of what it used, and nobody can tell by its length.
    expect(await rowOf(sound)).toMatchObject({ status: "ok", dialect: "openai-speech", cost_state: "unknown" });
    expect(sound.headers.get("x-sluicegate-cost-usd")).toBeNull();

    const events = await gateway.post({ ...ask, stream_format: "sse" }, { path: "/v1/audio/speech" });
    expect(events.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(await events.text()).toMatch(/speech\.audio\.delta[\s\S]*speech\.audio\.done/);
    const row = await rowOf(events);
    expect(row).toMatchObject({ status: "ok", stream: true, cost_state: "estimated" });
    expect(row.usage.output_tokens).toBeGreaterThan(0);
  });

  it("listens", async () => {
    const ask = { model: "simulated", voice: "alloy", input: "hello you", response_format: "wav" } as const;
    const wav = Buffer.from(await (await sdk().audio.speech.create(ask)).arrayBuffer());
    const file = await toFile(wav, "hello.wav", { type: "audio/wav" });
    const whole = await sdk().audio.transcriptions.create({ model: "simulated", file }).withResponse();
    expect(whole.data.text).toBe("hello you");
    const row = await rowOf(whole.response);
    expect(row).toMatchObject({ status: "ok", dialect: "openai-transcription", alias: "simulated" });
    expect(row.usage.input_tokens).toBeGreaterThan(0);

    const streamed = await sdk().audio.transcriptions.create({ model: "simulated", file, stream: true }).withResponse();
    const said: string[] = [];
    for await (const event of streamed.data)
      said.push("delta" in event ? event.delta : "text" in event ? event.text : "");
    expect(said).toEqual(["hello ", "you", "hello you"]);
    expect(await rowOf(streamed.response)).toMatchObject({ status: "ok", stream: true, usage: row.usage });
  });
});

describe("a transcription form", () => {
  it("goes on with the model in the alias's place, and without the gateway's own field", async () => {
    upstream.answer(
      json({ text: "hi", usage: { type: "tokens", input_tokens: 14, output_tokens: 5, total_tokens: 19 } }),
    );
    const sent = form({
      model: "own",
      gateway: '{"agent":"a1"}',
      "timestamp_granularities[]": "word",
      prompt: "größe",
    });
    const response = await transcribe(sent, { headers: { "x-sluicegate-application": "app" } });
    expect([response.status, await response.json()]).toMatchObject([200, { text: "hi" }]);
    expect(response.headers.get("x-sluicegate-deployment")).toBe("own/upstream-model");
    const hit = lastHit(upstream);
    expect(hit.path).toBe("/v1/audio/transcriptions");
    expect(await fieldsOf(hit)).toEqual({
      ...{ model: "upstream-model", prompt: "größe", "timestamp_granularities[]": "word" },
      file: SOUND,
    });
    expect(await rowOf(response)).toMatchObject({
      ...{ agent: "a1", application: "app", usage: { input_tokens: 14, output_tokens: 5 } },
      cost_state: "unknown",
    });
  });

  it.each([
    ["/openai/v1/audio/transcriptions", { model: "own" }],
    // Azure's clients name the deployment in the path, and no model in the form.
    ["/openai/deployments/own/audio/transcriptions?api-version=2024-10-21", {}],
  ])("is taken at %s", async (path, fields) => {
    upstream.answer(json({ text: "hi" }));
    const response = await transcribe(form(fields), { path });
    expect(response.status).toBe(200);
    expect(await fieldsOf(lastHit(upstream))).toEqual({ model: "upstream-model", file: SOUND });
  });

  it("is sent again, whole, to the next deployment when the first one fails", async () => {
    upstream.answer((response) => void response.writeHead(503).end());
    second.answer(json({ text: "second" }));
    const response = await transcribe(form({ model: "chained" }));
    expect(await response.json()).toEqual({ text: "second" });
    expect(await fieldsOf(lastHit(upstream))).toEqual({ model: "first", file: SOUND });
    expect(await fieldsOf(lastHit(second))).toEqual({ model: "second", file: SOUND });
    expect(await rowOf(response)).toMatchObject({ status: "ok", deployment: "other/second", fallback_depth: 1 });
  });

  it("over 25 MB is refused with the limit, and nothing is sent", async () => {
    const before = upstream.hits.length;
    const response = await transcribe(form({ model: "own" }, Buffer.alloc(25 * 1024 * 1024 + 1, 7)));
    expect(response.status).toBe(413);
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ code: "request_too_large", param: "file", limit: 26_214_400 });
    expect(error["message"]).toContain("25 MB");
    expect(upstream.hits.length).toBe(before);
  });

  it.each<[string, Sent, number, string]>([
    ["a key nobody knows", { key: "sg_nobody" }, 401, "invalid_api_key"],
    ["no key", { key: null }, 401, "invalid_api_key"],
    ["JSON", { headers: { "content-type": "application/json" } }, 400, "invalid_request"],
    ["no boundary", { headers: { "content-type": "multipart/form-data" } }, 400, "invalid_request"],
  ])("with %s is refused", async (_name, sent, status, code) => {
    const body = sent.headers ? Buffer.from("{}") : form({ model: "own" });
    const response = await transcribe(body, sent);
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
  });

  it("for an alias that this key has not, or a provider without the endpoint, is refused in OpenAI's words", async () => {
    for (const [model, status, code] of [
      ["nobody", 404, "model_not_found"],
      ["claude", 400, "unsupported_feature"],
    ] as const) {
      const response = await transcribe(form({ model }));
      expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
    }
  });
});

describe("a JSON body", () => {
  it.each([
    ["/moderations", { input: "a" }, { results: [] }],
    ["/images/generations", { prompt: "a" }, { data: [] }],
    ["/audio/speech", { input: "a" }, null],
  ])("is taken at Azure's paths, too: %s", async (path, body, said) => {
    upstream.answer((response) => {
      response.writeHead(200, { "content-type": said ? "application/json" : "audio/mpeg" });
      response.end(said ? JSON.stringify(said) : SOUND);
    });
    for (const prefix of ["/openai/v1", "/openai/deployments/own"]) {
      const named = prefix.endsWith("v1") ? { model: "own" } : {};
      const sent = { ...body, ...named, gateway: { agent: "a1" } };
      const response = await gateway.post(sent, { path: `${prefix}${path}?api-version=2024-10-21` });
      expect(response.status).toBe(200);
      const hit = lastHit(upstream);
      expect([hit.path, JSON.parse(hit.body.toString())]).toEqual([`/v1${path}`, { ...body, model: "upstream-model" }]);
      expect(await rowOf(response)).toMatchObject({ status: "ok", agent: "a1" });
    }
  });

  it("needs a key", async () => {
    for (const path of ["/v1/moderations", "/v1/images/generations", "/v1/audio/speech"]) {
      const response = await gateway.post({ model: "own", input: "a", prompt: "a" }, { path, key: null });
      expect(response.status).toBe(401);
    }
  });
});

describe("an answer that is no JSON", () => {
  it("that is cut short is no answer", async () => {
    upstream.answer((response) => {
      response.writeHead(200, { "content-type": "audio/mpeg", "content-length": 5_000 });
      response.write(SOUND, () => response.destroy());
    });
    const response = await gateway.post({ model: "own", input: "hello" }, { path: "/v1/audio/speech" });
    expect(response.status).toBe(502);
    expect(await rowOf(response)).toMatchObject({ status: "failed", cost_state: "unknown", cost_micro_usd: 0 });
  });

  it.each([
    ["text/plain; charset=utf-8", "hello\n"],
    ["text/vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\n{hello}\n"],
    ["application/x-subrip", "1\n00:00:00,000 --> 00:00:01,000\nhello\n"],
    ["application/json", '{"text":"hello", "x":1.0}'],
  ])("keeps its bytes and its type: %s", async (type, body) => {
    upstream.answer((response) => void response.writeHead(200, { "content-type": type }).end(body));
    const response = await transcribe(form({ model: "own" }));
    expect([response.headers.get("content-type"), await response.text()]).toEqual([type, body]);
    const decorated = await transcribe(form({ model: "own" }), { headers: { "x-sluicegate-metadata": "on" } });
    const text = await decorated.text();
    if (type === "application/json") expect(text).toMatch(/^\{"text":"hello", "x":1.0,"gateway_metadata":\{/);
    else expect(text).toBe(body);
  });

  it("may be sound of many megabytes that looks like anything", async () => {
    const sound = Buffer.concat([Buffer.from("{}"), Buffer.alloc(20 * 1024 * 1024, "\xff\x00}", "latin1")]);
    upstream.answer((response) => void response.writeHead(200, { "content-type": "audio/mpeg" }).end(sound));
    const ask = { model: "own", input: "hello", voice: "v" };
    const response = await gateway.post(ask, { path: "/v1/audio/speech", headers: { "x-sluicegate-metadata": "on" } });
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    expect(Buffer.from(await response.arrayBuffer()).equals(sound)).toBe(true);
    expect(JSON.parse(lastHit(upstream).body.toString())).toEqual({ ...ask, model: "upstream-model" });
  });

  it("has a type even where its upstream names none", async () => {
    upstream.answer((response) => void response.writeHead(200).end(SOUND));
    const response = await gateway.post({ model: "own", input: "hello" }, { path: "/v1/audio/speech" });
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
  });

  it("may come whole where a stream was asked for: whisper-1 does not stream", async () => {
    upstream.answer(json({ text: "hi" }));
    const response = await transcribe(form({ model: "own", stream: "true" }));
    expect([response.status, await response.json()]).toEqual([200, { text: "hi" }]);
    expect(await rowOf(response)).toMatchObject({ status: "ok", stream: true });
  });

  it("is none when it is a web page, or an error with a good status", async () => {
    for (const [type, body] of [
      ["text/html", "<html>"],
      ["application/json", '{"error":{"message":"odd","code":500}}'],
    ] as const) {
      upstream.answer((response) => void response.writeHead(200, { "content-type": type }).end(body));
      const response = await transcribe(form({ model: "own" }));
      expect([response.status, await response.json()]).toMatchObject([
        502,
        { error: { code: "all_providers_failed" } },
      ]);
    }
  });
});

describe("what it costs", () => {
  const usage = { input_tokens: 1_000, output_tokens: 2_000, total_tokens: 3_000 };
  const draw = (model: string) => gateway.post({ model, prompt: "a cat" }, { path: "/v1/images/generations" });

  it.each([
    ["is the price times the tokens it reports", "priced", usage, "known", 21_000, "0.021"],
    ["is not known without a report, whatever the price", "priced", undefined, "unknown", 0, null],
    ["is not known without a price", "own", usage, "unknown", 0, null],
    ["is not known without either", "own", undefined, "unknown", 0, null],
    ["is nothing at the price of nothing", "free", undefined, "known", 0, "0"],
  ])("%s", async (_name, model, reported, cost_state, cost_micro_usd, header) => {
    upstream.answer(json({ created: 1, data: [{ b64_json: "QQ==" }], ...(reported && { usage: reported }) }));
    const response = await draw(model);
    expect(response.headers.get("x-sluicegate-cost-usd")).toBe(header);
    expect(await rowOf(response)).toMatchObject({ cost_state, cost_micro_usd });
  });

  it("of a recording is not told by its bytes", async () => {
    upstream.answer(json({ text: "hi", usage: { type: "duration", seconds: 7 } }));
    expect(await rowOf(await transcribe(form({ model: "priced" })))).toMatchObject({
      ...{ cost_state: "unknown", cost_micro_usd: 0, usage: { input_tokens: 0, output_tokens: 0 } },
    });
  });
});

describe("a stream of pictures", () => {
  const event = (value: { type: string; [field: string]: unknown }) =>
    `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  const PARTIAL = event({
    type: "image_generation.partial_image",
    b64_json: "Q".repeat(300_000),
    partial_image_index: 0,
  });
  const ask = () => gateway.post({ model: "own", prompt: "a cat", stream: true }, { path: "/v1/images/generations" });

  it("goes on byte for byte", async () => {
    const done = event({
      type: "image_generation.completed",
      b64_json: "QQ==",
      usage: { input_tokens: 5, output_tokens: 6 },
    });
    upstream.answer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(PARTIAL + done);
    });
    const response = await ask();
    expect(await response.text()).toBe(PARTIAL + done);
    expect(await rowOf(response)).toMatchObject({ status: "ok", usage: { input_tokens: 5, output_tokens: 6 } });
  });

  it("that is cut says so, and what it used nobody knows", async () => {
    upstream.answer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(PARTIAL, () => response.destroy());
    });
    const response = await ask();
    expect((await response.text()).slice(PARTIAL.length)).toMatch(/^data: \{"error":\{/);
    expect(await rowOf(response)).toMatchObject({ status: "failed", cost_state: "unknown" });
  });
});

const dir = trafficDir();

describe.skipIf(dir === null)("recorded transcripts (the traffic folder)", () => {
  it("reach the client byte for byte", async () => {
    const files = ["openai-audio-transcriptions", "groq-audio-transcriptions", "mistral-audio-transcriptions"];
    const records = files.flatMap((file) => readTraffic(dir ?? "", file));
    expect(records.length).toBeGreaterThanOrEqual(6);
    for (const { id, response: recorded } of records) {
      const nested = recorded.body as { body?: unknown; headers?: Record<string, string> };
      const isNested = typeof nested.body === "string" && nested.headers !== undefined;
      const bytes = isNested ? String(nested.body) : JSON.stringify(recorded.body);
      const type = isNested ? (nested.headers?.["content-type"] ?? "") : "application/json";
      upstream.answer((response) => void response.writeHead(200, { "content-type": type }).end(bytes));
      const response = await transcribe(form({ model: "own" }));
      expect([response.status, await response.text()], id).toEqual([200, bytes]);
    }
  });
});
