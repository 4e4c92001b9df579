import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  embedMany,
  generateObject,
  generateText,
  type LanguageModel,
  stepCountIs,
  streamObject,
  streamText,
  tool,
} from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { CLIENT_KEY, type TestGateway } from "./support/gateway.ts";
import {
  APIS,
  ATTEMPTS,
  alias,
  EMBEDDERS,
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

/* Vercel's AI SDK, unmodified, with each of its providers on a deployment of each dialect. */

const PROVIDERS = ["openai.chat", "openai.responses", "anthropic", "google"] as const;
type Provider = (typeof PROVIDERS)[number];

const PAIRS = PROVIDERS.flatMap((provider) => APIS.map((api) => [provider, api] as const));
const Weather = z.object({ city: z.string(), degrees: z.number() });

/** Its Responses client refers to earlier answers by id unless they are not kept, and who has no store cannot keep them. */
const UNKEPT = { providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } } };

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startSdkGateway();
});
afterAll(() => gateway.close());

function modelOf(provider: Provider, name: string, apiKey = CLIENT_KEY): LanguageModel {
  const v1 = { baseURL: `${gateway.url}/v1`, apiKey };
  switch (provider) {
    case "openai.chat":
      return createOpenAI(v1).chat(name);
    case "openai.responses":
      return createOpenAI(v1).responses(name);
    case "anthropic":
      return createAnthropic(v1)(name);
    case "google":
      return createGoogleGenerativeAI({ baseURL: `${gateway.url}/v1beta`, apiKey })(name);
  }
}

/** Two tools that answer, and what they were called with. */
function toolbox(): {
  calls: unknown[];
  tools: { get_weather: ReturnType<typeof tool>; get_time: ReturnType<typeof tool> };
} {
  const calls: unknown[] = [];
  const answering = (name: string, output: string): ReturnType<typeof tool> =>
    tool({
      description: `${name} of a city`,
      inputSchema: z.object({ city: z.string() }),
      execute: (input: { city: string }) => {
        calls.push([name, input]);
        return output;
      },
    }) as ReturnType<typeof tool>;
  return { calls, tools: { get_weather: answering("weather", "12 degrees"), get_time: answering("time", "noon") } };
}

