import { describe, expect, it } from "vitest";
import { partsOfStream } from "../../../test/support/gemini-calls.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { classifyFailure } from "./error.ts";
import { decodeReply, readReply } from "./reply.ts";
import { streamReader } from "./stream.ts";
import { readUsage, writeUsage } from "./usage.ts";

const QUIRKS = { maxTokensField: null, streamOptions: false, reasoningInOutput: false };

function read(...events: unknown[]): StreamPart[] {
  const reader = streamReader();
  return events.flatMap((event) => reader.read(JSON.stringify(event), null).parts);
}

const candidate = (parts: object[], more: object = {}): object => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
});
const own = (value: string): object => ({ dialect: "gemini-generate", value });

describe("Gemini's events", () => {
  it("are read as what they say, in order", () => {
    const parts = read(
      { ...candidate([{ text: "Hmm", thought: true }]), modelVersion: "m", responseId: "r" },
      candidate([{ text: "Hel" }]),
      candidate([{ text: "lo" }, { functionCall: { id: "c", name: "f", args: { a: [1] } }, thoughtSignature: "c2ln" }]),
      {
        ...candidate([{ text: "" }], { finishReason: "STOP" }),
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, thoughtsTokenCount: 4, totalTokenCount: 9 },
      },
    );
    expect(parts).toEqual([
      { type: "start", id: "r", model: "m" },
      { type: "reasoning", choice: 0, text: "Hmm" },
      { type: "text", choice: 0, text: "Hel" },
      { type: "text", choice: 0, text: "lo" },
      { type: "tool_start", choice: 0, index: 0, id: "c", name: "f", signature: own("c2ln") },
      { type: "tool_arguments", choice: 0, index: 0, text: '{"a":[1]}' },
      { type: "tool_end", choice: 0, index: 0 },
      { type: "finish", choice: 0, reason: "tool_calls" },
      { type: "usage", usage: { input_tokens: 3, cached_input_tokens: 0, output_tokens: 6, reasoning_tokens: 4 } },
    ]);
  });

  it("keep a signature on a text, on an empty text, and on a thought", () => {
    const parts = read(
      candidate([
        { text: "a", thoughtSignature: "MQ==" },
        { text: "", thoughtSignature: "Mg==" },
      ]),
      candidate([{ text: "b", thought: true, thought_signature: "Mw==" }]),
    );
    expect(parts).toEqual([
      { type: "text", choice: 0, text: "a" },
      { type: "reasoning", choice: 0, text: "", signature: own("MQ==") },
      { type: "reasoning", choice: 0, text: "", signature: own("Mg==") },
      { type: "reasoning", choice: 0, text: "b", signature: own("Mw==") },
    ]);
  });

  it("give calls without ids different ones, the same each time", () => {
    const event = {
      ...candidate([{ functionCall: { name: "f" } }, { functionCall: { name: "f", args: {} } }]),
      responseId: "r",
    };
    const ids = (parts: StreamPart[]): string[] =>
      parts.flatMap((part) => (part.type === "tool_start" ? [part.id] : []));
    expect(new Set(ids(read(event))).size).toBe(2);
    expect(ids(read(event))).toEqual(ids(read(event)));
    expect(ids(read({ ...event, responseId: "other" }))).not.toEqual(ids(read(event)));
    const texts = read(event).flatMap((part) => (part.type === "tool_arguments" ? [part.text] : []));
    expect(texts).toEqual(["{}", "{}"]);
  });

  it("put streamed arguments together", () => {
    const piece = (more: object): object => candidate([{ functionCall: more }]);
    const value = (jsonPath: string, more: object): object =>
      piece({ partialArgs: [{ jsonPath, ...more }], willContinue: true });
    const parts = read(
      candidate([{ functionCall: { name: "f", willContinue: true }, thoughtSignature: "c2ln" }]),
      value("$.list[0].name", { stringValue: "On", willContinue: true }),
      value("$.list[0].name", { stringValue: "e", willContinue: true }),
      value("$.list[0].name", { stringValue: "" }),
      value("$.list[1]", { numberValue: 2 }),
      value("$['a b'].c", { boolValue: false }),
      value("$.nothing", { nullValue: null }),
      candidate([{ functionCall: {} }]),
      candidate([{ functionCall: { name: "g", args: { b: 1 } } }], { finishReason: "STOP" }),
    );
    expect(parts).toMatchObject([
      { type: "tool_start", name: "f", signature: own("c2ln") },
      { type: "tool_arguments", text: '{"list":[{"name":"One"},2],"a b":{"c":false},"nothing":null}' },
      { type: "tool_end", index: 0 },
      { type: "tool_start", name: "g", index: 1 },
      { type: "tool_arguments", text: '{"b":1}' },
      { type: "tool_end", index: 1 },
      { type: "finish", reason: "tool_calls" },
    ]);
  });

  it.each(["$.__proto__.x", "a.b", "$.a[9999999]", "$.a..b"])("refuse the path %s", (jsonPath) => {
    const call = { name: "f", partialArgs: [{ jsonPath, stringValue: "x" }], willContinue: true };
    expect(() => read(candidate([{ functionCall: call }]))).toThrow(/path/);
  });

  it("keep candidates apart", () => {
    const parts = read({
      candidates: [
        { content: { parts: [{ text: "a" }] }, index: 1, finishReason: "STOP" },
        { content: { parts: [{ text: "b" }] }, finishReason: "MAX_TOKENS" },
      ],
    });
    expect(parts).toMatchObject([
      { choice: 1, text: "a" },
      { choice: 1, reason: "stop" },
      { choice: 0, text: "b" },
      { choice: 0, reason: "length" },
    ]);
  });

  it("say pictures, code and sources as annotations", () => {
    const parts = read(
      candidate([
        { inlineData: { mimeType: "image/png", data: "aWNv" } },
        { executableCode: { language: "PYTHON", code: "1" } },
        { text: "Paris." },
      ]),
      candidate([], {
        groundingMetadata: {
          groundingChunks: [{ web: { uri: "https://a.example", title: "A" } }, { web: { uri: "https://b.example" } }],
          groundingSupports: [{ segment: { endIndex: 5, text: "Paris" }, groundingChunkIndices: [0] }],
        },
      }),
    );
    expect(parts.flatMap((part) => (part.type === "annotation" ? [part.annotation] : []))).toMatchObject([
      { type: "media", mediaType: "image/png", data: "aWNv" },
      { type: "opaque", dialect: "gemini-generate", value: { executableCode: { code: "1" } } },
      { type: "url_citation", url: "https://a.example", title: "A", start: 0, end: 5 },
      { type: "url_citation", url: "https://b.example", title: null, start: null, end: null },
      { type: "opaque", value: { groundingMetadata: {} } },
    ]);
  });

  it("leave places out where bytes are no characters", () => {
    const supports = [{ segment: { startIndex: 1, endIndex: 3 }, groundingChunkIndices: [0] }];
    const groundingMetadata = { groundingChunks: [{ web: { uri: "u" } }], groundingSupports: supports };
    const parts = read(candidate([{ text: "Zürich" }], { groundingMetadata }));
    expect(parts[1]).toMatchObject({ annotation: { type: "url_citation", start: null, end: null } });
  });

  it("have log probabilities with their text", () => {
    const logprobsResult = {
      chosenCandidates: [{ token: "Hi", tokenId: 1, logProbability: -0.5 }],
      topCandidates: [
        {
          candidates: [
            { token: "Hi", logProbability: -0.5 },
            { token: "Yo", logProbability: -2 },
          ],
        },
      ],
    };
    expect(read(candidate([{ text: "Hi" }], { logprobsResult }))[0]).toEqual({
      type: "text",
      choice: 0,
      text: "Hi",
      logprobs: [
        {
          ...{ token: "Hi", logprob: -0.5, bytes: null },
          top_logprobs: [
            { token: "Hi", logprob: -0.5, bytes: null },
            { token: "Yo", logprob: -2, bytes: null },
          ],
        },
      ],
    });
  });

  it.each([
    ["STOP", "stop"],
    [1, "stop"],
    ["SOMETHING_NEW", "stop"],
    ["MAX_TOKENS", "length"],
    [2, "length"],
    ...["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"].map(
      (word) => [word, "content_filter"],
    ),
  ])("finish with %s as %s", (finishReason, reason) => {
    expect(read(candidate([{ text: "x" }], { finishReason })).at(-1)).toEqual({ type: "finish", choice: 0, reason });
    expect(readReply(Buffer.from(JSON.stringify(candidate([], { finishReason }))), QUIRKS, 0)).toMatchObject({
      finishReason: reason,
    });
  });

  it.each(["FINISH_REASON_UNSPECIFIED", 0, null])("go on after %j", (finishReason) => {
    expect(read(candidate([{ text: "x" }], { finishReason })).map((part) => part.type)).toEqual(["text"]);
  });

  it.each(["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "NO_IMAGE"])(
    "fail with %s before anything of it is shown",
    (finishReason) => {
      const event = candidate([{ functionCall: { name: "f" } }], { finishReason, finishMessage: "why" });
      const parts = read(event);
      expect(parts).toMatchObject([
        { type: "error", failure: { status: 502, body: { error: { status: finishReason } } } },
      ]);
      expect(readReply(Buffer.from(JSON.stringify(event)), QUIRKS, 0)).toMatchObject({
        failure: { class: "provider_error" },
      });
    },
  );

  it("say an error, and a blocked prompt", () => {
    const error = { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } };
    expect(read(error)).toEqual([{ type: "error", failure: { status: 503, body: error } }]);
    expect(read([error])).toEqual([{ type: "error", failure: { status: 503, body: error } }]);
    const blocked = {
      promptFeedback: { blockReason: "SAFETY" },
      usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
    };
    expect(read(blocked)).toMatchObject([
      { type: "usage", usage: { input_tokens: 4, output_tokens: 0 } },
      { type: "error", failure: { status: 400, body: blocked } },
    ]);
    const body = Buffer.from(JSON.stringify(blocked));
    expect(classifyFailure(400, {}, body, 0).class).toBe("content_filtered");
    expect(readReply(body, QUIRKS, 0)).toMatchObject({
      failure: { class: "content_filtered", httpStatus: 200 },
      usage: { input_tokens: 4 },
    });
  });

  it.each(["<html>", "[]", "1", "{"])("that are %s are not of the protocol", (data) => {
    expect(() => streamReader().read(data, null)).toThrow(/stream event/);
  });

  it("are read with the CRLF that Google sends", () => {
    const text = `data: ${JSON.stringify({ ...candidate([{ text: "Zürich" }], { finishReason: "STOP" }), modelVersion: "m" })}\r\n\r\n`;
    expect(partsOfStream(Buffer.from(text)).map((part) => part.type)).toEqual(["start", "text", "finish"]);
  });
});

