import OpenAI from "openai";
import { expect, test } from "vitest";
import { simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

function client(simulator: Simulator, options: { maxRetries?: number } = {}): OpenAI {
  return new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "k", maxRetries: 0, ...options });
}

const messages = [{ role: "user" as const, content: "alpha beta gamma" }];
const tools = [
  {
    type: "function" as const,
    function: {
      name: "weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];

test("the official client assembles a streamed tool call and its usage", async () => {
  const openai = client(await simulate());
  const stream = openai.chat.completions.stream({
    model: "tool?between=1ms&chunk=7",
    messages,
    tools,
    stream_options: { include_usage: true },
  });
  const completion = await stream.finalChatCompletion();
  expect(completion.choices[0]?.finish_reason).toBe("tool_calls");
  const [call] = completion.choices[0]?.message.tool_calls ?? [];
  expect(call).toMatchObject({ type: "function", function: { name: "weather", arguments: '{"city":"sample"}' } });
  expect(completion.usage?.completion_tokens).toBe(7);
});

test("a tool loop ends, text streams, embeddings decode, models list", async () => {
  const openai = client(await simulate());
  const first = await openai.chat.completions.create({ model: "tool", messages, tools });
  const message = first.choices[0]?.message;
  const [call] = message?.tool_calls ?? [];
  if (message === undefined || call === undefined) throw new Error("no tool call");
  const answer = { role: "tool" as const, tool_call_id: call.id, content: "12 degrees" };
  const second = await openai.chat.completions.create({
    model: "tool",
    messages: [...messages, message, answer],
    tools,
  });
  expect(second.choices[0]?.message.content).toBe("12 degrees");
  let text = "";
  for await (const chunk of await openai.chat.completions.create({ model: "echo", messages, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  expect(text).toBe("alpha beta gamma");
  const embedded = await openai.embeddings.create({ model: "echo", input: "hello", dimensions: 8 });
  expect(embedded.data[0]?.embedding).toHaveLength(8);
  expect((await openai.models.list()).data.map((model) => model.id)).toContain("echo");
  expect((await openai.models.retrieve("sim/echo")).id).toBe("sim/echo");
});

test("errors come out as the client's own classes, and its retries get through", async () => {
  const simulator = await simulate();
  const openai = client(simulator);
  const ask = (model: string) => openai.chat.completions.create({ model, messages });
  await expect(ask("badkey")).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  await expect(ask("missing")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  await expect(ask("context")).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
  await expect(ask("quota")).rejects.toMatchObject({ status: 429, code: "insufficient_quota" });
  await expect(ask("error?status=503")).rejects.toBeInstanceOf(OpenAI.InternalServerError);
  const patient = client(simulator, { maxRetries: 2 });
  const model = "error?status=429&times=2&retry_after_ms=1";
  const done = await patient.chat.completions.create({ model, messages });
  expect(done.choices[0]?.message.content).toBe("alpha beta gamma");
  expect(simulator.requests().by_model[model]).toBe(3);
  const broken = await openai.chat.completions.create({ model: "errorafter?after=2", messages, stream: true });
  const read = async () => {
    for await (const _ of broken);
  };
  await expect(read()).rejects.toMatchObject({ message: expect.stringContaining("simulated error") });
});
