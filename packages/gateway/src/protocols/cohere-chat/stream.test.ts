import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StreamPart } from "../../core/stream-part.ts";
import { streamReader } from "./stream.ts";

/** The parts of these events, each named by its `type`. */
function partsOf(...events: object[]): StreamPart[] {
  const reader = streamReader();
  return events.flatMap((event) => reader.read(JSON.stringify(event), null).parts);
}

const start = { type: "message-start", id: "m1", delta: { message: { role: "assistant" } } };
const callStart = (index: number, id: string, args = ""): object => ({
  type: "tool-call-start",
  index,
  delta: { message: { tool_calls: { id, type: "function", function: { name: "f", arguments: args } } } },
});
const callDelta = (index: number, text: string): object => ({
  type: "tool-call-delta",
  index,
  delta: { message: { tool_calls: { function: { arguments: text } } } },
});
const callEnd = (index: number): object => ({ type: "tool-call-end", index });
const end = (reason: string, more: object = {}): object => ({
  type: "message-end",
  delta: { finish_reason: reason, ...more },
});

describe("a stream of v2 chat", () => {
  test("says its plan before its calls, and what is billed", () => {
    const usage = {
      billed_units: { input_tokens: 3, output_tokens: 2 },
      tokens: { input_tokens: 9 },
      cached_tokens: 8,
    };
    expect(
      partsOf(
        start,
        { type: "tool-plan-delta", delta: { message: { tool_plan: "I will" } } },
        callStart(0, "f_1"),
        callDelta(0, '{"a":1}'),
        callEnd(0),
        end("TOOL_CALL", { usage }),
      ),
    ).toEqual([
      { type: "start", id: "m1", model: null },
      { type: "text", choice: 0, text: "I will" },
      { type: "tool_start", choice: 0, index: 0, id: "f_1", name: "f" },
      { type: "tool_arguments", choice: 0, index: 0, text: '{"a":1}' },
      { type: "tool_end", choice: 0, index: 0 },
      { type: "usage", usage: { input_tokens: 3, output_tokens: 2 } },
      { type: "finish", choice: 0, reason: "tool_calls" },
    ]);
  });

  test("cites pages as pages, and its own sources as its own", () => {
    const citation = (document: object): object => ({
      type: "citation-start",
      index: 0,
      delta: { message: { citations: { start: 1, end: 3, text: "x", sources: [{ type: "document", document }] } } },
    });
    const [page, own] = partsOf(citation({ url: "https://x.test", title: "X" }), citation({ id: "doc:0" }));
    const url = { type: "url_citation", url: "https://x.test", title: "X", start: 1, end: 3 };
    expect(page).toEqual({ type: "annotation", choice: 0, annotation: url });
    expect(own).toMatchObject({ annotation: { type: "opaque", dialect: "cohere-chat" } });
  });

  test("is over with its end, whatever is behind it", () => {
    const reader = streamReader();
    expect(reader.read(JSON.stringify(end("COMPLETE")), null)).toMatchObject({ terminator: true });
    expect(reader.read("[DONE]", null)).toEqual({ parts: [], usageOnly: false, terminator: true });
    expect(reader.read(JSON.stringify(end("COMPLETE")), null).parts).toEqual([]);
  });

  test.each([
    ["an end in an error", end("ERROR", { error: "boom" }), { status: 502, body: { message: "boom" } }],
    ["an end by its clock", end("TIMEOUT"), { status: 504, body: { message: "the answer ended with TIMEOUT" } }],
    ["a bare message", { id: "1", message: "no" }, { status: null, body: { message: "no" } }],
  ])("%s is an error", (_, event, failure) => {
    expect(partsOf(start, event).at(-1)).toEqual({ type: "error", failure });
  });

  test("no JSON throws without quoting it", () => {
    expect(() => streamReader().read("secret words", null)).toThrow("a stream event is not JSON");
  });

  test("arguments arrive whole however they are cut, and `null` as nothing", () => {
    const given = fc.oneof(
      fc.constant("null"),
      fc.record({ a: fc.string() }).map((one) => JSON.stringify(one)),
    );
    fc.assert(
      fc.property(given, fc.array(fc.nat(12), { maxLength: 5 }), (text, cuts) => {
        const places = [...new Set(cuts.map((cut) => Math.min(cut, text.length)))].sort((a, b) => a - b);
        const pieces = [0, ...places].map((from, at) => text.slice(from, places[at] ?? text.length));
        // `null` in pieces is not seen of anybody; whole it is what a call without arguments says.
        if (text === "null" && pieces.filter(Boolean).length > 1) return;
        const parts = partsOf(start, callStart(0, "c"), ...pieces.map((piece) => callDelta(0, piece)), callEnd(0));
        const told = parts.map((part) => (part.type === "tool_arguments" ? part.text : "")).join("");
        expect(told).toBe(text === "null" ? "" : text);
      }),
    );
  });
});
