import { noUsage } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { geminiCall, merged, partsOfStream, shownFor } from "../../../test/support/gemini-calls.ts";
import { GatewayError } from "../../core/errors.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { toCanonical } from "./canonical.ts";
import { geminiGenerate } from "./index.ts";
import { streamWriter } from "./writer.ts";

const BODY = { contents: [{ parts: [{ text: "hi" }] }] };
const EVENTS = geminiCall(BODY, "streamGenerateContent", "alt=sse");
const ARRAY = geminiCall(BODY, "streamGenerateContent");

/** The bytes of a stream of these parts. */
function written(parts: readonly StreamPart[], call = EVENTS, metadata: Record<string, unknown> | null = null): Buffer {
  const writer = streamWriter(shownFor(call));
  const pieces = parts.map((part) => writer.write(part));
  return Buffer.concat([...pieces, writer.end(metadata)].filter((piece) => piece !== null));
}

interface Event {
  candidates: { content: { parts: Record<string, unknown>[] }; finishReason?: string; index: number }[];
  usageMetadata?: object;
  responseId: string;
  modelVersion: string;
}

const eventsOf = (bytes: Buffer): Event[] =>
  bytes
    .toString("utf8")
    .split("\r\n\r\n")
    .filter(Boolean)
    .map((event) => JSON.parse(event.slice("data: ".length)) as Event);

const ANSWER: StreamPart[] = [
  { type: "start", id: "x", model: "gpt" },
  { type: "reasoning", choice: 0, text: "Hm", signature: { dialect: "anthropic-messages", value: "c2ln" } },
  { type: "text", choice: 0, text: "Hel" },
  { type: "text", choice: 0, text: "lo" },
  { type: "tool_start", choice: 0, index: 0, id: "c1", name: "f" },
  { type: "tool_start", choice: 0, index: 1, id: "c2", name: "g" },
  { type: "tool_arguments", choice: 0, index: 0, text: '{"a":' },
  { type: "tool_arguments", choice: 0, index: 1, text: "" },
  { type: "tool_arguments", choice: 0, index: 0, text: "1}" },
  { type: "tool_end", choice: 0, index: 0 },
  { type: "tool_end", choice: 0, index: 1 },
  { type: "finish", choice: 0, reason: "tool_calls" },
  { type: "usage", usage: { ...noUsage(), input_tokens: 9, output_tokens: 4 } },
];

