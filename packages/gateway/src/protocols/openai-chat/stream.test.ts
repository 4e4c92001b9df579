import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FinishReason, StreamPart } from "../../core/stream-part.ts";
import type { EventReading, Quirks } from "../protocol.ts";
import { streamReader } from "./stream.ts";

const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };

type Json = Record<string, unknown>;

function readings(
  chunks: readonly (Json | string)[],
  quirks: Partial<Quirks> = {},
  name: string | null = null,
): EventReading[] {
  const reader = streamReader({ ...PLAIN, ...quirks });
  return chunks.map((chunk) => reader.read(typeof chunk === "string" ? chunk : JSON.stringify(chunk), name));
}

function partsOf(
  chunks: readonly (Json | string)[],
  quirks: Partial<Quirks> = {},
  name: string | null = null,
): StreamPart[] {
  return readings(chunks, quirks, name).flatMap((reading) => reading.parts);
}

/** A chunk with one choice. */
function chunk(delta: unknown, finish: string | null = null, extra: Json = {}): Json {
  return {
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...extra,
  };
}

const calls = (...fragments: Json[]): Json => chunk({ tool_calls: fragments });
const fragment = (index: number | undefined, id: string | undefined, name: unknown, args: unknown): Json => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});

/** What a consumer makes of the parts: the calls, whole; fails when a call's parts do not balance. */
function toolCalls(parts: readonly StreamPart[]): { id: string; name: string; arguments: string }[] {
  const made: { id: string; name: string; arguments: string; ended: boolean }[] = [];
  for (const part of parts) {
    if (part.type === "tool_start") {
      expect(part.index).toBe(made.length);
      made.push({ id: part.id, name: part.name, arguments: "", ended: false });
    } else if (part.type === "tool_arguments" || part.type === "tool_end") {
      const call = made[part.index];
      if (!call || call.ended) throw new Error(`${part.type} of call ${part.index}, which is not open`);
      if (part.type === "tool_end") call.ended = true;
      else call.arguments += part.text;
    } else if (part.type === "finish") {
      expect(made.every((call) => call.ended)).toBe(true);
    }
  }
  return made.map(({ ended: _, ...call }) => call);
}

const texts = (parts: readonly StreamPart[], type: "text" | "reasoning" | "refusal"): string =>
  parts.flatMap((part) => (part.type === type ? part.text : [])).join("");
const finishes = (parts: readonly StreamPart[]): FinishReason[] =>
  parts.flatMap((part) => (part.type === "finish" ? part.reason : []));
const usages = (parts: readonly StreamPart[]) => parts.flatMap((part) => (part.type === "usage" ? part.usage : []));

