import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

/* Reports that count nothing: empty ones, zeros that stand for a count to come, counts that are no numbers. */

let gateway: TestGateway;
let upstream: Upstream;

const KINDS = ["openai-compatible", "openai", "anthropic", "gemini", "bedrock", "cohere"] as const;
const OPENAI = /^openai/;

beforeAll(async () => {
  upstream = await startUpstream();
  const base = (kind: string): string => `base_url: '${upstream.url}${OPENAI.test(kind) ? "/v1" : ""}'`;
  const api = (kind: string): string => (kind === "openai" ? "api: responses, " : "");
  gateway = await startTestGateway({
    forgives: true,
    config: [
      "providers:",
      ...KINDS.map((kind) => `  ${kind}: { kind: ${kind}, ${base(kind)}, api_key: k }`),
      "deployments:",
      ...KINDS.map(
        (kind) => `  ${kind}: { provider: ${kind}, model: m, ${api(kind)}price: { input: 100, output: 100 } }`,
      ),
      "routes:",
      ...KINDS.map((name) => `  ${name}: { chain: [${name}], retries: { attempts: 1 } }`),
      "tenants: { default: { models: { allow: ['*'] } } }",
      "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    ].join("\n"),
  });
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const TEXT = "twelve chars";

async function rowOf(alias: string, answer: string, contentType: string, more: object = {}, path?: string) {
  upstream.answer((response) => void response.writeHead(200, { "content-type": contentType }).end(answer));
  const asked = { model: alias, messages: [{ role: "user", content: "hello there" }], max_tokens: 100, ...more };
  const response = await gateway.post(asked, path === undefined ? {} : { path });
  const body = await response.text();
  expect(response.status, body).toBe(200);
  return { body, row: await gateway.row(response.headers.get("x-request-id") ?? "") };
}

/** An answer of each kind, in the words of its dialect. */
const ANSWERS: Record<(typeof KINDS)[number], (usage: unknown) => string> = {
  "openai-compatible": (usage) => chatAnswer(TEXT, { usage }),
  openai: (usage) =>
    JSON.stringify({
      id: "r",
      object: "response",
      status: "completed",
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: TEXT, annotations: [] }] }],
      usage,
    }),
  anthropic: (usage) =>
    JSON.stringify({
      id: "m",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: TEXT }],
      stop_reason: "end_turn",
      usage,
    }),
  gemini: (usageMetadata) =>
    JSON.stringify({
      candidates: [{ content: { role: "model", parts: [{ text: TEXT }] }, finishReason: "STOP" }],
      usageMetadata,
    }),
  bedrock: (usage) =>
    JSON.stringify({
      output: { message: { role: "assistant", content: [{ text: TEXT }] } },
      stopReason: "end_turn",
      usage,
    }),
  cohere: (usage) =>
    JSON.stringify({
      id: "c",
      finish_reason: "COMPLETE",
      message: { role: "assistant", content: [{ type: "text", text: TEXT }] },
      usage,
    }),
};

describe("a report that holds no count is none: what was used is estimated", () => {
  test.each(KINDS)("%s", async (kind) => {
    const { row } = await rowOf(kind, ANSWERS[kind]({}), "application/json");
    expect(row).toMatchObject({ status: "ok", cost_state: "estimated" });
    const { input_tokens: input, output_tokens: output } = row.usage;
    expect(input).toBeGreaterThan(0);
    expect(output).toBeGreaterThanOrEqual(TEXT.length / 4);
    expect(row.cost_micro_usd).toBe((input + output) * 100);
  });

  test("Anthropic's stream", async () => {
    const event = (type: string, more: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
    const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage: {} };
    const stream =
      event("message_start", { message }) +
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: TEXT } }) +
      event("content_block_stop", { index: 0 }) +
      event("message_delta", { delta: { stop_reason: "end_turn" }, usage: {} }) +
      event("message_stop", {});
    const { row } = await rowOf("anthropic", stream, "text/event-stream", { stream: true });
    expect(row).toMatchObject({ status: "ok", cost_state: "estimated", usage: { output_tokens: 3 } });
    expect(row.usage.input_tokens).toBeGreaterThan(0);
  });
});

describe("in a stream", () => {
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 };
  const only = (said: unknown): string => `data: ${JSON.stringify({ id: "c", choices: [], usage: said })}\n\n`;
  const begun = chatChunk({ content: TEXT }, null, { usage: zeros });
  const said = begun + chatChunk({}, "stop");
  const done = "data: [DONE]\n\n";
  const play = (stream: string) => rowOf("openai-compatible", stream, "text/event-stream", { stream: true });

  test.each([
    ["before the count", only(zeros) + said + only(usage)],
    ["behind the count", said + only(usage) + only(zeros)],
  ])("zeros %s are not the count", async (_, stream) => {
    const { body, row } = await play(stream + done);
    expect(body).toBe(said + done);
    expect(row).toMatchObject({ cost_state: "known", usage: { input_tokens: 10, output_tokens: 4 } });
  });

  test("zeros before it broke off are no count of what it used", async () => {
    const { row } = await play(begun);
    expect(row).toMatchObject({ status: "failed", cost_state: "estimated", usage: { output_tokens: 3 } });
    expect(row.usage.input_tokens).toBeGreaterThan(0);
  });

  test("zeros that are all a provider reports are its word", async () => {
    const { row } = await play(said + only(zeros) + done);
    expect(row).toMatchObject({ status: "ok", cost_state: "known", cost_micro_usd: 0 });
  });

  test("the chunk that is there for its usage is hidden from who has not asked, also where its counts are no numbers", async () => {
    const plain = chatChunk({ content: TEXT }) + chatChunk({}, "stop");
    const { body, row } = await play(plain + only({ prompt_tokens: "10", completion_tokens: "4" }) + done);
    expect(body).toBe(plain + done);
    expect(row).toMatchObject({ cost_state: "estimated", usage: { output_tokens: 3 } });
  });
});
