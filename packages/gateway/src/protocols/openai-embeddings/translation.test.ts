import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTraffic, responseBytes, type TrafficRecord, trafficDir } from "../../../test/support/replay-server.ts";
import type { Call } from "../../core/call.ts";
import type { Quirks, Target } from "../protocol.ts";
import type { EmbeddingReply, Shown } from "../translation.ts";
import { openaiEmbeddings } from "./index.ts";
import { embeddingTranslation } from "./translation.ts";

type Json = Record<string, unknown>;

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };
const TARGET: Target = { model: "up", quirks: QUIRKS, maxOutputTokens: null };
const { toCanonical, fromCanonical, inexpressible, decodeReply, encodeReply } = embeddingTranslation;

const decode = (body: Json): Call =>
  openaiEmbeddings.decodeRequest({
    raw: Buffer.from(JSON.stringify({ model: "default", ...body })),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
const shown = (body: Json = {}): Shown => ({
  call: decode({ input: "a", ...body }),
  requestId: "req_1",
  createdS: 7,
  model: "asked-for",
});
const encode = (reply: Partial<EmbeddingReply>, body: Json = {}): Json =>
  JSON.parse(
    encodeReply({ vectors: [], model: "m-1", inputTokens: 3, ...reply }, shown(body)).toString("utf8"),
  ) as Json;
const read = (data: unknown): number[][] => decodeReply(Buffer.from(JSON.stringify({ data })), QUIRKS).vectors;

/** 1.5 and -2 as little-endian float32. */
const ENCODED = Buffer.from([0x00, 0x00, 0xc0, 0x3f, 0x00, 0x00, 0x00, 0xc0]).toString("base64");

describe("an embeddings request", () => {
  it.each([
    ["a", ["a"]],
    [
      ["a", "b"],
      ["a", "b"],
    ],
  ])("for %j", (input, texts) => {
    const request = toCanonical(decode({ input, dimensions: 256, user: "u", encoding_format: "base64" }));
    expect(request).toEqual({ texts, dimensions: 256, task: null, title: null, user: "u", foreign: [] });
    const { body, dropped } = fromCanonical(request, TARGET);
    expect(JSON.parse(body.toString("utf8"))).toEqual({ model: "up", input: texts, dimensions: 256, user: "u" });
    expect(dropped).toEqual([]);
  });

  it("invents no key", () => {
    const { body } = fromCanonical(toCanonical(decode({ input: "a" })), TARGET);
    expect(body.toString("utf8")).toBe('{"model":"up","input":["a"]}');
  });

  it.each<[Json, string[]]>([
    [{ input: [1, 2] }, ["input"]],
    [{ input: [[1], [2]] }, ["input"]],
    [{ input: "a", output_dtype: "int8" }, ["output_dtype"]],
    [{ input: "a", x_new: 1 }, []],
  ])("%j cannot be said to another: %j", (body, fields) => {
    expect(inexpressible(toCanonical(decode(body)), TARGET)).toEqual(fields);
  });

  it("says what the vectors are for, and lists what this dialect has no word for", () => {
    const request = toCanonical(decode({ input: "a", input_type: "query", x_new: 1 }));
    expect(request.task).toBe("RETRIEVAL_QUERY");
    expect(fromCanonical({ ...request, title: "t" }, TARGET).dropped).toEqual(["x_new", "task", "title"]);
  });
});

describe("vectors", () => {
  it("are read from floats and from base64, in the order of their index", () => {
    expect(
      read([
        { index: 1, embedding: [2] },
        { index: 0, embedding: ENCODED },
      ]),
    ).toEqual([[1.5, -2], [2]]);
    expect(read([{ embedding: [1] }, { embedding: [2] }])).toEqual([[1], [2]]);
  });

  it("go out in the form that was asked for", () => {
    expect(encode({ vectors: [[1.5, -2]] })).toEqual({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [1.5, -2] }],
      model: "m-1",
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
    expect(encode({ vectors: [[1.5, -2]] }, { encoding_format: "base64" })).toMatchObject({
      data: [{ embedding: ENCODED }],
    });
    expect(encode({ model: null, inputTokens: null })).toMatchObject({
      model: "asked-for",
      usage: { total_tokens: 0 },
    });
  });

  it("survive both forms", () => {
    const vector = fc.array(fc.float({ noNaN: true }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(vector, { maxLength: 4 }), fc.constantFrom("float", "base64"), (vectors, format) => {
        const body = encodeReply({ vectors, model: "m", inputTokens: 1 }, shown({ encoding_format: format }));
        const finite = vectors.every((each) => each.every(Number.isFinite));
        fc.pre(finite || format === "base64");
        // JSON has no negative zero.
        const want = format === "float" ? vectors.map((each) => each.map((value) => value + 0)) : vectors;
        expect(decodeReply(body, QUIRKS).vectors).toEqual(want);
      }),
    );
  });
});

const dir = trafficDir();

describe.skipIf(dir === null)("recorded embeddings, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  const records =
    dir === null ? [] : ["openai-embeddings", "voyage-embeddings"].flatMap((file) => readTraffic(dir, file));

  it("are all there", () => {
    expect([records.length, records.filter(({ response }) => response.status === 200).length]).toEqual([22, 18]);
  });

  it.each(records.map((record) => [record.id, record] as const))("%s", (_, record) => {
    holds(record);
  });
});

function holds(record: TrafficRecord): void {
  const asked = record.request?.body as Json | null;
  const inputs = [asked?.["input"] ?? []].flat(2);
  if (asked) expect(toCanonical(decode(asked)).texts).toEqual(inputs.filter((input) => typeof input === "string"));
  const body = responseBytes(record);
  const facts = openaiEmbeddings.readReply(body, QUIRKS, 0, "application/json");
  if (record.response.status !== 200) return;
  const said = JSON.parse(body.toString("utf8")) as { data: { embedding: unknown }[]; usage: Json };
  const reply = decodeReply(body, QUIRKS);
  expect(reply.vectors).toEqual(said.data.map(({ embedding }) => floatsOf(embedding)));
  expect(facts).toMatchObject({ usage: { input_tokens: reply.inputTokens } });
  expect(reply.inputTokens).toBe(said.usage["total_tokens"]);
  const again = decodeReply(encodeReply(reply, shown({ encoding_format: "base64" })), QUIRKS);
  expect(again.vectors).toEqual(reply.vectors.map((vector) => [...Float32Array.from(vector)]));
}

function floatsOf(embedding: unknown): number[] {
  if (typeof embedding !== "string") return embedding as number[];
  const bytes = Uint8Array.from(Buffer.from(embedding, "base64"));
  return [...new Float32Array(bytes.buffer)];
}