describe("an OpenAI stream", () => {
  it("with a tool call and usage (F1)", () => {
    const whole = readings([
      chunk(
        {
          role: "assistant",
          content: null,
          refusal: null,
          tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } }],
        },
        null,
        { usage: null, obfuscation: "x" },
      ),
      calls({ index: 0, function: { arguments: '{"city":' } }),
      calls({ index: 0, function: { arguments: '"Oslo"}' } }),
      chunk({}, "tool_calls", { usage: null }),
      {
        ...chunk(null),
        choices: [],
        usage: {
          prompt_tokens: 50,
          completion_tokens: 12,
          total_tokens: 62,
          prompt_tokens_details: { cached_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 0 },
        },
      },
      "[DONE]",
    ]);
    expect(whole.flatMap((reading) => reading.parts)).toEqual([
      { type: "start", id: "c1", model: "m" },
      { type: "tool_start", choice: 0, index: 0, id: "call_1", name: "weather" },
      { type: "tool_arguments", choice: 0, index: 0, text: '{"city":' },
      { type: "tool_arguments", choice: 0, index: 0, text: '"Oslo"}' },
      { type: "tool_end", choice: 0, index: 0 },
      { type: "finish", choice: 0, reason: "tool_calls" },
      { type: "usage", usage: { input_tokens: 50, output_tokens: 12, cached_input_tokens: 0, reasoning_tokens: 0 } },
    ]);
    expect(whole.map((reading) => reading.usageOnly)).toEqual([false, false, false, false, true, false]);
    expect(whole.map((reading) => reading.terminator)).toEqual([false, false, false, false, false, true]);
  });

  it("with text, of several choices interleaved", () => {
    const at = (index: number, content: string, finish: string | null = null): Json => ({
      ...chunk(null),
      choices: [{ index, delta: { content }, finish_reason: finish }],
    });
    const parts = partsOf([at(0, "a"), at(1, "x"), at(0, "b", "stop"), at(1, "y", "length")]);
    expect(parts.filter((part) => part.type !== "start")).toEqual([
      { type: "text", choice: 0, text: "a" },
      { type: "text", choice: 1, text: "x" },
      { type: "text", choice: 0, text: "b" },
      { type: "finish", choice: 0, reason: "stop" },
      { type: "text", choice: 1, text: "y" },
      { type: "finish", choice: 1, reason: "length" },
    ]);
  });

  it("whose preamble says nothing has nothing but a start", () => {
    expect(
      partsOf([
        chunk({ role: "assistant", content: "", refusal: null }),
        chunk({ role: "assistant", content: null, reasoning_content: "", tool_calls: [] }),
        chunk({}),
      ]),
    ).toEqual([{ type: "start", id: "c1", model: "m" }]);
  });

  it.each(["", "  ", "\n"])("with an event of %j data says nothing", (data) => {
    expect(readings([data])).toEqual([{ parts: [], usageOnly: false, terminator: false }]);
  });

  it.each(["[DONE]", " [DONE] ", "[DONE]\n"])("ends at %j", (data) => {
    expect(readings([data])[0]?.terminator).toBe(true);
  });

  it.each(["{", "null", "[]", '"text"', "7", "<html>", "DONE", '{"a":1}{"b":2}'])(
    "with the event %j throws, and does not quote it",
    (data) => {
      expect(() => readings([data])).toThrow(/^a stream event is (not JSON|no JSON object)$/);
    },
  );

  it.each([
    [{ ...chunk(null), choices: null }],
    [{ ...chunk(null), choices: {} }],
    [{ ...chunk(null), choices: [null, "x", 7] }],
    [chunk(null)],
    [chunk({ tool_calls: null, content: null })],
    [chunk({ tool_calls: [null, "x"], content: [null, "y", {}], annotations: {} })],
    [chunk("text")],
    [{ ...chunk(null), choices: [{}] }],
    [{ ...chunk({}), usage: "none", x_groq: "y", model: 7, id: null }],
  ])("stands %j", (odd) => {
    expect(() => partsOf([odd])).not.toThrow();
  });

  it("takes its model from the first chunk that has one (Azure's first has none)", () => {
    const first = {
      choices: [],
      created: 0,
      id: "",
      model: "",
      object: "",
      prompt_filter_results: [{ prompt_index: 0 }],
    };
    const [azure, text] = readings([first, chunk({ content: "hi" })]);
    expect(azure).toEqual({ parts: [], usageOnly: false, terminator: false });
    expect(text?.parts[0]).toEqual({ type: "start", id: "c1", model: "m" });
  });
});