describe("a stream in Gemini's words", () => {
  it("gives a signature together with words, which clients need to keep it, and loses none of either", () => {
    const think = (text: string, more: object = {}): StreamPart => ({ type: "reasoning", choice: 0, text, ...more });
    const signature = { dialect: "anthropic-messages", value: "c2ln" };
    const encrypted = { dialect: "openai-responses", value: "gAA" };
    const said = (parts: StreamPart[]): unknown[] =>
      eventsOf(written(parts)).flatMap((event) =>
        (event.candidates[0]?.content.parts ?? []).filter((part) => part["thought"]),
      );
    const proof = { thoughtSignature: expect.stringMatching(/^c2cxL/) };
    expect(said([think("a"), think("b"), think("", { signature }), think("c")])).toEqual([
      { text: "a", thought: true },
      { text: "b", thought: true, ...proof },
      { text: "c", thought: true },
    ]);
    expect(said([think("a"), think("", { encrypted }), { type: "text", choice: 0, text: "x" }])).toEqual([
      { text: "a", thought: true, ...proof },
    ]);
    expect(said([think("a"), think("b", { signature }), think("", { signature })])).toEqual([
      { text: "a", thought: true },
      { text: "b", thought: true, ...proof },
      { text: "", thought: true, ...proof },
    ]);
    expect(said([think("a"), { type: "text", choice: 0, text: "x" }])).toEqual([{ text: "a", thought: true }]);
  });

  it("says each part as it comes, calls whole, and the finish with its usage last", () => {
    const events = eventsOf(written(ANSWER));
    const parts = events.map((event) => event.candidates[0]?.content.parts);
    expect(parts).toMatchObject([
      [{ text: "Hm", thought: true }],
      [{ text: "Hel" }],
      [{ text: "lo" }],
      [{ functionCall: { id: "c1", name: "f", args: { a: 1 } } }],
      [{ functionCall: { id: "c2", name: "g", args: {} } }],
      [{ text: "" }],
    ]);
    expect(events.map((event) => event.candidates[0]?.finishReason)).toEqual([...Array(5).fill(undefined), "STOP"]);
    expect(events.at(-1)?.usageMetadata).toEqual({ promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 });
    for (const event of events) expect(event).toMatchObject({ responseId: "req_1", modelVersion: "gpt" });
  });

  it("commits to nothing before there is output", () => {
    const writer = streamWriter(shownFor(EVENTS));
    expect(writer.write({ type: "start", id: null, model: "m" })).toBeNull();
    expect(writer.write({ type: "usage", usage: { input_tokens: 1 } })).toBeNull();
    expect(writer.write({ type: "tool_start", choice: 0, index: 0, id: "c", name: "f" })).toBeNull();
  });

  it("carries another maker's proofs in base64, and gives them back", () => {
    const proofs: StreamPart[] = [
      { type: "reasoning", choice: 0, text: "Hm", signature: { dialect: "anthropic-messages", value: "a.b" } },
      { type: "reasoning", choice: 0, text: "", encrypted: { dialect: "openai-responses", value: "gAAA" } },
      { type: "text", choice: 0, text: "x" },
    ];
    const parts = eventsOf(written(proofs)).flatMap((event) => event.candidates[0]?.content.parts ?? []);
    for (const { thoughtSignature } of parts) {
      if (thoughtSignature !== undefined) expect(thoughtSignature).toMatch(/^[A-Za-z0-9+/]+=*$/);
    }
    const { messages } = toCanonical(geminiCall({ contents: [...BODY.contents, { role: "model", parts }] }));
    expect(messages[1]?.blocks.slice(0, 2)).toEqual([
      { type: "reasoning", text: "Hm", signature: { dialect: "anthropic-messages", value: "a.b" } },
      { type: "reasoning", text: "", encrypted: { dialect: "openai-responses", value: "gAAA" } },
    ]);
  });

  it("is one JSON array without alt=sse", () => {
    const array = JSON.parse(written(ANSWER, ARRAY).toString("utf8")) as Event[];
    expect(array).toEqual(eventsOf(written(ANSWER)));
    expect(JSON.parse(written([], ARRAY).toString("utf8"))).toHaveLength(1);
  });

  it("ends with its metadata where that is asked for", () => {
    const [events, array] = [written(ANSWER, EVENTS, { a: 1 }), written(ANSWER, ARRAY, { a: 1 })];
    expect(eventsOf(events).at(-1)).toEqual({ gateway_metadata: { a: 1 } });
    expect((JSON.parse(array.toString("utf8")) as unknown[]).at(-1)).toEqual({ gateway_metadata: { a: 1 } });
  });

  it("shows what other dialects cite and draw", () => {
    const [picture, last] = eventsOf(
      written([
        { type: "text", choice: 0, text: "Paris" },
        { type: "annotation", choice: 0, annotation: { type: "url_citation", url: "u", title: "T", start: 0, end: 5 } },
        { type: "annotation", choice: 0, annotation: { type: "media", mediaType: "image/png", data: "aWNv" } },
        { type: "finish", choice: 0, reason: "stop" },
      ]),
    ).slice(1);
    expect(picture?.candidates[0]?.content.parts).toEqual([{ inlineData: { mimeType: "image/png", data: "aWNv" } }]);
    expect(last?.candidates[0]).toMatchObject({
      groundingMetadata: {
        groundingChunks: [{ web: { uri: "u", title: "T" } }],
        groundingSupports: [{ segment: { startIndex: 0, endIndex: 5 }, groundingChunkIndices: [0] }],
      },
    });
  });

  it("is read back as it was written", () => {
    const word = fc.string({ minLength: 1, maxLength: 6 });
    const block = fc.oneof(
      word.map((text): StreamPart[] => [{ type: "text", choice: 0, text }]),
      fc.tuple(word, word).map(([text, value]): StreamPart[] => [
        { type: "reasoning", choice: 0, text },
        { type: "reasoning", choice: 0, text: "x", signature: { dialect: "gemini-generate", value } },
      ]),
      fc
        .tuple(
          word,
          fc.dictionary(
            word.filter((key) => !key.startsWith("__")),
            fc.integer(),
          ),
        )
        .map(([name, args]): StreamPart[] => [
          { type: "tool_start", choice: 0, index: 0, id: "c", name },
          { type: "tool_arguments", choice: 0, index: 0, text: JSON.stringify(args) },
          { type: "tool_end", choice: 0, index: 0 },
        ]),
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), fc.constantFrom("length", "content_filter"), (blocks, reason) => {
        let calls = -1;
        const said = blocks.flat().map((part): StreamPart => {
          if (part.type === "tool_start") return { ...part, index: ++calls, id: `c${calls}` };
          return "index" in part ? { ...part, index: calls } : part;
        });
        const parts: StreamPart[] = [
          { type: "start", id: "req_1", model: "m" },
          ...said,
          { type: "finish", choice: 0, reason: reason as "length" },
          { type: "usage", usage: { input_tokens: 5, cached_input_tokens: 0, output_tokens: 3, reasoning_tokens: 0 } },
        ];
        expect(merged(partsOfStream(written(parts)))).toEqual(merged(parts));
      }),
      { numRuns: 200 },
    );
  });
});

