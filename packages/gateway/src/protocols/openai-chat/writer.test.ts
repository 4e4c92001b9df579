import { noUsage } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatCall } from "../../../test/support/call.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import type { Quirks } from "../protocol.ts";
import type { Shown } from "../translation.ts";
import { chatParts } from "./fixtures/arbitrary-parts.ts";
import { chunkOrderFaults } from "./fixtures/chunk-order.ts";
import { replyOfParts } from "./fixtures/reply-of-parts.ts";
import { streamReader } from "./stream.ts";
import { streamWriter } from "./writer.ts";

type Json = Record<string, unknown>;

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };
const START: StreamPart = { type: "start", id: "up-1", model: "m-1" };
const SHOWS = { stream: true, stream_options: { include_usage: true } };

const shown = (body: Json = {}): Shown => ({
  call: chatCall({ stream: true, ...body }),
  requestId: "req_01ABC",
  createdS: 1_700_000_000,
  model: "asked-for",
});

function eventsOf(parts: StreamPart[], to: Shown, metadata: Json | null = null): string[] {
  const writer = streamWriter(to);
  const pieces = [...parts.map((part) => writer.write(part)), writer.end(metadata)];
  const text = Buffer.concat(pieces.flatMap((piece) => piece ?? [])).toString("utf8");
  expect(text.endsWith("\n\n")).toBe(true);
  return text
    .slice(0, -2)
    .split("\n\n")
    .map((event) => event.slice("data: ".length));
}

/** The deltas of choice 0, and the finish reason as the last. */
function deltas(parts: StreamPart[], body: Json = {}): unknown[] {
  return eventsOf(parts, shown(body))
    .slice(0, -1)
    .map((event) => JSON.parse(event) as { choices: Json[] })
    .flatMap(({ choices }) => choices.map(({ delta, finish_reason: reason }) => reason ?? delta));
}

const text = (words: string): StreamPart => ({ type: "text", choice: 0, text: words });
const toolCall = (index: number, name: string, pieces: string[], rest: Json = {}): StreamPart[] => [
  { type: "tool_start", choice: 0, index, id: `call_${index}`, name, ...rest },
  ...pieces.map((piece): StreamPart => ({ type: "tool_arguments", choice: 0, index, text: piece })),
  { type: "tool_end", choice: 0, index },
];
const finish = (reason: "stop" | "length" | "tool_calls" | "content_filter" = "stop"): StreamPart => ({
  type: "finish",
  choice: 0,
  reason,
});

