import { describe, expect, it } from "vitest";
import type { StreamPart } from "../../core/stream-part.ts";
import { streamReader } from "./stream.ts";

/** The parts of a stream given as the `data` of its events. */
function read(...events: (Record<string, unknown> | string)[]): StreamPart[] {
  const reader = streamReader();
  return events.flatMap((event) => reader.read(typeof event === "string" ? event : JSON.stringify(event), null).parts);
}

const start = (usage: unknown = null, id = "msg_1"): Record<string, unknown> => ({
  type: "message_start",
  message: { id, model: "m", content: [], usage },
});
const open = (index: number, content_block: unknown) => ({ type: "content_block_start", index, content_block });
const delta = (index: number, given: unknown) => ({ type: "content_block_delta", index, delta: given });
const close = (index: number) => ({ type: "content_block_stop", index });
const done = (stop_reason: string | null, usage: unknown = null, extra = {}) => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null, ...extra },
  usage,
});
const signature = { dialect: "anthropic-messages", value: "c2ln" };

describe("streamReader", () => {
  it("reads thoughts, a call and usage that grows (WIRE F2)", () => {
    const parts = read(
      start({ input_tokens: 40, cache_creation_input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 1 }),
      open(0, { type: "thinking", thinking: "", signature: "" }),
      { type: "ping" },
      delta(0, { type: "thinking_delta", thinking: "Need weather." }),
      delta(0, { type: "signature_delta", signature: "c2ln" }),
      close(0),
      open(1, { type: "tool_use", id: "toolu_1", name: "weather", input: {} }),
      delta(1, { type: "input_json_delta", partial_json: "" }),
      delta(1, { type: "input_json_delta", partial_json: '{"city":"Oslo"}' }),
      close(1),
      done("tool_use", { output_tokens: 48 }),
    );
    expect(parts).toEqual([
      { type: "start", id: "msg_1", model: "m" },
      {
        type: "usage",
        usage: { input_tokens: 1040, cached_input_tokens: 1000, cache_write_tokens: 0, output_tokens: 1 },
      },
      { type: "reasoning", choice: 0, text: "" },
      { type: "reasoning", choice: 0, text: "Need weather." },
      { type: "reasoning", choice: 0, text: "", signature },
      { type: "tool_start", choice: 0, index: 0, id: "toolu_1", name: "weather" },
      { type: "tool_arguments", choice: 0, index: 0, text: '{"city":"Oslo"}' },
      { type: "tool_end", choice: 0, index: 0 },
      {
        type: "usage",
        usage: { input_tokens: 1040, cached_input_tokens: 1000, cache_write_tokens: 0, output_tokens: 48 },
      },
      { type: "finish", choice: 0, reason: "tool_calls" },
    ]);
  });

  it("keeps a signature without thoughts, and thoughts that nobody can read", () => {
    const parts = read(
      open(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "signature_delta", signature: "c2ln" }),
      close(0),
      open(1, { type: "redacted_thinking", data: "ZGF0YQ==" }),
      close(1),
    );
    expect(parts).toEqual([
      { type: "reasoning", choice: 0, text: "" },
      { type: "reasoning", choice: 0, text: "", signature },
      { type: "reasoning", choice: 0, text: "", encrypted: { dialect: "anthropic-messages", value: "ZGF0YQ==" } },
    ]);
  });

  it("takes a call's input where it came: in the start, in pieces, or not at all", () => {
    const whole = read(open(0, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }), close(0));
    expect(whole).toContainEqual({ type: "tool_arguments", choice: 0, index: 0, text: '{"a":1}' });
    const both = read(
      open(0, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }),
      delta(0, { type: "input_json_delta", partial_json: '{"b":2}' }),
      close(0),
    );
    expect(both.filter((part) => part.type === "tool_arguments")).toEqual([
      { type: "tool_arguments", choice: 0, index: 0, text: '{"b":2}' },
    ]);
    const none = read(open(0, { type: "tool_use", id: "t", name: "f", input: {} }), close(0));
    expect(none.map((part) => part.type)).toEqual(["tool_start", "tool_end"]);
  });

  it("lays later usage over earlier usage field by field, and ignores nulls", () => {
    const parts = read(
      start({
        input_tokens: 43,
        cache_read_input_tokens: 5,
        cache_creation: { ephemeral_1h_input_tokens: 7, ephemeral_5m_input_tokens: 2 },
      }),
      done(null, {
        input_tokens: 61,
        cache_read_input_tokens: null,
        output_tokens: 3,
        output_tokens_details: { thinking_tokens: 2 },
      }),
      done("end_turn", null),
    );
    expect(parts.filter((part) => part.type === "usage").at(-1)).toEqual({
      type: "usage",
      usage: {
        input_tokens: 75,
        cached_input_tokens: 5,
        cache_write_tokens: 9,
        cache_write_1h_tokens: 7,
        output_tokens: 3,
        reasoning_tokens: 2,
      },
    });
  });

  it("adds compactions, which the total leaves out", () => {
    const iterations = [
      { type: "compaction", input_tokens: 100, output_tokens: 10 },
      { type: "message", input_tokens: 5, output_tokens: 2 },
    ];
    expect(read(done(null, { input_tokens: 5, output_tokens: 2, iterations }))).toEqual([
      { type: "usage", usage: { input_tokens: 105, output_tokens: 12 } },
    ]);
  });

  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["compaction", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["tool_use", "tool_calls"],
    ["refusal", "content_filter"],
    ["a_word_of_2030", "stop"],
  ])("maps stop_reason %s to %s (WIRE C1)", (word, reason) => {
    expect(read(done(word))).toEqual([{ type: "finish", choice: 0, reason }]);
  });

  it("says which stop sequence was hit, and finishes once", () => {
    const parts = read(done("stop_sequence", null, { stop_sequence: "END" }), done("end_turn"));
    expect(parts).toEqual([{ type: "finish", choice: 0, reason: "stop", stopSequence: "END" }]);
  });

  it("calls an end after a call what it is, and ends calls that were left open", () => {
    const parts = read(open(0, { type: "tool_use", id: "t", name: "f", input: {} }), done("end_turn"));
    expect(parts.slice(1)).toEqual([
      { type: "tool_end", choice: 0, index: 0 },
      { type: "finish", choice: 0, reason: "tool_calls" },
    ]);
  });

  it("passes on citations and the provider's own blocks", () => {
    const page = {
      type: "web_search_result_location",
      url: "https://a",
      title: "A",
      encrypted_index: "x",
      cited_text: "c",
    };
    const place = { type: "char_location", document_index: 0, start_char_index: 1, end_char_index: 2, cited_text: "c" };
    const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
    const parts = read(
      open(0, { type: "text", text: "", citations: [] }),
      delta(0, { type: "citations_delta", citation: page }),
      delta(0, { type: "citations_delta", citation: place }),
      close(0),
      open(1, search),
      delta(1, { type: "input_json_delta", partial_json: '{"query":' }),
      close(1),
    );
    const opaque = (value: unknown) => ({ type: "opaque", dialect: "anthropic-messages", value });
    expect(parts.map((part) => part.type === "annotation" && part.annotation)).toEqual([
      { type: "url_citation", url: "https://a", title: "A", start: null, end: null },
      opaque(place),
      opaque(search),
      opaque({ type: "input_json_delta", partial_json: '{"query":' }),
    ]);
  });

  it("reads errors in the dialect's shape and in others', with the status they stand for", () => {
    const error = (event: Record<string, unknown>, name: string | null = null) =>
      streamReader().read(JSON.stringify(event), name).parts;
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(error(overloaded, "error")).toEqual([{ type: "error", failure: { status: 529, body: overloaded } }]);
    const api = { type: "error", error: { type: "api_error", message: "x" } };
    expect(error(api)).toEqual([{ type: "error", failure: { status: 500, body: api } }]);
    const plain = { error: { message: "boom", code: 503 } };
    expect(error(plain)).toEqual([{ type: "error", failure: { status: 503, body: plain } }]);
    expect(error({ message: "?" }, "error")).toEqual([
      { type: "error", failure: { status: null, body: { message: "?" } } },
    ]);
  });

  it("knows the end mark, pings, comments without data and events of the future", () => {
    const reader = streamReader();
    expect(reader.read('{"type":"message_stop"}', "message_stop").terminator).toBe(true);
    expect(reader.read("[DONE]", null).terminator).toBe(true);
    for (const quiet of ['{"type":"ping"}', "", '{"type":"novelty"}']) {
      expect(reader.read(quiet, null)).toEqual({ parts: [], usageOnly: false, terminator: false });
    }
  });

  it("throws for what is no event of the protocol", () => {
    expect(() => read("{")).toThrow("not JSON");
    expect(() => read("[]")).toThrow("no JSON object");
  });

  it("ignores a message_start that comes again, and breaks off when another message begins in the middle", () => {
    expect(read(start(), start()).map((part) => part.type)).toEqual(["start"]);
    const begun = [start(), open(0, { type: "text", text: "a" })] as const;
    expect(read(...begun, start()).map((part) => part.type)).toEqual(["start", "text"]);
    expect(() => read(...begun, start(null, "msg_2"))).toThrow("second message");
  });

  it("reads a tool's name back from Anthropic's alphabet", () => {
    const [part] = read(open(0, { type: "tool_use", id: "t", name: "fs_x2e_read_x5f_x2e_", input: {} }));
    expect(part).toMatchObject({ name: "fs.read_x2e_" });
  });
});
