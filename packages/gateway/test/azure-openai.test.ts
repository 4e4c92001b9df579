import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json } from "./support/loose-json.ts";
import { sendJson } from "./support/token-server.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

/* Kind azure-openai with a key: where its calls go, what stands in them, and what its answers mean. */

let gateway: TestGateway;
let azure: Upstream;
let other: Upstream;

const HELLO = { messages: [{ role: "user", content: "Grüße" }] };

beforeAll(async () => {
  azure = await startUpstream();
  other = await startUpstream();
  const common = `kind: azure-openai, endpoint: '${azure.url}', api_key: azure-key`;
  gateway = await startTestGateway({
    forgives: true,
    config: `
providers:
  dated: { ${common}, api_version: 2024-10-21 }
  old: { ${common}, api_version: 2024-06-01 }
  preview: { ${common}, api_version: 2025-04-01-preview }
  v1: { ${common} }
  v1-preview: { ${common}, api_version: preview }
  apim: { ${common}, auth: { header: ocp-apim-subscription-key } }
  other: { kind: openai, base_url: '${other.url}/v1', api_key: k }
deployments:
  ptu: { provider: dated, model: gpt-4o-2024-11-20, azure_deployment: gpt4o ptu/1 }
  thinker: { provider: dated, model: o4-mini-2025-04-16, azure_deployment: brain }
  v1-ptu: { provider: v1, model: gpt-4o-2024-11-20, azure_deployment: gpt4o-ptu, price: { input: 1, output: 2 } }
  any-dated: { provider: dated, model: any-1, azure_deployment: any one }
  any-v1: { provider: v1, model: any-1, azure_deployment: any-one }
routes:
  any-dated: { chain: [any-dated] }
  any-v1: { chain: [any-v1] }
  ptu: { chain: [ptu], retries: { attempts: 1 } }
  thinker: { chain: [thinker] }
  v1: { chain: [v1-ptu], retries: { attempts: 1 } }
  two: { chain: [v1-ptu, other/gpt-4o-2024-11-20], retries: { attempts: 1 } }
tenants: { default: { models: { allow: ['*', 'dated/*', 'old/*', 'preview/*', 'v1/*', 'v1-preview/*', 'apim/*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
});

beforeEach(() => {
  for (const upstream of [azure, other]) {
    upstream.hits.splice(0);
    upstream.answer((response) => sendJson(response, 200, JSON.parse(chatAnswer("hello"))));
  }
});

afterAll(async () => {
  await gateway.close();
  await azure.close();
  await other.close();
});

function lastAsked(): { path: string; body: Json; headers: Record<string, unknown> } {
  const hit = azure.hits.at(-1);
  if (!hit) throw new Error("Azure was not asked");
  return { path: hit.path, body: JSON.parse(hit.body.toString("utf8") || "null") as Json, headers: hit.headers };
}

describe("calls go", () => {
  test.each([
    [
      "to a deployment of a dated version",
      "ptu",
      "/openai/deployments/gpt4o%20ptu%2F1/chat/completions?api-version=2024-10-21",
      "gpt4o ptu/1",
    ],
    [
      "to one that is called as its model",
      "dated/gpt-4o-2024-11-20",
      "/openai/deployments/gpt-4o-2024-11-20/chat/completions?api-version=2024-10-21",
      "gpt-4o-2024-11-20",
    ],
    ["to the v1 surface, by the deployment's name", "v1", "/openai/v1/chat/completions", "gpt4o-ptu"],
    ["to the preview of that", "v1-preview/gpt-x-1", "/openai/v1/chat/completions?api-version=preview", "gpt-x-1"],
  ])("%s", async (_, model, path, sent) => {
    const response = await gateway.post({ ...HELLO, model });
    expect(response.status).toBe(200);
    const asked = lastAsked();
    expect(asked.path).toBe(path);
    expect(asked.body).toEqual({ ...HELLO, model: sent });
    expect(asked.headers).toMatchObject({ "api-key": "azure-key" });
    expect(asked.headers["authorization"]).toBeUndefined();
  });

  test("with the key where a gateway in front of Azure wants it", async () => {
    await gateway.post({ ...HELLO, model: "apim/gpt-4o" });
    expect(lastAsked().headers).toMatchObject({ "ocp-apim-subscription-key": "azure-key" });
  });

  test("the model is what the config says, and the deployment's name stays Azure's", async () => {
    const response = await gateway.post({ ...HELLO, model: "ptu" });
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ deployment: "ptu", model: "gpt-4o-2024-11-20", response_model: "upstream-model" });
    expect(JSON.stringify(row)).not.toContain("gpt4o ptu/1");
  });

  const png = "iVBORw0KGgo=";
  test.each([
    ["embeddings", "/v1/embeddings", { input: "a" }, { data: [{ index: 0, embedding: [1] }] }, "/embeddings"],
    [
      "completions",
      "/v1/completions",
      { prompt: "a" },
      { choices: [{ index: 0, text: "b", finish_reason: "stop" }] },
      "/completions",
    ],
    ["images", "/v1/images/generations", { prompt: "a" }, { data: [{ b64_json: png }] }, "/images/generations"],
  ])("%s of both surfaces", async (_, path, body, answer, own) => {
    azure.answer((response) => sendJson(response, 200, answer));
    expect((await gateway.post({ ...body, model: "any-dated" }, { path })).status).toBe(200);
    expect(lastAsked().path).toBe(`/openai/deployments/any%20one${own}?api-version=2024-10-21`);
    expect((await gateway.post({ ...body, model: "any-v1" }, { path })).status).toBe(200);
    expect(lastAsked()).toMatchObject({ path: `/openai/v1${own}`, body: { model: "any-one" } });
  });

  test("speech, too", async () => {
    azure.answer((response) => void response.writeHead(200, { "content-type": "audio/mpeg" }).end("sound"));
    const asked = { input: "a", voice: "alloy", model: "any-dated" };
    const response = await gateway.post(asked, { path: "/v1/audio/speech" });
    expect(await response.text()).toBe("sound");
    expect(lastAsked().path).toBe("/openai/deployments/any%20one/audio/speech?api-version=2024-10-21");
  });

  test("transcriptions, whose form names the deployment", async () => {
    azure.answer((response) => sendJson(response, 200, { text: "hello" }));
    const form = new FormData();
    form.set("model", "any-v1");
    form.set("file", new Blob(["RIFF"]), "a.wav");
    const raw = new Request("http://x", { method: "POST", body: form });
    const headers = { "content-type": raw.headers.get("content-type") ?? "" };
    const body = new Uint8Array(await raw.arrayBuffer());
    const response = await gateway.post(null, { path: "/v1/audio/transcriptions", raw: body, headers });
    expect(response.status).toBe(200);
    expect(azure.hits.at(-1)?.path).toBe("/openai/v1/audio/transcriptions");
    expect(azure.hits.at(-1)?.body.toString()).toContain("any-one");
  });

  test("not for moderations, which Azure has not", async () => {
    const response = await gateway.post({ input: "a", model: "v1" }, { path: "/v1/moderations" });
    expect(response.status).toBe(400);
    expect(at(await response.json(), "error", "code")).toBe("unsupported_feature");
    expect(azure.hits).toEqual([]);
  });
});

describe("Responses", () => {
  const answer = {
    ...{ id: "resp_abc", object: "response", status: "completed", model: "gpt-4o-2024-11-20" },
    output: [{ type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "hi" }] }],
    usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 },
  };

  test.each([
    ["v1", "/openai/v1/responses", (id: string) => `/openai/v1/responses/${id}`],
    [
      "preview/gpt-4o-2024-11-20",
      "/openai/responses?api-version=2025-04-01-preview",
      (id: string) => `/openai/responses/${id}?api-version=2025-04-01-preview`,
    ],
  ])("of %s are made, and found where they are kept", async (model, path, kept) => {
    azure.answer((response) => sendJson(response, 200, answer));
    const made = await gateway.post({ model, input: "a" }, { path: "/v1/responses" });
    expect(made.status).toBe(200);
    expect(lastAsked().path).toBe(path);
    const { id } = (await made.json()) as { id: string };
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    const found = await fetch(`${gateway.url}/v1/responses/${id}`, { headers });
    expect(found.status).toBe(200);
    expect(lastAsked().path).toBe(kept("resp_abc"));
  });

  test("are chat where the version has none", async () => {
    const response = await gateway.post({ model: "ptu", input: "a" }, { path: "/v1/responses" });
    expect(response.status).toBe(200);
    expect(lastAsked().path).toContain("/chat/completions?");
    expect(at(await response.json(), "output", 0, "content", 0, "text")).toBe("hello");
  });
});

describe("translated calls", () => {
  const messages = { max_tokens: 64, messages: [{ role: "user", content: "a" }] };

  test("hold what the model takes, whatever its deployment is called", async () => {
    const thinking = { ...messages, model: "thinker", thinking: { type: "enabled", budget_tokens: 1_024 } };
    const response = await gateway.post(thinking, { path: "/v1/messages" });
    expect(response.status).toBe(200);
    const { body } = lastAsked();
    expect(body).toMatchObject({ model: "brain", max_completion_tokens: 64, reasoning_effort: expect.any(String) });
    await gateway.post({ ...messages, model: "ptu" }, { path: "/v1/messages" });
    expect(lastAsked().body).toMatchObject({ model: "gpt4o ptu/1", max_tokens: 64 });
    expect(lastAsked().body["reasoning_effort"]).toBeUndefined();
  });

  test("ask for usage in a stream only where the version knows how", async () => {
    azure.answer((response) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(`${chatChunk({ content: "a" }, "stop")}data: [DONE]\n\n`),
    );
    for (const [model, options] of [
      ["dated/gpt-4o-2024-11-20", { include_usage: true }],
      ["old/gpt-4o-2024-11-20", undefined],
    ] as const) {
      const response = await gateway.post({ ...messages, model, stream: true }, { path: "/v1/messages" });
      await response.text();
      expect(lastAsked().body["stream_options"]).toEqual(options);
    }
  });
});

describe("answers", () => {
  const filters = { hate: { filtered: false, severity: "safe" }, jailbreak: { filtered: false, detected: false } };

  test("a first chunk without choices, and filter results, reach a client of the dialect unchanged", async () => {
    const first = `data: ${JSON.stringify({ choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: [{ prompt_index: 0, content_filter_results: filters }] })}\n\n`;
    const chunk = chatChunk({ content: "hello" }, null, { content_filter_results: filters });
    const end = `${chatChunk({}, "content_filter")}data: [DONE]\n\n`;
    azure.answer((response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(first + chunk + end),
    );
    const response = await gateway.post(
      { ...HELLO, model: "v1", stream: true },
      { headers: { "x-sluicegate-metadata": "off" } },
    );
    expect(await response.text()).toBe(first + chunk + end);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ status: "ok", finish_reason: "content_filter", response_model: "upstream-model" });
  });

  const refusal = {
    error: {
      ...{ message: "The response was filtered", type: null, param: "prompt", code: "content_filter", status: 400 },
      innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: filters },
    },
  };

  test("a filtered prompt goes nowhere else, and word for word to its own dialect", async () => {
    azure.answer((response) => sendJson(response, 400, refusal));
    const response = await gateway.post({ ...HELLO, model: "two" });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual(refusal);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ error_class }) => error_class)).toEqual(["content_filtered"]);
    expect(other.hits).toEqual([]);
  });

  test("by its inner code alone, too, and to another dialect in its words", async () => {
    const { innererror } = refusal.error;
    azure.answer((response) => sendJson(response, 400, { error: { message: "no", code: null, innererror } }));
    const body = { model: "two", max_tokens: 9, messages: [{ role: "user", content: "a" }] };
    const response = await gateway.post(body, { path: "/v1/messages" });
    expect(response.status).toBe(400);
    expect(at(await response.json(), "error", "code")).toBe("content_filter");
    expect(other.hits).toEqual([]);
  });

  test.each([
    [404, { code: "DeploymentNotFound", message: "The API deployment does not exist." }, "model_not_found"],
    [404, { code: "404", message: "Resource not found" }, "model_not_found"],
    [
      401,
      { code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint." },
      "auth_failed",
    ],
    [401, { code: "PermissionDenied", message: "The principal lacks the required data action" }, "auth_failed"],
    [403, { code: "403", message: "Access denied due to Virtual Network/Firewall rules." }, "auth_failed"],
    [
      429,
      { code: "429", message: "Requests have exceeded call rate limit. Please retry after 45 seconds." },
      "rate_limited",
    ],
    [429, { code: "RateLimitReached", message: "exceeded token rate limit" }, "rate_limited"],
    [429, { code: "429", message: "The system is currently experiencing high demand" }, "overloaded"],
    [429, { code: "NoCapacity", message: "no capacity" }, "overloaded"],
    [503, { code: "ServiceUnavailable", message: "temporarily unable to process your request" }, "overloaded"],
    [500, { code: "InternalServerError", message: "oops" }, "provider_error"],
    [408, { code: "Timeout", message: "The operation was timeout." }, "timeout"],
  ] as const)("%i %j is %s, and the next deployment serves", async (status, error, kind) => {
    azure.answer((response) => sendJson(response, status, { error }));
    const response = await gateway.post({ ...HELLO, model: "two" });
    expect(response.status).toBe(200);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ error_class }) => error_class)).toEqual([kind, null]);
  });

  test("a rate limit's hint in milliseconds is passed on where nobody else is left", async () => {
    const error = { code: "429", message: "slow down" };
    azure.answer((response) => sendJson(response, 429, { error }, { "retry-after-ms": "1500", "retry-after": "2" }));
    const response = await gateway.post({ ...HELLO, model: "v1" });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after-ms")).toBe("1500");
    expect(response.headers.get("retry-after")).toBe("2");
  });

  test("the id that Azure's support asks for is in the row", async () => {
    azure.answer((response) => sendJson(response, 200, JSON.parse(chatAnswer("a")), { "apim-request-id": "apim-1" }));
    const response = await gateway.post({ ...HELLO, model: "v1" });
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]).toMatchObject({
      provider_request_id: "apim-1",
      credential: { name: "v1", owner: "shared" },
    });
  });
});