describe("reasoning, refusals and other output", () => {
  it.each([
    [
      "DeepSeek",
      [
        chunk({ role: "assistant", content: null, reasoning_content: "" }),
        chunk({ content: null, reasoning_content: "The" }),
        chunk({ content: "4", reasoning_content: null }),
      ],
    ],
    ["both names, one empty", [chunk({ reasoning_content: "", reasoning: "The" }), chunk({ content: "4" })]],
    ["both names, the same", [chunk({ reasoning_content: "The", reasoning: "The" }), chunk({ content: "4" })]],
    ["Groq", [chunk({ reasoning: "The" }), chunk({ content: "4" })]],
    [
      "Mistral",
      [
        chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "The" }] }] }),
        chunk({ content: [{ type: "text", text: "4" }] }),
      ],
    ],
  ])("of %s", (_name, chunks) => {
    const parts = partsOf(chunks);
    expect(texts(parts, "reasoning")).toBe("The");
    expect(texts(parts, "text")).toBe("4");
  });

  it("a refusal", () => {
    expect(texts(partsOf([chunk({ refusal: "I " }), chunk({ refusal: "won't" })]), "refusal")).toBe("I won't");
  });

  it("the text of a completions chunk", () => {
    expect(texts(partsOf([{ ...chunk(null), choices: [{ index: 0, text: "hi", finish_reason: null }] }]), "text")).toBe(
      "hi",
    );
  });

  it.each([
    [{ audio: { id: "a", data: "AAAA" } }],
    [{ annotations: [{ type: "url_citation" }] }],
    [{ images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }] }],
    [{ content: [{ type: "reference", reference_ids: [1] }] }],
  ])("%j is output, though no text", (delta) => {
    expect(partsOf([chunk(delta)]).map((part) => part.type)).toEqual(["start", "annotation"]);
  });

  it.each([[{ images: [] }], [{ reasoning_details: [] }], [{ annotations: [] }], [{ audio: null }]])(
    "%j is none",
    (delta) => {
      expect(partsOf([chunk(delta)]).map((part) => part.type)).toEqual(["start"]);
    },
  );
});

