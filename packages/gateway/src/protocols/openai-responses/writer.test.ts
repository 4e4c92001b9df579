import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Reply } from "../../core/message.ts";
import { inOnePiece } from "../../core/pieces.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { isObject } from "../field-checks.ts";
import { toCanonical } from "./canonical.ts";
import { joinedParts, QUIRKS, readAll, responsesCall, shownFor } from "./fixtures/calls.ts";
import { checkedEvents } from "./fixtures/event-order.ts";
import { openaiResponses } from "./index.ts";
import { decodeReply } from "./reply.ts";
import { encodeReply, streamWriter } from "./writer.ts";

const USAGE = {
  input_tokens: 10,
  cached_input_tokens: 4,
  cache_write_tokens: 2,
  cache_write_1h_tokens: 0,
  output_tokens: 5,
  reasoning_tokens: 3,
};
const START: StreamPart = { type: "start", id: "x", model: "claude" };
const STOP: StreamPart = { type: "finish", choice: 0, reason: "stop" };
const say = (text: string): StreamPart => ({ type: "text", choice: 0, text });
const think = (text: string, more: object = {}): StreamPart => ({ type: "reasoning", choice: 0, text, ...more });
const start = (index: number, name = "f", more: object = {}): StreamPart => ({
  type: "tool_start",
  choice: 0,
  index,
  id: `c${index}`,
  name,
  ...more,
});
const args = (index: number, text: string): StreamPart => ({ type: "tool_arguments", choice: 0, index, text });
const stop = (index: number): StreamPart => ({ type: "tool_end", choice: 0, index });

function write(
  parts: readonly StreamPart[],
  body: Record<string, unknown> = {},
  metadata: Record<string, unknown> | null = null,
): string {
  const writer = streamWriter(shownFor(responsesCall({ stream: true, ...body })));
  return Buffer.concat([
    ...parts.map((part) => writer.write(part) ?? Buffer.alloc(0)),
    writer.end(metadata),
  ]).toString();
}
const types = (parts: readonly StreamPart[], body?: Record<string, unknown>): unknown[] =>
  checkedEvents(write(parts, body)).map(({ type }) => String(type).replace("response.", ""));
function output(parts: readonly StreamPart[], body?: Record<string, unknown>): unknown {
  const response = checkedEvents(write(parts, body)).at(-1)?.["response"];
  return isObject(response) ? response["output"] : null;
}

