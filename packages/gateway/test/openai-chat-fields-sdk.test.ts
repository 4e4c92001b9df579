import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { CLIENT_KEY, type TestGateway } from "./support/gateway.ts";
import {
  APIS,
  type Api,
  alias,
  lastBody,
  type ModelName,
  PIXEL,
  refusal,
  startSdkGateway,
} from "./support/sdk-gateway.ts";

/* The members of a chat request that few ask for, through the official OpenAI SDK, on a deployment of each dialect. */

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "model" | "messages" | "stream">;

const HELLO = [{ role: "user" as const, content: "hello there" }];
const UNSUPPORTED = { constructor: OpenAI.BadRequestError, code: "unsupported_feature" };

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startSdkGateway();
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 });
});
afterAll(() => gateway.close());

function ask(name: ModelName, api: Api, more: Body = {}): Promise<OpenAI.ChatCompletion> {
  return client.chat.completions.create({ model: alias(name, api), messages: HELLO, ...more });
}

async function chunksOf(
  name: ModelName,
  api: Api,
  more: Body & Pick<OpenAI.ChatCompletionCreateParamsStreaming, "stream_options"> = {},
): Promise<OpenAI.ChatCompletionChunk[]> {
  const body = { model: alias(name, api), messages: HELLO, ...more, stream: true as const };
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of await client.chat.completions.create(body)) chunks.push(chunk);
  return chunks;
}

const choicesOf = (chunks: OpenAI.ChatCompletionChunk[]): OpenAI.ChatCompletionChunk.Choice[] =>
  chunks.flatMap(({ choices }) => choices);

describe.each(APIS)("the OpenAI SDK on a deployment asked in %s", (api) => {
  test.each([
    ["asked", { include_usage: true }, 1],
    ["declined", { include_usage: false }, 0],
    ["not asked", undefined, 0],
  ] as const)("usage in a stream: %s", async (_, options, count) => {
    const chunks = await chunksOf("echo", api, options && { stream_options: options });
    expect(chunks.filter(({ choices }) => choices.length === 0)).toHaveLength(count);
    const counted = chunks.flatMap(({ usage }) => usage ?? []);
    expect(counted).toHaveLength(count);
    for (const usage of counted) expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
    expect(counted.every(({ total_tokens }) => total_tokens > 0)).toBe(true);
    expect(
      choicesOf(chunks)
        .map(({ delta }) => delta.content ?? "")
        .join(""),
    ).toBe("hello there");
  });

  test("two answers to one question", async () => {
    if (api === "responses" || api === "messages") {
      expect(await refusal(ask("echo", api, { n: 2 }))).toMatchObject({ ...UNSUPPORTED, param: "n" });
      return;
    }
    const { choices } = await ask("echo", api, { n: 2 });
    expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, "hello there"],
      [1, "hello there"],
    ]);
    const texts = ["", ""];
    const ends: string[] = [];
    for (const { index, delta, finish_reason } of choicesOf(await chunksOf("echo", api, { n: 2 }))) {
      texts[index] += delta.content ?? "";
      if (finish_reason) ends.push(`${index} ${finish_reason}`);
    }
    expect(texts).toEqual(["hello there", "hello there"]);
    expect(ends.sort()).toEqual(["0 stop", "1 stop"]);
  });

  test("log probabilities", async () => {
    const asked = { logprobs: true, top_logprobs: 2 };
    if (api === "messages") {
      expect(await refusal(ask("echo", api, asked))).toMatchObject({ ...UNSUPPORTED, param: "logprobs" });
      return;
    }
    const whole = (await ask("echo", api, asked)).choices[0]?.logprobs?.content ?? [];
    const streamed = choicesOf(await chunksOf("echo", api, asked)).flatMap(({ logprobs }) => logprobs?.content ?? []);
    // The simulator's Google gives none, as Google's thinking models do; that they were asked for is seen there.
    if (api === "generate") {
      expect(JSON.parse(lastBody(gateway.simulator))).toMatchObject({
        generationConfig: { responseLogprobs: true, logprobs: 2 },
      });
      return;
    }
    for (const tokens of [whole, streamed]) {
      expect(tokens.map(({ token, top_logprobs }) => [token, top_logprobs.length])).toEqual([
        ["hello ", 2],
        ["there", 2],
      ]);
    }
  });

  test("reasoning, whole and piece by piece", async () => {
    const reasoned = (holder: object): string => (holder as { reasoning_content?: string }).reasoning_content ?? "";
    const words = (text: string): number => text.split(/\s+/).filter(Boolean).length;
    const whole = await ask("reason", api, { reasoning_effort: "low" });
    const streamed = choicesOf(await chunksOf("reason", api, { reasoning_effort: "low" }));
    // OpenAI and Google show none to whom asks for none, but count it.
    const shown = api === "chat" || api === "messages" ? 20 : 0;
    expect(words(reasoned(whole.choices[0]?.message ?? {}))).toBe(shown);
    expect(words(streamed.map(({ delta }) => reasoned(delta)).join(""))).toBe(shown);
    expect(whole.usage?.completion_tokens_details?.reasoning_tokens).toBe(20);
    expect(streamed.map(({ delta }) => delta.content ?? "").join("")).toBe("hello there");
  });

  test("pictures, inline and by address", async () => {
    const urls = [`data:image/png;base64,${PIXEL}`, "https://example.com/a.png"];
    const content = urls.map((url) => ({ type: "image_url" as const, image_url: { url } }));
    const body = { model: alias("mirror", api), messages: [{ role: "user" as const, content }] };
    const { choices } = await client.chat.completions.create(body);
    expect(JSON.parse(choices[0]?.message.content ?? "")).toMatchObject({
      messages: [{ role: "user", kinds: ["image", "image"] }],
      images: ["image/png", "https://example.com/a.png"],
    });
  });

  test("a strict schema goes to the provider as it is", async () => {
    const schema = z.object({ city: z.string(), sky: z.enum(["clear", "grey"]) });
    await ask("json", api, { response_format: zodResponseFormat(schema, "weather") });
    const sent = lastBody(gateway.simulator);
    expect(sent).toContain('"enum":["clear","grey"]');
    expect(sent).toContain('"required":["city","sky"]');
    if (api === "chat" || api === "responses") expect(sent).toContain('"strict":true');
  });
});
