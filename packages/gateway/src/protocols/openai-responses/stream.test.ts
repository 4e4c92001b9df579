import { describe, expect, it } from "vitest";
import type { StreamPart } from "../../core/stream-part.ts";
import { QUIRKS } from "./fixtures/calls.ts";
import { openaiResponses } from "./index.ts";

type Event = Record<string, unknown>;

const read = (...events: Event[]): StreamPart[] => {
  const reader = openaiResponses.streamReader(QUIRKS);
  return events.flatMap((event) => reader.read(JSON.stringify(event), null).parts);
};
const added = (output_index: number, item: Event): Event => ({
  type: "response.output_item.added",
  output_index,
  item,
});
const done = (output_index: number, item: Event): Event => ({ type: "response.output_item.done", output_index, item });
const end = (response: Event = {}): Event => ({
  type: "response.completed",
  response: { id: "resp_1", model: "m", status: "completed", ...response },
});
const CALL = { type: "function_call", call_id: "c1", name: "f", arguments: "" };
const MESSAGE = { type: "message", role: "assistant", content: [] };
const START: StreamPart = { type: "start", id: "resp_1", model: "m" };
const finish = (reason: "stop" | "tool_calls" | "length" | "content_filter"): StreamPart => ({
  type: "finish",
  choice: 0,
  reason,
});

describe("calls", () => {
  const whole = { ...CALL, arguments: '{"a":1}' };
  const said: StreamPart[] = [
    { type: "tool_start", choice: 0, index: 0, id: "c1", name: "f" },
    { type: "tool_arguments", choice: 0, index: 0, text: '{"a":1}' },
    { type: "tool_end", choice: 0, index: 0 },
  ];
  const at = { output_index: 0, item_id: "x" };

  it.each<[string, Event[]]>([
    [
      "deltas alone",
      [added(0, CALL), { type: "response.function_call_arguments.delta", ...at, delta: '{"a":1}' }, done(0, whole)],
    ],
    [
      "done alone (LM Studio)",
      [added(0, CALL), { type: "response.function_call_arguments.done", ...at, arguments: '{"a":1}' }, done(0, whole)],
    ],
    ["the item's end alone", [added(0, CALL), done(0, whole)]],
    ["an item that nobody announced", [done(0, whole)]],
    [
      "arguments before their call",
      [{ type: "response.function_call_arguments.done", ...at, arguments: '{"a":1}' }, done(0, whole)],
    ],
    ["the last event alone", []],
    ["an object for the arguments", [added(0, CALL), done(0, { ...CALL, arguments: { a: 1 } })]],
  ])("are told by %s", (_name, events) => {
    const parts = read(...events, end({ output: [whole] }));
    expect(parts.filter((part) => part.type !== "start")).toEqual([...said, finish("tool_calls")]);
  });

  it("keep apart, and by index though ids change from event to event", () => {
    const parts = read(
      added(0, { ...CALL, id: "fc_1" }),
      added(1, { type: "custom_tool_call", id: "ctc_1", call_id: "c2", name: "p", input: "" }),
      { type: "response.custom_tool_call_input.delta", output_index: 1, item_id: "other", delta: "free " },
      { type: "response.function_call_arguments.delta", output_index: 0, item_id: "another", delta: "{}" },
      { type: "response.custom_tool_call_input.delta", output_index: 1, item_id: "third", delta: "text" },
      done(0, { ...CALL, arguments: "{}" }),
      end(),
    );
    expect(parts).toEqual([
      { type: "tool_start", choice: 0, index: 0, id: "c1", name: "f" },
      { type: "tool_start", choice: 0, index: 1, id: "c2", name: "p", custom: true },
      { type: "tool_arguments", choice: 0, index: 1, text: "free " },
      { type: "tool_arguments", choice: 0, index: 0, text: "{}" },
      { type: "tool_arguments", choice: 0, index: 1, text: "text" },
      { type: "tool_end", choice: 0, index: 0 },
      START,
      { type: "tool_end", choice: 0, index: 1 },
      finish("tool_calls"),
    ]);
  });
});

