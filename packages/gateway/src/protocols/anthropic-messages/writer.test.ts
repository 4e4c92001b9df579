import { describe, expect, it } from "vitest";
import type { StreamPart } from "../../core/stream-part.ts";
import { eventsIn, partsOf, shown } from "./fixtures/calls.ts";
import { checkOrder } from "./fixtures/event-order.ts";
import { streamWriter } from "./writer.ts";

const START: StreamPart = { type: "start", id: "up", model: "m" };
const FINISH: StreamPart = { type: "finish", choice: 0, reason: "stop" };
const text = (words: string): StreamPart => ({ type: "text", choice: 0, text: words });
const think = (words: string, extra = {}): StreamPart => ({ type: "reasoning", choice: 0, text: words, ...extra });
const open = (index: number, extra = {}): StreamPart => ({
  type: "tool_start",
  choice: 0,
  index,
  id: `t${index}`,
  name: "f",
  ...extra,
});
const args = (index: number, words: string): StreamPart => ({ type: "tool_arguments", choice: 0, index, text: words });
const close = (index: number): StreamPart => ({ type: "tool_end", choice: 0, index });
const own = (value: string) => ({ dialect: "anthropic-messages", value });

function written(parts: StreamPart[], metadata: Record<string, unknown> | null = null): string {
  const writer = streamWriter(shown());
  const bytes = parts.map((part) => writer.write(part)?.toString() ?? "").join("") + writer.end(metadata).toString();
  checkOrder(eventsIn(bytes));
  return bytes;
}

/** Blocks of the message as an SDK would put them together. */
function blocksOf(bytes: string): Record<string, unknown>[] {
  const blocks: Record<string, string>[] = [];
  for (const { name, data } of eventsIn(bytes)) {
    if (name === "content_block_start") blocks.push({ ...(data["content_block"] as Record<string, string>) });
    if (name !== "content_block_delta") continue;
    const { type: _, ...delta } = data["delta"] as Record<string, string>;
    const block = blocks[data["index"] as number] ?? {};
    for (const key in delta)
      block[key] = (block[key] ?? "") + (typeof delta[key] === "string" ? delta[key] : JSON.stringify(delta[key]));
  }
  return blocks;
}

