import { describe, expect, it } from "vitest";
import type { StreamPart } from "../../core/stream-part.ts";
import { classifyAwsFailure } from "../aws-error.ts";
import { streamReader } from "./stream.ts";

type Event = readonly [name: string, payload: unknown];

function read(...events: readonly Event[]): { parts: StreamPart[]; over: boolean[] } {
  const reader = streamReader();
  const readings = events.map(([name, payload]) => reader.read(JSON.stringify(payload), name));
  return { parts: readings.flatMap(({ parts }) => parts), over: readings.map(({ terminator }) => terminator) };
}

const delta = (contentBlockIndex: number, value: object): Event => [
  "contentBlockDelta",
  { contentBlockIndex, delta: value, p: "abc" },
];
const stop = (contentBlockIndex: number): Event => ["contentBlockStop", { contentBlockIndex }];
const call = (contentBlockIndex: number, name: string, rest: object = {}): Event => [
  "contentBlockStart",
  { contentBlockIndex, start: { toolUse: { toolUseId: `t${contentBlockIndex}`, name, ...rest } } },
];
const START: Event = ["messageStart", { role: "assistant" }];
const ended = (stopReason: string): Event => ["messageStop", { stopReason }];
const USAGE: Event = ["metadata", { usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } }];
const start = { type: "start", id: null, model: null };

describe("a stream", () => {
  it("of thoughts, words and a call (F4)", () => {
    const { parts, over } = read(
      START,
      delta(0, { reasoningContent: { text: "Let me" } }),
      delta(0, { reasoningContent: { signature: "c2" } }),
      delta(0, { reasoningContent: { signature: "ln" } }),
      stop(0),
      delta(1, { text: "" }),
      delta(1, { text: "So" }),
      stop(1),
      call(2, "weather"),
      delta(2, { toolUse: { input: '{"city":' } }),
      delta(2, { toolUse: { input: '"Oslo"}' } }),
      stop(2),
      ["messageStop", { stopReason: "tool_use", additionalModelResponseFields: { delta: { stop_sequence: null } } }],
      USAGE,
    );
    expect(parts).toEqual([
      start,
      { type: "reasoning", choice: 0, text: "Let me" },
      { type: "reasoning", choice: 0, text: "", signature: { dialect: "bedrock-converse", value: "c2ln" } },
      { type: "text", choice: 0, text: "So" },
      { type: "tool_start", choice: 0, index: 0, id: "t2", name: "weather" },
      { type: "tool_arguments", choice: 0, index: 0, text: '{"city":' },
      { type: "tool_arguments", choice: 0, index: 0, text: '"Oslo"}' },
      { type: "tool_end", choice: 0, index: 0 },
      { type: "finish", choice: 0, reason: "tool_calls" },
      { type: "usage", usage: { input_tokens: 5, output_tokens: 2 } },
    ]);
    expect(over.indexOf(true)).toBe(over.length - 1);
  });

  it("may give its usage before its end", () => {
    expect(read(delta(0, { text: "a" }), USAGE, ended("end_turn")).over).toEqual([false, false, true]);
  });

  it("keeps calls apart whose pieces come mixed", () => {
    const { parts } = read(
      call(0, "a"),
      call(1, "b"),
      delta(1, { toolUse: { input: "{}" } }),
      delta(0, { toolUse: { input: "[]" } }),
      ended("end_turn"),
    );
    const args = parts.flatMap((part) => (part.type === "tool_arguments" ? [[part.index, part.text]] : []));
    expect(args).toEqual([
      [1, "{}"],
      [0, "[]"],
    ]);
    expect(parts.filter(({ type }) => type === "tool_end")).toHaveLength(2);
    expect(parts.at(-1)).toEqual({ type: "finish", choice: 0, reason: "tool_calls" });
  });

  it("calls no tool that the provider runs itself", () => {
    const { parts } = read(
      call(0, "code", { type: "server_tool_use" }),
      delta(0, { toolUse: { input: "{}" } }),
      stop(0),
      ["contentBlockStart", { contentBlockIndex: 1, start: { toolResult: { toolUseId: "t0", status: "success" } } }],
      delta(1, { toolResult: [{ json: {} }] }),
      stop(1),
      ended("end_turn"),
    );
    expect(parts.map(({ type }) => type)).toEqual([
      "start",
      "annotation",
      "annotation",
      "annotation",
      "annotation",
      "finish",
    ]);
    expect(parts.at(-1)).toMatchObject({ reason: "stop" });
  });

  it("says the tool that stands for a form as words", () => {
    const { parts } = read(
      call(0, "json_answer"),
      delta(0, { toolUse: { input: '{"a":1}' } }),
      stop(0),
      ended("tool_use"),
    );
    expect(parts).toEqual([
      start,
      { type: "text", choice: 0, text: '{"a":1}' },
      { type: "finish", choice: 0, reason: "stop" },
    ]);
  });

  it("tells which stop sequence was hit", () => {
    const event: Event = [
      "messageStop",
      { stopReason: "stop_sequence", additionalModelResponseFields: { delta: { stop_sequence: "END" } } },
    ];
    expect(read(event).parts.at(-1)).toEqual({ type: "finish", choice: 0, reason: "stop", stopSequence: "END" });
  });

  it("cites the web", () => {
    const cited = { citation: { title: "T", location: { web: { url: "https://a.example" } } } };
    expect(read(delta(0, cited)).parts.at(-1)).toMatchObject({
      annotation: { type: "url_citation", url: "https://a.example", title: "T" },
    });
  });

  it("that is no JSON is none", () => {
    expect(() => streamReader().read('{"a":', "contentBlockDelta")).toThrow("not JSON");
    expect(() => streamReader().read("[]", "contentBlockDelta")).toThrow("no JSON object");
  });

  it.each([
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["malformed_model_output", "error"],
    ["malformed_tool_use", "error"],
    ["something_new", "stop"],
  ])("that ends by %s ends by %s", (word, reason) => {
    expect(read(ended(word)).parts.at(-1)).toMatchObject({ type: "finish", reason });
  });

  it.each([
    ["exception:throttlingException", {}, "rate_limited"],
    ["exception:throttlingException", { message: "Too many tokens per day" }, "quota_exhausted"],
    ["exception:modelStreamErrorException", { originalStatusCode: 500, originalMessage: "x" }, "provider_error"],
    ["exception:modelStreamErrorException", { message: "Input is too long for requested model." }, "context_overflow"],
    ["exception:internalServerException", {}, "provider_error"],
    ["exception:serviceUnavailableException", {}, "overloaded"],
    ["exception:validationException", { message: "no" }, "bad_request"],
    ["exception:modelTimeoutException", {}, "timeout"],
    ["exception:someNewException", {}, "provider_error"],
    ["error:InternalFailure", { message: "gone" }, "provider_error"],
  ])("with %s %j fails as %s", (name, payload, kind) => {
    const [part] = read([name, payload]).parts;
    if (part?.type !== "error") throw new Error("no error");
    const { status, body } = part.failure;
    expect(classifyAwsFailure(status ?? 502, {}, Buffer.from(JSON.stringify(body)), 0).class).toBe(kind);
  });
});
