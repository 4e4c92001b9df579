import {
  ApiError,
  type Content,
  createPartFromBase64,
  createPartFromFunctionResponse,
  type FunctionCall,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
  Type,
} from "@google/genai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENT_KEY, type TestGateway } from "./support/gateway.ts";
import {
  APIS,
  ATTEMPTS,
  alias,
  hitsOf,
  lastBill,
  lastBody,
  type ModelName,
  PIXEL,
  PROOF,
  refusal,
  startSdkGateway,
} from "./support/sdk-gateway.ts";
import { until } from "./support/until.ts";

/* Google's official SDK, unmodified, on a deployment of each dialect. */

const WEATHER = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
};
const TOOLS = [{ functionDeclarations: [WEATHER, { ...WEATHER, name: "get_time" }] }];
const FORCED = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } };

let gateway: TestGateway;
let client: GoogleGenAI;

beforeAll(async () => {
  gateway = await startSdkGateway();
  client = sdk();
});
afterAll(() => gateway.close());

function sdk(apiKey = CLIENT_KEY, retryOptions?: { attempts: number; initialDelay: number }): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url, ...(retryOptions && { retryOptions }) } });
}

/** The usage that the invoice calls for: thoughts stand beside the words of the answer. */
function billed(): object {
  const { input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, total_tokens } = lastBill(
    gateway.simulator,
  );
  return {
    promptTokenCount: input_tokens,
    candidatesTokenCount: output_tokens - reasoning_tokens,
    totalTokenCount: total_tokens,
    ...(cached_input_tokens > 0 && { cachedContentTokenCount: cached_input_tokens }),
    ...(reasoning_tokens > 0 && { thoughtsTokenCount: reasoning_tokens }),
  };
}

/** A whole answer: its parts, words, thoughts and calls, how it ended and what it cost. */
interface Whole {
  parts: Part[];
  text: string;
  thought: string;
  calls: FunctionCall[];
  finish: string | undefined;
  usage: unknown;
}

