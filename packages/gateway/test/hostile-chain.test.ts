import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENTS, type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import type { Json } from "./support/loose-json.ts";
import { toldOf, wrongStreamError } from "./support/matrix-expected.ts";
import { seeded } from "./support/seeded.ts";
import { until } from "./support/until.ts";
import { chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

/* What a failed attempt leaves behind, in every pair of dialects: nothing. */

const EVENTS = { "content-type": "text/event-stream" };
/** In every word of an attempt that fails. */
const LEAK = "LEAKED";
const SOURCES = ["claude", "google", "responses", "chat"] as const;
type Source = (typeof SOURCES)[number];

const named = (events: Json[]): string =>
  events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const data = (...events: unknown[]): string => events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");

/** How each dialect begins without saying anything. */
const PREAMBLES: Record<Source, string> = {
  claude: named([
    {
      type: "message_start",
      message: { id: `msg_${LEAK}`, model: LEAK, content: [], usage: { input_tokens: 987, output_tokens: 1 } },
    },
    { type: "ping" },
  ]),
  google: data({ responseId: LEAK, modelVersion: LEAK, usageMetadata: { promptTokenCount: 987 } }),
  responses: named([
    { type: "response.created", response: { id: `resp_${LEAK}`, model: LEAK, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { id: LEAK, type: "message", content: [] } },
  ]),
  chat: chatChunk({ role: "assistant", content: "" }, null, { id: LEAK, model: LEAK, usage: { prompt_tokens: 987 } }),
};

/** The first words of an answer, or the first piece of a call. */
const OUTPUTS: Record<Source, Record<"text" | "call", string>> = {
  claude: {
    text: named([
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "half" } },
    ]),
    call: named([
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t1", name: "f", input: {} } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"a":' } },
    ]),
  },
  google: {
    text: data({ candidates: [{ content: { role: "model", parts: [{ text: "half" }] } }] }),
    call: data({
      candidates: [{ content: { role: "model", parts: [{ text: "so" }, { functionCall: { name: "f", args: {} } }] } }],
    }),
  },
  responses: {
    text: named([{ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "half" }]),
    call: named([
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { type: "function_call", call_id: "c1", name: "f" },
      },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: '{"a":' },
    ]),
  },
  chat: {
    text: chatChunk({ content: "half" }),
    call: chatChunk({
      tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "f", arguments: '{"a":' } }],
    }),
  },
};

/** An overload, said inside the stream. */
const ERRORS: Record<Source, string> = {
  claude: named([{ type: "error", error: { type: "overloaded_error", message: LEAK } }]),
  google: data({ error: { code: 503, message: LEAK, status: "UNAVAILABLE" } }),
  responses: named([
    { type: "response.failed", response: { error: { code: "server_is_overloaded", message: LEAK }, usage: null } },
  ]),
  chat: data({ error: { code: 503, type: "overloaded_error", message: LEAK } }),
};

