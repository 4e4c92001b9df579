import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { replyOfParts } from "../openai-chat/fixtures/reply-of-parts.ts";
import type { Quirks } from "../protocol.ts";
import { aiSdkChat } from "./index.ts";
import { decodeReply, readReply } from "./reply.ts";
import { streamReader } from "./stream.ts";

/* What a package's model answers, whole and in pieces. */

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: false, reasoningInOutput: true };
const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function partsOf(...events: object[]): StreamPart[] {
  const reader = streamReader();
  return events.flatMap((event) => reader.read(JSON.stringify(event), null).parts);
}

const proof = { vendor: { signature: "s" } };
const signature = { dialect: "ai-sdk", value: JSON.stringify(proof) };
const finish = (reason: unknown, more: object = {}): object => ({ type: "finish", finishReason: reason, ...more });

describe("a whole answer", () => {
  const reply = {
    ...{ id: "r1", modelId: "m-1", finishReason: "tool-calls", usage: { inputTokens: 3, outputTokens: 2 } },
    content: [
      { type: "reasoning", text: "hm", providerMetadata: proof },
      { type: "text", text: "I will" },
      { type: "tool-call", toolCallId: "c1", toolName: "b_x2e_c", input: '{"a":1}' },
      { type: "tool-call", toolCallId: "s1", toolName: "web", input: "{}", providerExecuted: true },
      { type: "source", sourceType: "url", url: "https://x.test", title: "X" },
    ],
  };

  test("is read into blocks, calls of the provider's own tools left out", () => {
    expect(decodeReply(bytes(reply))).toEqual({
      id: "r1",
      model: "m-1",
      choices: [
        {
          blocks: [
            { type: "reasoning", text: "hm", signature },
            { type: "text", text: "I will" },
            { type: "tool_call", id: "c1", name: "b.c", arguments: { a: 1 }, text: '{"a":1}' },
          ],
          finish: "tool_calls",
          stopSequence: null,
          logprobs: null,
          annotations: [{ type: "url_citation", url: "https://x.test", title: "X", start: null, end: null }],
        },
      ],
      usage: expect.objectContaining({ input_tokens: 3, output_tokens: 2 }),
    });
  });

  test("tells the ledger its model, its usage and why it ended", () => {
    expect(readReply(bytes(reply), QUIRKS)).toMatchObject({
      ...{ model: "m-1", finishReason: "tool_calls", outputChars: 0, usage: { input_tokens: 3, output_tokens: 2 } },
    });
    const { usage: _, ...uncounted } = reply;
    expect(readReply(bytes(uncounted), QUIRKS)).toMatchObject({ usage: null, outputChars: expect.any(Number) });
  });

  test.each(["{", "[]", "null", "{}", '{"content":"text"}'])("that is %s is none", (body) => {
    expect(readReply(Buffer.from(body), QUIRKS)).toMatchObject({ failure: { class: "invalid_response" } });
  });

  test("an id is made for a call that has none, the same one each time", () => {
    const bare = bytes({ id: "r1", content: [{ type: "tool-call", toolName: "f", input: { a: 1 } }] });
    const [block] = decodeReply(bare).choices[0]?.blocks ?? [];
    expect(block).toMatchObject({ id: expect.stringMatching(/./), text: '{"a":1}', arguments: { a: 1 } });
    expect(decodeReply(bare)).toEqual(decodeReply(bare));
  });

  test("thoughts without words are their proof alone, and without one nothing", () => {
    const content = [
      { type: "reasoning", text: "", providerMetadata: proof },
      { type: "reasoning", text: "", providerMetadata: { vendor: { itemId: "rs_1" } } },
    ];
    const { blocks } = decodeReply(bytes({ content })).choices[0] ?? {};
    expect(blocks).toEqual([{ type: "reasoning", text: "", encrypted: signature }]);
  });
});