describe("a stream", () => {
  it("is role, deltas, finish, usage, end mark (WIRE A1.4)", () => {
    const usage = { ...noUsage(), input_tokens: 50, cached_input_tokens: 20, cache_write_tokens: 5, output_tokens: 12 };
    const events = eventsOf([START, text("Hel"), text("lo"), finish(), { type: "usage", usage }], shown(SHOWS));
    const head = { id: "chatcmpl-01ABC", object: "chat.completion.chunk", created: 1_700_000_000, model: "m-1" };
    const chunk = (delta: Json, reason: string | null = null): Json => ({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      usage: null,
    });
    expect(events.slice(0, -1).map((event) => JSON.parse(event) as Json)).toEqual([
      chunk({ role: "assistant", content: "", refusal: null }),
      chunk({ content: "Hel" }),
      chunk({ content: "lo" }),
      chunk({}, "stop"),
      {
        ...head,
        choices: [],
        usage: {
          prompt_tokens: 50,
          completion_tokens: 12,
          total_tokens: 62,
          prompt_tokens_details: { cached_tokens: 20, audio_tokens: 0, cache_write_tokens: 5 },
          completion_tokens_details: {
            reasoning_tokens: 0,
            audio_tokens: 0,
            accepted_prediction_tokens: 0,
            rejected_prediction_tokens: 0,
          },
        },
      },
    ]);
    expect(events.at(-1)).toBe("[DONE]");
  });

  it("shows usage to nobody who has not asked", () => {
    const events = eventsOf([START, text("a"), finish(), { type: "usage", usage: { output_tokens: 1 } }], shown());
    expect(events.join("\n")).not.toContain("usage");
    expect(events.at(-1)).toBe("[DONE]");
  });

  it("says nothing before there is something to say", () => {
    const writer = streamWriter(shown());
    expect(writer.write(START)).toBeNull();
    expect(writer.write({ type: "usage", usage: { input_tokens: 1 } })).toBeNull();
  });

  it("carries the metadata in its last event before the end mark", () => {
    const metadata = { request_id: "req_01ABC" };
    for (const body of [{}, SHOWS]) {
      const events = eventsOf(
        [START, text("a"), finish(), { type: "usage", usage: { output_tokens: 1 } }],
        shown(body),
        metadata,
      );
      expect(events.at(-1)).toBe("[DONE]");
      expect(JSON.parse(events.at(-2) ?? "")).toMatchObject({ choices: [], gateway_metadata: metadata });
    }
  });

  it("names the model that was asked for where the upstream names none", () => {
    const [first] = eventsOf([{ type: "start", id: null, model: null }, text("a")], shown());
    expect(JSON.parse(first ?? "")).toMatchObject({ model: "asked-for" });
  });

  it("gives an answer that ended without saying why its finish reason", () => {
    expect(deltas([START, text("a")])).toEqual([expect.anything(), { content: "a" }, "stop"]);
    expect(deltas([START, ...toolCall(0, "f", ["{}"])]).at(-1)).toBe("tool_calls");
  });

  it("keeps answers apart", () => {
    const parts: StreamPart[] = [
      START,
      text("a"),
      { type: "text", choice: 1, text: "b" },
      finish(),
      { type: "finish", choice: 1, reason: "length" },
    ];
    const said = eventsOf(parts, shown({ n: 2 }))
      .slice(0, -1)
      .map((event) => (JSON.parse(event) as { choices: [Json] }).choices[0]);
    expect(said.map(({ index }) => index)).toEqual([0, 0, 1, 1, 0, 1]);
    expect(said.map((choice) => choice["finish_reason"])).toEqual([null, null, null, null, "stop", "length"]);
  });

  it("has token entries beside their text", () => {
    const logprobs = [{ token: "a", logprob: -1, bytes: [97], top_logprobs: [] }];
    const events = eventsOf([START, { type: "text", choice: 0, text: "a", logprobs }], shown());
    expect(JSON.parse(events[1] ?? "")).toMatchObject({
      choices: [{ logprobs: { content: logprobs, refusal: null } }],
    });
  });

  it("holds refusals, citations, pictures and sounds", () => {
    const parts: StreamPart[] = [
      START,
      { type: "refusal", choice: 0, text: "no" },
      {
        type: "annotation",
        choice: 0,
        annotation: { type: "url_citation", url: "https://x", title: "X", start: 1, end: 2 },
      },
      { type: "annotation", choice: 0, annotation: { type: "media", mediaType: "image/png", data: "AA" } },
      { type: "annotation", choice: 0, annotation: { type: "media", mediaType: "audio/pcm", data: "BB" } },
      { type: "annotation", choice: 0, annotation: { type: "opaque", dialect: "gemini-generate", value: { x: 1 } } },
    ];
    expect(deltas(parts).slice(1)).toEqual([
      { refusal: "no" },
      {
        annotations: [
          { type: "url_citation", url_citation: { start_index: 1, end_index: 2, title: "X", url: "https://x" } },
        ],
      },
      { images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }] },
      { audio: { data: "BB" } },
      "stop",
    ]);
  });
});

