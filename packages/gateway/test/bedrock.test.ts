import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DIALECTS } from "./support/client-dialects.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, payloadsOf, textAt } from "./support/loose-json.ts";

/** The simulator checks the signatures of this key id. */
const KEYS = {
  AWS_ACCESS_KEY_ID: "AKIDSIMULATOR",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  AWS_SESSION_TOKEN: "a-session",
};
const CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const MODELS: Record<string, string> = {
  signed: `echo?tag=${CLAUDE}`,
  plain: CLAUDE,
  reason: `reason?tag=${CLAUDE}`,
  sealed: `reason?quirk=redacted&tag=${CLAUDE}`,
  tool: `tool?calls=2&tag=${CLAUDE}`,
  mirror: `mirror?tag=${CLAUDE}`,
  arn: "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/echo?input=100&cached=30&cache_write=20&cache_write_1h=5",
  throttled: "error?status=429",
  spent: "quota",
  overflow: "context",
  late: "errorafter?after=2&status=429",
  early: "error200?status=503",
  flipped: "echo?quirk=flipped_bit",
  cut: "cut?after=2",
  half: "half",
  tiny: "echo?chunk=1",
  badkey: "badkey",
  missing: "missing",
  titan: "titan-embed-text-v2",
  cohere: "cohere.embed-english-v3",
  formed: "echo?tag=us.amazon.nova-lite-v1",
};

const CONFIG = [
  "providers:",
  "  aws: { kind: bedrock, region: us-east-1, base_url: SIMULATOR_HOST }",
  "  keyed: { kind: bedrock, base_url: SIMULATOR_HOST, api_key: env:AWS_BEARER_TOKEN_BEDROCK }",
  "  sim: { kind: simulator, base_url: SIMULATOR }",
  "deployments:",
  ...Object.entries(MODELS).map(
    ([name, model]) => `  ${name}: { provider: aws, model: '${model}', price: { input: 1, output: 2 } }`,
  ),
  "  keyed: { provider: keyed, model: echo, price: { input: 1, output: 2 } }",
  "routes:",
  ...[...Object.keys(MODELS), "keyed"].map((name) => `  ${name}: { chain: [${name}], retries: { attempts: 1 } }`),
  "  fallen: { chain: [early, sim/echo], retries: { attempts: 1 } }",
  "tenants: { default: { models: { allow: ['*'] } } }",
  "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
].join("\n");

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ config: CONFIG, variables: { ...KEYS, AWS_BEARER_TOKEN_BEDROCK: "a-key" } });
});

afterAll(() => gateway.close());

beforeEach(() => gateway.simulator.reset());

const chat = (model: string, extra: Json = {}): Promise<Response> =>
  gateway.post({ model, messages: [{ role: "user", content: "alpha beta gamma" }], ...extra });

async function messages(model: string, extra: Json = {}): Promise<Json> {
  const body = { model, max_tokens: 4_000, messages: [{ role: "user", content: "alpha" }], ...extra };
  return (await (await gateway.post(body, { path: "/v1/messages" })).json()) as Json;
}

const asked = (): { path: string; headers: Json; body: Json } => {
  const [last] = gateway.simulator.requests().recent.slice(-1);
  return last as unknown as { path: string; headers: Json; body: Json };
};