describe("the same-dialect lane", () => {
  it("leaves events alone, and frames them anew for an array", () => {
    expect(geminiGenerate.dress?.(EVENTS, "t")).toBeNull();
    const dresser = geminiGenerate.dress?.(ARRAY, "t");
    if (!dresser) throw new Error("no dresser");
    const raw = Buffer.from("raw");
    const bytes = [
      dresser.event(raw, '{"a": 1.0}'),
      dresser.event(Buffer.from(": hi\n\n"), null),
      dresser.event(raw, '{"b":2}'),
      dresser.end() ?? Buffer.alloc(0),
    ];
    expect(Buffer.concat(bytes).toString("utf8")).toBe('[{"a": 1.0},\n{"b":2}\n]');
  });

  it("keeps streams alive with what nobody reads", () => {
    expect(geminiGenerate.streamShape(EVENTS).keepalive.toString()).toBe("\n\n");
    expect(geminiGenerate.streamShape(ARRAY)).toMatchObject({ contentType: "application/json" });
    const alive = Buffer.concat([geminiGenerate.streamShape(ARRAY).keepalive, written(ANSWER, ARRAY)]);
    expect(JSON.parse(alive.toString("utf8"))).toHaveLength(6);
  });
});

describe("errors", () => {
  it("come in Google's frame, with our code as the reason", () => {
    const error = new GatewayError("rate_limit_exceeded", "too many", {
      ...{ scope: "tenant:a", dimension: "requests" as const, retryAfterMs: 1_500, param: "contents" },
    });
    const answer = geminiGenerate.encodeError(error, "req_1");
    expect(answer.status).toBe(429);
    expect(answer.headers).toContain("retry-after-ms");
    expect(JSON.parse(answer.body)).toEqual({
      error: {
        code: 429,
        message: "too many",
        status: "RESOURCE_EXHAUSTED",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "rate_limit_exceeded",
            domain: "sluicegate",
            metadata: { request_id: "req_1", scope: "tenant:a", dimension: "requests" },
          },
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            fieldViolations: [{ field: "contents", description: "too many" }],
          },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.5s" },
        ],
      },
    });
  });

  it("go on word for word where they are the provider's own", () => {
    const body = Buffer.from('{"error":{"code":400,"message":"bad"}}');
    const error = new GatewayError("invalid_request", "x", {
      upstream: { status: 400, contentType: "application/json", body },
    });
    expect(geminiGenerate.encodeError(error, "r").body).toBe(body.toString());
    expect(geminiGenerate.encodeStreamError(error, "r", EVENTS, true).toString()).toBe(body.toString());
  });

  it("end an array that has begun, and one that has not", () => {
    const error = new GatewayError("provider_timeout", "late");
    const begun = `[{"a":1}${geminiGenerate.encodeStreamError(error, "r", ARRAY, true).toString()}`;
    expect(JSON.parse(begun)).toMatchObject([{ a: 1 }, { error: { code: 504, status: "DEADLINE_EXCEEDED" } }]);
    const alone = geminiGenerate.encodeStreamError(error, "r", ARRAY, false).toString();
    expect(JSON.parse(`\n${alone}`)).toMatchObject([{ error: { code: 504 } }]);
  });

  it.each([
    [400, { error: { code: 400, status: "INVALID_ARGUMENT", message: "bad field" } }, "bad_request"],
    [400, { error: { status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } }, "auth_failed"],
    [400, { error: { status: "FAILED_PRECONDITION", message: "User location is not supported" } }, "auth_failed"],
    [
      400,
      { error: { message: "The input token count (2) exceeds the maximum number of tokens allowed (1)." } },
      "context_overflow",
    ],
    [401, { error: { status: "UNAUTHENTICATED" } }, "auth_failed"],
    [402, { error: {} }, "quota_exhausted"],
    [403, { error: { status: "PERMISSION_DENIED" } }, "auth_failed"],
    [404, { error: { status: "NOT_FOUND", message: "models/x is not found" } }, "model_not_found"],
    [429, { error: { status: "RESOURCE_EXHAUSTED" } }, "rate_limited"],
    [429, [{ error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "placeholder" } }], "rate_limited"],
    [
      429,
      { error: { status: "RESOURCE_EXHAUSTED", details: [{ violations: [{ quotaId: "RequestsPerDayPerProject" }] }] } },
      "quota_exhausted",
    ],
    [
      429,
      {
        error: { status: "RESOURCE_EXHAUSTED", details: [{ violations: [{ quotaId: "PerMinute", quotaValue: "0" }] }] },
      },
      "quota_exhausted",
    ],
    [500, { error: { status: "INTERNAL" } }, "provider_error"],
    [503, { error: { status: "UNAVAILABLE", message: "The model is overloaded." } }, "overloaded"],
    [504, { error: { status: "DEADLINE_EXCEEDED" } }, "timeout"],
  ])("of %i %j are %s", (status, body, name) => {
    expect(geminiGenerate.classifyFailure(status, {}, Buffer.from(JSON.stringify(body)), 0).class).toBe(name);
  });

  it("tell how long to wait", () => {
    const body = {
      error: { status: "RESOURCE_EXHAUSTED", details: [{ "@type": "x.RetryInfo", retryDelay: "34.4s" }] },
    };
    expect(geminiGenerate.classifyFailure(429, {}, Buffer.from(JSON.stringify(body)), 0).retryAfterMs).toBe(34_400);
  });
});