describe("text and thoughts", () => {
  it("text that only an end repeats is said once", () => {
    const item = {
      ...MESSAGE,
      content: [
        {
          type: "output_text",
          text: "hello",
          annotations: [{ type: "url_citation", url: "u", title: "t", start_index: 1, end_index: 2 }],
        },
      ],
    };
    const citation: StreamPart = {
      type: "annotation",
      choice: 0,
      annotation: { type: "url_citation", url: "u", title: "t", start: 1, end: 2 },
    };
    const text: StreamPart = { type: "text", choice: 0, text: "hello" };
    const pieces = [
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "hel" },
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "hello" },
    ];
    expect(read(added(0, MESSAGE), done(0, item), end({ output: [item] }))).toEqual([
      text,
      citation,
      START,
      finish("stop"),
    ]);
    expect(read(added(0, MESSAGE), ...pieces, done(0, item), end())).toEqual([
      { type: "text", choice: 0, text: "hel" },
      { type: "text", choice: 0, text: "lo" },
      citation,
      START,
      finish("stop"),
    ]);
    expect(read(end({ output: [item] }))).toEqual([START, text, citation, finish("stop")]);
  });

  it("summaries are paragraphs of one thought, sealed at its end", () => {
    const delta = (summary_index: number, text: string): Event => ({
      type: "response.reasoning_summary_text.delta",
      output_index: 0,
      summary_index,
      delta: text,
    });
    const item = {
      type: "reasoning",
      summary: [
        { type: "summary_text", text: "ab" },
        { type: "summary_text", text: "c" },
      ],
      encrypted_content: "gAA",
    };
    expect(
      read(added(0, { type: "reasoning", summary: [] }), delta(0, "a"), delta(0, "b"), delta(1, "c"), done(0, item)),
    ).toEqual([
      { type: "reasoning", choice: 0, text: "a" },
      { type: "reasoning", choice: 0, text: "b" },
      { type: "reasoning", choice: 0, text: "\n\nc" },
      { type: "reasoning", choice: 0, text: "", encrypted: { dialect: "openai-responses", value: "gAA" } },
    ]);
  });

  it("what hosted tools did goes beside, pictures as pictures", () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed" };
    expect(
      read(done(0, search), done(1, { type: "image_generation_call", result: "AAAA", output_format: "webp" })),
    ).toEqual([
      { type: "annotation", choice: 0, annotation: { type: "opaque", dialect: "openai-responses", value: search } },
      { type: "annotation", choice: 0, annotation: { type: "media", mediaType: "image/webp", data: "AAAA" } },
    ]);
  });

  it("token probabilities come with their text", () => {
    const logprobs = [{ token: "a", logprob: -1, bytes: [97], top_logprobs: [] }];
    expect(
      read({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "a", logprobs }),
    ).toEqual([{ type: "text", choice: 0, text: "a", logprobs }]);
  });
});

describe("the end", () => {
  it.each([
    ["response.completed", { status: "completed" }, "stop"],
    ["response.incomplete", { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }, "length"],
    [
      "response.incomplete",
      { status: "incomplete", incomplete_details: { reason: "content_filter" } },
      "content_filter",
    ],
    ["response.incomplete", {}, "length"],
  ] as const)("%s %j (WIRE C1)", (type, response, reason) => {
    const reader = openaiResponses.streamReader(QUIRKS);
    const reading = reader.read(JSON.stringify({ type, response }), type);
    expect(reading.terminator).toBe(true);
    expect(reading.parts.at(-1)).toEqual(finish(reason));
    expect(reader.read("[DONE]", null)).toEqual({ parts: [], usageOnly: false, terminator: true });
  });

  it("usage stands in the last event (WIRE C2)", () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 15 },
      total_tokens: 120,
    };
    expect(read(end({ usage }))[1]).toEqual({
      type: "usage",
      usage: {
        input_tokens: 100,
        cached_input_tokens: 40,
        cache_write_tokens: 10,
        output_tokens: 20,
        reasoning_tokens: 15,
      },
    });
  });

  it.each<[string, Event, number | null]>([
    ["flat", { type: "error", code: "server_error", message: "x", param: null, sequence_number: 3 }, 500],
    [
      "nested",
      {
        type: "error",
        sequence_number: 3,
        error: { type: "invalid_request_error", code: "invalid_prompt", message: "x" },
      },
      400,
    ],
    [
      "a failed response",
      { type: "response.failed", response: { status: "failed", error: { code: "rate_limit_exceeded", message: "x" } } },
      null,
    ],
    ["without an event", { error: { message: "x", code: 503 } }, 503],
  ])("an error, %s", (_name, event, status) => {
    expect(read(event)).toEqual([{ type: "error", failure: { status, body: expect.anything() } }]);
  });

  it("an error's code decides its class", () => {
    const [part] = read({
      type: "response.failed",
      response: { error: { code: "rate_limit_exceeded", message: "Please try again in 1.5s." }, usage: null },
    });
    if (part?.type !== "error") throw new Error("no error");
    const failure = openaiResponses.classifyFailure(
      part.failure.status ?? 502,
      {},
      Buffer.from(JSON.stringify(part.failure.body)),
      0,
    );
    expect(failure).toMatchObject({ class: "rate_limited", retryAfterMs: 1_500 });
  });

  it("throws for what is no event, and takes unknown ones for nothing", () => {
    expect(() => openaiResponses.streamReader(QUIRKS).read("{", null)).toThrow("not JSON");
    expect(() => openaiResponses.streamReader(QUIRKS).read("3", null)).toThrow("no JSON object");
    expect(read({ type: "response.brand_new" }, { type: "keepalive" })).toEqual([]);
    expect(openaiResponses.streamReader(QUIRKS).read("", null).parts).toEqual([]);
  });
});
