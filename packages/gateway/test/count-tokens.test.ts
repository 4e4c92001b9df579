import Anthropic from "@anthropic-ai/sdk";
import { noUsage } from "@sluicegate/contract";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { until } from "./support/until.ts";
import { startUpstream, type Upstream } from "./support/upstream.ts";

/*
 * Counting tokens in the three dialects that have an endpoint for it: forwarded to a deployment that speaks the client's own,
 * counted by the gateway for any other.
 */

let gateway: TestGateway;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
  const base = `base_url: '${upstream.url}', api_key: k`;
  gateway = await startTestGateway({
    config: `
providers:
  sim: { kind: simulator, base_url: SIMULATOR }
  plain: { kind: openai-compatible, base_url: '${upstream.url}/v1' }
  claude: { kind: anthropic, ${base} }
  google: { kind: gemini, ${base} }
deployments:
  priced: { provider: claude, model: dear, price: { input: 1000, output: 1000 } }
routes:
  plain: { chain: [plain/some-model] }
  simulated: { chain: [sim/echo] }
  claude: { chain: [claude/claude-x] }
  priced: { chain: [priced], retries: { attempts: 1 } }
  google: { chain: [google/gemini-x] }
  plain-first: { chain: [plain/some-model, claude/claude-x] }
  claude-first: { chain: [claude/claude-x, plain/some-model, claude/claude-y], retries: { attempts: 1 } }
tenants: { default: { models: { allow: ['*'] } } }
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
});

const SYSTEM = "You are terse.";
const QUESTION = "How many tokens are there in this, then?";
/** 3 for the answer, 4 for each message. */
const EXPECTED = 3 + 4 + 4 + countTokens(SYSTEM) + countTokens(QUESTION);

/** The same conversation in each dialect. */
const ASKED: Readonly<Record<"anthropic" | "gemini" | "responses", Dialect>> = {
  anthropic: {
    path: () => "/v1/messages/count_tokens",
    body: (model) => ({ model, system: SYSTEM, messages: [{ role: "user", content: QUESTION }] }),
    count: (answer) => answer["input_tokens"],
  },
  gemini: {
    path: (model) => `/v1beta/models/${model}:countTokens`,
    body: (model) => ({
      generateContentRequest: {
        model: `models/${model}`,
        systemInstruction: { parts: [{ text: SYSTEM }] },
        contents: [{ role: "user", parts: [{ text: QUESTION }] }],
      },
    }),
    count: (answer) => answer["totalTokens"],
  },
  responses: {
    path: () => "/v1/responses/input_tokens",
    body: (model) => ({ model, instructions: SYSTEM, input: QUESTION }),
    count: (answer) => answer["input_tokens"],
  },
};

interface Dialect {
  path(model: string): string;
  body(model: string): Record<string, unknown>;
  count(answer: Record<string, unknown>): unknown;
}

function ask(name: keyof typeof ASKED, model: string, key: string | null = CLIENT_KEY): Promise<Response> {
  const { path, body } = ASKED[name];
  return gateway.post(body(model), { path: path(model), key });
}

const rowOf = (response: Response) => gateway.row(response.headers.get("x-request-id") ?? "");

function answer(body: unknown, status = 200): void {
  upstream.answer((response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
}

async function inFlight(): Promise<number> {
  return ((await (await gateway.admin("/v1/stats")).json()) as { in_flight: number }).in_flight;
}

describe("for a deployment that cannot count", () => {
  it.each([
    ["anthropic", "plain"],
    ["anthropic", "google"],
    ["gemini", "plain"],
    ["gemini", "claude"],
    ["responses", "plain"],
    ["responses", "claude"],
  ] as const)("the gateway counts exactly, and answers %s about %s in the client's dialect", async (dialect, model) => {
    const response = await ask(dialect, model);
    expect(response.status).toBe(200);
    expect(ASKED[dialect].count((await response.json()) as Record<string, unknown>)).toBe(EXPECTED);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-sluicegate-alias")).toBe(model);
    expect(response.headers.get("x-sluicegate-attempts")).toBe("0");
    expect(response.headers.get("x-sluicegate-cost-usd")).toBe("0");
    // Nobody was asked, and it is on record all the same.
    expect(upstream.hits).toEqual([]);
    expect(await rowOf(response)).toMatchObject({
      ...{ status: "ok", alias: model, usage: noUsage(), cost_micro_usd: 0, cost_state: "known", attempts: [] },
      deployment: response.headers.get("x-sluicegate-deployment"),
    });
  });

  it("the official Anthropic SDK gets its count of tools, results and pictures, too", async () => {
    const client = new Anthropic({ baseURL: gateway.url, apiKey: CLIENT_KEY, maxRetries: 0 });
    const schema = { type: "object", properties: { city: { type: "string" } } } as const;
    const { input_tokens } = await client.messages.countTokens({
      model: "plain",
      tools: [{ name: "get_weather", description: "The weather", input_schema: schema }],
      messages: [
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } }],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "get_weather", input: { city: "Oslo" } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "rain" }] },
      ],
    });
    const texts = ["get_weather", "The weather", JSON.stringify(schema), "get_weather", '{"city":"Oslo"}', "rain"];
    const words = texts.reduce((sum, text) => sum + countTokens(text), 0);
    // The answer, the tool, three messages, the picture, the call and its result.
    expect(input_tokens).toBe(3 + 8 + 3 * 4 + 765 + 8 + 8 + words);
  });

  it("a text of megabytes is counted; one beyond the bound is refused by it", async () => {
    const body = (text: string) => ({ model: "plain", messages: [{ role: "user", content: text }] });
    const path = "/v1/messages/count_tokens";
    const long = "four words of text, ".repeat(100_000);
    const response = await gateway.post(body(long), { path });
    expect(await response.json()).toEqual({ input_tokens: 3 + 4 + countTokens(long) });
    const over = await gateway.post(body("a ".repeat(2 * 1024 * 1024 + 1)), { path });
    expect(over.status).toBe(413);
    expect(((await over.json()) as { error: { message: string } }).error.message).toContain("4194304");
    expect(await rowOf(over)).toMatchObject({ error_code: "request_too_large" });
  });

  it("a client that leaves is not waited for", async () => {
    const leave = new AbortController();
    // Every word another one, so that the tokenizer has much to do.
    const text = Array.from({ length: 400_000 }, (_, i) => (i * 2_654_435_761).toString(36)).join("");
    const body = { model: "plain", messages: [{ role: "user", content: text }] };
    const left = gateway.post(body, { path: "/v1/messages/count_tokens", signal: leave.signal });
    await until("the count to be asked for", async () => (await inFlight()) === 1);
    leave.abort();
    await expect(left).rejects.toThrow();
    await until("nothing to be in flight", async () => (await inFlight()) === 0);
    await until("its row", async () => (await gateway.rows()).some((row) => row.error_code === "cancelled"));
    // The next one finds the tokenizer free.
    expect((await ask("anthropic", "plain")).status).toBe(200);
  });
});

describe("for a deployment that counts itself", () => {
  it.each([
    ["anthropic", "claude", { input_tokens: 77, more: "x" }, "/v1/messages/count_tokens", "claude-x"],
    ["gemini", "google", { totalTokens: 77, more: "x" }, "/v1beta/models/gemini-x:countTokens", "models/gemini-x"],
  ] as const)("%s about %s is passed on, and costs nothing", async (dialect, model, said, path, upstreamModel) => {
    answer(said);
    const response = await ask(dialect, model);
    expect(await response.json()).toEqual(said);
    const [hit] = upstream.hits;
    expect(hit?.path).toBe(path);
    expect(hit?.body.toString()).toContain(`"model":"${upstreamModel}"`);
    expect(response.headers.get("x-sluicegate-attempts")).toBe("1");
    expect(await rowOf(response)).toMatchObject({
      ...{ status: "ok", usage: noUsage(), cost_micro_usd: 0, cost_state: "known" },
      attempts: [{ status: "ok", cost_micro_usd: 0, cost_state: "known" }],
    });
  });

  it("so is OpenAI's to the simulator", async () => {
    const response = await ask("responses", "simulated");
    expect(await response.json()).toMatchObject({ object: "response.input_tokens" });
    expect(response.headers.get("x-sluicegate-attempts")).toBe("1");
    expect(await rowOf(response)).toMatchObject({ status: "ok", cost_micro_usd: 0, cost_state: "known" });
  });

  it("a count that breaks off costs nothing either, at any price", async () => {
    upstream.answer((response) => response.destroy());
    const response = await ask("anthropic", "priced");
    expect(response.status).toBe(502);
    expect(await rowOf(response)).toMatchObject({ status: "failed", cost_micro_usd: 0, cost_state: "known" });
  });
});

describe("in a chain", () => {
  it("the first deployment decides", async () => {
    answer({ input_tokens: 77 });
    expect(await (await ask("anthropic", "plain-first")).json()).toEqual({ input_tokens: EXPECTED });
    expect(upstream.hits).toEqual([]);
    expect(await (await ask("anthropic", "claude-first")).json()).toEqual({ input_tokens: 77 });
  });

  it("only those that count are asked after it", async () => {
    answer({ type: "error", error: { type: "overloaded_error", message: "busy" } }, 529);
    expect((await ask("anthropic", "claude-first")).status).toBe(529);
    const models = upstream.hits.map(({ body }) => (JSON.parse(body.toString()) as { model: string }).model);
    expect(models).toEqual(["claude-x", "claude-y"]);
  });
});

describe("a count is refused", () => {
  it.each(["anthropic", "gemini", "responses"] as const)(
    "without a key, and for an alias nobody has: %s",
    async (dialect) => {
      expect((await ask(dialect, "plain", null)).status).toBe(401);
      expect((await ask(dialect, "nobody")).status).toBe(404);
      expect(upstream.hits).toEqual([]);
    },
  );

  it("for a body that makes no sense, by its path", async () => {
    const body = { model: "plain", messages: [{ role: "user", content: 7 }] };
    const response = await gateway.post(body, { path: "/v1/messages/count_tokens" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  });
});