describe("tool calls", () => {
  const made = expect.stringMatching(/^call_[0-9a-f]{24}$/) as string;
  const oslo = { id: "a", name: "weather", arguments: '{"city":"Oslo"}' };
  const rome = { id: "b", name: "time", arguments: '{"zone":"Rome"}' };

  it.each<[string, Json[], { id: string; name: string; arguments: string }[]]>([
    ["whole in one delta (Groq)", [calls(fragment(0, "a", "weather", oslo.arguments))], [oslo]],
    ["whole, without index or type (Mistral)", [calls(fragment(undefined, "a", "weather", oslo.arguments))], [oslo]],
    [
      "two in one delta, without index",
      [calls(fragment(undefined, "a", "weather", oslo.arguments), fragment(undefined, "b", "time", rome.arguments))],
      [oslo, rome],
    ],
    [
      "two in two deltas, without index",
      [
        calls(fragment(undefined, "a", "weather", oslo.arguments)),
        calls(fragment(undefined, "b", "time", rome.arguments)),
      ],
      [oslo, rome],
    ],
    [
      "fragments without index and id go on with the last call",
      [
        calls(fragment(undefined, "a", "weather", "")),
        calls(fragment(undefined, "b", "time", '{"zone":')),
        calls(fragment(undefined, undefined, undefined, '"Rome"}')),
      ],
      [{ ...oslo, arguments: "" }, rome],
    ],
    [
      "fragments without index are told by their ids",
      [
        calls(fragment(undefined, "a", "weather", '{"city":'), fragment(undefined, "b", "time", '{"zone":')),
        calls(fragment(undefined, "b", undefined, '"Rome"}')),
        calls(fragment(undefined, "a", undefined, '"Oslo"}')),
      ],
      [oslo, rome],
    ],
    [
      "an index that comes only with the second fragment (Mistral)",
      [calls(fragment(undefined, "a", "weather", '{"city":')), calls(fragment(0, undefined, "", '"Oslo"}'))],
      [oslo],
    ],
    [
      "index 0 used again under a new id",
      [
        calls(fragment(0, "a", "weather", oslo.arguments)),
        calls(fragment(0, "b", "time", '{"zone":')),
        calls(fragment(0, undefined, undefined, '"Rome"}')),
      ],
      [oslo, rome],
    ],
    [
      "index 0 for all, in one delta, without ids (Gemini)",
      [calls(fragment(0, "", "weather", oslo.arguments), fragment(0, "", "weather", "{}"))],
      [
        { ...oslo, id: made },
        { id: made, name: "weather", arguments: "{}" },
      ],
    ],
    [
      "index 0 for all, in two deltas, without ids",
      [calls(fragment(0, undefined, "weather", oslo.arguments)), calls(fragment(0, undefined, "time", rome.arguments))],
      [
        { ...oslo, id: made },
        { ...rome, id: made },
      ],
    ],
    [
      "without index and id, a name begins a call",
      [
        calls(fragment(undefined, undefined, "weather", oslo.arguments)),
        calls(fragment(undefined, undefined, "weather", "{}")),
      ],
      [
        { ...oslo, id: made },
        { id: made, name: "weather", arguments: "{}" },
      ],
    ],
    [
      "the same id at two indices is two calls",
      [calls(fragment(0, "a", "weather", oslo.arguments), fragment(1, "a", "time", rome.arguments))],
      [oslo, { ...rome, id: "a" }],
    ],
    [
      "an id on every fragment",
      [calls(fragment(0, "a", "weather", '{"city":')), calls(fragment(0, "a", undefined, '"Oslo"}'))],
      [oslo],
    ],
    [
      "indices that begin at 1 and come out of order",
      [calls(fragment(2, "a", "weather", oslo.arguments)), calls(fragment(1, "b", "time", rome.arguments))],
      [oslo, rome],
    ],
    [
      "fragments of parallel calls, interleaved",
      [
        calls(fragment(0, "a", "weather", '{"city":'), fragment(1, "b", "time", '{"zone":')),
        calls(fragment(1, undefined, undefined, '"Rome"}')),
        calls(fragment(0, undefined, undefined, '"Oslo"}')),
      ],
      [oslo, rome],
    ],
    [
      "the name after the arguments",
      [calls(fragment(0, "a", undefined, '{"city":')), calls(fragment(0, undefined, "weather", '"Oslo"}'))],
      [oslo],
    ],
    [
      "the id after the arguments",
      [calls(fragment(0, undefined, undefined, '{"city":')), calls(fragment(0, "a", "weather", '"Oslo"}'))],
      [oslo],
    ],
    [
      "an empty name, and the name again, replace none",
      [
        calls(fragment(0, "a", "weather", '{"city":')),
        calls(fragment(0, undefined, "", '"Os')),
        calls(fragment(0, "a", "weather", 'lo"}')),
      ],
      [oslo],
    ],
    ["arguments as an object", [calls(fragment(0, "a", "weather", { city: "Oslo" }))], [oslo]],
    [
      "arguments null, then whole",
      [calls(fragment(0, "a", "weather", null)), calls(fragment(0, undefined, undefined, oslo.arguments))],
      [oslo],
    ],
    ["no arguments at all", [calls(fragment(0, "a", "weather", undefined))], [{ ...oslo, arguments: "" }]],
    ["a name that never comes", [calls(fragment(0, "a", undefined, oslo.arguments))], [{ ...oslo, name: "" }]],
    [
      "a custom tool",
      [
        calls({ index: 0, id: "a", type: "custom", custom: { name: "weather", input: "Os" } }),
        calls({ index: 0, custom: { input: "lo" } }),
      ],
      [{ id: "a", name: "weather", arguments: "Oslo" }],
    ],
    [
      "the old function_call",
      [
        chunk({ function_call: { name: "weather", arguments: '{"city":' } }),
        chunk({ function_call: { arguments: '"Oslo"}' } }),
      ],
      [{ ...oslo, id: made }],
    ],
  ])("%s", (_name, chunks, expected) => {
    const parts = partsOf([...chunks, chunk({}, "tool_calls")]);
    expect(toolCalls(parts)).toEqual(expected);
    expect(finishes(parts)).toEqual(["tool_calls"]);
  });

  it("come together the same, however their arguments are cut", () => {
    const call = fc.record({
      id: fc.uuid(),
      name: fc.stringMatching(/^[a-z]{1,12}$/),
      pieces: fc.array(fc.string(), { maxLength: 5 }),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(call, { minLength: 1, maxLength: 5, selector: (each) => each.id }),
        fc.infiniteStream(fc.nat()),
        (made, choose) => {
          const left = made.map(({ pieces }) => [...pieces]);
          const chunks = [calls(...made.map(({ id, name }, index) => fragment(index, id, name, "")))];
          while (left.some((pieces) => pieces.length > 0)) {
            const open = left.flatMap((pieces, index) => (pieces.length > 0 ? [index] : []));
            const index = open[(choose.next().value as number) % open.length] ?? 0;
            chunks.push(calls(fragment(index, undefined, undefined, left[index]?.shift())));
          }
          const parts = partsOf([...chunks, chunk({}, "stop")]);
          expect(toolCalls(parts)).toEqual(
            made.map(({ id, name, pieces }) => ({ id, name, arguments: pieces.join("") })),
          );
          expect(finishes(parts)).toEqual(["tool_calls"]);
        },
      ),
    );
  });

  it("of two choices do not mix", () => {
    const at = (index: number, delta: Json, finish: string | null = null): Json => ({
      ...chunk(null),
      choices: [{ index, delta, finish_reason: finish }],
    });
    const parts = partsOf([
      at(0, { tool_calls: [fragment(0, "a", "weather", "{")] }),
      at(1, { tool_calls: [fragment(0, "b", "time", "[")] }),
      at(0, { tool_calls: [fragment(0, undefined, undefined, "}")] }),
      at(1, { tool_calls: [fragment(0, undefined, undefined, "]")] }, "stop"),
      at(0, {}, "stop"),
    ]);
    const of = (choice: number) => toolCalls(parts.filter((part) => "choice" in part && part.choice === choice));
    expect(of(0)).toEqual([{ id: "a", name: "weather", arguments: "{}" }]);
    expect(of(1)).toEqual([{ id: "b", name: "time", arguments: "[]" }]);
  });

  it("may come in the very chunk that finishes, and end before it", () => {
    const parts = partsOf([
      chunk({ content: null, tool_calls: [fragment(undefined, "a", "weather", "{}")] }, "tool_calls", {
        usage: { prompt_tokens: 124, completion_tokens: 22, total_tokens: 146 },
      }),
    ]);
    expect(parts.map((part) => part.type)).toEqual([
      "start",
      "tool_start",
      "tool_arguments",
      "tool_end",
      "finish",
      "usage",
    ]);
  });

  it("after the finish are not begun: nothing would end them", () => {
    const parts = partsOf([chunk({ content: "x" }, "stop"), calls(fragment(0, "a", "f", "{}")), chunk({}, "stop")]);
    expect(toolCalls(parts)).toEqual([]);
    expect(finishes(parts)).toEqual(["stop"]);
  });

  it("are bounded in number, and in what they hold back for a name", () => {
    const reader = streamReader(PLAIN);
    expect(() => {
      for (let i = 0; i < 5_000; i++) reader.read(JSON.stringify(calls(fragment(i, `c${i}`, "f", ""))), null);
    }).toThrow(/4096 tool calls/);
    const nameless = streamReader(PLAIN);
    expect(() => {
      for (let i = 0; i < 100; i++)
        nameless.read(JSON.stringify(calls(fragment(0, "a", undefined, "x".repeat(65_536)))), null);
    }).toThrow(/no name/);
  });
});

