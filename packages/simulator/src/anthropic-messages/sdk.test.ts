import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

function client(simulator: Simulator, options: { maxRetries?: number } = {}): Anthropic {
  return new Anthropic({ baseURL: simulator.url, apiKey: "k", maxRetries: 0, ...options });
}

const messages = [{ role: "user" as const, content: "alpha beta gamma" }];
const tools = [
  {
    name: "weather",
    input_schema: { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] },
  },
];

test("the official client assembles thinking, a tool call and usage, and the loop ends", async () => {
  const anthropic = client(await simulate());
  const thinking = { type: "enabled" as const, budget_tokens: 1024 };
  const asked = { model: "tool?between=1ms&chunk=7", max_tokens: 2000, tools, thinking };
  const first = await anthropic.messages.stream({ ...asked, messages }).finalMessage();
  expect(first.stop_reason).toBe("tool_use");
  expect(first.content.map((block) => block.type)).toEqual(["thinking", "tool_use"]);
  expect(first.usage.output_tokens).toBe(27);
  const call = first.content.find((block) => block.type === "tool_use");
  expect(call?.input).toEqual({ city: "sample" });
  const result = { type: "tool_result" as const, tool_use_id: call?.id ?? "", content: "12 degrees" };
  const second = await anthropic.messages.create({
    ...asked,
    messages: [...messages, { role: "assistant", content: first.content }, { role: "user", content: [result] }],
  });
  expect(second.content.at(-1)).toMatchObject({ type: "text", text: "12 degrees" });
  expect((await anthropic.messages.countTokens({ model: "echo", messages })).input_tokens).toBe(4);
  const models = await anthropic.models.list({ limit: 3 });
  expect(models.data.map((model) => model.id)).toContain("echo");
});

test("errors come out as the client's own classes, and its retries get through", async () => {
  const simulator = await simulate();
  const anthropic = client(simulator);
  const ask = (model: string) => anthropic.messages.create({ model, messages, max_tokens: 10 });
  await expect(ask("badkey")).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  await expect(ask("missing")).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  await expect(ask("error?status=429")).rejects.toMatchObject({ type: "rate_limit_error", requestID: "req_sim_3" });
  await expect(ask("error?status=529")).rejects.toMatchObject({ status: 529, type: "overloaded_error" });
  const patient = client(simulator, { maxRetries: 2 });
  const model = "error?status=529&times=1&retry_after=0";
  await patient.messages.create({ model, messages, max_tokens: 10 });
  expect(simulator.requests().by_model[model]).toBe(2);
  const broken = anthropic.messages.stream({ model: "errorafter?status=529", messages, max_tokens: 10 });
  await expect(broken.finalMessage()).rejects.toMatchObject({ type: "overloaded_error" });
});