describe("why it ended", () => {
  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content-filter", "content_filter"],
    ["error", "error"],
    ["a new word", "stop"],
    [{ unified: "length", raw: "max_tokens" }, "length"],
    ["", null],
    [undefined, null],
  ])("%j is %j, whole and streamed", (word, reason) => {
    expect(decodeReply(bytes({ content: [], finishReason: word })).choices[0]?.finish ?? null).toBe(reason);
    const ends = partsOf(finish(word)).filter(({ type }) => type === "finish");
    expect(ends).toEqual(reason === null ? [] : [{ type: "finish", choice: 0, reason }]);
  });

  test("a plain stop after a call is the call, and a stop sequence is named", () => {
    const content = [{ type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" }];
    expect(decodeReply(bytes({ content, finishReason: "stop" })).choices[0]?.finish).toBe("tool_calls");
    const providerMetadata = { anthropic: { stopSequence: "END" } };
    expect(decodeReply(bytes({ content: [], providerMetadata })).choices[0]?.stopSequence).toBe("END");
    expect(partsOf(finish("stop", { providerMetadata })).at(-1)).toMatchObject({ reason: "stop", stopSequence: "END" });
  });
});

describe("a stream", () => {
  test("says its parts in their order", () => {
    const events = [
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "r1", modelId: "m-1" },
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "hm" },
      { type: "reasoning-end", id: "0", providerMetadata: proof },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "I will" },
      { type: "text-end", id: "1" },
      { type: "tool-input-start", id: "c1", toolName: "f" },
      { type: "tool-input-delta", id: "c1", delta: '{"a"' },
      { type: "tool-input-delta", id: "c1", delta: ":1}" },
      { type: "tool-call", toolCallId: "c1", toolName: "f", input: '{"a":1}' },
      finish("tool-calls", { usage: { inputTokens: 3, outputTokens: 2 } }),
    ];
    expect(partsOf(...events)).toEqual([
      { type: "start", id: "r1", model: "m-1" },
      { type: "reasoning", choice: 0, text: "hm" },
      { type: "reasoning", choice: 0, text: "", signature },
      { type: "text", choice: 0, text: "I will" },
      { type: "tool_start", choice: 0, index: 0, id: "c1", name: "f" },
      { type: "tool_arguments", choice: 0, index: 0, text: '{"a"' },
      { type: "tool_arguments", choice: 0, index: 0, text: ":1}" },
      { type: "tool_end", choice: 0, index: 0 },
      { type: "usage", usage: { input_tokens: 3, output_tokens: 2 } },
      { type: "finish", choice: 0, reason: "tool_calls" },
    ]);
  });

  test("is over with its end", () => {
    const reader = streamReader();
    expect(reader.read(JSON.stringify({ type: "text-delta", delta: "a" }), null).terminator).toBe(false);
    expect(reader.read(JSON.stringify(finish("stop")), null).terminator).toBe(true);
  });

  test("what a provider runs itself is no call", () => {
    const own = { providerExecuted: true, toolName: "web" };
    const events = [
      { type: "tool-input-start", id: "s1", ...own },
      { type: "tool-input-delta", id: "s1", delta: "{}" },
      { type: "tool-call", toolCallId: "s1", input: "{}", ...own },
      finish("stop"),
    ];
    expect(partsOf(...events)).toEqual([{ type: "finish", choice: 0, reason: "stop" }]);
  });

  test("proofs that come in pieces are one, and one that nobody ended comes with the end", () => {
    const events = [
      { type: "reasoning-start", id: "0", providerMetadata: { vendor: { kind: "k" } } },
      { type: "reasoning-delta", id: "0", providerMetadata: { vendor: { signature: "s" } } },
      finish("stop"),
    ];
    const value = JSON.stringify({ vendor: { kind: "k", signature: "s" } });
    expect(partsOf(...events)[0]).toEqual({
      ...{ type: "reasoning", choice: 0, text: "", encrypted: { dialect: "ai-sdk", value } },
    });
  });

  test.each(["[]", "{", "text"])("an event that is %s breaks it, without being quoted", (data) => {
    expect(() => streamReader().read(data, null)).toThrow(/^a stream event is no/);
  });

  test("holds no more calls than a stream may have", () => {
    const reader = streamReader();
    const open = (id: number): unknown =>
      reader.read(JSON.stringify({ type: "tool-input-start", id: String(id), toolName: "f" }), null);
    for (let id = 0; id < LIMITS.streamItemsMax; id++) open(id);
    expect(() => open(LIMITS.streamItemsMax)).toThrow("items");
  });

  /** Pieces of an answer, in the order in which a chat answer has them. */
  const words = fc.string({ minLength: 1, maxLength: 8 });
  const answer = fc.record({
    thought: fc.option(words),
    text: fc.option(words),
    calls: fc.array(fc.record({ input: fc.dictionary(words, fc.integer()), pieces: fc.nat(3) }), { maxLength: 3 }),
  });

  test("says what the same answer says whole, however its calls are cut", () => {
    fc.assert(
      fc.property(answer, ({ thought, text, calls }) => {
        const content = [
          ...(thought === null ? [] : [{ type: "reasoning", text: thought, providerMetadata: proof }]),
          ...(text === null ? [] : [{ type: "text", text }]),
          ...calls.map(({ input }, index) => ({
            ...{ type: "tool-call", toolCallId: `c${index}`, toolName: "f", input: JSON.stringify(input) },
          })),
        ];
        const events = content.flatMap((part, index): object[] => {
          if (part.type === "text") return [...part.text].map((delta) => ({ type: "text-delta", id: "t", delta }));
          if (part.type === "reasoning")
            return [
              { type: "reasoning-delta", id: "r", delta: part.text },
              { type: "reasoning-end", id: "r", providerMetadata: proof },
            ];
          const { toolCallId: id, toolName, input } = part as { toolCallId: string; toolName: string; input: string };
          const size = calls[index - content.length + calls.length]?.pieces ?? 0;
          const cuts = size === 0 ? [] : (input.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []);
          return [
            ...(size === 0 ? [] : [{ type: "tool-input-start", id, toolName }]),
            ...cuts.map((delta) => ({ type: "tool-input-delta", id, delta })),
            part,
          ];
        });
        const streamed = replyOfParts(partsOf(...events, finish("stop")));
        const whole = decodeReply(bytes({ content, finishReason: "stop" }));
        expect(streamed.choices).toEqual(whole.choices);
      }),
    );
  });
});

