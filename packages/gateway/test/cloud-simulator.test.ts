import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt } from "./support/loose-json.ts";
import { testServiceAccount } from "./support/service-account.ts";
import { until } from "./support/until.ts";

/* Azure OpenAI and Vertex AI as the simulator plays them, tokens and all: it knows nothing of the gateway's codecs. */

let gateway: TestGateway;

const CONFIG = `
providers:
  dated: { kind: azure-openai, endpoint: SIMULATOR_HOST, api_version: 2025-04-01-preview, entra: { authority: SIMULATOR_HOST, tenant_id: t, client_id: app, client_secret: env:ENTRA } }
  v1: { kind: azure-openai, endpoint: SIMULATOR_HOST, api_key: env:ENTRA }
  brief: { kind: azure-openai, endpoint: SIMULATOR_HOST, entra: { authority: SIMULATOR_HOST, tenant_id: t, client_id: 'app?expires_in=1', client_secret: env:ENTRA } }
  vertex: { kind: vertex, base_url: SIMULATOR_HOST, location: eu, credentials: env:GCP, token_url: SIMULATOR_HOST/token }
deployments:
  ptu: { provider: dated, model: gpt-4o-2024-11-20, azure_deployment: echo }
  v1: { provider: v1, model: gpt-4o-2024-11-20, azure_deployment: echo }
  filter: { provider: v1, model: filter }
  missing: { provider: v1, model: missing }
  gemini: { provider: vertex, model: gemini-2.5-pro }
  claude: { provider: vertex, model: claude-sonnet-4-5@20250929 }
  embedder: { provider: vertex, model: text-embedding-005 }
routes:
  ptu: { chain: [ptu] }
  v1: { chain: [v1] }
  brief: { chain: [brief/echo] }
  filter: { chain: [filter, v1] }
  missing: { chain: [missing, v1] }
  gemini: { chain: [gemini] }
  claude: { chain: [claude] }
  embedder: { chain: [embedder] }
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`;

beforeAll(async () => {
  const { json } = testServiceAccount("https://nobody.invalid/token");
  gateway = await startTestGateway({
    config: CONFIG,
    variables: { ENTRA: "secret", GCP: json },
    // Every one of them is counted, however many calls a quick machine makes between two tokens.
    simulator: { recentRequests: 100_000 },
  });
});

afterAll(() => gateway.close());

const WORDS = "alpha beta gamma";
const messages = [{ role: "user", content: WORDS }];

/** What each dialect's client sends, and where the text of its answer is. */
const CLIENTS = {
  chat: (alias: string): [string, Json, (body: unknown) => unknown] => [
    "/v1/chat/completions",
    { model: alias, messages },
    (body) => at(body, "choices", 0, "message", "content"),
  ],
  responses: (alias: string): [string, Json, (body: unknown) => unknown] => [
    "/v1/responses",
    { model: alias, input: WORDS },
    (body) => at(listAt(body, "output").at(-1), "content", 0, "text"),
  ],
  messages: (alias: string): [string, Json, (body: unknown) => unknown] => [
    "/v1/messages",
    { model: alias, messages, max_tokens: 100 },
    (body) => at(listAt(body, "content").at(-1), "text"),
  ],
  gemini: (alias: string): [string, Json, (body: unknown) => unknown] => [
    `/v1beta/models/${alias}:generateContent`,
    { contents: [{ role: "user", parts: [{ text: WORDS }] }] },
    (body) => at(listAt(body, "candidates", 0, "content", "parts").at(-1), "text"),
  ],
};

describe.each(["ptu", "v1", "gemini", "claude"])("%s", (alias) => {
  test.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])(
    "answers %s's clients, and both sides count alike",
    async (client) => {
      const [path, body, textOf] = CLIENTS[client](alias);
      const response = await gateway.post(body, { path });
      expect(response.status).toBe(200);
      expect(textOf(await response.json())).toBe(WORDS);
      const row = await gateway.row(response.headers.get("x-request-id") ?? "");
      const line = gateway.simulator.invoice().lines.at(-1);
      expect(row.usage).toMatchObject({ input_tokens: line?.input_tokens, output_tokens: line?.output_tokens });
    },
  );

  test("streams", async () => {
    const response = await gateway.post({ model: alias, messages, stream: true, max_tokens: 100 });
    const text = await response.text();
    const said = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join("");
    expect(said).toBe(WORDS);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ status: "ok", finish_reason: "stop" });
  });
});

