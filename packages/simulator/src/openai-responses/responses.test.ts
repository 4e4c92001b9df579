import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

const WEATHER = {
  type: "function",
  name: "weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const SHELL = { type: "custom", name: "shell" };
const ENCRYPTED = { include: ["reasoning.encrypted_content"] };

function post(simulator: Simulator, body: object, path = ""): Promise<Response> {
  return fetch(`${simulator.url}/v1/responses${path}`, { method: "POST", body: JSON.stringify(body) });
}

async function create(simulator: Simulator, model: string, extra: object = {}): Promise<Loose> {
  return (await post(simulator, { model, input: "alpha beta gamma", ...extra })).json();
}

/** The events of a streamed response; the name of each must be its type. */
async function events(simulator: Simulator, model: string, extra: object = {}): Promise<Loose[]> {
  const response = await post(simulator, { model, input: "alpha beta gamma", stream: true, ...extra });
  return parsed(await response.text());
}

function parsed(text: string): Loose[] {
  const blocks = text.split("\n\n").filter((block) => block !== "");
  return blocks.map((block) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    const event = JSON.parse(data ?? "null");
    expect(name).toBe(event.type);
    return event;
  });
}

function types(list: Loose[]): string[] {
  return list.map((event) => event.type.replace("response.", ""));
}