describe("tool calls", () => {
  const role = { role: "assistant", content: null, refusal: null };

  it("are a header, then arguments, numbered from nothing; the finish reason says so", () => {
    const parts = [START, ...toolCall(3, "f", ['{"a"', ":1}"]), ...toolCall(7, "g", []), finish()];
    expect(deltas(parts)).toEqual([
      role,
      { tool_calls: [{ index: 0, id: "call_3", type: "function", function: { name: "f", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] },
      { tool_calls: [{ index: 1, id: "call_7", type: "function", function: { name: "g", arguments: "" } }] },
      { tool_calls: [{ index: 1, function: { arguments: "{}" } }] },
      "tool_calls",
    ]);
  });

  it("of the client's free-text tools get their input back, though the provider knows functions only", () => {
    const tools = [{ type: "custom", custom: { name: "patch" } }];
    const parts = [START, ...toolCall(0, "patch", ['{"inp', 'ut":"*** Be', 'gin"}']), finish("tool_calls")];
    expect(deltas(parts, { tools })).toEqual([
      role,
      { tool_calls: [{ index: 0, id: "call_0", type: "custom", custom: { name: "patch", input: "" } }] },
      { tool_calls: [{ index: 0, custom: { input: "*** Begin" } }] },
      "tool_calls",
    ]);
  });

  it("that are free text upstream go on as they come", () => {
    expect(deltas([START, ...toolCall(0, "patch", ["a", "b"], { custom: true })]).slice(1)).toEqual([
      { tool_calls: [{ index: 0, id: "call_0", type: "custom", custom: { name: "patch", input: "" } }] },
      { tool_calls: [{ index: 0, custom: { input: "a" } }] },
      { tool_calls: [{ index: 0, custom: { input: "b" } }] },
      "tool_calls",
    ]);
  });

  it("are one function_call for a client of functions", () => {
    const parts = [START, ...toolCall(0, "f", ["{}"]), ...toolCall(1, "g", ["{}"]), finish("tool_calls")];
    expect(deltas(parts, { functions: [{ name: "f" }, { name: "g" }] })).toEqual([
      role,
      { function_call: { name: "f", arguments: "" } },
      { function_call: { arguments: "{}" } },
      "function_call",
    ]);
  });

  it("carry Gemini's signature in both of its places", () => {
    const signature = { dialect: "gemini-generate", value: "g" };
    expect(deltas([START, ...toolCall(0, "f", ["{}"], { signature })])[1]).toEqual({
      tool_calls: [
        {
          index: 0,
          id: "call_0",
          type: "function",
          function: { name: "f", arguments: "" },
          extra_content: { google: { thought_signature: "g" } },
        },
      ],
      reasoning_details: [
        { type: "reasoning.encrypted", id: "call_0", data: "g", format: "google-gemini-v1", index: 0 },
      ],
    });
  });
});

describe("thoughts", () => {
  const thought = (words: string, rest: Json = {}): StreamPart =>
    ({ type: "reasoning", choice: 0, text: words, ...rest }) as StreamPart;

  it("are plain text, and whole once more beside their signature", () => {
    const signature = { dialect: "anthropic-messages", value: "s" };
    const parts = [
      START,
      thought("h"),
      thought("m"),
      thought("", { signature }),
      thought("more"),
      text("4"),
      thought("late", { signature }),
    ];
    const entry = { type: "reasoning.text", signature: "s", format: "anthropic-claude-v1" };
    expect(deltas(parts).slice(1)).toEqual([
      { reasoning_content: "h" },
      { reasoning_content: "m" },
      { reasoning_details: [{ ...entry, text: "hm", index: 0 }] },
      { reasoning_content: "more" },
      { content: "4" },
      { reasoning_content: "late", reasoning_details: [{ ...entry, text: "late", index: 1 }] },
      "stop",
    ]);
  });

  it("that only their maker can read are entries of their own", () => {
    const encrypted = { dialect: "openai-responses", value: "d" };
    const format = "openai-responses-v1";
    expect(deltas([START, thought("in "), thought("short"), thought("", { encrypted })]).slice(1)).toEqual([
      { reasoning_content: "in " },
      { reasoning_content: "short" },
      {
        reasoning_details: [
          { type: "reasoning.summary", summary: "in short", format, index: 0 },
          { type: "reasoning.encrypted", data: "d", format, index: 1 },
        ],
      },
      "stop",
    ]);
  });

  it("of a maker without a format are wrapped", () => {
    const signature = { dialect: "bedrock-converse", value: "b" };
    const wrapped = { signature: "sg1.bedrock-converse.text.b", format: "unknown" };
    expect(deltas([START, thought("h", { signature })])[1]).toEqual({
      reasoning_content: "h",
      reasoning_details: [{ type: "reasoning.text", text: "h", ...wrapped, index: 0 }],
    });
  });
});

describe("any stream", () => {
  it("comes out in order, and says the same when it is read again", () => {
    fc.assert(
      fc.property(chatParts(), fc.boolean(), (parts, asks) => {
        const events = eventsOf(parts, shown({ n: 2, ...(asks ? SHOWS : {}) }));
        expect(chunkOrderFaults(events, asks)).toEqual([]);
        const reader = streamReader(QUIRKS);
        const again = events.flatMap((event) => reader.read(event, null).parts);
        const want = replyOfParts(parts);
        expect(replyOfParts(again)).toEqual({ ...want, id: "chatcmpl-01ABC", usage: asks ? want.usage : null });
      }),
    );
  });
});