describe("the finish reason", () => {
  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["eos", "stop"],
    ["eos_token", "stop"],
    ["stop_sequence", "stop"],
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["model_length", "length"],
    ["tool_use", "tool_calls"],
    ["function_call", "tool_calls"],
    ["something_new", "stop"],
    ["constructor", "stop"],
  ])("%s is %s", (word, reason) => {
    expect(finishes(partsOf([chunk({ content: "x" }, word)]))).toEqual([reason]);
  });

  it.each([null, "", undefined, 1, {}])("%j is none yet", (word) => {
    expect(
      finishes(partsOf([{ ...chunk(null), choices: [{ index: 0, delta: { content: "x" }, finish_reason: word }] }])),
    ).toEqual([]);
  });

  it("becomes tool_calls where tools were called and the upstream says stop, and only then", () => {
    const called = calls(fragment(0, "a", "f", "{}"));
    expect(finishes(partsOf([called, chunk({}, "stop")]))).toEqual(["tool_calls"]);
    expect(finishes(partsOf([called, chunk({}, "length")]))).toEqual(["length"]);
    expect(finishes(partsOf([called, chunk({}, "content_filter")]))).toEqual(["content_filter"]);
  });

  it("counts once a choice, also when it is repeated in the usage chunk (OpenRouter)", () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    const whole = readings([
      chunk({ content: "x" }),
      chunk({ content: "" }, "stop"),
      chunk({ content: "" }, "length", { usage }),
    ]);
    const parts = whole.flatMap((reading) => reading.parts);
    expect(finishes(parts)).toEqual(["stop"]);
    expect(usages(parts)).toEqual([{ input_tokens: 3, output_tokens: 1 }]);
    expect(whole[2]?.usageOnly).toBe(false);
  });
});

