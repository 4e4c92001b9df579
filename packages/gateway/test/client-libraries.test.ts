import { createOpenAI } from "@ai-sdk/openai";
import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { Sluicegate } from "@sluicegate/client";
import { generateObject, generateText, jsonSchema, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";

const CITY = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;

describe("client libraries, with only base URL and key changed", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway({
      chains: {
        default: ["sim/echo"],
        tool: ["sim/tool"],
        fallback: ["sim/error?status=503", "sim/echo"],
        json: ["sim/json"],
        filter: ["sim/filter"],
      },
    });
  });
  afterAll(() => gateway.close());

  describe("Vercel AI SDK", () => {
    const model = (name: string) => createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY }).chat(name);

    test("generates text, through a fallback too", async () => {
      const { text, usage, finishReason } = await generateText({ model: model("fallback"), prompt: "hello there" });
      expect(text).toBe("hello there");
      expect(finishReason).toBe("stop");
      expect(usage.totalTokens).toBeGreaterThan(0);
    });

    test("streams text with its usage", async () => {
      const result = streamText({ model: model("default"), prompt: "one two three" });
      let text = "";
      for await (const piece of result.textStream) text += piece;
      expect(text).toBe("one two three");
      expect((await result.usage).totalTokens).toBeGreaterThan(0);
    });

    test("streams a tool call", async () => {
      const result = streamText({
        model: model("tool"),
        prompt: "weather?",
        tools: {
          get_weather: tool({ description: "weather", inputSchema: jsonSchema<{ city: string }>(CITY as never) }),
        },
      });
      await result.consumeStream();
      const [call] = await result.toolCalls;
      expect(call).toMatchObject({ toolName: "get_weather", input: { city: expect.any(String) } });
      expect(await result.finishReason).toBe("tool-calls");
    });

    test("generates an object of a schema", async () => {
      const { object } = await generateObject({
        model: model("json"),
        schema: jsonSchema<{ city: string }>(CITY as never),
        prompt: "a city",
      });
      expect(object).toEqual({ city: expect.any(String) });
    });

    test("sees a refused prompt as an error that is not retried", async () => {
      const before = gateway.simulator.requests().total;
      await expect(generateText({ model: model("filter"), prompt: "x" })).rejects.toMatchObject({
        statusCode: 400,
        isRetryable: false,
      });
      expect(gateway.simulator.requests().total).toBe(before + 1);
    });
  });

  describe("LangChain.js", () => {
    const chat = (model: string) =>
      new ChatOpenAI({ model, apiKey: CLIENT_KEY, configuration: { baseURL: `${gateway.url}/v1` }, maxRetries: 0 });

    test("invokes and streams", async () => {
      const answer = await chat("default").invoke([new HumanMessage("hello there")]);
      expect(answer.content).toBe("hello there");
      expect(answer.usage_metadata?.total_tokens).toBeGreaterThan(0);
      let text = "";
      for await (const chunk of await chat("default").stream("one two three")) text += chunk.content;
      expect(text).toBe("one two three");
    });

    test("binds tools", async () => {
      const bound = chat("tool").bindTools([
        { type: "function", function: { name: "get_weather", description: "weather", parameters: CITY } },
      ]);
      const answer = await bound.invoke("weather?");
      expect(answer.tool_calls?.[0]).toMatchObject({ name: "get_weather", args: { city: expect.any(String) } });
    });

    test("embeds", async () => {
      const embeddings = new OpenAIEmbeddings({
        model: "default",
        apiKey: CLIENT_KEY,
        configuration: { baseURL: `${gateway.url}/v1` },
      });
      const [first, second] = await embeddings.embedDocuments(["one", "two"]);
      expect(first?.length).toBeGreaterThan(10);
      expect(second).not.toEqual(first);
    });
  });

  describe("Sluicegate's own client", () => {
    test("chats and streams typed parts, with who served it", async () => {
      const client = new Sluicegate({ baseUrl: gateway.url, apiKey: CLIENT_KEY });
      const messages = [{ role: "user" as const, content: "hello there" }];
      const reply = await client.chat({ model: "fallback", messages });
      expect(reply.message.text).toBe("hello there");
      expect(reply).toMatchObject({ deployment: "sim/echo", provider: "sim", finishReason: "stop" });
      expect(reply.costUsd).toBeGreaterThan(0);
      const stream = client.stream({ model: "default", messages });
      const kinds: string[] = [];
      for await (const part of stream) kinds.push(part.type);
      expect(kinds[0]).toBe("start");
      expect(kinds.at(-1)).toBe("finish");
      const final = await stream.final();
      expect(final.message.text).toBe("hello there");
      expect(final.costUsd).toBeGreaterThan(0);
    });
  });
});