const WHOLE: Record<Source, string> = {
  claude: named([
    {
      type: "message_start",
      message: { id: "msg_good", model: "good-model", content: [], usage: { input_tokens: 7, output_tokens: 1 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "good" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
    { type: "message_stop" },
  ]),
  google: data({
    responseId: "good",
    modelVersion: "good-model",
    candidates: [{ content: { role: "model", parts: [{ text: "good" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
  }),
  responses: named([
    { type: "response.created", response: { id: "resp_good", model: "good-model", status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { id: "msg_1", type: "message", content: [] } },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "good" },
    {
      type: "response.completed",
      response: {
        ...{ id: "resp_good", model: "good-model", status: "completed" },
        output: [{ id: "msg_1", type: "message", content: [{ type: "output_text", text: "good", annotations: [] }] }],
        usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
      },
    },
  ]),
  chat: `${chatChunk({ content: "good" }, "stop", {
    model: "good-model",
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  })}data: [DONE]\n\n`,
};

const PATHS: Record<Source, RegExp> = {
  claude: /messages/,
  google: /v1beta/,
  responses: /responses/,
  chat: /chat/,
};

let gateway: TestGateway;
let first: Upstream;
let second: Upstream;
let log: FaultLog;

beforeAll(async () => {
  first = await startUpstream();
  second = await startUpstream();
  log = faultLog();
  const provider = (at: string, url: string): string => `
  claude${at}: { kind: anthropic, base_url: '${url}', api_key: k }
  google${at}: { kind: gemini, base_url: '${url}', api_key: k }
  responses${at}: { kind: openai, base_url: '${url}/v1', api_key: k }
  chat${at}: { kind: openai-compatible, base_url: '${url}/v1' }`;
  const deployment = (at: string): string =>
    SOURCES.map((name) => {
      const api = name === "chat" || name === "responses" ? `, api: ${name}` : "";
      return `
  ${name}${at}: { provider: ${name}${at}, model: "m-2025-01-01"${api} }`;
    }).join("");
  const routes = SOURCES.flatMap((name) => [
    ...SOURCES.map((other) => `  ${name}-${other}: { chain: [${name}1, ${other}2], retries: { attempts: 1 } }`),
    `  slow-${name}: { chain: [${name}1], retries: { attempts: 1 }, keepalive: 20ms }`,
    `  left-${name}: { chain: [${name}1], retries: { attempts: 1 } }`,
    `  only-${name}: { chain: [${name}1], retries: { attempts: 1 } }`,
  ]);
  gateway = await startTestGateway({
    forgives: true,
    log,
    config: `
providers:${provider("1", first.url)}${provider("2", second.url)}
deployments:${deployment("1")}${deployment("2")}
routes:
${routes.join("\n")}
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
`,
  });
});

afterAll(async () => {
  await gateway.close();
  await Promise.all([first.close(), second.close()]);
  log.expectNoFault();
});

const streams = (text: string) => (response: ServerResponse) => void response.writeHead(200, EVENTS).end(text);

function ask(alias: string, client: ClientName, more: Json = {}, signal?: AbortSignal): Promise<Response> {
  const dialect = DIALECTS[client];
  return gateway.post(
    { ...dialect.body(alias, true), ...more },
    { path: dialect.path(alias, true), ...(signal && { signal }) },
  );
}

/** The rows of these requests, once all are settled: status, deployment, and how its attempts went. */
async function expectRows(wanted: ReadonlyMap<string, string>): Promise<void> {
  const rows = await until("the rows of all requests", async () => {
    const found = (await gateway.rows()).filter((row) => wanted.has(row.request_id) && row.status !== "running");
    return found.length === wanted.size && found;
  });
  for (const { request_id: id, status, deployment, attempts } of rows) {
    const went = attempts.map((attempt) => attempt.status).join(",");
    expect(`${status} ${deployment} ${went}`).toBe(wanted.get(id));
  }
}

const PAIRS = SOURCES.flatMap((from) => SOURCES.map((to) => [from, to] as const));

describe.each(CLIENTS)("a %s client", (client) => {
  test.each([
    ["an error after the preamble", (from: Source) => streams(PREAMBLES[from] + ERRORS[from])],
    ["a stream that ends after the preamble", (from: Source) => streams(PREAMBLES[from])],
    ["an event that is none", (from: Source) => streams(`${PREAMBLES[from]}data: {"${LEAK}\n\n`)],
  ])("sees nothing of an attempt with %s", async (_what, failing) => {
    const wanted = new Map<string, string>();
    for (const [from, to] of PAIRS) {
      first.answer(failing(from));
      second.answer(streams(WHOLE[to]));
      const response = await ask(`${from}-${to}`, client);
      const text = await response.text();
      const what = `${from} then ${to}: ${response.status} ${text}`;
      expect(response.status, what).toBe(200);
      expect(response.headers.get("x-sluicegate-fallback-depth"), what).toBe("1");
      expect([text, ...response.headers.values()].join("\n")).not.toContain(LEAK);
      // As a number: an id or a time may have these digits in it.
      expect(text).not.toMatch(/\b987\b/);
      const reply = DIALECTS[client].read(Buffer.from(text), true);
      expect(reply.choices[0]?.text, what).toBe("good");
      expect(reply.usage, what).toMatchObject({ input_tokens: 7, output_tokens: 3 });
      wanted.set(response.headers.get("x-request-id") ?? "", `ok ${to}2 failed,ok`);
    }
    await expectRows(wanted);
  });

  test.each(["text", "call"] as const)("is told once of an error after output (%s), and of no end", async (said) => {
    const wanted = new Map<string, string>();
    for (const from of SOURCES) {
      first.answer(streams(PREAMBLES[from].replaceAll(LEAK, "m") + OUTPUTS[from][said] + ERRORS[from]));
      const response = await ask(`only-${from}`, client);
      const text = await response.text();
      wanted.set(response.headers.get("x-request-id") ?? "", `failed ${from}1 failed`);
      // Gemini's clients are told of whole calls, those of completions of none: half of one is nothing, and the failure has
      // its own status.
      const nothing = said === "call" && /gemini|completions/.test(client) && from !== "google";
      expect(response.status, `${from}: ${text}`).toBe(nothing ? 503 : 200);
      if (nothing) continue;
      expect(wrongStreamError(client, text, toldOf("overloaded", 503)), `${from}: ${text}`).toBeNull();
      if (client === "gemini-array") expect(() => JSON.parse(text), text).not.toThrow();
    }
    await expectRows(wanted);
  });

  test("is told in-band of a failure after silence has begun the stream", async () => {
    for (const from of SOURCES) {
      first.answer((response) => {
        setTimeout(() => response.writeHead(503, { "content-type": "application/json" }).end("{}"), 120);
      });
      const response = await ask(`slow-${from}`, client);
      const text = await response.text();
      expect(response.status).toBe(200);
      if (client === "gemini-array") expect(JSON.parse(text), text).toHaveLength(1);
      const pings = /^(?:: *[\w-]*\n\n|event: ping\ndata: \{[^\n]*\}\n\n|\n)+/;
      expect(text, text).toMatch(pings);
      const told = (client === "gemini" ? "data: {}\r\n\r\n" : "") + text.replace(pings, "");
      expect(wrongStreamError(client, told, toldOf("overloaded", 503)), text).toBeNull();
    }
  });
});

test("what was dropped is what the deployment that served could not take", async () => {
  first.answer(streams(PREAMBLES.claude + ERRORS.claude));
  second.answer(streams(WHOLE.responses));
  const kept = await ask("claude-responses", "chat", { verbosity: "low", prompt_cache_key: "k" });
  await kept.text();
  expect(kept.headers.get("x-sluicegate-dropped")).toBeNull();
  first.answer(streams(PREAMBLES.responses + ERRORS.responses));
  second.answer(streams(WHOLE.claude));
  const lost = await ask("responses-claude", "chat", { verbosity: "low", prompt_cache_key: "k" });
  await lost.text();
  expect(lost.headers.get("x-sluicegate-dropped")?.split(", ").toSorted()).toEqual(["prompt_cache_key", "verbosity"]);
});

test("clients that leave anywhere leave nothing", async () => {
  const chance = seeded(11);
  let open = 0;
  first.answer((response, { path }) => {
    open++;
    const from = SOURCES.find((name) => PATHS[name].test(path)) ?? "chat";
    response.writeHead(200, EVENTS);
    response.write(PREAMBLES[from]);
    const timer = setInterval(() => response.write(OUTPUTS[from].text), 2);
    response.on("close", () => {
      open--;
      clearInterval(timer);
    });
  });
  const visits = Array.from({ length: 60 }, async () => {
    const leave = new AbortController();
    setTimeout(() => leave.abort(), chance.int(0, 80));
    const asked = ask(`left-${chance.pick(SOURCES)}`, chance.pick(CLIENTS), {}, leave.signal);
    await asked.then((response) => response.text()).catch(() => {});
  });
  await Promise.all(visits);
  await until("every upstream to be left", () => open === 0);
  const stats = async (): Promise<Json> => (await gateway.admin("/v1/stats")).json() as Promise<Json>;
  await until("nothing to be in flight", async () => (await stats())["in_flight"] === 0);
  const left = async () => (await gateway.rows()).filter(({ alias }) => alias.startsWith("left-"));
  const rows = await until("every row to be settled", async () => {
    const found = await left();
    return found.every(({ status }) => status !== "running") && found;
  });
  expect(rows.filter(({ status }) => status !== "cancelled").map(({ status }) => status)).toEqual([]);
  expect(new Set(rows.map((row) => row.request_id)).size).toBe(rows.length);
});