describe("a failure", () => {
  test("inside a stream keeps the status and the words that came with it", () => {
    const body = { error: { type: "overloaded_error", message: "busy" } };
    const failureIn = (given: object): unknown => partsOf({ type: "error", ...given })[0];
    expect(failureIn({ status: 503, body })).toEqual({ type: "error", failure: { status: 503, body } });
    expect(failureIn({ status: null, body })).toEqual({ type: "error", failure: { status: 529, body } });
    expect(failureIn({ status: null, body: "gone" })).toEqual({
      ...{ type: "error", failure: { status: null, body: { error: { message: "gone" } } } },
    });
  });

  test.each([
    [401, { error: { message: "no key", type: "AI_LoadAPIKeyError" } }, "auth_failed"],
    [404, { error: { message: "no such model", type: "AI_NoSuchModelError" } }, "model_not_found"],
    [400, { error: { message: "no images", type: "AI_UnsupportedFunctionalityError" } }, "bad_request"],
    [
      400,
      { error: { message: "no seed", type: "invalid_request_error", code: "unsupported_parameter" } },
      "bad_request",
    ],
    [
      400,
      { error: { code: 400, status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } },
      "auth_failed",
    ],
    [429, { type: "error", error: { type: "rate_limit_error", message: "slow down" } }, "rate_limited"],
    [529, { type: "error", error: { type: "overloaded_error", message: "busy" } }, "overloaded"],
    [400, { error: { message: "prompt is too long: 9 tokens > 8 maximum" } }, "context_overflow"],
    [500, { error: { message: "broke" } }, "provider_error"],
  ])("of status %i with %j is %s", (status, body, kind) => {
    expect(aiSdkChat.classifyFailure(status, {}, bytes(body), 0)).toMatchObject({ class: kind, httpStatus: status });
  });

  test("says how long to wait, by its headers", () => {
    expect(aiSdkChat.classifyFailure(429, { "retry-after": "7" }, bytes({}), 0).retryAfterMs).toBe(7_000);
  });
});