describe("a whole answer", () => {
  it.each(["", "<html>", "[]", "{}", '{"candidates":[]}', '{"candidates":null}', '{"usageMetadata":{}}'])(
    "of %j is none",
    (body) => {
      expect(readReply(Buffer.from(body), QUIRKS, 0)).toMatchObject({ failure: { class: "invalid_response" } });
    },
  );

  it("that holds an error failed", () => {
    const body = { error: { code: 429, message: "slow down", status: "RESOURCE_EXHAUSTED" } };
    expect(readReply(Buffer.from(JSON.stringify(body)), QUIRKS, 0)).toMatchObject({
      failure: { class: "rate_limited" },
    });
  });

  it("says what its parts say", () => {
    const body = {
      ...candidate(
        [{ text: "a", thought: true }, { text: "b" }, { functionCall: { id: "c", name: "f", args: { x: 1 } } }],
        { finishReason: "STOP" },
      ),
      modelVersion: "m",
      responseId: "r",
    };
    expect(decodeReply(Buffer.from(JSON.stringify(body)))).toEqual({
      id: "r",
      model: "m",
      usage: null,
      choices: [
        {
          blocks: [
            { type: "reasoning", text: "a" },
            { type: "text", text: "b" },
            { type: "tool_call", id: "c", name: "f", text: '{"x":1}', arguments: { x: 1 } },
          ],
          ...{ finish: "tool_calls", stopSequence: null, logprobs: null, annotations: [] },
        },
      ],
    });
  });
});

