import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, numberAt } from "./support/loose-json.ts";
import { readTraffic, responseBytes, type TrafficRecord, trafficDir } from "./support/replay-server.ts";
import { sendJson } from "./support/token-server.ts";
import { startUpstream, type Upstream } from "./support/upstream.ts";

/* Kind vertex with an API key: where its calls go, what stands in them, and what its answers mean. */

const PARENT = "/v1/projects/p-1/locations/europe-west4";
const CLAUDE = "claude-sonnet-4-5@20250929";

let gateway: TestGateway;
let vertex: Upstream;

beforeAll(async () => {
  vertex = await startUpstream();
  gateway = await startTestGateway({
    forgives: true,
    config: `
providers:
  v: { kind: vertex, base_url: '${vertex.url}', project: p-1, location: europe-west4, api_key: vertex-key }
  other: { kind: gemini, base_url: '${vertex.url}/other', api_key: k }
deployments:
  gemini: { provider: v, model: gemini-2.5-pro }
  claude: { provider: v, model: ${CLAUDE} }
  named: { provider: v, model: publishers/google/models/gemini-2.5-flash }
  named-claude: { provider: v, model: publishers/anthropic/models/${CLAUDE} }
  tuned: { provider: v, model: endpoints/1234567890 }
  predict: { provider: v, model: text-embedding-005, price: { input: 1, output: 0 } }
  embed: { provider: v, model: gemini-embedding-2 }
routes:
${["gemini", "claude", "named", "named-claude", "tuned", "predict", "embed"].map((name) => `  ${name}: { chain: [${name}], retries: { attempts: 1 } }`).join("\n")}
  two: { chain: [gemini, other/gemini-2.5-pro], retries: { attempts: 1 } }
tenants: { default: { models: { allow: ['*', 'v/*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
});

const GEMINI = {
  candidates: [{ content: { role: "model", parts: [{ text: "hello" }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
};
const MESSAGE = {
  ...{ id: "msg_vrtx_1", type: "message", role: "assistant", model: "claude-sonnet-4-5-20250929" },
  ...{ content: [{ type: "text", text: "hello" }], stop_reason: "end_turn", stop_sequence: null },
  usage: { input_tokens: 7, output_tokens: 3 },
};

beforeEach(() => {
  vertex.hits.splice(0);
  vertex.answer((response, { path }) => sendJson(response, 200, path.includes("awPredict") ? MESSAGE : GEMINI));
});

afterAll(async () => {
  await gateway.close();
  await vertex.close();
});

function lastAsked(): { path: string; body: Json; headers: Record<string, unknown> } {
  const hit = vertex.hits.at(-1);
  if (!hit) throw new Error("Vertex was not asked");
  return { path: hit.path, body: JSON.parse(hit.body.toString("utf8")) as Json, headers: hit.headers };
}

const chat = (model: string): Json => ({ model, messages: [{ role: "user", content: "a" }], max_tokens: 9 });
const contents = [{ role: "user", parts: [{ text: "a" }] }];

describe("a model's publisher tells its path", () => {
  test.each([
    ["gemini", `${PARENT}/publishers/google/models/gemini-2.5-pro:generateContent`],
    ["named", `${PARENT}/publishers/google/models/gemini-2.5-flash:generateContent`],
    ["tuned", `${PARENT}/endpoints/1234567890:generateContent`],
    ["v/gemini-x y", `${PARENT}/publishers/google/models/gemini-x%20y:generateContent`],
    ["claude", `${PARENT}/publishers/anthropic/models/${CLAUDE}:rawPredict`],
    ["named-claude", `${PARENT}/publishers/anthropic/models/${CLAUDE}:rawPredict`],
  ])("%s", async (model, path) => {
    for (const [at, body] of [
      ["/v1/chat/completions", chat(model)],
      ["/v1/messages", chat(model)],
      [`/v1beta/models/${encodeURIComponent(model)}:generateContent`, { contents }],
    ] as const) {
      expect((await gateway.post(body, { path: at })).status).toBe(200);
      const asked = lastAsked();
      expect(asked.path).toBe(path);
      expect(asked.headers["x-goog-api-key"]).toBe("vertex-key");
      expect(asked.body).not.toHaveProperty("model");
      expect(asked.body["anthropic_version"]).toBe(path.includes("rawPredict") ? "vertex-2023-10-16" : undefined);
    }
  });

  test("streams have methods of their own", async () => {
    await (await gateway.post({ contents }, { path: "/v1beta/models/gemini:streamGenerateContent?alt=sse" })).text();
    expect(lastAsked().path).toBe(`${PARENT}/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse`);
    await (await gateway.post({ ...chat("claude"), stream: true })).text();
    expect(lastAsked().path).toBe(`${PARENT}/publishers/anthropic/models/${CLAUDE}:streamRawPredict`);
    expect(lastAsked().body["stream"]).toBe(true);
  });

  test.each(["v/publishers/meta/models/llama-4", "v/multimodalembedding@001"])("%s is nobody's here", async (model) => {
    const response = await gateway.post(chat(model));
    expect(response.status).toBe(400);
    expect(at(await response.json(), "error", "code")).toBe("unsupported_feature");
    expect(vertex.hits).toEqual([]);
  });
});

describe("a client's own dialect", () => {
  test("keeps its body but for what the envelope wants", async () => {
    const body = { ...chat("claude"), system: "s", metadata: { user_id: "u" }, anthropic_version: "another" };
    const response = await gateway.post(body, { path: "/v1/messages", headers: { "x-sluicegate-metadata": "off" } });
    expect(await response.json()).toEqual(MESSAGE);
    const { model: _, ...rest } = body;
    expect(lastAsked().body).toEqual({ ...rest, anthropic_version: "vertex-2023-10-16" });
    await gateway.post(
      { model: "models/gemini", contents, labels: { a: "b" } },
      { path: "/v1beta/models/gemini:generateContent" },
    );
    expect(lastAsked().body).toEqual({ contents, labels: { a: "b" } });
  });

  test("keeps the betas that are known there, and is told of the others", async () => {
    const beta =
      "claude-code-20250219, interleaved-thinking-2025-05-14,advanced-tool-use-2025-11-20,effort-2025-11-24,prompt-caching-scope-2026-01-05";
    const headers = { "anthropic-beta": beta, "anthropic-version": "2023-06-01" };
    const response = await gateway.post(chat("claude"), { path: "/v1/messages?beta=true", headers });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluicegate-dropped")).toBe(
      "anthropic-beta:effort-2025-11-24, anthropic-beta:prompt-caching-scope-2026-01-05",
    );
    const asked = lastAsked();
    expect(asked.headers["anthropic-beta"]).toBe(
      "claude-code-20250219,interleaved-thinking-2025-05-14,tool-search-tool-2025-10-19",
    );
    expect(asked.headers["anthropic-version"]).toBeUndefined();
    expect(asked.path).toMatch(/:rawPredict$/);
    await gateway.post(chat("claude"), { path: "/v1/messages", headers: { "anthropic-beta": "effort-2025-11-24" } });
    expect(lastAsked().headers["anthropic-beta"]).toBeUndefined();
  });
});

describe("tokens are counted", () => {
  test("by Claude's own counter", async () => {
    vertex.answer((response) => sendJson(response, 200, { input_tokens: 42 }));
    const { max_tokens: _, ...counted } = chat("named-claude");
    const headers = { "anthropic-beta": "web-search-2025-03-05" };
    const response = await gateway.post(counted, { path: "/v1/messages/count_tokens", headers });
    expect(await response.json()).toEqual({ input_tokens: 42 });
    expect(lastAsked()).toMatchObject({
      path: `${PARENT}/publishers/anthropic/models/count-tokens:rawPredict`,
      body: { model: CLAUDE, anthropic_version: "vertex-2023-10-16", messages: counted["messages"] },
    });
    expect(lastAsked().headers["anthropic-beta"]).toBeUndefined();
  });

  test("by Gemini's, which wants contents at the top and nothing it does not count", async () => {
    vertex.answer((response) => sendJson(response, 200, { totalTokens: 5, totalBillableCharacters: 3 }));
    const path = "/v1beta/models/gemini:countTokens";
    expect(await (await gateway.post({ contents }, { path })).json()).toEqual({
      totalTokens: 5,
      totalBillableCharacters: 3,
    });
    expect(lastAsked()).toMatchObject({ path: `${PARENT}/publishers/google/models/gemini-2.5-pro:countTokens` });
    expect(lastAsked().body).toEqual({ contents });
    const systemInstruction = { parts: [{ text: "s" }] };
    const whole = { model: "models/gemini", contents, systemInstruction, safetySettings: [], toolConfig: {} };
    await gateway.post({ generateContentRequest: whole }, { path });
    expect(lastAsked().body).toEqual({ contents, systemInstruction });
  });
});

describe("embeddings", () => {
  const predictions = (...counts: number[]): Json => ({
    predictions: counts.map((token_count) => ({
      embeddings: { values: [0.5, token_count], statistics: { token_count } },
    })),
  });

  test("of models behind :predict, from both dialects", async () => {
    vertex.answer((response) => sendJson(response, 200, predictions(2, 3)));
    const asked = { model: "predict", input: ["a", "b"], dimensions: 2, user: "u" };
    const response = await gateway.post(asked, { path: "/v1/embeddings" });
    expect(response.headers.get("x-sluicegate-dropped")).toBe("user");
    expect(await response.json()).toMatchObject({
      data: [
        { index: 0, embedding: [0.5, 2] },
        { index: 1, embedding: [0.5, 3] },
      ],
      usage: { prompt_tokens: 5, total_tokens: 5 },
    });
    expect(lastAsked()).toMatchObject({ path: `${PARENT}/publishers/google/models/text-embedding-005:predict` });
    expect(lastAsked().body).toEqual({
      instances: [{ content: "a" }, { content: "b" }],
      parameters: { outputDimensionality: 2 },
    });
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ usage: { input_tokens: 5 }, cost_state: "known", cost_micro_usd: 5 });
    const one = { content: { parts: [{ text: "t" }] }, taskType: "RETRIEVAL_DOCUMENT", title: "T" };
    vertex.answer((response) => sendJson(response, 200, predictions(4)));
    const gemini = await gateway.post(one, { path: "/v1beta/models/predict:embedContent" });
    expect(at(await gemini.json(), "embedding", "values")).toEqual([0.5, 4]);
    expect(lastAsked().body).toEqual({ instances: [{ content: "t", task_type: "RETRIEVAL_DOCUMENT", title: "T" }] });
  });

  test("of a title that goes with no document, told", async () => {
    vertex.answer((response) => sendJson(response, 200, predictions(4)));
    const one = { content: { parts: [{ text: "t" }] }, title: "T" };
    const response = await gateway.post(one, { path: "/v1beta/models/predict:embedContent" });
    expect(response.headers.get("x-sluicegate-dropped")).toBe("title");
    expect(lastAsked().body).toEqual({ instances: [{ content: "t" }] });
  });

  test("of models behind :embedContent, one at a time", async () => {
    vertex.answer((response) =>
      sendJson(response, 200, { embedding: { values: [1] }, usageMetadata: { promptTokenCount: 3 } }),
    );
    const response = await gateway.post({ model: "embed", input: "a" }, { path: "/v1/embeddings" });
    expect(at(await response.json(), "data", 0, "embedding")).toEqual([1]);
    expect(lastAsked()).toMatchObject({
      path: `${PARENT}/publishers/google/models/gemini-embedding-2:embedContent`,
      body: { content: { parts: [{ text: "a" }] } },
    });
    const batch = await gateway.post({ model: "embed", input: ["a", "b"] }, { path: "/v1/embeddings" });
    expect(batch.status).toBe(400);
    expect(at(await batch.json(), "error", "param")).toBe("input");
  });

  test.each([
    ["none", { predictions: [] }],
    ["one that is empty", { predictions: [{ embeddings: { values: [] } }] }],
    ["something else", { predictions: [{ textEmbedding: [1] }] }],
  ])("that are %s are an invalid answer", async (_, answer) => {
    vertex.answer((response) => sendJson(response, 200, answer));
    const response = await gateway.post({ model: "predict", input: "a" }, { path: "/v1/embeddings" });
    expect(response.status).toBe(502);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]?.error_class).toBe("invalid_response");
  });
});

describe("errors", () => {
  const google = (code: number, status: string, more: Json = {}): Json => ({
    error: { code, message: "placeholder", status, ...more },
  });
  const quota = (quotaId: string): Json => ({
    details: [{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] }],
  });

  test.each([
    [401, google(401, "UNAUTHENTICATED"), "auth_failed"],
    [403, google(403, "PERMISSION_DENIED"), "auth_failed"],
    [404, google(404, "NOT_FOUND"), "model_not_found"],
    [429, google(429, "RESOURCE_EXHAUSTED"), "rate_limited"],
    [429, google(429, "RESOURCE_EXHAUSTED", quota("GenerateRequestsPerDayPerProject")), "quota_exhausted"],
    [429, [google(429, "RESOURCE_EXHAUSTED")], "rate_limited"],
    [400, [google(400, "FAILED_PRECONDITION")], "auth_failed"],
    [499, google(499, "CANCELLED"), "provider_error"],
    [500, google(500, "INTERNAL"), "provider_error"],
    [503, google(503, "UNAVAILABLE"), "overloaded"],
    [504, google(504, "DEADLINE_EXCEEDED"), "timeout"],
  ])("%i %j is %s, and the next deployment serves", async (status, error, kind) => {
    vertex.answer((response, { path }) =>
      path.startsWith("/other") ? sendJson(response, 200, GEMINI) : sendJson(response, status, error),
    );
    const response = await gateway.post(chat("two"));
    expect(response.status).toBe(200);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ error_class }) => error_class)).toEqual([kind, null]);
  });

  test("a prompt that is refused goes nowhere else", async () => {
    vertex.answer((response) => sendJson(response, 200, { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }));
    const response = await gateway.post(chat("two"));
    expect(at(await response.json(), "error", "code")).toBe("content_filter");
    expect(vertex.hits).toHaveLength(1);
  });

  test("Claude's errors are Anthropic's, or Google's where Google refuses", async () => {
    const own = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    for (const [status, error, kind] of [
      [529, own, "overloaded"],
      [429, google(429, "RESOURCE_EXHAUSTED"), "rate_limited"],
      [404, google(404, "NOT_FOUND"), "model_not_found"],
      [403, [google(403, "PERMISSION_DENIED")], "auth_failed"],
    ] as const) {
      vertex.answer((response) => sendJson(response, status, error));
      const response = await gateway.post(chat("claude"), { path: "/v1/messages" });
      const row = await gateway.row(response.headers.get("x-request-id") ?? "");
      expect(row.attempts[0]?.error_class).toBe(kind);
    }
  });
});

/** A call of a client's for so many vectors. */
function askFor(client: "openai" | "gemini", alias: string, count: number): [path: string, body: Json] {
  const texts = Array.from({ length: count }, (_, place) => `text ${place}`);
  if (client === "openai") return ["/v1/embeddings", { model: alias, input: texts }];
  const requests = texts.map((text) => ({ content: { parts: [{ text }] }, taskType: "RETRIEVAL_QUERY" }));
  return [`/v1beta/models/${alias}:batchEmbedContents`, { requests }];
}

const dir = trafficDir();

describe.skipIf(dir === null)("recorded calls that no chat is, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  const records = (file: string): TrafficRecord[] => (dir === null ? [] : readTraffic(dir, file));

  test.each(["openai", "gemini"] as const)("embeddings come to %s's clients", async (client) => {
    const found = records("vertex-embed");
    expect(found).toHaveLength(3);
    for (const record of found) {
      const recorded = JSON.parse(responseBytes(record).toString("utf8")) as Json;
      vertex.answer((response) => void response.writeHead(200, record.response.headers).end(responseBytes(record)));
      const predictions = listAt(recorded, "predictions").map((one) => at(one, "embeddings"));
      const alias = predictions.length > 0 ? "predict" : "embed";
      const want =
        predictions.length > 0 ? predictions.map((one) => at(one, "values")) : [at(recorded, "embedding", "values")];
      const [path, body] = askFor(client, alias, want.length);
      const response = await gateway.post(body, { path });
      expect(response.status).toBe(200);
      const got: unknown = await response.json();
      const list = client === "openai" ? listAt(got, "data") : listAt(got, "embeddings");
      expect(list.map((one) => at(one, client === "openai" ? "embedding" : "values"))).toEqual(want);
      const tokens =
        predictions.length > 0
          ? predictions.reduce((sum: number, one) => sum + numberAt(one, "statistics", "token_count"), 0)
          : numberAt(recorded, "usageMetadata", "promptTokenCount");
      const row = await gateway.row(response.headers.get("x-request-id") ?? "");
      expect(row.usage.input_tokens).toBe(tokens);
      const sent = record.request.body as Json | null;
      if (sent) expect(Object.keys(lastAsked().body)).toEqual(expect.arrayContaining(Object.keys(sent)));
    }
  });

  test("counts come back as they are, for the requests that were recorded", async () => {
    const found = records("vertex-count-tokens");
    expect(found).toHaveLength(2);
    for (const record of found) {
      vertex.answer((response) => void response.writeHead(200, record.response.headers).end(responseBytes(record)));
      const path = "/v1beta/models/gemini:countTokens";
      const response = await gateway.post(record.request.body, { path });
      const text = await response.text();
      expect(text).toBe(responseBytes(record).toString("utf8"));
      expect(numberAt(JSON.parse(text) as unknown, "totalTokens")).toBeGreaterThan(0);
      expect(lastAsked().body).toEqual(record.request.body);
    }
  });
});