describe.each(PAIRS)("Vercel's AI SDK, provider %s, on a deployment asked in %s", (provider, api) => {
  const model = (name: ModelName): LanguageModel => modelOf(provider, alias(name, api));
  /** How its provider for Google tells a result. */
  const said = (name: string, content: string): string =>
    provider === "google" ? JSON.stringify({ name, content }) : content;
  const usual = { maxRetries: 0, maxOutputTokens: 4_000 };

  test("text, whole and streamed", async () => {
    const whole = await generateText({ ...usual, model: model("echo"), system: "be brief", prompt: "Grüße 👋 there" });
    const { input_tokens, output_tokens } = lastBill(gateway.simulator);
    expect([whole.text, whole.finishReason]).toEqual(["Grüße 👋 there", "stop"]);
    expect(whole.usage).toMatchObject({ inputTokens: input_tokens, outputTokens: output_tokens });
    const stream = streamText({ ...usual, model: model("echo"), prompt: "Grüße 👋 there" });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    const bill = lastBill(gateway.simulator);
    expect([text, await stream.finishReason]).toEqual(["Grüße 👋 there", "stop"]);
    expect(await stream.usage).toMatchObject({ inputTokens: bill.input_tokens, outputTokens: bill.output_tokens });
    expect((await generateText({ ...usual, model: model("cutoff"), prompt: "one two" })).finishReason).toBe("length");
  });

  test("a whole loop of tools, two at once, whole and streamed", async () => {
    const asked = [
      ["weather", { city: "sample" }],
      ["time", { city: "sample" }],
    ];
    const whole = toolbox();
    const body = { ...usual, ...UNKEPT, model: model("parallel"), prompt: "both?", stopWhen: stepCountIs(4) };
    const answer = await generateText({ ...body, tools: whole.tools });
    expect([answer.finishReason, answer.steps.length]).toEqual(["stop", 2]);
    expect(answer.text).toBe(said("get_time", "noon"));
    expect(whole.calls).toEqual(asked);
    const streamed = toolbox();
    const stream = streamText({ ...body, tools: streamed.tools });
    await stream.consumeStream();
    expect(await stream.text).toBe(said("get_time", "noon"));
    expect((await stream.steps).map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
    expect(streamed.calls).toEqual(asked);
  });

  test("thoughts go back to their maker between two steps", async () => {
    const { tools } = toolbox();
    const stream = streamText({
      ...{ ...usual, model: model("reason"), prompt: "weather?", tools, stopWhen: stepCountIs(4) },
      prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "auto" }),
      ...UNKEPT,
    });
    await stream.consumeStream();
    expect(await stream.text).toBe(said("get_weather", "12 degrees"));
    const [first] = await stream.steps;
    // Its chat client knows no thoughts; OpenAI shows none to whom asks for none.
    if (provider === "openai.chat" || api === "responses") return;
    expect(first?.reasoningText?.trim().split(/\s+/)).toHaveLength(20);
    expect(lastBody(gateway.simulator)).toMatch(PROOF[api]);
  });

  test("an object of a schema, whole and streamed", async () => {
    const body = { ...usual, model: model("echo"), schema: Weather, prompt: "weather" };
    expect((await generateObject(body)).object).toEqual({ city: "sample", degrees: 0 });
    const stream = streamObject(body);
    for await (const _ of stream.partialObjectStream);
    expect(await stream.object).toEqual({ city: "sample", degrees: 0 });
  });

  test("a picture, sampling and limits are understood alike", async () => {
    const { text } = await generateText({
      ...{ ...usual, model: model("mirror"), system: "be brief", temperature: 0.5 },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image", image: Buffer.from(PIXEL, "base64"), mediaType: "image/png" },
          ],
        },
      ],
    });
    expect(JSON.parse(text)).toMatchObject({
      system: "be brief",
      messages: [{ role: "user", kinds: ["text", "image"] }],
      ...{ images: ["image/png"], temperature: 0.5, max_output: 4_000 },
    });
  });

  test("each failure is an APICallError with its status, to be retried or not", async () => {
    const ask = (name: ModelName): Promise<unknown> =>
      refusal(generateText({ ...usual, model: model(name), prompt: "x" }));
    const stranger = modelOf(provider, alias("echo", api), "sg_no_0");
    const failures: [unknown, number, boolean][] = [
      [await refusal(generateText({ ...usual, model: stranger, prompt: "x" })), 401, false],
      [await refusal(generateText({ ...usual, model: modelOf(provider, "nothing"), prompt: "x" })), 404, false],
      [await ask("denied"), 403, false],
      [await ask("limited"), 429, true],
      [await ask("busy"), provider === "anthropic" ? 529 : 503, true],
      [await ask("context"), 400, false],
      [await ask("filter"), 400, false],
    ];
    for (const [error, statusCode, isRetryable] of failures) {
      expect(APICallError.isInstance(error), String(error)).toBe(true);
      expect(error).toMatchObject({ statusCode, isRetryable });
      // Its own words, not a bare status.
      expect((error as APICallError).message.length).toBeGreaterThan(20);
    }
    expect(failures[3]?.[0]).toMatchObject({ responseHeaders: { "retry-after": "7" } });
    expect(await hitsOf(gateway.simulator, () => ask("down"))).toBe(ATTEMPTS);
  });

  test("an error inside a stream is no answer", async () => {
    const errors: unknown[] = [];
    const stream = streamText({
      ...{ ...usual, model: model("breaks"), prompt: "x" },
      onError: ({ error }) => void errors.push(error),
    });
    await stream.consumeStream();
    // Its Google provider skips what Google says of an error, and knows no more than that there was no end.
    expect(errors).toHaveLength(provider === "google" ? 0 : 1);
    const unknown = provider === "google" || provider === "openai.responses";
    expect(await stream.finishReason).toBe(unknown ? "unknown" : "error");
  });

  test("a client that leaves takes its provider call with it", async () => {
    const leave = new AbortController();
    const stream = streamText({ ...usual, model: model("endless"), prompt: "x", abortSignal: leave.signal });
    for await (const piece of stream.textStream) if (piece) leave.abort();
    await until("the simulator to see it leave", () => gateway.simulator.invoice().lines.at(-1)?.client_closed);
  });
});

test.each(EMBEDDERS)("texts are embedded by %s", async (name) => {
  const values = ["one", "two"];
  const openai = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY });
  const google = createGoogleGenerativeAI({ baseURL: `${gateway.url}/v1beta`, apiKey: CLIENT_KEY });
  const one = await embedMany({ model: openai.textEmbeddingModel(name), values });
  const other = await embedMany({ model: google.textEmbeddingModel(name), values });
  expect(one.embeddings).toHaveLength(2);
  expect(other.embeddings.map(({ length }) => length)).toEqual(one.embeddings.map(({ length }) => length));
  for (const [i, value] of (one.embeddings[1] ?? []).entries()) {
    expect(value).toBeCloseTo(other.embeddings[1]?.[i] ?? Number.NaN, 5);
  }
});

test("its Responses client is told what to do where its earlier answers are not kept", async () => {
  const { tools } = toolbox();
  const model = modelOf("openai.responses", alias("tool", "messages"));
  const asked = generateText({ model, prompt: "weather?", tools, stopWhen: stepCountIs(4), maxRetries: 0 });
  expect(await refusal(asked)).toMatchObject({ statusCode: 400, message: expect.stringContaining("store: false") });
});
