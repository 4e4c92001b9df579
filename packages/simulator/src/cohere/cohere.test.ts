import { describe, expect, test } from "vitest";
import { eventsOf } from "../../test/anthropic.ts";
import { type Loose, simulate } from "../../test/kit.ts";

const HELLO = { messages: [{ role: "user", content: "a b c" }] };
const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };

async function post(
  path: string,
  body: object,
  key: string | null = "k",
): Promise<{ status: number; text: string; body: Loose }> {
  const simulator = await simulate();
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(simulator.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : null };
}

const chat = (more: object, key?: string | null): ReturnType<typeof post> =>
  post("/v2/chat", { model: "echo", ...HELLO, ...more }, key);

describe("Cohere's chat", () => {
  test("echoes, and bills less than it counts", async () => {
    const { body } = await chat({});
    expect(body.message.content).toEqual([{ type: "text", text: "a b c" }]);
    expect(body.finish_reason).toBe("COMPLETE");
    expect(body.usage.billed_units).toEqual({ input_tokens: 2, output_tokens: 2 });
    expect(body.usage.tokens.input_tokens).toBeGreaterThan(body.usage.cached_tokens);
  });

  test("streams named events, calls by their index", async () => {
    const { text } = await chat({ model: "tool?calls=2", tools: [TOOL], tool_choice: "REQUIRED", stream: true });
    const types = eventsOf(text).map(({ data }) => (data as Loose).type);
    expect(types).toEqual([
      ...["message-start", "tool-call-start", "tool-call-delta", "tool-call-end"],
      ...["tool-call-start", "tool-call-delta", "tool-call-end", "message-end"],
    ]);
    expect(text).toContain("event: tool-call-start\n");
  });

  test.each([
    ["an unknown member", { user: "u" }],
    ["a named choice", { tools: [TOOL], tool_choice: { type: "function" } }],
    ["a full p", { p: 1 }],
    ["a negative penalty", { frequency_penalty: -1 }],
    ["six stop sequences", { stop_sequences: ["a", "b", "c", "d", "e", "f"] }],
    ["thinking of a model that does not", { thinking: { type: "enabled" } }],
    ["a form beside tools", { tools: [TOOL], response_format: { type: "json_object" } }],
    ["a result of no call", { messages: [...HELLO.messages, { role: "tool", tool_call_id: "x", content: "1" }] }],
    ["empty text", { messages: [{ role: "user", content: [{ type: "text", text: "" }] }] }],
    ["a tool without parameters", { tools: [{ type: "function", function: { name: "f" } }] }],
  ])("refuses %s", async (_, more) => {
    const { status, body } = await chat(more);
    expect([status, Object.keys(body)]).toEqual([400, ["id", "message"]]);
  });

  test.each([
    [null, 401],
    ["bad-key", 401],
    ["broken-key", 498],
  ])("key %s: %s", async (key, status) => {
    expect((await chat({}, key)).status).toBe(status);
  });

  test("an error within a stream is how it ends", async () => {
    const { text } = await chat({ model: "errorafter?after=1", stream: true });
    expect(eventsOf(text).at(-1)?.data).toMatchObject({ type: "message-end", delta: { finish_reason: "ERROR" } });
  });
});

describe("Cohere's vectors", () => {
  const embed = { model: "embed", texts: ["a", "b"], input_type: "search_query" };

  test("come by type, as long as was asked", async () => {
    const { body } = await post("/v2/embed", { ...embed, embedding_types: ["float", "base64"], output_dimension: 256 });
    expect(body.embeddings.float.map((vector: number[]) => vector.length)).toEqual([256, 256]);
    expect(Buffer.from(body.embeddings.base64[1], "base64")).toHaveLength(1_024);
    expect(body.meta.billed_units.input_tokens).toBe(2);
  });

  test.each([
    ["no purpose", { input_type: undefined }],
    ["too many texts", { texts: Array(97).fill("x") }],
    ["an odd size", { output_dimension: 100 }],
  ])("refuse %s", async (_, more) => {
    expect((await post("/v2/embed", { ...embed, ...more })).status).toBe(400);
  });
});