describe("usage", () => {
  it("counts thoughts as output, and tools' prompts as input", () => {
    const raw = {
      ...{ promptTokenCount: 100, cachedContentTokenCount: 60, toolUsePromptTokenCount: 10 },
      ...{ candidatesTokenCount: 5, thoughtsTokenCount: 20, totalTokenCount: 135 },
    };
    const usage = readUsage(raw);
    expect(usage).toEqual({ input_tokens: 110, cached_input_tokens: 60, output_tokens: 25, reasoning_tokens: 20 });
  });

  it("takes what a total holds beyond the parts for output", () => {
    expect(readUsage({ promptTokenCount: 35, candidatesTokenCount: 12, totalTokenCount: 109 })).toMatchObject({
      output_tokens: 74,
    });
  });

  it.each([null, {}, { trafficType: "ON_DEMAND" }])("of %j is none", (raw) => {
    expect(readUsage(raw)).toBeNull();
  });

  it("is written so that it reads the same", () => {
    const usage = {
      ...{ input_tokens: 50, cached_input_tokens: 20, cache_write_tokens: 0, cache_write_1h_tokens: 0 },
      ...{ output_tokens: 9, reasoning_tokens: 4 },
    };
    expect(writeUsage(usage)).toEqual({
      ...{ promptTokenCount: 50, cachedContentTokenCount: 20, candidatesTokenCount: 5 },
      ...{ thoughtsTokenCount: 4, totalTokenCount: 59 },
    });
    expect(readUsage(writeUsage(usage))).toMatchObject({
      input_tokens: 50,
      cached_input_tokens: 20,
      output_tokens: 9,
      reasoning_tokens: 4,
    });
  });
});
