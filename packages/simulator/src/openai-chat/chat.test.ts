import { describe, expect, test } from "vitest";
import { chat, chatJson, chunks, type Loose, payloads, simulate } from "../../test/kit.ts";

const WEATHER = {
  type: "function",
  function: {
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } } },
  },
};
const TIME = { type: "function", function: { name: "time", parameters: { type: "object", properties: {} } } };

describe("JSON answers", () => {
  test("what the system says behind a tool's result does not make it read", async () => {
    const simulator = await simulate();
    const call = { id: "c", type: "function", function: { name: "weather", arguments: "{}" } };
    const messages = [
      { role: "user", content: "go" },
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "sunny" },
      { role: "system", content: "9 tokens left" },
    ];
    const ended = await chatJson(simulator, "tool?says=done", { messages, tools: [WEATHER] });
    expect(ended.choices[0].message.content).toBe("done");
    const asked = [...messages, { role: "user", content: "again" }];
    const again = await chatJson(simulator, "tool?says=done", { messages: asked, tools: [WEATHER] });
    expect(again.choices[0].finish_reason).toBe("tool_calls");
  });

  test("echo answers the last user message with usage and headers", async () => {
    const simulator = await simulate();
    const response = await chat(simulator, "echo");
    expect(response.status).toBe(200);
    expect(response.headers.get("x-request-id")).toBe("req_sim_1");
    expect(Number(response.headers.get("openai-processing-ms"))).toBeGreaterThanOrEqual(0);
    const body: Loose = await response.json();
    expect(body).toMatchObject({
      id: "chatcmpl-sim1",
      object: "chat.completion",
      model: "echo",
      choices: [
        { index: 0, message: { role: "assistant", content: "alpha beta gamma", refusal: null }, finish_reason: "stop" },
      ],
      usage: {
        prompt_tokens: 4,
        completion_tokens: 4,
        total_tokens: 8,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
  });

  test("an unknown model echoes, its full name comes back, a path prefix is skipped", async () => {
    const simulator = await simulate();
    expect((await chatJson(simulator, "gpt-4o?output=7")).model).toBe("gpt-4o?output=7");
    expect((await chatJson(simulator, "sim/refuse")).choices[0].message.refusal).toContain("sorry");
    expect((await chatJson(simulator, "gpt-4o?as=refuse")).choices[0].message.content).toBeNull();
    expect((await chatJson(simulator, "gpt-4o?served=gpt-4o-next")).model).toBe("gpt-4o-next");
  });

  test("n, stop, output cap and logprobs are honoured", async () => {
    const simulator = await simulate();
    const three = await chatJson(simulator, "echo", { n: 3 });
    expect(three.choices.map((choice: Loose) => choice.index)).toEqual([0, 1, 2]);
    expect(three.usage.completion_tokens).toBe(12);
    expect((await chatJson(simulator, "echo", { stop: ["gamma"] })).choices[0].message.content).toBe("alpha beta ");
    const cut = await chatJson(simulator, "long?tokens=50", { max_completion_tokens: 10 });
    expect(cut.choices[0].finish_reason).toBe("length");
    expect(cut.usage.completion_tokens).toBe(10);
    expect(cut.choices[0].message.content.trim().split(" ")).toHaveLength(10);
    const [choice] = (await chatJson(simulator, "echo", { logprobs: true, top_logprobs: 2 })).choices;
    expect(choice.logprobs.content.map((entry: Loose) => entry.token)).toEqual(["alpha ", "beta ", "gamma"]);
    expect(choice.logprobs.content[0].top_logprobs).toHaveLength(2);
  });

  test("response formats are answered with JSON that fits", async () => {
    const simulator = await simulate();
    const object = await chatJson(simulator, "echo", { response_format: { type: "json_object" } });
    expect(JSON.parse(object.choices[0].message.content)).toEqual({ answer: "alpha beta gamma" });
    const schema = { type: "object", properties: { n: { type: "integer" }, on: { type: "boolean" } }, required: ["n"] };
    const format = { type: "json_schema", json_schema: { name: "x", schema } };
    const fitted = await chatJson(simulator, "echo", { response_format: format });
    expect(JSON.parse(fitted.choices[0].message.content)).toEqual({ n: 0 });
  });

  test("reasoning, refusal, filter and overridden usage", async () => {
    const simulator = await simulate();
    const thought = await chatJson(simulator, "reason?tokens=5");
    expect(thought.choices[0].message.reasoning_content.trim().split(" ")).toHaveLength(5);
    expect(thought.usage).toMatchObject({ completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 5 } });
    expect((await chatJson(simulator, "reason?field=reasoning")).choices[0].message.reasoning).toBeTruthy();
    expect((await chatJson(simulator, "filter200")).choices[0].finish_reason).toBe("content_filter");
    const { usage } = await chatJson(simulator, "fixed?input=6000&cached=5000&cache_write=10&output=300&reasoning=100");
    expect(usage).toMatchObject({
      prompt_tokens: 6000,
      completion_tokens: 300,
      total_tokens: 6300,
      prompt_tokens_details: { cached_tokens: 5000, cache_write_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 100 },
    });
    expect(await chatJson(simulator, "nousage")).not.toHaveProperty("usage");
  });

  test("images are accepted and counted", async () => {
    const simulator = await simulate();
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const messages = [{ role: "user", content: [{ type: "text", text: "look" }, image] }];
    const body = await chatJson(simulator, "echo", { messages });
    expect(body.choices[0].message.content).toBe("look");
    expect(body.usage.prompt_tokens).toBe(86);
  });
});

describe("tools", () => {
  test("tool calls the first, several, the named, or none", async () => {
    const simulator = await simulate();
    const tools = [WEATHER, TIME];
    const one = await chatJson(simulator, "tool", { tools });
    expect(one.choices[0].finish_reason).toBe("tool_calls");
    expect(one.choices[0].message.content).toBeNull();
    expect(one.choices[0].message.tool_calls).toEqual([
      { id: "call_sim1_0_0", type: "function", function: { name: "weather", arguments: '{"city":"sample","days":1}' } },
    ]);
    const two = await chatJson(simulator, "tool?calls=2", { tools });
    const names = two.choices[0].message.tool_calls.map((call: Loose) => call.function.name);
    expect(names).toEqual(["weather", "time"]);
    const alone = await chatJson(simulator, "tool?calls=2", { tools, parallel_tool_calls: false });
    expect(alone.choices[0].message.tool_calls).toHaveLength(1);
    const named = { type: "function", function: { name: "time" } };
    const called = await chatJson(simulator, "echo", { tools, tool_choice: named });
    expect(called.choices[0].message.tool_calls[0].function).toEqual({ name: "time", arguments: "{}" });
    const required = await chatJson(simulator, "echo", { tools, tool_choice: "required" });
    expect(required.choices[0].message.tool_calls).toHaveLength(1);
    const none = await chatJson(simulator, "tool", { tools, tool_choice: "none" });
    expect(none.choices[0].message.content).toBe("alpha beta gamma");
    const args = encodeURIComponent('{"city":"Oslo"}');
    const given = await chatJson(simulator, `tool?args=${args}`, { tools });
    expect(given.choices[0].message.tool_calls[0].function.arguments).toBe('{"city":"Oslo"}');
  });

  test("a conversation that ends with a tool result is answered with text", async () => {
    const simulator = await simulate();
    const call = { id: "c1", type: "function", function: { name: "weather", arguments: "{}" } };
    const messages = [
      { role: "user", content: "weather?" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "sunny" },
    ];
    const body = await chatJson(simulator, "tool", { messages, tools: [WEATHER] });
    expect(body.choices[0].message.content).toBe("sunny");
  });

  test("custom tools and the old functions", async () => {
    const simulator = await simulate();
    const custom = await chatJson(simulator, "tool", { tools: [{ type: "custom", custom: { name: "shell" } }] });
    expect(custom.choices[0].message.tool_calls[0]).toMatchObject({
      type: "custom",
      custom: { name: "shell", input: "alpha beta gamma" },
    });
    const functions = [WEATHER.function];
    const old = await chatJson(simulator, "tool", { functions });
    expect(old.choices[0].message.function_call.name).toBe("weather");
    expect(old.choices[0].finish_reason).toBe("function_call");
    const streamed = await chunks(simulator, "tool", { functions });
    const args = streamed.map((chunk) => chunk.choices[0]?.delta.function_call?.arguments ?? "").join("");
    expect(JSON.parse(args)).toEqual({ city: "sample", days: 1 });
  });
});

describe("streams", () => {
  test("role, deltas, finish, usage, [DONE], all of one answer", async () => {
    const simulator = await simulate();
    const all = await payloads(simulator, "echo", { stream_options: { include_usage: true } });
    expect(all.at(-1)).toBe("[DONE]");
    const parsed: Loose[] = all.slice(0, -1).map((data) => JSON.parse(data));
    const deltas = parsed.map((chunk) => chunk.choices[0]?.delta ?? chunk.choices);
    expect(deltas).toEqual([
      { role: "assistant", content: "", refusal: null },
      { content: "alpha " },
      { content: "beta " },
      { content: "gamma" },
      {},
      [],
    ]);
    expect(new Set(parsed.map(({ id, created, model, object }) => `${id} ${created} ${model} ${object}`)).size).toBe(1);
    expect(parsed.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([null, null, null, null, "stop", undefined]);
    expect(parsed.slice(0, 5).every((chunk) => chunk.usage === null)).toBe(true);
    expect(parsed[5].usage.total_tokens).toBe(8);
  });

  test("usage only when asked, and never from nousage", async () => {
    const simulator = await simulate();
    const plain = await payloads(simulator, "echo");
    expect(plain.some((data) => data.includes('"usage"'))).toBe(false);
    const kept = await chunks(simulator, "nousage");
    expect(kept.every((chunk) => chunk.choices.length === 1)).toBe(true);
    const unasked = await payloads(simulator, "echo", { stream_options: { include_usage: false } });
    expect(unasked).toHaveLength(6);
  });

  test("tool calls arrive as an opening and fragments", async () => {
    const simulator = await simulate();
    const all = await chunks(simulator, "tool?calls=2", { tools: [WEATHER, TIME] });
    expect(all[0].choices[0].delta).toEqual({ role: "assistant", content: null, refusal: null });
    const calls = all.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    const openings = calls.filter((call: Loose) => call.id !== undefined);
    expect(openings.map((call: Loose) => [call.index, call.function.name, call.function.arguments])).toEqual([
      [0, "weather", ""],
      [1, "time", ""],
    ]);
    const first = calls.filter((call: Loose) => call.index === 0);
    expect(first.length).toBeGreaterThan(2);
    expect(JSON.parse(first.map((call: Loose) => call.function.arguments).join(""))).toEqual({
      city: "sample",
      days: 1,
    });
    expect(all.at(-2).choices[0].finish_reason).toBe("tool_calls");
  });

  test("choices interleave, log probabilities ride on the deltas", async () => {
    const simulator = await simulate();
    const all = await chunks(simulator, "echo", { n: 2, logprobs: true });
    expect(all.slice(2, 6).map((chunk) => chunk.choices[0].index)).toEqual([0, 1, 0, 1]);
    expect(all[2].choices[0].logprobs.content[0]).toMatchObject({
      token: "alpha ",
      bytes: [97, 108, 112, 104, 97, 32],
    });
    expect(all.filter((chunk) => chunk.choices[0]?.finish_reason === "stop")).toHaveLength(2);
  });

  test("reasoning comes before text, refusals in their own field", async () => {
    const simulator = await simulate();
    const all = await chunks(simulator, "reason?tokens=2");
    const keys = all.slice(1, -2).map((chunk) => Object.keys(chunk.choices[0].delta)[0]);
    expect(keys).toEqual(["reasoning_content", "reasoning_content", "content", "content", "content"]);
    const refused = await chunks(simulator, "refuse");
    expect(refused.map((chunk) => chunk.choices[0]?.delta.refusal ?? "").join("")).toContain("I can't help");
  });
});
