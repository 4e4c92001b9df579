import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";

const USER = { role: "user", content: "a b c" };
const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
const ID = "D681PevKs";
const CALLS = { role: "assistant", tool_calls: [{ id: ID, function: { name: "f", arguments: "{}" } }] };
const RESULT = { role: "tool", tool_call_id: ID, content: "1" };

async function post(body: object, path = "chat/completions"): Promise<{ status: number; text: string; body: Loose }> {
  const simulator = await simulate();
  const headers = { authorization: "Bearer k" };
  const url = `${simulator.url}/mistral/v1/${path}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ model: "echo", ...body }) });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : null };
}

describe("Mistral's chat", () => {
  test("echoes", async () => {
    const { body } = await post({ messages: [USER] });
    expect(body.choices[0].message).toEqual({ role: "assistant", tool_calls: null, content: "a b c" });
    expect(body.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 2, num_cached_tokens: 0 });
  });

  test("streams a call whole, with the reason and the usage", async () => {
    const { text } = await post({ messages: [USER], model: "tool", tools: [TOOL], tool_choice: "any", stream: true });
    const chunks = text
      .split("\n\n")
      .filter((one) => one.startsWith("data: {"))
      .map((one) => JSON.parse(one.slice(6)));
    const last = chunks.at(-1);
    expect(last.choices[0]).toMatchObject({ finish_reason: "tool_calls" });
    expect(last.choices[0].delta.tool_calls[0]).toMatchObject({ id: expect.stringMatching(/^\w{9}$/), index: 0 });
    expect(last.usage.total_tokens).toBeGreaterThan(0);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("puts thoughts into its content", async () => {
    const { body } = await post({ messages: [USER], model: "reason" });
    expect(body.choices[0].message.content.map(({ type }: Loose) => type)).toEqual(["thinking", "text"]);
  });

  test.each([
    ["seed", { seed: 1 }, ["body", "seed"]],
    ["a message's name", { messages: [{ ...USER, name: "n" }] }, ["body", "messages", "0", "name"]],
    ["stream_options", { stream_options: {} }, ["body", "stream_options"]],
    ["a temperature over its bound", { temperature: 1.6 }, ["body", "temperature"]],
    ["a file part", { messages: [{ role: "user", content: [{ type: "file", file: {} }] }] }, expect.anything()],
    ["a tool without parameters", { tools: [{ type: "function", function: { name: "f" } }] }, expect.anything()],
  ])("refuses %s with a 422", async (_, more, loc) => {
    const { status, body } = await post({ messages: [USER], ...more });
    expect([status, body.detail[0].loc]).toEqual([422, loc]);
  });

  test.each([
    [
      "an id of another form",
      [USER, { ...CALLS, tool_calls: [{ id: "call_1", function: { name: "f", arguments: "{}" } }] }],
    ],
    ["a user behind a result", [USER, CALLS, RESULT, USER]],
    ["the model as the last to speak", [USER, { role: "assistant", content: "x" }]],
    ["an empty answer", [USER, { role: "assistant", content: "" }, USER]],
    ["a result of no call", [USER, RESULT]],
  ])("refuses %s with a 400", async (_, messages) => {
    const { status, body } = await post({ messages });
    expect([status, body.object]).toEqual([400, "error"]);
  });

  test.each([
    ["results", [USER, CALLS, RESULT]],
    ["an answer begun", [USER, { role: "assistant", content: "x", prefix: true }]],
  ])("takes %s", async (_, messages) => {
    expect((await post({ messages })).status).toBe(200);
  });

  test("limits are told flat", async () => {
    const { status, body } = await post({ messages: [USER], model: "error?status=429" });
    expect([status, body]).toMatchObject([429, { object: "error", type: "rate_limited", code: "1300" }]);
  });
});

test("Mistral's vectors have a size by its own name", async () => {
  const { body } = await post({ input: "a", output_dimension: 64 }, "embeddings");
  expect(body.data[0].embedding).toHaveLength(64);
  expect((await post({ input: "a", dimensions: 64 }, "embeddings")).status).toBe(422);
});
