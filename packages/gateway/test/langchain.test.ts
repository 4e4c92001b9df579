import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { concat } from "@langchain/core/utils/stream";
import { ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings } from "@langchain/google-genai";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
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
  type ModelName,
  PIXEL,
  refusal,
  startSdkGateway,
} from "./support/sdk-gateway.ts";
import { until } from "./support/until.ts";

/* LangChain.js, unmodified, with each of its chat models on a deployment of each dialect. */

const CLIENTS = ["ChatOpenAI", "ChatOpenAI, Responses", "ChatAnthropic", "ChatGoogleGenerativeAI"] as const;
type Client = (typeof CLIENTS)[number];

const PAIRS = CLIENTS.flatMap((client) => APIS.map((api) => [client, api] as const));

const TOOLS = [
  tool(() => "12 degrees", {
    name: "get_weather",
    description: "The weather of a city",
    schema: z.object({ city: z.string() }),
  }),
  tool(() => "noon", { name: "get_time", description: "The time in a city", schema: z.object({ city: z.string() }) }),
];

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startSdkGateway();
});
afterAll(() => gateway.close());

function chatModel(client: Client, model: string, apiKey = CLIENT_KEY, temperature?: number) {
  const usual = { model, apiKey, maxRetries: 0, ...(temperature !== undefined && { temperature }) };
  const openai = { ...usual, maxTokens: 4_000, streamUsage: true, configuration: { baseURL: `${gateway.url}/v1` } };
  switch (client) {
    case "ChatOpenAI":
      return new ChatOpenAI(openai);
    case "ChatOpenAI, Responses":
      return new ChatOpenAI({ ...openai, useResponsesApi: true, zdrEnabled: true });
    case "ChatAnthropic":
      return new ChatAnthropic({ ...usual, maxTokens: 4_000, anthropicApiUrl: gateway.url });
    case "ChatGoogleGenerativeAI":
      return new ChatGoogleGenerativeAI({ ...usual, maxOutputTokens: 4_000, baseUrl: gateway.url });
  }
}

/** The whole answer of a stream. */
async function whole(stream: Promise<AsyncIterable<AIMessageChunk>>): Promise<AIMessageChunk> {
  let all: AIMessageChunk | undefined;
  for await (const chunk of await stream) all = all ? concat(all, chunk) : chunk;
  if (!all) throw new Error("an empty stream");
  return all;
}

/** The usage that the invoice calls for. */
function billed(): object {
  const { input_tokens, output_tokens, total_tokens } = lastBill(gateway.simulator);
  return { input_tokens, output_tokens, total_tokens };
}