describe("a call", () => {
  test("is signed, its model in the path", async () => {
    const response = await chat("plain");
    const body = (await response.json()) as Json;
    expect(textAt(body, "choices", 0, "message", "content")).toBe("alpha beta gamma");
    const { path, headers } = asked();
    expect(path).toBe("/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse");
    expect(headers["x-amz-content-sha256"]).toMatch(/^[0-9a-f]{64}$/);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]).toMatchObject({ credential: { name: "aws", generation: 1 } });
    expect(row.attempts[0]?.provider_request_id).toMatch(/^req_sim_/);
  });

  test("shows an API key as a bearer token", async () => {
    expect((await chat("keyed")).status).toBe(200);
    expect(textAt(asked().headers, "authorization")).toMatch(/^Bearer/);
    expect(asked().headers["x-amz-date"]).toBeUndefined();
  });

  test("counts what was cached beside the input", async () => {
    const response = await chat("arn");
    expect(((await response.json()) as Json)["usage"]).toMatchObject({
      prompt_tokens: 100,
      prompt_tokens_details: { cached_tokens: 30 },
    });
    expect(asked().path).toMatch(/^\/model\/arn%3Aaws%3Abedrock.*profile%2Fecho%3Finput%3D100.*\/converse$/);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.usage).toMatchObject({ input_tokens: 100, cache_write_tokens: 20, cache_write_1h_tokens: 5 });
  });

  test("tells Claude all that a client of Anthropic's says", async () => {
    const said = await messages("mirror", {
      system: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral", ttl: "1h" } }],
      tools: [{ name: "f", input_schema: { type: "object", properties: {} } }],
      stop_sequences: ["END"],
      thinking: { type: "enabled", budget_tokens: 2_000 },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
          ],
        },
      ],
    });
    const text = listAt(said, "content")
      .map((block) => textAt(block, "text"))
      .join("");
    expect(JSON.parse(text)).toMatchObject({
      dialect: "bedrock-converse",
      system: "be brief",
      messages: [{ role: "user", kinds: ["text", "image"] }],
      tools: ["f"],
      stop: ["END"],
      max_output: 4_000,
      reasoning: "budget=2000",
      cache_markers: 1,
    });
  });
});

describe("a stream", () => {
  test.each(["chat", "responses", "messages", "gemini", "gemini-array"] as const)(
    "reaches a client of %s",
    async (client) => {
      const dialect = DIALECTS[client];
      for (const alias of ["reason", "tiny"]) {
        const response = await gateway.post(dialect.body(alias, true), { path: dialect.path(alias, true) });
        const bytes = Buffer.from(await response.arrayBuffer());
        dialect.check(bytes.toString("utf8"), true);
        const [said] = dialect.read(bytes, true).choices;
        expect(said?.text).toBe("Grüße 👋");
        expect(said?.finish).toBe("stop");
        if (alias === "reason") expect(said?.reasoning).toMatch(/\w/);
      }
    },
  );

  test("holds calls, whole", async () => {
    const tools = [
      {
        type: "function",
        function: {
          name: "weather",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      },
    ];
    const response = await chat("tool", { tools, stream: true });
    const said = DIALECTS.chat.read(Buffer.from(await response.arrayBuffer()), true).choices[0];
    expect(said?.finish).toBe("tool_calls");
    expect(said?.calls).toEqual(Array(2).fill({ name: "weather", arguments: { city: "sample" } }));
  });

  test.each(["reason", "sealed"])("gives %s its proofs back in the next turn", async (alias) => {
    const first = await messages(alias, { thinking: { type: "enabled", budget_tokens: 2_000 } });
    const history = [
      { role: "user", content: "alpha" },
      { role: "assistant", content: first["content"] },
      { role: "user", content: "go on" },
    ];
    const second = await messages(alias, { messages: history });
    expect(second["type"]).toBe("message");
    const [, turn] = listAt(asked().body, "messages");
    expect(Object.keys(listAt(turn, "content")[0] as Json)).toEqual(["reasoningContent"]);
  });

  test.each([
    ["flipped", "checksum"],
    ["cut", "finish reason"],
    ["half", "finish reason"],
  ])("that is %s fails", async (alias) => {
    const response = await chat(alias, { stream: true });
    const text = await response.text();
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]?.error_class).toBe("invalid_response");
    if (response.status !== 200) return;
    const events = payloadsOf(text);
    expect(at(events.at(-1), "error")).toBeDefined();
    expect(text).not.toMatch(/"finish_reason":"/);
  });

  test("ends in an exception of its class", async () => {
    const response = await chat("late", { stream: true });
    const error = at(payloadsOf(await response.text()).at(-1), "error");
    expect(at(error, "code")).toBe("rate_limit_exceeded");
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]?.error_class).toBe("rate_limited");
  });

  test("that begins with an exception goes to the next deployment", async () => {
    const response = await chat("fallen", { stream: true });
    const said = DIALECTS.chat.read(Buffer.from(await response.arrayBuffer()), true).choices[0];
    expect(said?.text).toBe("alpha beta gamma");
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ error_class }) => error_class)).toEqual(["overloaded", null]);
  });
});