describe("usage", () => {
  const usage = { prompt_tokens: 210, completion_tokens: 15, total_tokens: 225 };
  const read = { input_tokens: 210, output_tokens: 15 };

  it("may stand in a chunk of its own, in the finish chunk, in Groq's own member, in a choice", () => {
    expect(readings([{ ...chunk(null), choices: [], usage }])[0]).toMatchObject({ usageOnly: true });
    expect(readings([{ ...chunk(null), choices: null, usage }])[0]).toMatchObject({ usageOnly: true });
    expect(readings([chunk({ content: "" }, "stop", { usage })])[0]).toMatchObject({ usageOnly: false });
    for (const odd of [
      chunk({}, "stop", { x_groq: { id: "r", usage } }),
      chunk({}, "stop", { x_groq: { usage }, usage }),
    ]) {
      expect(usages(partsOf([odd]))).toEqual([read]);
    }
    expect(
      usages(partsOf([{ ...chunk(null), choices: [{ index: 0, delta: {}, finish_reason: "stop", usage }] }])),
    ).toEqual([read]);
  });

  it("in every chunk is reported as it grows, never summed (Perplexity)", () => {
    const grows = [1, 2, 3].map((count) =>
      chunk({ content: "x" }, null, { usage: { prompt_tokens: 5, completion_tokens: count, total_tokens: 5 + count } }),
    );
    expect(usages(partsOf(grows)).map((each) => each.output_tokens)).toEqual([1, 2, 3]);
  });

  it.each([[null], [{}], ["none"], [[]], [undefined]])("as %j says nothing", (none) => {
    const [reading] = readings([{ ...chunk(null), choices: [], usage: none }]);
    expect(reading).toMatchObject({ usageOnly: false });
    expect(usages(reading?.parts ?? [])).toEqual([]);
  });

  it("empty choices without usage are not usage: Azure's filter results, moderation", () => {
    expect(readings([{ ...chunk(null), choices: [], moderation: { flagged: false } }])[0]).toMatchObject({
      usageOnly: false,
    });
  });
});