function whole(answers: readonly GenerateContentResponse[]): Whole {
  const parts = answers.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  const last = answers.at(-1);
  return {
    parts,
    text: parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join(""),
    thought: parts.map((part) => (part.thought ? (part.text ?? "") : "")).join(""),
    calls: parts.flatMap(({ functionCall }) => functionCall ?? []),
    finish: last?.candidates?.[0]?.finishReason,
    usage: last?.usageMetadata,
  };
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** The next turn: all that was said, and a result for each call. */
function answered(question: string, { parts, calls }: Whole, results: readonly string[]): Content[] {
  const given = calls.map(({ id, name }, i) =>
    createPartFromFunctionResponse(id ?? "", name ?? "", { output: results[i] ?? "" }),
  );
  return [
    { role: "user", parts: [{ text: question }] },
    { role: "model", parts },
    { role: "user", parts: given },
  ];
}

describe.each(APIS)("Google's SDK on a deployment asked in %s", (api) => {
  const asker =
    (streamed: boolean, name: ModelName) =>
    async (contents: string | Content[], config: GenerateContentConfig = {}): Promise<Whole> => {
      const body = { model: alias(name, api), contents, config };
      return whole(
        streamed
          ? await all(await client.models.generateContentStream(body))
          : [await client.models.generateContent(body)],
      );
    };

  test("text, whole", async () => {
    const answer = await asker(false, "fixed")("Grüße 👋 there", { systemInstruction: "be brief" });
    expect(answer).toMatchObject({ text: "Grüße 👋 there", finish: "STOP", usage: billed() });
    expect(answer.usage).toMatchObject({ promptTokenCount: 6_000, cachedContentTokenCount: 5_000 });
  });

  test("text, streamed, and one cut off", async () => {
    const answer = await asker(true, "echo")("Grüße 👋 there");
    expect(answer).toMatchObject({ text: "Grüße 👋 there", finish: "STOP", usage: billed() });
    expect((await asker(true, "cutoff")("one two")).finish).toBe("MAX_TOKENS");
  });

  test.each([false, true])("a tool, its result and the answer (streamed: %s)", async (streamed) => {
    const ask = asker(streamed, "tool");
    const first = await ask("weather?", { tools: TOOLS });
    expect(first.calls).toMatchObject([{ name: "get_weather", args: { city: "sample" } }]);
    expect(first).toMatchObject({ finish: "STOP", usage: billed() });
    const second = await ask(answered("weather?", first, ["12 degrees"]), { tools: TOOLS });
    expect(second).toMatchObject({ text: "12 degrees", calls: [] });
  });

  test("two calls at once, each with its result", async () => {
    for (const streamed of [false, true]) {
      const first = await asker(streamed, "parallel")("both?", { tools: TOOLS });
      expect(first.calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
      const next = answered("both?", first, ["rain", "noon"]);
      expect((await asker(streamed, "parallel")(next, { tools: TOOLS })).text).toBe("noon");
      expect(JSON.parse((await asker(streamed, "mirror")(next, { tools: TOOLS })).text)).toMatchObject({
        tools: ["get_weather", "get_time"],
        tool_results: [{ text: expect.stringContaining("rain") }, { text: expect.stringContaining("noon") }],
      });
    }
  });

  test("a chat keeps calls, thoughts and their signatures by itself", async () => {
    const thinkingConfig = { includeThoughts: true, thinkingBudget: 2_000 };
    // Anthropic lets nobody who thinks be forced to a tool.
    const forced = api !== "messages";
    const chat = client.chats.create({
      model: alias(forced ? "reason" : "tool", api),
      config: { tools: TOOLS, thinkingConfig, maxOutputTokens: 8_000 },
    });
    const config = { tools: TOOLS, thinkingConfig, maxOutputTokens: 8_000 };
    const first = whole(
      await all(
        await chat.sendMessageStream({
          message: "weather?",
          config: { ...config, ...(forced && { toolConfig: FORCED }) },
        }),
      ),
    );
    expect(first.calls).toMatchObject([{ name: "get_weather" }]);
    expect(first.thought.trim().split(/\s+/)).toHaveLength(20);
    expect(first.usage).toMatchObject(billed());
    const { id = "", name = "" } = first.calls[0] ?? {};
    const message = [createPartFromFunctionResponse(id, name, { output: "12 degrees" })];
    expect((await chat.sendMessage({ message, config })).text).toBe("12 degrees");
    expect(lastBody(gateway.simulator)).toMatch(PROOF[api]);
  });

  test("an answer of a schema, in either of Google's ways", async () => {
    const responseMimeType = "application/json";
    const properties = { city: { type: Type.STRING }, degrees: { type: Type.NUMBER } };
    const responseSchema = { type: Type.OBJECT, properties, required: ["city", "degrees"] };
    const wanted = { city: "sample", degrees: 0 };
    const old = await asker(true, "json")("weather", { responseMimeType, responseSchema });
    expect(JSON.parse(old.text)).toEqual(wanted);
    const responseJsonSchema = {
      type: "object",
      properties: { city: { type: "string" }, degrees: { type: "number" } },
      required: ["city", "degrees"],
      additionalProperties: false,
    };
    const schema = await asker(false, "json")("weather", { responseMimeType, responseJsonSchema });
    expect(JSON.parse(schema.text)).toEqual(wanted);
  });

  test("a picture, sampling, stop words and limits are understood alike", async () => {
    const stops = api === "responses" ? {} : { stopSequences: ["END"] };
    const parts = [{ text: "look" }, createPartFromBase64(PIXEL, "image/png")];
    const answer = await asker(false, "mirror")([{ role: "user", parts }], {
      ...{ systemInstruction: "be brief", temperature: 0.5, maxOutputTokens: 5_000, ...stops, tools: TOOLS },
      toolConfig: {
        functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["get_time"] },
      },
    });
    expect(JSON.parse(answer.text)).toMatchObject({
      system: "be brief",
      messages: [{ role: "user", kinds: ["text", "image"] }],
      ...{ images: ["image/png"], temperature: 0.5, max_output: 5_000, tool_choice: "get_time" },
      stop: api === "responses" ? [] : ["END"],
    });
  });

  test("tokens are counted", async () => {
    const bills = gateway.simulator.invoice().total.requests;
    const counted = await client.models.countTokens({ model: alias("echo", api), contents: "Grüße 👋 there" });
    expect(counted.totalTokens).toBeGreaterThan(2);
    expect(gateway.simulator.invoice().total.requests).toBe(bills);
  });

  test("texts are embedded", async () => {
    const embed = (config: object): Promise<{ embeddings?: { values?: number[] }[] }> =>
      client.models.embedContent({ model: alias("echo", api), contents: ["one", "two"], config });
    const { embeddings } = await embed({ outputDimensionality: 8 });
    expect(embeddings?.map(({ values }) => values?.length)).toEqual([8, 8]);
    expect(embeddings?.[0]?.values).not.toEqual(embeddings?.[1]?.values);
  });

  test("a client that leaves takes its provider call with it", async () => {
    const leave = new AbortController();
    const stream = await client.models.generateContentStream({
      ...{ model: alias("endless", api), contents: "x", config: { abortSignal: leave.signal } },
    });
    const reading = (async () => {
      for await (const chunk of stream) if (chunk.text) leave.abort();
    })();
    expect(await refusal(reading)).toBeInstanceOf(Error);
    await until("the simulator to see it leave", () => gateway.simulator.invoice().lines.at(-1)?.client_closed);
  });

  test("each failure has its status and its word", async () => {
    const ask = (name: ModelName, more: object = {}): Promise<unknown> =>
      refusal(client.models.generateContent({ model: alias(name, api), contents: "x", ...more }));
    const stranger = sdk("sg_no_0").models.generateContent({ model: alias("echo", api), contents: "x" });
    const word = (status: number, said: string): object => ({
      ...{ constructor: ApiError, status },
      message: expect.stringContaining(`"status":"${said}"`),
    });
    expect(await refusal(stranger)).toMatchObject(word(401, "UNAUTHENTICATED"));
    expect(await ask("denied")).toMatchObject(word(403, "PERMISSION_DENIED"));
    expect(await ask("limited")).toMatchObject(word(429, "RESOURCE_EXHAUSTED"));
    expect(await ask("limited")).toMatchObject({ message: expect.stringContaining('"retryDelay":"7s"') });
    expect(await ask("busy")).toMatchObject(word(503, "UNAVAILABLE"));
    expect(await ask("down")).toMatchObject(word(502, "UNAVAILABLE"));
    expect(await ask("context")).toMatchObject({ constructor: ApiError, status: 400 });
    expect(await ask("echo", { config: { temperature: 99 } })).toMatchObject(word(400, "INVALID_ARGUMENT"));
  });

  test("a filtered prompt is refused, or blocked", async () => {
    const body = { model: alias("filter", api), contents: "x" };
    const seen = await client.models.generateContent(body).catch((error: unknown) => error);
    expect(seen).toMatchObject({ constructor: ApiError, status: 400 });
  });

  test("an error inside a stream is raised", async () => {
    const stream = await client.models.generateContentStream({ model: alias("breaks", api), contents: "x" });
    const texts: string[] = [];
    const reading = (async () => {
      for await (const chunk of stream) texts.push(chunk.text ?? "");
    })();
    // Where the error shares a packet with the words before it, the SDK only sees that the stream is not whole.
    expect(await refusal(reading)).toBeInstanceOf(Error);
    expect(texts.join("")).not.toBe("");
  });

  test("its own retries are bounded, and it makes none unless told", async () => {
    const body = { model: alias("down", api), contents: "x" };
    expect(await hitsOf(gateway.simulator, () => refusal(client.models.generateContent(body)))).toBe(ATTEMPTS);
    expect(await hitsOf(gateway.simulator, () => refusal(client.models.generateContentStream(body)))).toBe(ATTEMPTS);
  });
});

test("models are listed and looked up, and an alias nobody knows is not found", async () => {
  const names: (string | undefined)[] = [];
  for await (const model of await client.models.list({ config: { pageSize: 5 } })) names.push(model.name);
  expect(names).toContain(`models/${alias("echo", "chat")}`);
  expect(names).not.toContain(`models/${alias("denied", "chat")}`);
  expect(new Set(names).size).toBe(names.length);
  expect(await client.models.get({ model: alias("tool", "messages") })).toMatchObject({
    name: `models/${alias("tool", "messages")}`,
  });
  expect(await refusal(client.models.generateContent({ model: "nothing", contents: "x" }))).toMatchObject({
    ...{ constructor: ApiError, status: 404 },
  });
});