describe("a stream", () => {
  it("seals a thought nobody signed for a client that asks for seals, and takes it for what it is when it comes back", () => {
    const include = ["reasoning.encrypted_content"];
    const itemsOf = (body: Record<string, unknown>): Record<string, unknown>[] => {
      const { response } = checkedEvents(write([START, think("hm"), say("yes"), STOP], body)).at(-1) as {
        response: { output: Record<string, unknown>[] };
      };
      return response.output;
    };
    expect(itemsOf({})[0]).not.toHaveProperty("encrypted_content");
    const [thought] = itemsOf({ include });
    expect(thought).toMatchObject({ encrypted_content: expect.any(String), summary: [{ text: "hm" }] });
    const call = responsesCall({ input: [{ role: "user", content: "x" }, thought] });
    expect(toCanonical(call).messages.at(-1)?.blocks).toEqual([{ type: "reasoning", text: "hm" }]);
    const passed = JSON.parse(inOnePiece(openaiResponses.passRequest(call, { model: "m" } as never)).toString()) as {
      input: object[];
    };
    expect(passed.input).toHaveLength(1);
  });

  it("has the vendor's order: a thought, a call, a message", () => {
    expect(
      types([START, think("a"), think("b"), start(0), args(0, "{"), args(0, "}"), stop(0), say("x"), say("y"), STOP]),
    ).toEqual([
      ...["created", "in_progress"],
      ...[
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
      ],
      ...["reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"],
      ...["output_item.added", "function_call_arguments.delta", "function_call_arguments.delta"],
      ...["function_call_arguments.done", "output_item.done"],
      ...["output_item.added", "content_part.added", "output_text.delta", "output_text.delta"],
      ...["output_text.done", "content_part.done", "output_item.done", "completed"],
    ]);
  });

  it("echoes the request, and repeats the answer with its usage", () => {
    const tools = [{ type: "function", name: "f", parameters: null, strict: true }];
    const body = {
      instructions: "be kind",
      tools,
      metadata: { a: "b" },
      temperature: 0.5,
      text: { verbosity: "low" },
      reasoning: { effort: "low" },
    };
    const events = checkedEvents(
      write([START, say("hi"), { type: "usage", usage: USAGE }, STOP], body, { request_id: "r" }),
    );
    const response = events.at(-1)?.["response"];
    expect(response).toMatchObject({
      id: "resp_sg0123456789abcdefghjkmnpqrs",
      object: "response",
      created_at: 1_700_000_000,
      status: "completed",
      model: "claude",
      store: false,
      ...{ instructions: "be kind", tools, metadata: { a: "b" }, temperature: 0.5, top_p: 1, tool_choice: "auto" },
      text: { format: { type: "text" }, verbosity: "low" },
      reasoning: { effort: "low", summary: null },
      output: [
        {
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "hi", annotations: [], logprobs: [] }],
        },
      ],
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 15,
      },
    });
    expect(events[0]?.["response"]).toMatchObject({
      status: "in_progress",
      output: [],
      usage: null,
      completed_at: null,
    });
    expect(events.at(-1)).toMatchObject({ gateway_metadata: { request_id: "r" } });
  });

  it.each([
    ["length", "incomplete", "max_output_tokens"],
    ["content_filter", "incomplete", "content_filter"],
    ["tool_calls", "completed", null],
    ["error", "failed", null],
  ] as const)("finish %s is %s (WIRE C1)", (reason, status, detail) => {
    const last = checkedEvents(write([START, say("x"), { type: "finish", choice: 0, reason }])).at(-1);
    expect(last?.["type"]).toBe(`response.${status}`);
    expect(last?.["response"]).toMatchObject({
      status,
      incomplete_details: detail === null ? null : { reason: detail },
    });
    if (status === "failed") expect(last?.["response"]).toMatchObject({ error: { code: "server_error" } });
  });

  it("calls may interleave, each in its place", () => {
    expect(
      output([
        START,
        start(0),
        start(1, "g"),
        args(1, "{1"),
        args(0, "{0"),
        args(1, "}"),
        args(0, "}"),
        stop(0),
        stop(1),
        STOP,
      ]),
    ).toMatchObject([
      { type: "function_call", call_id: "c0", name: "f", arguments: "{0}" },
      { type: "function_call", call_id: "c1", name: "g", arguments: "{1}" },
    ]);
    expect(output([START, start(0), STOP])).toMatchObject([{ arguments: "{}" }]);
  });

  it("a custom tool's call comes back as one, also where it was made as a function", () => {
    const body = { tools: [{ type: "custom", name: "patch" }] };
    expect(
      output([START, start(0, "patch"), args(0, '{"inp'), args(0, 'ut":"*** Begin"}'), stop(0), STOP], body),
    ).toMatchObject([{ type: "custom_tool_call", call_id: "c0", name: "patch", input: "*** Begin" }]);
    expect(
      output([START, start(0, "patch", { custom: true }), args(0, '{"input":"x"}'), stop(0), STOP], body),
    ).toMatchObject([{ type: "custom_tool_call", input: '{"input":"x"}' }]);
    expect(types([START, start(0, "patch"), args(0, '{"input":"x"}'), stop(0), STOP], body).slice(3, 5)).toEqual([
      "custom_tool_call_input.delta",
      "custom_tool_call_input.done",
    ]);
  });

  it("a tool of a namespace is called by its own name", () => {
    const body = { tools: [{ type: "namespace", name: "mcp__docs", tools: [{ type: "function", name: "find" }] }] };
    expect(output([START, start(0, "mcp__docs__find"), stop(0), STOP], body)).toMatchObject([
      { name: "find", namespace: "mcp__docs" },
    ]);
  });

  it("a tool that an item brought along is called by its own name", () => {
    const tools = [{ type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] }];
    const body = { input: [{ type: "additional_tools", role: "developer", tools }] };
    expect(output([START, start(0, "functions__exec"), args(0, '{"input":"1"}'), stop(0), STOP], body)).toMatchObject([
      { type: "custom_tool_call", name: "exec", namespace: "functions", input: "1" },
    ]);
  });

  it("a search for tools comes as the client's own item, in one piece", () => {
    const body = { tools: [{ type: "tool_search", execution: "client" }] };
    const parts = [START, start(0, "tool_search"), args(0, '{"query":'), args(0, '"x"}'), stop(0), STOP];
    expect(output(parts, body)).toMatchObject([
      { type: "tool_search_call", call_id: "c0", execution: "client", status: "completed", arguments: { query: "x" } },
    ]);
    expect(types(parts, body).slice(2, 4)).toEqual(["output_item.added", "output_item.done"]);
  });

  it("signatures of other makers travel sealed, and come back to them", () => {
    const signature = { dialect: "anthropic-messages", value: "sig" };
    const items = output([
      START,
      think("t"),
      think("", { signature }),
      think("", { encrypted: { dialect: "anthropic-messages", value: "red" } }),
      start(0, "f", { signature: { dialect: "gemini-generate", value: "thought" } }),
      stop(0),
      STOP,
    ]);
    expect(items).toMatchObject([
      { type: "reasoning", summary: [{ text: "t" }], encrypted_content: "sg1.anthropic-messages.text.sig" },
      { type: "reasoning", summary: [], encrypted_content: "sg1.anthropic-messages.encrypted.red" },
      { type: "reasoning", summary: [], encrypted_content: "sg1.gemini-generate.call.thought" },
      { type: "function_call" },
    ]);
    const { translation } = openaiResponses;
    if (translation?.family !== "chat") throw new Error("no chat translation");
    const [message] = translation.toCanonical(responsesCall({ input: items as never })).messages;
    expect(message?.blocks).toMatchObject([
      { type: "reasoning", text: "t", signature },
      { type: "reasoning", encrypted: { value: "red" } },
      { type: "tool_call", signature: { dialect: "gemini-generate", value: "thought" } },
    ]);
  });

  it("citations stand with their text, before it or behind; pictures are items", () => {
    const cite: StreamPart = {
      type: "annotation",
      choice: 0,
      annotation: { type: "url_citation", url: "u", title: null, start: 0, end: 1 },
    };
    const annotations = [{ type: "url_citation", start_index: 0, end_index: 1, url: "u", title: "" }];
    for (const parts of [
      [START, cite, say("x"), STOP],
      [START, say("x"), cite, STOP],
    ]) {
      expect(output(parts)).toMatchObject([{ content: [{ text: "x", annotations }] }]);
    }
    expect(output([START, cite, STOP])).toMatchObject([{ content: [{ text: "", annotations }] }]);
    const picture: StreamPart = {
      type: "annotation",
      choice: 0,
      annotation: { type: "media", mediaType: "image/png", data: "AA" },
    };
    expect(output([START, picture, STOP])).toMatchObject([
      { type: "image_generation_call", status: "completed", result: "AA", output_format: "png" },
    ]);
  });

  it("commits nothing before there is output, and begins by itself where no start came", () => {
    const writer = streamWriter(shownFor(responsesCall()));
    expect(writer.write(START)?.toString()).toMatch(/^event: response\.created[\s\S]*event: response\.in_progress/);
    expect(writer.write({ type: "usage", usage: USAGE })).toBeNull();
    expect(types([say("x"), STOP])[0]).toBe("created");
    expect(types([])).toEqual(["created", "in_progress", "completed"]);
  });
});