describe("an error in the stream", () => {
  it.each<[string, Json, number | null, string | null]>([
    [
      "nested, as OpenAI and vLLM send it",
      { error: { message: "boom", type: "server_error", param: null, code: null } },
      null,
      null,
    ],
    [
      "with a number for a code (OpenRouter), beside choices",
      { ...chunk({ content: "" }, "error"), error: { code: 429, message: "slow" } },
      429,
      null,
    ],
    ["with a number as text", { error: { code: "503", message: "busy" } }, 503, null],
    ["with the status beside it (Cerebras)", { error: { message: "x", type: "y" }, status_code: 500 }, 500, null],
    [
      "with the status inside (Groq)",
      { error: { message: "x", code: "tool_use_failed", status_code: 400 } },
      400,
      "error",
    ],
    ["a bare string (TGI)", { error: "overloaded", error_type: "overloaded" }, null, null],
    [
      "flat (Mistral)",
      { object: "error", message: "x", type: "rate_limited", code: "1300", raw_status_code: 429 },
      429,
      null,
    ],
    ["flat, under event: error", { message: "x", code: 400 }, 400, "error"],
    ["in Groq's own member", { ...chunk({}), x_groq: { id: "r", error: { message: "x", code: 413 } } }, 413, null],
    [
      "in a choice",
      {
        ...chunk(null),
        choices: [{ index: 0, delta: {}, error: { code: 502, message: "x" }, finish_reason: "error" }],
      },
      502,
      null,
    ],
    ["told by its type alone", { error: { type: "rate_limit_error", message: "x" } }, 429, null],
    [
      "told by its type alone: the request's fault",
      { error: { type: "invalid_request_error", message: "x" } },
      400,
      null,
    ],
    ["only a finish reason", chunk({}, "error"), 502, null],
    ["only a finish reason: no resources (DeepSeek)", chunk({}, "insufficient_system_resource"), 503, null],
    ["a code that is no status", { error: { code: 3505, message: "x" } }, null, null],
  ])("%s", (_name, odd, status, name) => {
    const parts = partsOf([odd], {}, name).filter((part) => part.type !== "start");
    expect(parts).toMatchObject([{ type: "error", failure: { status } }]);
    expect(finishes(parts)).toEqual([]);
  });

  it.each([[null], [{}], [""], [false]])("is none where `error` is %j", (error) => {
    expect(partsOf([{ ...chunk({ content: "x" }), error }]).map((part) => part.type)).toEqual(["start", "text"]);
  });

  it("brings what had been used", () => {
    const parts = partsOf([
      {
        ...chunk({ content: "" }),
        error: { code: 400, message: "Token limit reached" },
        usage: { prompt_tokens: 43, completion_tokens: 10, total_tokens: 53 },
      },
    ]);
    expect(parts.map((part) => part.type)).toEqual(["usage", "error"]);
  });
});

it("bounds the choices it remembers", () => {
  const reader = streamReader(PLAIN);
  expect(() => {
    for (let index = 0; index < 5_000; index++) {
      reader.read(JSON.stringify({ ...chunk(null), choices: [{ index, delta: { content: "x" } }] }), null);
    }
  }).toThrow(/4096 choices/);
});

