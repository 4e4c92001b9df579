import { describe, expect, it } from "vitest";
import { bedrock, conversed, framed, framesIn } from "../../test/bedrock.ts";
import { type Loose, simulate } from "../../test/kit.ts";

const WEATHER = {
  toolSpec: {
    name: "weather",
    inputSchema: { json: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
  },
};
const user = (...content: object[]): object => ({ role: "user", content });
const assistant = (...content: object[]): object => ({ role: "assistant", content });
const SAID = { text: "alpha" };

async function refused(body: object): Promise<string> {
  const response = await bedrock(await simulate(), "echo", "converse", body);
  expect([response.status, response.headers.get("x-amzn-errortype")?.split(":")[0]]).toEqual([
    400,
    "ValidationException",
  ]);
  return ((await response.json()) as Loose).message;
}

describe("Converse", () => {
  it("answers as recorded", async () => {
    const answer = await conversed(await simulate(), "echo?input=100&cached=30&cache_write=20&cache_write_1h=5");
    expect(answer).toEqual({
      metrics: { latencyMs: 1 },
      output: { message: { content: [{ text: "alpha beta gamma" }], role: "assistant" } },
      stopReason: "end_turn",
      usage: {
        cacheDetails: [
          { inputTokens: 15, ttl: "5m" },
          { inputTokens: 5, ttl: "1h" },
        ],
        cacheReadInputTokenCount: 30,
        cacheReadInputTokens: 30,
        cacheWriteInputTokenCount: 20,
        cacheWriteInputTokens: 20,
        inputTokens: 50,
        outputTokens: 4,
        serverToolUsage: {},
        totalTokens: 104,
      },
    });
  });

  it("streams frames whose checksums hold, usage behind the end", async () => {
    const frames = await framed(await simulate(), "reason", { toolConfig: { tools: [WEATHER] } });
    expect(frames[0]?.headers).toEqual({
      ":event-type": "messageStart",
      ":content-type": "application/json",
      ":message-type": "event",
    });
    const names = frames.map(({ headers }) => headers[":event-type"]);
    expect(names.slice(-3)).toEqual(["contentBlockStop", "messageStop", "metadata"]);
    expect(names).not.toContain("contentBlockStart");
    expect(frames.every(({ payload }) => typeof payload.p === "string")).toBe(true);
    const thought = frames.map(({ payload }) => payload.delta?.reasoningContent).filter(Boolean);
    expect(thought.at(-1)).toEqual({ signature: expect.any(String) });
  });

  it("calls tools, and has them answered", async () => {
    const simulator = await simulate();
    const toolConfig = { tools: [WEATHER], toolChoice: { tool: { name: "weather" } } };
    const answer = await conversed(simulator, "echo", { toolConfig });
    const { toolUse } = answer.output.message.content[0];
    expect([answer.stopReason, toolUse.name, toolUse.input]).toEqual(["tool_use", "weather", { city: "sample" }]);
    const streamed = await framed(simulator, "echo", { toolConfig });
    const starts = streamed.filter(({ headers }) => headers[":event-type"] === "contentBlockStart");
    expect(starts.map(({ payload }) => payload.start.toolUse.name)).toEqual(["weather"]);
    const result = { toolResult: { toolUseId: toolUse.toolUseId, content: [{ text: "sun" }], status: "success" } };
    const messages = [user(SAID), assistant({ toolUse }), user(result)];
    const then = await conversed(simulator, "echo", { messages, toolConfig: { tools: [WEATHER] } });
    expect(then.output.message.content).toEqual([{ text: "sun" }]);
  });

  it("answers in the form of a schema", async () => {
    const schema = JSON.stringify({ type: "object", properties: { n: { type: "integer" } }, required: ["n"] });
    const outputConfig = { textFormat: { type: "json_schema", structure: { jsonSchema: { schema } } } };
    const answer = await conversed(await simulate(), "echo", { outputConfig });
    expect(answer.output.message.content).toEqual([{ text: '{"n":0}' }]);
  });

  it.each([
    ["no user first", { messages: [assistant(SAID)] }, /start with a user message/],
    ["two turns of one side", { messages: [user(SAID), user(SAID)] }, /alternate/],
    ["a blank text", { messages: [user({ text: " " })] }, /is blank/],
    ["two members in a block", { messages: [user({ text: "a", image: {} })] }, /exactly one/],
    [
      "a document alone",
      { messages: [user({ document: { format: "txt", name: "a", source: { bytes: "YQ==" } } })] },
      /text block/,
    ],
    [
      "an odd name",
      { messages: [user(SAID, { document: { format: "txt", name: "a.txt", source: { bytes: "YQ==" } } })] },
      /name/,
    ],
    ["a temperature", { inferenceConfig: { temperature: 1.5 } }, /less than or equal to 1/],
    [
      "calls without tools",
      {
        messages: [
          user(SAID),
          assistant({ toolUse: { toolUseId: "t", name: "f", input: {} } }),
          user({ toolResult: { toolUseId: "t", content: [] } }),
        ],
      },
      /toolConfig field must be defined/,
    ],
    [
      "an unanswered call",
      {
        toolConfig: { tools: [WEATHER] },
        messages: [user(SAID), assistant({ toolUse: { toolUseId: "t", name: "f", input: {} } }), user(SAID)],
      },
      /Expected toolResult/,
    ],
    [
      "a forged thought",
      {
        messages: [
          user(SAID),
          assistant({ reasoningContent: { reasoningText: { text: "a", signature: "b" } } }),
          user(SAID),
        ],
      },
      /signature/,
    ],
    ["an unknown member", { model: "echo" }, /extraneous key/],
  ])("refuses %s", async (_name, body, words) => {
    expect(await refused(body)).toMatch(words);
  });
});

describe("who calls", () => {
  const sent = async (headers: Record<string, string>): Promise<[number, string | undefined]> => {
    const response = await bedrock(await simulate(), "echo", "converse", {}, headers);
    return [response.status, response.headers.get("x-amzn-errortype")?.split(":")[0]];
  };

  it("shows a key or a signature", async () => {
    expect(await sent({})).toEqual([403, "MissingAuthenticationTokenException"]);
    expect(await sent({ authorization: "Bearer k" })).toEqual([200, undefined]);
    expect(await sent({ authorization: "Bearer bad-key" })).toEqual([403, "AccessDeniedException"]);
    expect(await sent({ authorization: "Basic k" })).toEqual([403, "IncompleteSignatureException"]);
  });

  it("signs for this service, now", async () => {
    const now = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
    const signed = (id: string, date: string, service: string): Record<string, string> => ({
      "x-amz-date": date,
      authorization: `AWS4-HMAC-SHA256 Credential=${id}/${date.slice(0, 8)}/us-east-1/${service}/aws4_request, SignedHeaders=host;x-amz-date, Signature=${"0".repeat(64)}`,
    });
    expect(await sent(signed("AKIDOTHER", now, "bedrock"))).toEqual([200, undefined]);
    expect(await sent(signed("AKIDOTHER", now, "s3"))).toEqual([403, "InvalidSignatureException"]);
    expect(await sent(signed("AKIDOTHER", "20200101T000000Z", "bedrock"))).toEqual([403, "InvalidSignatureException"]);
    expect(await sent(signed("bad-key", now, "bedrock"))).toEqual([403, "UnrecognizedClientException"]);
    expect(await sent(signed("AKIDSIMULATOR", now, "bedrock"))).toEqual([403, "InvalidSignatureException"]);
  });
});

describe("what goes wrong", () => {
  it.each([
    ["quota", 429, "ThrottlingException", /tokens per day/],
    ["context", 400, "ValidationException", /too long/],
    ["missing", 400, "ValidationException", /identifier is invalid/],
    ["badkey", 403, "UnrecognizedClientException", /security token/],
    ["error?status=503", 503, "ServiceUnavailableException", /./],
    ["error?status=424", 424, "ModelErrorException", /./],
    ["error?status=429&type=ModelNotReadyException", 429, "ModelNotReadyException", /./],
  ])("is told by %s", async (model, status, type, words) => {
    const response = await bedrock(await simulate(), model, "converse");
    expect([response.status, response.headers.get("x-amzn-errortype")?.split(":")[0]]).toEqual([status, type]);
    expect(((await response.json()) as Loose).message).toMatch(words);
  });

  it("is an exception inside a stream", async () => {
    const frames = await framed(await simulate(), "errorafter?after=1&status=429");
    const last = frames.at(-1);
    expect(last?.headers).toMatchObject({ ":message-type": "exception", ":exception-type": "throttlingException" });
    expect(last?.payload.message).toEqual(expect.any(String));
  });

  it("is a wrong bit, or half a frame", async () => {
    const simulator = await simulate();
    const bytes = async (model: string): Promise<Buffer> =>
      Buffer.from(await (await bedrock(simulator, model, "converse-stream")).arrayBuffer());
    const flipped = await bytes("echo?quirk=flipped_bit");
    expect(() => framesIn(flipped)).toThrow("checksum is wrong");
    const half = await bytes("half");
    expect(half.length).toBeLessThan(half.readUInt32BE(0));
  });
});

describe("the rest", () => {
  it("counts for nothing", async () => {
    const simulator = await simulate();
    const input = { converse: { messages: [user({ text: "alpha beta gamma" })] } };
    const response = await bedrock(simulator, "echo", "count-tokens", { input });
    expect(await response.json()).toEqual({ inputTokens: 4 });
    expect(simulator.invoice().lines).toEqual([]);
  });

  it.each([
    ["Titan", { inputText: "alpha" }, (body: Loose) => [body.embedding.length, body.inputTextTokenCount]],
    [
      "Cohere",
      { texts: ["a", "b"], input_type: "search_query" },
      (body: Loose) => [body.embeddings.length, body.response_type],
    ],
    [
      "Nova",
      { taskType: "SINGLE_EMBEDDING", singleEmbeddingParams: { text: { value: "a" }, embeddingDimension: 256 } },
      (body: Loose) => [body.embeddings[0].embedding.length, body.embeddings[0].embeddingType],
    ],
  ])("embeds in the words of %s", async (_name, body, said) => {
    const response = await bedrock(await simulate(), "embed", "invoke", body);
    expect(response.headers.get("x-amzn-bedrock-input-token-count")).toMatch(/^[12]$/);
    expect(said(await response.json())).toEqual(
      _name === "Titan" ? [1_024, 2] : _name === "Cohere" ? [2, "embeddings_floats"] : [256, "TEXT"],
    );
  });

  it("is scripted in frames", async () => {
    const simulator = await simulate();
    simulator.script({
      match: { model: "echo" },
      response: {
        events: [{ messageStart: { role: "assistant" } }, { exception: { validationException: { message: "no" } } }],
      },
    });
    const frames = await framed(simulator, "echo");
    expect(frames.map(({ headers }) => headers[":event-type"] ?? headers[":exception-type"])).toEqual([
      "messageStart",
      "validationException",
    ]);
  });
});
