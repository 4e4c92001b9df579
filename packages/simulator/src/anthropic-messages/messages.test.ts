import { describe, expect, test } from "vitest";
import { events, messageJson, messages } from "../../test/anthropic.ts";
import { type Loose, simulate } from "../../test/kit.ts";

const TOOLS = [
  { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
  { name: "time", description: "what time it is", input_schema: { type: "object", properties: {} } },
];

describe("JSON answers", () => {
  test("echo answers with text, usage and a request id", async () => {
    const simulator = await simulate();
    const response = await messages(simulator, "echo");
    expect(response.status).toBe(200);
    expect(response.headers.get("request-id")).toBe("req_sim_1");
    expect(response.headers.get("x-request-id")).toBeNull();
    expect(await response.json()).toEqual({
      id: "msg_sim1",
      type: "message",
      role: "assistant",
      model: "echo",
      content: [{ type: "text", text: "alpha beta gamma" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 4,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 4,
        service_tier: "standard",
        inference_geo: "not_available",
      },
    });
  });

  test("what was cached stands outside input_tokens, the hour's writes apart; the bill holds it all", async () => {
    const simulator = await simulate();
    const model = "fixed?input=6000&cached=5000&cache_write=300&cache_write_1h=100&output=40&reasoning=15";
    const { usage } = await messageJson(simulator, model);
    expect(usage).toMatchObject({
      input_tokens: 700,
      cache_read_input_tokens: 5000,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
      output_tokens: 40,
      output_tokens_details: { thinking_tokens: 15 },
    });
    expect(simulator.invoice().lines[0]).toMatchObject({
      dialect: "anthropic-messages",
      input_tokens: 6000,
      cached_input_tokens: 5000,
      cache_write_tokens: 300,
      output_tokens: 40,
      reasoning_tokens: 15,
      reported: true,
      finished: true,
    });
  });

  test.for([
    ["long?tokens=50", { max_tokens: 10 }, "max_tokens", null],
    ["echo", { stop_sequences: ["zeta", "gamma"] }, "stop_sequence", "gamma"],
    ["tool", { tools: TOOLS }, "tool_use", null],
    ["tool?quirk=stop_with_calls", { tools: TOOLS }, "end_turn", null],
    ["refuse", {}, "refusal", null],
    ["blocked", {}, "refusal", null],
    ["filter200", {}, "refusal", null],
    ["echo?finish=pause_turn", {}, "pause_turn", null],
  ] as const)("%s ends for a reason", async ([model, extra, reason, sequence]) => {
    const answer = await messageJson(await simulate(), model, extra);
    expect(answer).toMatchObject({ stop_reason: reason, stop_sequence: sequence });
    expect(answer.stop_details === null).toBe(reason !== "refusal");
  });

  test("parallel calls have inputs as objects, and may be forbidden, forced or named", async () => {
    const simulator = await simulate();
    const { content } = await messageJson(simulator, "tool?calls=2", { tools: TOOLS });
    expect(content).toEqual([
      { type: "tool_use", id: "toolu_sim1_0", name: "weather", input: { city: "sample" } },
      { type: "tool_use", id: "toolu_sim1_1", name: "time", input: {} },
    ]);
    const names = async (tool_choice: object): Promise<string[]> => {
      const answer = await messageJson(simulator, "tool?calls=2", { tools: TOOLS, tool_choice });
      return answer.content.flatMap((block: Loose) => (block.type === "tool_use" ? [block.name] : []));
    };
    expect(await names({ type: "auto", disable_parallel_tool_use: true })).toEqual(["weather"]);
    expect(await names({ type: "tool", name: "time" })).toEqual(["time", "time"]);
    expect(await names({ type: "none" })).toEqual([]);
  });

  test("a schema is answered with JSON that fits", async () => {
    const schema = { type: "object", properties: { n: { type: "integer" } }, additionalProperties: false };
    const output_config = { format: { type: "json_schema", schema } };
    const { content } = await messageJson(await simulate(), "echo", { output_config });
    expect(JSON.parse(content[0].text)).toEqual({ n: 0 });
  });

  test("mirror tells what was understood", async () => {
    const assistant = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "weather", input: {} }] };
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const result = { type: "tool_result", tool_use_id: "t1", is_error: true, content: [{ type: "text", text: "12" }] };
    const { content } = await messageJson(await simulate(), "mirror", {
      system: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
      messages: [
        { role: "user", content: [image, { type: "text", text: "hi" }] },
        assistant,
        { role: "user", content: [result] },
      ],
      tools: TOOLS,
      tool_choice: { type: "any" },
      stop_sequences: ["x"],
      temperature: 0.5,
    });
    expect(JSON.parse(content[0].text)).toMatchObject({
      dialect: "anthropic-messages",
      system: "one\n\ntwo",
      messages: [
        { role: "user", kinds: ["image", "text"] },
        { role: "assistant", kinds: ["tool_call"] },
        { role: "user", kinds: ["tool_result"] },
      ],
      tools: ["weather", "time"],
      tool_results: [{ id: "t1", text: "12", error: true }],
      images: ["image/png"],
      stop: ["x"],
      temperature: 0.5,
      max_output: 2000,
      tool_choice: "required",
      response_format: "text",
    });
  });

  test("tokens are counted for nothing", async () => {
    const simulator = await simulate();
    const init = { method: "POST", headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" } };
    const body = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "alpha beta gamma" }] });
    const response = await fetch(`${simulator.url}/v1/messages/count_tokens?beta=true`, { ...init, body });
    expect(await response.json()).toEqual({ input_tokens: 4 });
    expect(simulator.invoice().total.requests).toBe(0);
    expect(simulator.requests().by_model.echo).toBe(1);
  });

  test("models are listed in pages to whom speaks this dialect", async () => {
    const simulator = await simulate();
    const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
    const list = async (query: string): Promise<Loose> =>
      (await fetch(`${simulator.url}/v1/models?${query}`, { headers })).json();
    const first = await list("limit=2");
    expect(first.data).toHaveLength(2);
    expect(first).toMatchObject({ has_more: true, first_id: first.data[0].id, last_id: first.data[1].id });
    const second = await list(`limit=1000&after_id=${first.last_id}`);
    expect(second).toMatchObject({ has_more: false });
    expect(second.data.map((model: Loose) => model.id)).not.toContain(first.last_id);
    expect(await list("limit=1")).toMatchObject({ data: [{ type: "model", id: "echo", display_name: "echo" }] });
  });
});