const anyPart = fc.oneof(
  fc.string().map(say),
  fc.string().map((text): StreamPart => ({ type: "refusal", choice: 0, text })),
  fc.string().map((text) => think(text)),
  fc.string({ minLength: 1 }).map((value) => think("", { encrypted: { dialect: "openai-responses", value } })),
  fc.tuple(fc.array(fc.string()), fc.boolean()).map(([pieces, custom]) => ({ pieces, custom })),
);

it("whatever the parts, the events are in order and say the same again", () => {
  fc.assert(
    fc.property(fc.array(anyPart, { maxLength: 12 }), (drawn) => {
      let calls = 0;
      const parts = drawn.flatMap((part): StreamPart[] => {
        if ("type" in part) return [part];
        const index = calls++;
        const text = part.pieces.join("") || (part.custom ? "" : "{}");
        return [
          start(index, "f", part.custom ? { custom: true } : {}),
          ...(text === "" ? [] : [args(index, text)]),
          stop(index),
        ];
      });
      const all = [
        START,
        ...parts,
        { type: "finish", choice: 0, reason: calls > 0 ? "tool_calls" : "stop" } as StreamPart,
      ];
      const written = write(all);
      checkedEvents(written);
      // Pieces of nothing say nothing; the answer's own id and place are new.
      const plain = (list: StreamPart[]): StreamPart[] =>
        joinedParts(
          list.filter(
            (part) => part.type !== "start" && !("text" in part && part.text === "" && !("encrypted" in part)),
          ),
        );
      expect(plain(readAll(written))).toEqual(plain(all));
    }),
    { numRuns: 300 },
  );
});