test("Claude Code's betas reach Claude on Vertex as far as it takes them", async () => {
  const headers = { "anthropic-beta": "claude-code-20250219,effort-2025-11-24,prompt-caching-scope-2026-01-05" };
  const [path, body] = CLIENTS.messages("claude");
  const response = await gateway.post(body, { path: `${path}?beta=true`, headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("x-sluicegate-dropped")).toContain("effort-2025-11-24");
});

test("Claude and Gemini count tokens on Vertex themselves", async () => {
  const claude = await gateway.post({ model: "claude", messages }, { path: "/v1/messages/count_tokens" });
  expect(at(await claude.json(), "input_tokens")).toBeGreaterThan(0);
  const contents = [{ role: "user", parts: [{ text: WORDS }] }];
  const whole = { generateContentRequest: { model: "models/gemini", contents, safetySettings: [] } };
  const gemini = await gateway.post(whole, { path: "/v1beta/models/gemini:countTokens" });
  expect(at(await gemini.json(), "totalTokens")).toBeGreaterThan(0);
  const paths = gateway.simulator.requests().recent.map((hit) => hit.path);
  expect(paths.filter((path) => /count-tokens:rawPredict$|:countTokens$/.test(path))).toHaveLength(2);
});

test("texts become vectors on Vertex", async () => {
  const response = await gateway.post(
    { model: "embedder", input: ["a", "b"], dimensions: 8 },
    { path: "/v1/embeddings" },
  );
  const body: unknown = await response.json();
  expect(listAt(body, "data").map((one) => listAt(one, "embedding").length)).toEqual([8, 8]);
  const row = await gateway.row(response.headers.get("x-request-id") ?? "");
  expect(row.usage.input_tokens).toBe(gateway.simulator.invoice().lines.at(-1)?.input_tokens);
});

test("Azure's filter stops a prompt for good, and a deployment that is missing does not", async () => {
  const filtered = await gateway.post({ model: "filter", messages });
  expect(filtered.status).toBe(400);
  expect(at(await filtered.json(), "error", "innererror", "code")).toBe("ResponsibleAIPolicyViolation");
  const missing = await gateway.post({ model: "missing", messages });
  expect(missing.status).toBe(200);
  const row = await gateway.row(missing.headers.get("x-request-id") ?? "");
  expect(row.attempts.map(({ error_class }) => error_class)).toEqual(["model_not_found", null]);
});

test("a response that Azure keeps is found there again", async () => {
  for (const model of ["ptu", "v1"]) {
    const made = (await (await gateway.post({ model, input: WORDS }, { path: "/v1/responses" })).json()) as Json;
    const next = { model, input: "delta", previous_response_id: made["id"] };
    expect((await gateway.post(next, { path: "/v1/responses" })).status).toBe(200);
  }
});

test("tokens that have been revoked are fetched anew, and no call fails of it", async () => {
  const models = ["ptu", "gemini", "claude"];
  for (const model of models) expect((await gateway.post({ model, messages })).status).toBe(200);
  gateway.simulator.reset();
  for (const model of models) expect((await gateway.post({ model, messages })).status).toBe(200);
  const asked = gateway.simulator.requests().recent.map(({ path, status }) => `${path.split("/").at(-1)} ${status}`);
  // One token is Azure's; Gemini and Claude share Google's.
  expect(asked.filter((line) => line.endsWith(" 401"))).toHaveLength(2);
  expect(asked.filter((line) => line === "token 200")).toHaveLength(2);
});

test("tokens that hold for a second serve calls for longer than that", async () => {
  const statuses = new Set<number>();
  const fetched = (): number =>
    gateway.simulator.requests().recent.filter(({ path }) => path === "/t/oauth2/v2.0/token").length;
  await until("a third token", async () => {
    statuses.add((await gateway.post({ model: "brief", messages })).status);
    return fetched() >= 3;
  });
  expect([...statuses]).toEqual([200]);
});