describe("paths", () => {
  it.each([
    ["/v1beta/models/default:generateContent", "", { alias: "default", stream: false, query: "" }],
    ["/v1/models/default:streamGenerateContent", "alt=sse", { alias: "default", stream: true, query: "alt=sse" }],
    ["/v1beta/models/sim%2Fecho:generateContent", "", { alias: "sim/echo", stream: false, query: "" }],
    ["/v1beta/models/sim/echo:generateContent", "", { alias: "sim/echo", stream: false, query: "" }],
    ["/v1beta/models/a:b:generateContent", "", { alias: "a:b", stream: false, query: "" }],
    [
      "/v1beta/models/x:generateContent",
      "key=sg_1&alt=sse",
      { alias: "x", stream: false, query: "alt=sse", credential: "sg_1" },
    ],
    ["/v1beta/models/x:countTokens", "", null],
    ["/v1beta/models/x", "", null],
    ["/v1/chat/completions", "", null],
  ])("%s?%s says %j", (path, query, facts) => {
    expect(geminiGenerate.matchPath?.(path, query) ?? null).toEqual(facts);
  });

  it("upstream are Google's", () => {
    expect(geminiGenerate.upstreamPath(ARRAY, "gemini-3-flash")).toBe(
      "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
    );
    expect(geminiGenerate.upstreamPath(geminiCall(BODY), "sim/echo?n=1")).toBe(
      "/v1beta/models/sim%2Fecho%3Fn%3D1:generateContent",
    );
    expect(geminiGenerate.upstreamPath(geminiCall(BODY), "tunedModels/x")).toBe(
      "/v1beta/tunedModels/x:generateContent",
    );
  });

  it("leave the client's bytes alone", () => {
    const raw = Buffer.from('{ "contents": [{"parts":[{"text":"hi"}]}], "new": 1.0 }');
    const target = {
      model: "m",
      quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: null },
      maxOutputTokens: null,
    };
    expect(geminiGenerate.passRequest(geminiCall(raw), target)).toBe(raw);
    const own = Buffer.from('{"model":"models/default","contents":[{"parts":[{"text":"hi"}]}],"gateway":{"user":"u"}}');
    expect(geminiGenerate.passRequest(geminiCall(own), target).toString()).toBe(
      '{"model":"models/m","contents":[{"parts":[{"text":"hi"}]}]}',
    );
  });
});
