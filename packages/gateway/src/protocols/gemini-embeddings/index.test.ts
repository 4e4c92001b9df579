import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTraffic, responseBytes, trafficDir } from "../../../test/support/replay-server.ts";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import type { EmbeddingRequest } from "../translation.ts";
import { geminiEmbeddings } from "./index.ts";
import { translation } from "./translation.ts";

const TARGET = {
  model: "gemini-embedding-001",
  quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: null },
  maxOutputTokens: null,
};
const content = (text: string): object => ({ parts: [{ text }] });

function embedCall(body: unknown, method = "batchEmbedContents"): Call {
  const path = geminiEmbeddings.matchPath?.(`/v1beta/models/default:${method}`, "");
  if (!path) throw new Error("no path of this protocol");
  const header = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);
  return geminiEmbeddings.decodeRequest({ raw: Buffer.from(JSON.stringify(body)), header, path });
}

const shownFor = (call: Call): Parameters<typeof translation.encodeReply>[1] => ({
  ...{ call, requestId: "req_1", createdS: 0, model: "m" },
});

describe("Gemini embeddings", () => {
  it("pass with every model in the body replaced", () => {
    const call = embedCall({ requests: [{ model: "models/default", content: content("a"), taskType: "X" }] });
    expect(JSON.parse(geminiEmbeddings.passRequest(call, TARGET).toString())).toEqual({
      requests: [{ model: "models/gemini-embedding-001", content: content("a"), taskType: "X" }],
    });
    expect(geminiEmbeddings.upstreamPath(call, "m")).toBe("/v1beta/models/m:batchEmbedContents");
    const single = embedCall({ content: content("a") }, "embedContent");
    expect(geminiEmbeddings.passRequest(single, TARGET)).toBe(single.raw);
    expect(geminiEmbeddings.upstreamPath(single, "m")).toBe("/v1beta/models/m:embedContent");
    expect(geminiEmbeddings.upstreamPath({ ...single, dialect: "openai-embeddings" }, "m")).toMatch(
      /:batchEmbedContents$/,
    );
  });

  it.each([
    [{}, "content"],
    [{ content: "a" }, "content"],
    [{ content: { parts: [] } }, "content.parts"],
    [{ requests: [] }, "requests"],
    [{ requests: [1] }, "requests[0]"],
    [{ requests: [{ content: content("a") }, {}] }, "requests[1].content"],
    [{ content: content("a"), outputDimensionality: "8" }, "outputDimensionality"],
  ])("%j is refused by its path", (body, param) => {
    expect(refusalOf(() => embedCall(body))).toMatchObject({ code: "invalid_request", param });
  });

  it("answer in the shape that was asked for", () => {
    const answer = { vectors: [[0.5, -1]], model: null, inputTokens: 3 };
    const read = (call: Call): unknown => JSON.parse(translation.encodeReply(answer, shownFor(call)).toString());
    const usageMetadata = { promptTokenCount: 3 };
    expect(read(embedCall({ content: content("a") }))).toEqual({ embedding: { values: [0.5, -1] }, usageMetadata });
    expect(read(embedCall({ requests: [{ content: content("a") }] }))).toEqual({
      embeddings: [{ values: [0.5, -1] }],
      usageMetadata,
    });
  });

  it("of several sizes at once, or of pictures, are Google's alone", () => {
    const sizes = translation.toCanonical(
      embedCall({
        requests: [
          { content: content("a"), outputDimensionality: 8 },
          { content: content("b"), outputDimensionality: 9 },
        ],
      }),
    );
    expect(translation.inexpressible(sizes, TARGET)).toEqual(["requests[1].outputDimensionality"]);
    const picture = translation.toCanonical(embedCall({ content: { parts: [{ inlineData: {} }] } }));
    expect(translation.inexpressible(picture, TARGET)).toEqual(["content.parts[0]"]);
  });

  it("come back from their body as they were", () => {
    const request: fc.Arbitrary<EmbeddingRequest> = fc.record({
      texts: fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 }),
      dimensions: fc.option(fc.integer({ min: 1, max: 3_072 })),
      task: fc.constantFrom(null, "RETRIEVAL_QUERY"),
      title: fc.option(fc.string()),
      user: fc.constant(null),
      foreign: fc.constant([]),
    });
    fc.assert(
      fc.property(request, (given) => {
        const { body, dropped } = translation.fromCanonical(given, TARGET);
        expect(dropped).toEqual([]);
        expect(translation.toCanonical(embedCall(JSON.parse(body.toString())))).toEqual(given);
      }),
    );
  });

  it.each(["", "<html>", "{}", '{"embeddings":null}'])("of %j are none", (body) => {
    expect(geminiEmbeddings.readReply(Buffer.from(body), TARGET.quirks, 0, "")).toMatchObject({
      failure: { class: "invalid_response" },
    });
  });
});

const dir = trafficDir();

describe.skipIf(dir === null)("recorded embeddings (shared/traffic is absent when this is skipped)", () => {
  const records = dir === null ? [] : readTraffic(dir, "gemini-embed");

  it("are all here", () => {
    expect(records).toHaveLength(11);
  });

  it.each(records.map((record) => [record.id, record] as const))(
    "%s is asked and answered as recorded",
    (_id, record) => {
      const call = embedCall(record.request.body);
      const canonical = translation.toCanonical(call);
      expect(translation.inexpressible(canonical, TARGET)).toEqual([]);
      expect(
        translation.toCanonical(embedCall(JSON.parse(translation.fromCanonical(canonical, TARGET).body.toString()))),
      ).toEqual(canonical);
      const bytes = responseBytes(record);
      if (record.response.status !== 200) {
        expect(geminiEmbeddings.classifyFailure(record.response.status, {}, bytes, 0).class).toBe("model_not_found");
        return;
      }
      const facts = geminiEmbeddings.readReply(bytes, TARGET.quirks, 0, "");
      const reply = translation.decodeReply(bytes, TARGET.quirks);
      expect(reply.vectors).toHaveLength(canonical.texts.length);
      for (const vector of reply.vectors) expect(vector.length).toBeGreaterThan(0);
      expect("usage" in facts ? (facts.usage?.input_tokens ?? null) : null).toBe(reply.inputTokens);
      const again = translation.decodeReply(translation.encodeReply(reply, shownFor(call)), TARGET.quirks);
      expect(again).toEqual(reply);
    },
  );
});