describe("streamWriter", () => {
  it("writes a message exactly as the vendor does", () => {
    const usage: StreamPart = { type: "usage", usage: { input_tokens: 12, cached_input_tokens: 2 } };
    const later: StreamPart = { type: "usage", usage: { output_tokens: 7, reasoning_tokens: 3 } };
    const counts = (output: number) =>
      `{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":${output}`;
    expect(written([START, usage, text("he"), text("llo"), FINISH, later], { request_id: "req_01" })).toBe(
      [
        `event: message_start\ndata: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":${counts(0)}}}}`,
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"he"}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"llo"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":${counts(7)},"output_tokens_details":{"thinking_tokens":3}}}`,
        'event: message_stop\ndata: {"type":"message_stop","gateway_metadata":{"request_id":"req_01"}}',
        "",
      ].join("\n\n"),
    );
  });

  it("says nothing before there is output", () => {
    const writer = streamWriter(shown());
    expect(writer.write(START)).toBeNull();
    expect(writer.write({ type: "usage", usage: { input_tokens: 1 } })).toBeNull();
    expect(writer.write(think(""))).toBeNull();
    expect(writer.write(text(""))).toBeNull();
    expect(writer.write(text("a"))?.toString()).toContain("message_start");
  });

  it("serialises calls that come interleaved, and text behind them", () => {
    const bytes = written([
      START,
      open(0),
      args(0, '{"a"'),
      open(1),
      args(1, '{"b"'),
      args(0, ":1}"),
      text("after"),
      args(1, ":2}"),
      close(0),
      close(1),
      { ...FINISH, reason: "tool_calls" } as StreamPart,
    ]);
    expect(blocksOf(bytes)).toMatchObject([
      { type: "tool_use", id: "t0", partial_json: '{"a":1}' },
      { type: "tool_use", id: "t1", partial_json: '{"b":2}' },
      { type: "text", text: "after" },
    ]);
    expect(bytes).toContain('"stop_reason":"tool_use"');
  });

  it("streams the first call as it comes", () => {
    const writer = streamWriter(shown());
    writer.write(open(0));
    expect(writer.write(args(0, "{"))?.toString()).toContain('"partial_json":"{"');
    expect(writer.write(open(1))).toBeNull();
    expect(writer.write(close(0))?.toString()).toContain('"id":"t1"');
    expect(writer.write(args(1, "{}"))?.toString()).toContain('"partial_json":"{}"');
  });

  it("opens a block for each kind in turn, and one for each signed thought", () => {
    const bytes = written([
      think("a"),
      think("b", { signature: own("s1") }),
      think("", { signature: own("s2") }),
      think("", { encrypted: own("e") }),
      text("x"),
      think("c"),
      text("y"),
      FINISH,
    ]);
    expect(blocksOf(bytes)).toEqual([
      { type: "thinking", thinking: "ab", signature: "s1" },
      { type: "thinking", thinking: "", signature: "s2" },
      { type: "redacted_thinking", data: "e" },
      { type: "text", text: "x" },
      { type: "thinking", thinking: "c", signature: "sg1.none.text.0" },
      { type: "text", text: "y" },
    ]);
  });

  it("carries proofs of other makers in their wrapper (signatures, encrypted thoughts, calls)", () => {
    const gemini = { dialect: "gemini-generate", value: "g" };
    const responses = { dialect: "openai-responses", value: "r" };
    const bytes = written([
      think("sum"),
      think("", { encrypted: responses }),
      think("", { encrypted: responses }),
      think("x", { signature: gemini }),
      open(0, { signature: gemini }),
      close(0),
      FINISH,
    ]);
    expect(blocksOf(bytes)).toMatchObject([
      { type: "thinking", thinking: "sum", signature: "sg1.openai-responses.encrypted.r" },
      { type: "redacted_thinking", data: "sg1.openai-responses.encrypted.r" },
      { type: "thinking", thinking: "x", signature: "sg1.gemini-generate.text.g" },
      { type: "thinking", thinking: "", signature: "sg1.gemini-generate.call.g" },
      { type: "tool_use", id: "t0" },
    ]);
  });

  it("keeps other makers' wordless thoughts off the end, where clients look for the answer", () => {
    const foreign = (value: string) => ({ dialect: "gemini-generate", value });
    const proof = think("", { signature: foreign("P") });
    const sealed = think("", { encrypted: foreign("E") });
    const kinds = (...parts: StreamPart[]) =>
      blocksOf(written([START, ...parts, FINISH])).map((block) => block["text"] ?? block["type"]);
    expect(kinds(text("all"), proof)).toEqual(["all"]);
    expect(kinds(text("all"), sealed, proof)).toEqual(["all"]);
    expect(kinds(text("a"), proof, text("ll"), sealed)).toEqual(["all"]);
    // Behind a call it may be the call's, which does not go back without.
    const withCall = ["all", "thinking", "tool_use", "redacted_thinking"];
    expect(kinds(text("all"), proof, open(0), close(0), sealed)).toEqual(withCall);
    expect(kinds(sealed, proof, text("all"))).toEqual(["redacted_thinking", "thinking", "all"]);
    expect(kinds(think("so"), proof, text("all"))).toEqual(["thinking", "all"]);
    expect(kinds(text("all"), think("", { encrypted: own("E") }))).toEqual(["all", "redacted_thinking"]);
  });

  it("gives ids and names that Anthropic takes back, and free text as JSON", () => {
    const bytes = written([
      open(0, { id: "a/b", name: "fs.read" }),
      close(0),
      open(1, { id: "" }),
      close(1),
      open(2, { custom: true }),
      args(2, 'say "'),
      args(2, 'hi"'),
      close(2),
      FINISH,
    ]);
    expect(blocksOf(bytes)).toMatchObject([
      { id: expect.stringMatching(/^toolu_[0-9a-f]{24}$/), name: "fs.read" },
      { id: "call_1", name: "f" },
      { partial_json: '{"input":"say \\"hi\\""}' },
    ]);
  });

  it("cites pages and keeps its own dialect's citations and blocks", () => {
    const place = { type: "char_location", document_index: 0 };
    const note = (annotation: object): StreamPart => ({ type: "annotation", choice: 0, annotation }) as StreamPart;
    const opaque = (value: unknown) => note({ type: "opaque", dialect: "anthropic-messages", value });
    const bytes = written([
      text("a"),
      note({ type: "url_citation", url: "https://a", title: "A", start: 0, end: 1 }),
      opaque(place),
      opaque({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      opaque({ type: "input_json_delta", partial_json: "{}" }),
      note({ type: "opaque", dialect: "openai-responses", value: { type: "x" } }),
      note({ type: "media", mediaType: "image/png", data: "" }),
      FINISH,
    ]);
    const citations = eventsIn(bytes).filter(({ data }) => JSON.stringify(data).includes("citations_delta"));
    expect(citations.map(({ data }) => (data["delta"] as { citation: unknown }).citation)).toEqual([
      {
        type: "web_search_result_location",
        url: "https://a",
        title: "A",
        encrypted_index: "sg1.none.citation.0",
        cited_text: "",
      },
      place,
    ]);
    expect(blocksOf(bytes)[1]).toMatchObject({ type: "server_tool_use", partial_json: "{}" });
    expect(blocksOf(bytes)).toHaveLength(2);
  });

  it.each<[StreamPart[], string, string | null]>([
    [[text("a"), FINISH], "end_turn", null],
    [[text("a"), { ...FINISH, stopSequence: "END" } as StreamPart], "stop_sequence", "END"],
    [[text("a"), { ...FINISH, reason: "length" } as StreamPart], "max_tokens", null],
    [[{ ...FINISH, reason: "content_filter" } as StreamPart], "refusal", null],
    [[open(0), close(0), FINISH], "tool_use", null],
    [[open(0), close(0), { ...FINISH, reason: "length" } as StreamPart], "max_tokens", null],
    [[{ type: "refusal", choice: 0, text: "no" }, FINISH], "refusal", null],
    [[text("a"), { ...FINISH, reason: "error" } as StreamPart], "end_turn", null],
    [[text("a")], "end_turn", null],
  ])("%j ends with %s (WIRE C1)", (parts, reason, sequence) => {
    const event = eventsIn(written(parts)).find(({ name }) => name === "message_delta");
    expect(event?.data["delta"]).toEqual({ stop_reason: reason, stop_sequence: sequence });
  });

  it("tells the first choice only", () => {
    const second = (part: StreamPart): StreamPart => ({ ...part, choice: 1 }) as StreamPart;
    const bytes = written([
      text("a"),
      second(text("b")),
      FINISH,
      second({ ...FINISH, reason: "length" } as StreamPart),
    ]);
    expect(blocksOf(bytes)).toEqual([{ type: "text", text: "a" }]);
    expect(bytes).toContain('"stop_reason":"end_turn"');
  });

  it("is read back as the parts it was made of", () => {
    const parts: StreamPart[] = [
      START,
      {
        type: "usage",
        usage: {
          input_tokens: 9,
          cached_input_tokens: 4,
          cache_write_tokens: 3,
          cache_write_1h_tokens: 1,
          output_tokens: 0,
        },
      },
      think(""),
      think("hm"),
      think("", { signature: own("s") }),
      text("answer"),
      open(0),
      args(0, '{"a":1}'),
      close(0),
      {
        type: "usage",
        usage: {
          input_tokens: 9,
          cached_input_tokens: 4,
          cache_write_tokens: 3,
          cache_write_1h_tokens: 1,
          output_tokens: 5,
          reasoning_tokens: 2,
        },
      },
      { type: "finish", choice: 0, reason: "tool_calls" },
    ];
    expect(partsOf(written(parts))).toEqual([{ ...START, id: "msg_01" }, ...parts.slice(1)]);
  });
});