describe("a JSON answer", () => {
  const reply: Reply = {
    id: "x",
    model: "claude",
    choices: [
      {
        blocks: [
          { type: "reasoning", text: "hm", encrypted: { dialect: "openai-responses", value: "gAA" } },
          { type: "text", text: "hello" },
          { type: "refusal", text: "no" },
          { type: "tool_call", id: "c1", name: "f", arguments: { a: 1 }, text: '{"a":1}' },
          { type: "tool_call", id: "c2", name: "p", text: "free", custom: true },
        ],
        finish: "tool_calls",
        stopSequence: null,
        logprobs: [{ token: "hello", logprob: -1, bytes: null, top_logprobs: [] }],
        annotations: [
          { type: "url_citation", url: "u", title: "t", start: 1, end: 2 },
          { type: "media", mediaType: "image/png", data: "AA" },
        ],
      },
    ],
    usage: USAGE,
  };

  it("comes back as it was", () => {
    const body = encodeReply(reply, shownFor(responsesCall()));
    const again = decodeReply(body);
    expect({ ...again, id: "x" }).toEqual(reply);
    expect(openaiResponses.readReply(body, QUIRKS, 0, "application/json")).toEqual({
      model: "claude",
      usage: USAGE,
      finishReason: "tool_calls",
      outputChars: 0,
    });
  });

  it.each([
    ["<html>", /no JSON object/],
    ["{}", /no output/],
    ['{"error":{"message":"no","code":"rate_limit_exceeded"}}', /no/],
    ['{"status":"failed","output":[],"error":{"code":"server_error","message":"broke"}}', /broke/],
    ['{"status":"cancelled","output":[],"error":null}', /cancelled/],
  ])("%s is none", (body, message) => {
    expect(openaiResponses.readReply(Buffer.from(body), QUIRKS, 0, "application/json")).toMatchObject({
      failure: { message: expect.stringMatching(message) },
    });
  });

  it("one that runs in the background has no finish yet", () => {
    const body = Buffer.from('{"status":"queued","output":[],"error":null,"usage":null,"model":"m"}');
    expect(openaiResponses.readReply(body, QUIRKS, 0, "application/json")).toMatchObject({
      finishReason: null,
      usage: null,
    });
  });

  it("estimates from characters where no usage came", () => {
    const body = Buffer.from(
      '{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hello"}]}]}',
    );
    expect(openaiResponses.readReply(body, QUIRKS, 0, "application/json")).toMatchObject({
      usage: null,
      outputChars: 5,
    });
  });
});