describe("JSON answers", () => {
  test("a message, with everything echoed that was asked", async () => {
    const simulator = await simulate({ account: "a" });
    const body = await create(simulator, "echo", { instructions: "be brief", metadata: { k: "v" } });
    expect(body).toEqual({
      id: "resp_sima_1",
      object: "response",
      created_at: expect.any(Number),
      status: "completed",
      background: false,
      completed_at: expect.any(Number),
      error: null,
      incomplete_details: null,
      instructions: "be brief",
      max_output_tokens: null,
      max_tool_calls: null,
      model: "echo",
      output: [
        {
          id: "msg_sima_1_0",
          type: "message",
          status: "completed",
          content: [{ type: "output_text", annotations: [], logprobs: [], text: "alpha beta gamma" }],
          role: "assistant",
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: "default",
      store: true,
      temperature: 1,
      text: { format: { type: "text" }, verbosity: "medium" },
      tool_choice: "auto",
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: "disabled",
      usage: {
        input_tokens: 6,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 4,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 10,
      },
      user: null,
      metadata: { k: "v" },
    });
  });

  test("calls, refusals, formats, caps, filters and figures", async () => {
    const simulator = await simulate({ account: "a" });
    const called = await create(simulator, "tool?calls=2", { tools: [WEATHER, SHELL] });
    expect(called.output).toEqual([
      {
        id: "fc_sima_1_0",
        type: "function_call",
        status: "completed",
        arguments: '{"city":"sample"}',
        call_id: "call_sim1_0_0",
        name: "weather",
      },
      {
        id: "ctc_sima_1_1",
        type: "custom_tool_call",
        status: "completed",
        call_id: "call_sim1_0_1",
        input: "alpha beta gamma",
        name: "shell",
      },
    ]);
    expect(called.tools[0].strict).toBe(true);
    expect((await create(simulator, "refuse")).output[0].content[0].type).toBe("refusal");
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const fitted = await create(simulator, "echo", { text: { format: { type: "json_schema", name: "x", schema } } });
    expect(JSON.parse(fitted.output[0].content[0].text)).toEqual({ n: 0 });
    const cut = await create(simulator, "long?tokens=50", { max_output_tokens: 20 });
    expect([cut.status, cut.incomplete_details, cut.output[0].status]).toEqual([
      "incomplete",
      { reason: "max_output_tokens" },
      "incomplete",
    ]);
    expect((await create(simulator, "filter200")).incomplete_details).toEqual({ reason: "content_filter" });
    expect((await create(simulator, "echo?finish=failed")).error.code).toBe("server_error");
    const { usage } = await create(simulator, "fixed?input=6000&cached=5000&cache_write=10&output=300&reasoning=100");
    expect(usage).toEqual({
      input_tokens: 6000,
      input_tokens_details: { cached_tokens: 5000, cache_write_tokens: 10 },
      output_tokens: 300,
      output_tokens_details: { reasoning_tokens: 100 },
      total_tokens: 6300,
    });
    expect((await create(simulator, "nousage")).usage).toBeNull();
  });

  test("reasoning is hidden, summed up or told, and sealed when asked", async () => {
    const simulator = await simulate();
    const hidden = await create(simulator, "reason?tokens=5");
    expect(hidden.output[0]).toEqual({ id: hidden.output[0].id, type: "reasoning", summary: [] });
    expect(hidden.usage.output_tokens_details.reasoning_tokens).toBe(5);
    const summed = await create(simulator, "reason?tokens=2", { reasoning: { summary: "auto" }, ...ENCRYPTED });
    expect(summed.output[0].summary).toEqual([{ type: "summary_text", text: "lorem ipsum " }]);
    expect(summed.output[0].encrypted_content).toMatch(/^gAAAA/);
    const told = await create(simulator, "reason?tokens=1&field=reasoning_text");
    expect(told.output[0].content).toEqual([{ type: "reasoning_text", text: "lorem " }]);
  });
});

describe("streams", () => {
  test("a text in the vendor's order, numbered from 0, without an end marker", async () => {
    const simulator = await simulate();
    const all = await events(simulator, "echo");
    expect(types(all)).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    expect(all.map((event) => event.sequence_number)).toEqual(all.map((_, i) => i));
    expect(all[0].response).toMatchObject({ status: "in_progress", output: [], usage: null, completed_at: null });
    expect(all[2].item).toMatchObject({ type: "message", status: "in_progress", content: [] });
    expect(all[3]).toMatchObject({
      item_id: all[2].item.id,
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", annotations: [], logprobs: [], text: "" },
    });
    expect(all[4]).toMatchObject({ delta: "alpha ", logprobs: [] });
    expect(all[7].text).toBe("alpha beta gamma");
    expect(all.at(-1).response.output).toEqual([all[9].item]);
    expect(all.at(-1).response.usage.total_tokens).toBe(8);
  });

  test("reasoning, then calls, each from added to done", async () => {
    const simulator = await simulate();
    const extra = { reasoning: { summary: "auto" }, tools: [WEATHER, SHELL] };
    expect(types(await events(simulator, "reason?tokens=2", { ...extra, tool_choice: "required" }))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "completed",
    ]);
    const custom = await events(simulator, "tool", { tools: [SHELL] });
    expect(types(custom).slice(3, 6)).toEqual([
      "custom_tool_call_input.delta",
      "custom_tool_call_input.delta",
      "custom_tool_call_input.done",
    ]);
    expect(custom[5].input).toBe("alpha beta gamma");
    const open = types(await events(simulator, "reason?tokens=1&field=reasoning_text"));
    expect(open.slice(3, 5)).toEqual(["reasoning_text.delta", "reasoning_text.done"]);
  });

  test("refusals, incomplete endings, log probabilities, padding and ids that change", async () => {
    const simulator = await simulate();
    const refused = types(await events(simulator, "refuse"));
    expect(refused).toContain("refusal.delta");
    expect(refused).toContain("refusal.done");
    expect(types(await events(simulator, "long?tokens=50", { max_output_tokens: 20 })).at(-1)).toBe("incomplete");
    const logprobs = { include: ["message.output_text.logprobs"], top_logprobs: 2 };
    expect((await events(simulator, "echo", logprobs))[4].logprobs[0].top_logprobs).toHaveLength(2);
    expect((await events(simulator, "echo?quirk=obfuscation"))[4].obfuscation).toMatch(/^x+$/);
    const ids = (await events(simulator, "echo?quirk=fresh_ids")).flatMap(
      (event) => event.item_id ?? event.item?.id ?? [],
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("faults strike where they should", async () => {
    const simulator = await simulate();
    const failed = await events(simulator, "errorafter?after=2&status=429");
    expect(types(failed).slice(-3)).toEqual(["output_text.delta", "error", "failed"]);
    expect(failed.map((event) => event.sequence_number)).toEqual(failed.map((_, i) => i));
    expect(failed.at(-2).error).toMatchObject({ type: "requests", code: "rate_limit_exceeded", param: null });
    expect(failed.at(-1).response).toMatchObject({
      status: "failed",
      error: { code: "rate_limit_exceeded" },
      usage: null,
    });
    expect((await events(simulator, "errorafter?shape=flat")).at(-2)).toMatchObject({
      code: "server_error",
      param: null,
    });
    expect(types(await events(simulator, "error200"))).toEqual(["error", "failed"]);
    expect((await create(simulator, "error200")).status).toBe("failed");
    expect(types(await events(simulator, "cut?after=2")).at(-1)).toBe("output_text.delta");
    const refused = await post(simulator, { model: "context", input: "x" });
    expect([refused.status, ((await refused.json()) as Loose).error]).toEqual([
      400,
      expect.objectContaining({ type: "invalid_request_error", param: "input", code: "context_length_exceeded" }),
    ]);
    expect((await post(simulator, { model: "error?status=503", input: "x" })).status).toBe(503);
    const broken = await post(simulator, { model: "broken", input: "a b c d", stream: true });
    expect(await broken.text()).toContain('data: {"broken":[{"at":\n\n');
  });
});

test("the invoice bills responses as it bills chat, and names the dialect", async () => {
  const simulator = await simulate();
  await create(simulator, "fixed?input=10&output=20&reasoning=5");
  await events(simulator, "cut?after=2&input=8&output=40");
  await create(simulator, "error");
  const { lines } = simulator.invoice();
  expect(lines.map((line) => [line.dialect, line.input_tokens, line.output_tokens, line.finished])).toEqual([
    ["openai-responses", 10, 20, true],
    ["openai-responses", 8, 26, false],
  ]);
});

test("scripted events are named by their type", async () => {
  const simulator = await simulate();
  simulator.script({ response: { events: [{ type: "response.created", sequence_number: 0 }] } });
  const response = await post(simulator, { model: "any", input: "x", stream: true });
  expect(parsed(await response.text())).toEqual([{ type: "response.created", sequence_number: 0 }]);
});

test("tools that an item brings along are called too, by name and namespace", async () => {
  const simulator = await simulate();
  const tools = [{ type: "namespace", name: "functions", tools: [SHELL, WEATHER] }];
  const input = [
    { type: "additional_tools", role: "developer", tools },
    { role: "user", content: "go" },
  ];
  const custom = await create(simulator, "tool?call=shell&args=ls", { input });
  expect(custom.output).toMatchObject([
    { type: "custom_tool_call", name: "shell", namespace: "functions", input: "ls" },
  ]);
  const called = await create(simulator, "tool?call=nobody,weather", { input });
  expect(called.output).toMatchObject([{ type: "function_call", name: "weather", namespace: "functions" }]);
  const bad = await create(simulator, "echo", { input: [{ type: "additional_tools", role: "developer" }] });
  expect(bad.error.param).toBe("input[0].tools");
});