describe.each(PAIRS)("LangChain's %s on a deployment asked in %s", (client, api) => {
  const model = (name: ModelName, temperature?: number): BaseChatModel =>
    chatModel(client, alias(name, api), CLIENT_KEY, temperature) as BaseChatModel;

  test("text, whole and streamed", async () => {
    const answer = (await model("echo").invoke([
      new SystemMessage("be brief"),
      new HumanMessage("Grüße 👋 there"),
    ])) as AIMessage;
    expect(answer.text).toBe("Grüße 👋 there");
    expect(answer.usage_metadata).toMatchObject(billed());
    const streamed = await whole(model("echo").stream("Grüße 👋 there"));
    expect(streamed.text).toBe("Grüße 👋 there");
    // It takes what Anthropic's first event says of usage as if nothing came after, and adds the rest.
    if (client === "ChatAnthropic") expect(streamed.usage_metadata?.output_tokens).toBeGreaterThan(0);
    else expect(streamed.usage_metadata).toMatchObject(billed());
  });

  test.each([false, true])("a loop of tools, two at once, that thinks (streamed: %s)", async (streamed) => {
    const run = (name: ModelName, choice: string, messages: BaseMessage[]): Promise<AIMessage> => {
      const bound = model(name).bindTools?.(TOOLS, { tool_choice: choice });
      if (!bound) throw new Error("no tools");
      return (streamed ? whole(bound.stream(messages)) : bound.invoke(messages)) as Promise<AIMessage>;
    };
    // Its Responses client cannot force a tool.
    const thinks =
      client === "ChatOpenAI, Responses" ? (["tool", "auto", 1] as const) : (["reason", "any", 1] as const);
    for (const [name, choice, count] of [["parallel", "auto", 2] as const, thinks]) {
      const messages: BaseMessage[] = [new HumanMessage("both?")];
      const first = await run(name, choice, messages);
      expect(first.tool_calls).toMatchObject(
        TOOLS.slice(0, count).map((each) => ({ name: each.name, args: { city: "sample" } })),
      );
      messages.push(first);
      for (const call of first.tool_calls ?? []) {
        const called = TOOLS.find((each) => each.name === call.name);
        messages.push(await called?.invoke(call as never));
      }
      expect((await run(name, "auto", messages)).text).toContain(count === 2 ? "noon" : "12 degrees");
    }
  });

  test("an object of a schema", async () => {
    const Weather = z.object({ city: z.string(), degrees: z.number() });
    const wanted = { city: "sample", degrees: 0 };
    expect(await model("echo").withStructuredOutput(Weather).invoke("weather")).toEqual(wanted);
    const calling = model("echo").withStructuredOutput(Weather, { method: "functionCalling" });
    expect(await calling.invoke("weather")).toEqual(wanted);
  });

  test("a picture, sampling and limits are understood alike", async () => {
    const answer = await model("vision-mirror", 0.5).invoke([
      new SystemMessage("be brief"),
      new HumanMessage({
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
        ],
      }),
    ]);
    expect(JSON.parse(answer.text)).toMatchObject({
      system: "be brief",
      messages: [{ role: "user", kinds: ["text", "image"] }],
      ...{ images: ["image/png"], temperature: 0.5, max_output: 4_000 },
    });
  });

  test("each failure is an error with its status", async () => {
    const ask = (name: ModelName): Promise<unknown> => refusal(model(name).invoke("x"));
    const busy = client === "ChatAnthropic" ? 529 : 503;
    expect(await refusal(chatModel(client, alias("echo", api), "sg_no_0").invoke("x"))).toMatchObject({ status: 401 });
    expect(await refusal(chatModel(client, "nothing").invoke("x"))).toMatchObject({ status: 404 });
    const statuses = { denied: 403, limited: 429, busy, down: 502, filter: 400 } as const;
    for (const [name, status] of Object.entries(statuses)) {
      expect(await ask(name as ModelName), name).toMatchObject({ status });
    }
    const overflow = await ask("context");
    if (client === "ChatGoogleGenerativeAI") expect(overflow).toMatchObject({ status: 400 });
    else expect(overflow).toMatchObject({ name: "ContextOverflowError", cause: { status: 400 } });
    expect(await hitsOf(gateway.simulator, () => ask("down"))).toBe(ATTEMPTS);
  });

  // Its Google client leaves a promise behind that rejects unheard whenever a stream is not read to its end.
  if (client === "ChatGoogleGenerativeAI") return;

  test("an error inside a stream is raised", async () => {
    expect(await refusal(whole(model("breaks").stream("x")))).toBeInstanceOf(Error);
  });

  test("a client that leaves takes its provider call with it", async () => {
    for await (const chunk of await model("endless").stream("x")) if (chunk.text !== "") break;
    await until("the simulator to see it leave", () => gateway.simulator.invoice().lines.at(-1)?.client_closed);
  });
});

test.each(EMBEDDERS)("LangChain embeds texts by %s", async (name) => {
  const openai = new OpenAIEmbeddings({
    ...{ model: name, apiKey: CLIENT_KEY, configuration: { baseURL: `${gateway.url}/v1` } },
  });
  const google = new GoogleGenerativeAIEmbeddings({ model: name, apiKey: CLIENT_KEY, baseUrl: gateway.url });
  const one = await openai.embedDocuments(["one", "two"]);
  const other = await google.embedDocuments(["one", "two"]);
  expect(one).toHaveLength(2);
  expect(one[0]).not.toEqual(one[1]);
  expect(other.map(({ length }) => length)).toEqual(one.map(({ length }) => length));
  expect(await google.embedQuery("one")).toHaveLength(one[0]?.length ?? 0);
});