describe("what cannot be said", () => {
  test.each([
    [{ seed: 1 }, "seed"],
    [{ n: 2 }, "n"],
    [{ temperature: 1.5 }, "temperature"],
    [{ response_format: { type: "json_object" } }, "response_format"],
  ])("%j is refused by its name", async (extra, param) => {
    const response = await chat("signed", extra);
    expect([response.status, at(await response.json(), "error", "param")]).toEqual([400, param]);
  });

  test("hints are dropped and listed", async () => {
    const response = await chat("signed", { user: "u", service_tier: "flex", verbosity: "low", prompt_cache_key: "k" });
    expect(response.headers.get("x-sluicegate-dropped")?.split(/, ?/).sort()).toEqual([
      ...["prompt_cache_key", "service_tier", "user", "verbosity"],
    ]);
  });
});

describe("an answer's form", () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  };
  const response_format = { type: "json_schema", json_schema: { name: "a", schema } };

  test.each(["signed", "formed"])("is kept by %s, streamed or not", async (alias) => {
    for (const stream of [false, true]) {
      const response = await chat(alias, { response_format, stream });
      const [said] = DIALECTS.chat.read(Buffer.from(await response.arrayBuffer()), stream).choices;
      expect([JSON.parse(said?.text ?? ""), said?.finish, said?.calls]).toEqual([{ n: 0 }, "stop", []]);
      expect("outputConfig" in asked().body).toBe(alias === "signed");
    }
  });
});

describe("an error", () => {
  test.each([
    ["throttled", "rate_limited", 429],
    ["spent", "quota_exhausted", 502],
    ["overflow", "context_overflow", 400],
    ["badkey", "auth_failed", 502],
    ["missing", "model_not_found", 502],
  ])("of %s is %s", async (alias, kind, status) => {
    const response = await chat(alias);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect([row.attempts[0]?.error_class, response.status]).toEqual([kind, status]);
  });

  test("of a conversation that is too long is one that Claude Code knows", async () => {
    expect(textAt(await messages("overflow"), "error", "message")).toContain("prompt is too long");
  });
});

describe("embeddings", () => {
  const embed = async (model: string, extra: Json): Promise<Response> =>
    gateway.post({ model, ...extra }, { path: "/v1/embeddings" });

  test("of Titan's, one text a call", async () => {
    const one = await embed("titan", { input: "alpha", dimensions: 256 });
    const body = (await one.json()) as Json;
    expect(listAt(body, "data", 0, "embedding")).toHaveLength(256);
    expect(at(body, "usage", "prompt_tokens")).toBe(2);
    expect(asked()).toMatchObject({
      path: "/model/titan-embed-text-v2/invoke",
      body: { inputText: "alpha", dimensions: 256 },
    });
    const two = await embed("titan", { input: ["alpha", "beta"] });
    expect([two.status, at(await two.json(), "error", "param")]).toEqual([400, "input"]);
  });

  test("of Cohere's, many, counted by a header", async () => {
    const response = await embed("cohere", { input: ["alpha", "beta"], input_type: "query" });
    expect(listAt(await response.json(), "data")).toHaveLength(2);
    expect(asked().body).toEqual({ texts: ["alpha", "beta"], input_type: "search_query" });
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect([row.usage.input_tokens, row.cost_state]).toEqual([3, "known"]);
  });
});