describe("streams", () => {
  test("thinking and a tool call come in the order of the golden stream", async () => {
    const got = await events(await simulate(), "tool", { tools: TOOLS, thinking: { type: "adaptive" } });
    expect(got.every(({ event, data }) => event === data.type)).toBe(true);
    const kinds = got.map(({ data }) => data.delta?.type ?? data.content_block?.type ?? data.type);
    const runs = kinds.filter((kind, i) => kind !== kinds[i - 1]);
    expect(runs).toEqual([
      "message_start",
      "thinking",
      "ping",
      "thinking_delta",
      "signature_delta",
      "content_block_stop",
      "tool_use",
      "input_json_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(got[0]?.data.message).toMatchObject({ content: [], stop_reason: null, usage: { output_tokens: 1 } });
    expect(got[1]?.data.content_block).toEqual({ type: "thinking", thinking: "", signature: "" });
    const inputs = got.flatMap(({ data }) => data.delta?.partial_json ?? []);
    expect(inputs[0]).toBe("");
    expect(JSON.parse(inputs.join(""))).toEqual({ city: "sample" });
    expect(got.at(-2)?.data).toMatchObject({
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 27, output_tokens_details: { thinking_tokens: 20 } },
    });
  });

  test("a stream says what the JSON answer says, and blocks never overlap", async () => {
    const simulator = await simulate();
    for (const model of [
      "echo",
      "reason?tokens=4",
      "tool?calls=3",
      "long?tokens=5",
      "reason?quirk=redacted",
      "refuse",
    ]) {
      const extra = { tools: TOOLS };
      const [whole, parts] = [await messageJson(simulator, model, extra), await events(simulator, model, extra)];
      const built = assembled(parts.map(({ data }) => data));
      const { id: _, ...rest } = whole;
      const { id: __, ...same } = built;
      expect(unnumbered(same)).toEqual(unnumbered(rest));
    }
  });

  test("a call without arguments has one empty piece", async () => {
    const got = await events(await simulate(), "tool", { tools: [TOOLS[1]] });
    expect(got.flatMap(({ data }) => data.delta?.partial_json ?? [])).toEqual([""]);
  });

  test("omitted thinking is signed and billed but not told", async () => {
    const simulator = await simulate();
    const got = await events(simulator, "echo", { thinking: { type: "adaptive", display: "omitted" } });
    const deltas = got.flatMap(({ data }) => (data.index === 0 && data.delta ? [data.delta.type] : []));
    expect(deltas).toEqual(["signature_delta"]);
    expect(simulator.invoice().total.reasoning_tokens).toBe(20);
  });

  test("quirks: a second message_start, input figures that come late, usage that never comes", async () => {
    const simulator = await simulate();
    const twice = await events(simulator, "echo?quirk=dup_start");
    expect(twice.slice(0, 2).map(({ event }) => event)).toEqual(["message_start", "message_start"]);
    const late = await events(simulator, "fixed?input=100&cached=40&quirk=late_input");
    expect(late[0]?.data.message.usage).toMatchObject({ input_tokens: 50, cache_read_input_tokens: 0 });
    expect(late.at(-2)?.data.usage).toMatchObject({ input_tokens: 60, cache_read_input_tokens: 40 });
    const odd = await events(simulator, "echo?quirk=odd_events");
    expect(odd.map(({ data }) => data.delta?.type ?? data.type)).toContain("odd_delta");
    expect(odd.every(({ event, data }) => event === data.type)).toBe(true);
    const none = await events(simulator, "nousage");
    expect(none.every(({ data }) => data.usage === undefined && data.message?.usage === undefined)).toBe(true);
    expect(simulator.invoice().lines.at(-1)).toMatchObject({ reported: false, output_tokens: 4 });
  });
});

/** Puts a stream together as an SDK does. */
function assembled(all: readonly Loose[]): Loose {
  let message: Loose;
  let open: number | null = null;
  const inputs: string[] = [];
  for (const event of all) {
    if (event.type === "message_start") message = structuredClone(event.message);
    if (event.type === "content_block_start") {
      expect(open).toBeNull();
      open = event.index;
      message.content[event.index] = structuredClone(event.content_block);
      inputs[event.index] = "";
    }
    if (event.type === "content_block_delta") {
      expect(event.index).toBe(open);
      const block = message.content[event.index];
      const { delta } = event;
      if (delta.type === "text_delta") block.text += delta.text;
      if (delta.type === "thinking_delta") block.thinking += delta.thinking;
      if (delta.type === "signature_delta") block.signature = delta.signature;
      if (delta.type === "input_json_delta") inputs[event.index] += delta.partial_json;
    }
    if (event.type === "content_block_stop") {
      const block = message.content[event.index];
      if (block.type === "tool_use") block.input = JSON.parse(inputs[event.index] || "{}");
      open = null;
    }
    if (event.type === "message_delta") {
      Object.assign(message, event.delta);
      Object.assign(message.usage, event.usage);
    }
  }
  return message;
}

function unnumbered(message: Loose): Loose {
  return JSON.parse(JSON.stringify(message).replaceAll(/sim\d+/g, "sim"));
}
