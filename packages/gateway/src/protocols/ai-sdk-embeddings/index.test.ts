import { describe, expect, test } from "vitest";
import type { Quirks, Target } from "../protocol.ts";
import type { EmbeddingRequest, EmbeddingTranslation } from "../translation.ts";
import { aiSdkEmbeddings } from "./index.ts";

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: false, reasoningInOutput: true };
const TARGET: Target = { model: "embed-1", quirks: QUIRKS, maxOutputTokens: null };
const translation = aiSdkEmbeddings.translation as EmbeddingTranslation;
const request = (given: Partial<EmbeddingRequest> = {}): EmbeddingRequest => ({
  ...{ texts: ["a", "b"], dimensions: null, task: null, title: null, user: null, foreign: [] },
  ...given,
});
const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const read = (body: Buffer) => aiSdkEmbeddings.readReply(body, QUIRKS, 0, "application/json");

describe("a request", () => {
  test("is the model and the texts", () => {
    const { body, dropped } = translation.fromCanonical(request(), TARGET);
    expect([JSON.parse(body.toString("utf8")), dropped]).toEqual([{ model: "embed-1", texts: ["a", "b"] }, []]);
  });

  test("cannot say a number of dimensions, nor what another dialect means", () => {
    const foreign = [
      { path: "encoding", meaning: true },
      { path: "hint", meaning: false },
    ];
    expect(translation.inexpressible(request({ dimensions: 8, foreign }), TARGET)).toEqual(["dimensions", "encoding"]);
    expect(translation.inexpressible(request({ task: "RETRIEVAL_QUERY", user: "u" }), TARGET)).toEqual([]);
  });

  test("tells what it drops", () => {
    const given = request({ task: "t", title: "x", user: "u", foreign: [{ path: "hint", meaning: false }] });
    expect(translation.fromCanonical(given, TARGET).dropped).toEqual(["hint", "task", "title", "user"]);
  });
});

describe("an answer", () => {
  const embeddings = [
    [0.5, 1],
    [2, 3],
  ];

  test("is its vectors, and the tokens that were read", () => {
    const body = bytes({ embeddings, usage: { tokens: 4 } });
    expect(translation.decodeReply(body, QUIRKS)).toEqual({ vectors: embeddings, model: null, inputTokens: 4 });
    expect(read(body)).toMatchObject({ usage: { input_tokens: 4, output_tokens: 0 }, finishReason: "stop" });
  });

  test("may have been counted by nobody", () => {
    const body = bytes({ embeddings, usage: null });
    expect(translation.decodeReply(body, QUIRKS)).toMatchObject({ inputTokens: null });
    expect(read(body)).toMatchObject({ usage: null });
  });

  test.each(["{", "[]", "{}", '{"embeddings":[[1,"2"]]}', '{"embeddings":[1]}'])("that is %s is none", (body) => {
    expect(read(Buffer.from(body))).toMatchObject({ failure: { class: "invalid_response" } });
  });

  test("what was used by one that is none is billed all the same", () => {
    expect(read(bytes({ usage: { tokens: 4 } }))).toMatchObject({ usage: { input_tokens: 4 } });
  });
});

test.each([
  [401, { error: { message: "no key", type: "AI_LoadAPIKeyError" } }, "auth_failed"],
  [400, { error: { message: "too many", type: "AI_TooManyEmbeddingValuesForCallError" } }, "bad_request"],
  [429, { error: { message: "slow down" } }, "rate_limited"],
])("a failure of status %i with %j is %s", (status, body, kind) => {
  expect(aiSdkEmbeddings.classifyFailure(status, {}, bytes(body), 0).class).toBe(kind);
});