describe("parts that a client of another dialect needs", () => {
  const details = (...entries: Json[]): Json => ({ reasoning_details: entries });
  const thoughts = (...deltas: Json[]): StreamPart[] =>
    partsOf(deltas.map((delta) => chunk(delta))).filter(({ type }) => type === "reasoning");

  it("token entries beside their text, also where the token is no character yet", () => {
    const entry = { token: "a", logprob: -1, bytes: [97], top_logprobs: [] };
    const choice = (content: string): Json => ({ index: 0, delta: { content }, logprobs: { content: [entry] } });
    const parts = partsOf([
      { ...chunk({}), choices: [choice("a")] },
      { ...chunk({}), choices: [choice("")] },
    ]);
    expect(parts.slice(1)).toEqual([
      { type: "text", choice: 0, text: "a", logprobs: [entry] },
      { type: "text", choice: 0, text: "", logprobs: [entry] },
    ]);
  });

  it("free-text tools are told from functions", () => {
    const parts = partsOf([calls({ index: 0, id: "a", type: "custom", custom: { name: "patch", input: "x" } })]);
    expect(parts[1]).toEqual({ type: "tool_start", choice: 0, index: 0, id: "a", name: "patch", custom: true });
  });

  it("a thought that stands in both places is told once, with what is signed (OpenRouter)", () => {
    expect(
      thoughts(
        { reasoning: "h", ...details({ type: "reasoning.text", text: "h", format: "anthropic-claude-v1", index: 0 }) },
        { reasoning: "m", ...details({ type: "reasoning.text", text: "m", format: "anthropic-claude-v1", index: 0 }) },
        details({ type: "reasoning.text", signature: "s", format: "anthropic-claude-v1", index: 0 }),
        details({ type: "reasoning.encrypted", data: "d", format: "anthropic-claude-v1", index: 1 }),
      ),
    ).toEqual([
      { type: "reasoning", choice: 0, text: "h" },
      { type: "reasoning", choice: 0, text: "m" },
      { type: "reasoning", choice: 0, text: "", signature: { dialect: "anthropic-messages", value: "s" } },
      { type: "reasoning", choice: 0, text: "", encrypted: { dialect: "anthropic-messages", value: "d" } },
    ]);
  });

  it("a signature that repeats the whole text beside it adds none", () => {
    const signed = { type: "reasoning.text", text: "hm", signature: "s", format: "anthropic-claude-v1", index: 0 };
    const texts = thoughts({ reasoning_content: "h" }, { reasoning_content: "m" }, details(signed), details(signed));
    expect(texts.map((part) => (part.type === "reasoning" ? part.text : ""))).toEqual(["h", "m", "", "hm"]);
  });

  it.each<[string, Json, Json]>([
    ["beside it", { extra_content: { google: { thought_signature: "g" } } }, {}],
    ["by its id", {}, details({ type: "reasoning.encrypted", id: "a", data: "g", format: "google-gemini-v1" })],
  ])("a call's signature: %s", (_, call, delta) => {
    const parts = partsOf([chunk({ tool_calls: [{ ...fragment(0, "a", "weather", "{}"), ...call }], ...delta })]);
    expect(parts.map(({ type }) => type)).toEqual(["start", "tool_start", "tool_arguments"]);
    expect(parts[1]).toMatchObject({ signature: { dialect: "gemini-generate", value: "g" } });
  });

  it("citations, pictures and sounds", () => {
    const cited = {
      type: "url_citation",
      url_citation: { url: "https://x", title: "X", start_index: 1, end_index: 2 },
    };
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
    const parts = partsOf([chunk({ annotations: [cited], images: [image], audio: { id: "a", data: "BB" } })]);
    expect(parts.slice(1)).toEqual([
      { type: "annotation", choice: 0, annotation: { type: "media", mediaType: "audio/pcm", data: "BB" } },
      { type: "annotation", choice: 0, annotation: { type: "media", mediaType: "image/png", data: "AA" } },
      {
        type: "annotation",
        choice: 0,
        annotation: { type: "url_citation", url: "https://x", title: "X", start: 1, end: 2 },
      },
    ]);
  });

  it("sources that are named in every chunk are told once (Perplexity)", () => {
    const cited = (...citations: string[]): Json => ({ ...chunk({ content: "a" }), citations });
    const urls = partsOf([cited("u1"), cited("u1"), cited("u1", "u2")]).flatMap((part) =>
      part.type === "annotation" && part.annotation.type === "url_citation" ? [part.annotation.url] : [],
    );
    expect(urls).toEqual(["u1", "u2"]);
  });

  it("ids that no call of another answer has", () => {
    const idIn = (id: string): unknown => partsOf([{ ...calls(fragment(0, undefined, "weather", "{}")), id }])[1];
    expect(idIn("one")).toEqual(idIn("one"));
    expect(idIn("one")).not.toEqual(idIn("two"));
  });
});
