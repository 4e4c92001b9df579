import { LLMock } from "@copilotkit/aimock";
import OpenAI, { AuthenticationError, BadRequestError, NotFoundError } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENT_KEY, configOf, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { type ReplayServer, readTraffic, startReplayServer, trafficDir } from "./support/replay-server.ts";

const WEATHER = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

/** Streams one call of a tool through the SDK and gives back what the SDK put together. */
async function streamToolCall(
  client: OpenAI,
  model: string,
): Promise<{ name: string; args: unknown; finish: string | null; usage: boolean }> {
  const stream = client.chat.completions.stream({
    model,
    messages: [{ role: "user", content: "What is the weather in Oslo?" }],
    tools: [WEATHER],
    stream_options: { include_usage: true },
  });
  const final = await stream.finalChatCompletion();
  const [choice] = final.choices;
  const [call] = choice?.message.tool_calls ?? [];
  if (call?.type !== "function") throw new Error(`no tool call in ${JSON.stringify(final)}`);
  return {
    name: call.function.name,
    args: JSON.parse(call.function.arguments),
    finish: choice?.finish_reason ?? null,
    usage: final.usage !== undefined && final.usage !== null,
  };
}

describe("the official OpenAI SDK", () => {
  let gateway: TestGateway;
  let client: OpenAI;
  let aimock: LLMock;
  let replay: ReplayServer;

  beforeAll(async () => {
    aimock = new LLMock({ port: 0 });
    aimock.onMessage("What is the weather in Oslo?", {
      toolCalls: [{ name: "get_weather", arguments: '{"city":"Oslo"}' }],
    });
    await aimock.start();
    replay = await startReplayServer();
    const extra = `
  mock: { kind: openai, base_url: '${aimock.url}/v1', api_key: sk-mock }
  replay: { kind: openai, base_url: '${replay.url}/v1', api_key: sk-replay }
`;
    gateway = await startTestGateway({
      config: configOf({
        default: ["sim/echo"],
        tool: ["sim/tool"],
        reason: ["sim/reason"],
        mock: ["mock/gpt-4o"],
        replay: ["replay/recorded"],
      }).replace(
        "providers: { sim: { kind: simulator, base_url: SIMULATOR } }",
        `providers:\n  sim: { kind: simulator, base_url: SIMULATOR }${extra}`,
      ),
    });
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 });
  });

  afterAll(async () => {
    await gateway.close();
    await aimock.stop();
    await replay.close();
  });

  test("chats and reads usage", async () => {
    const answer = await client.chat.completions.create({
      model: "default",
      messages: [{ role: "user", content: "hello there" }],
    });
    expect(answer.choices[0]?.message.content).toBe("hello there");
    expect(answer.usage?.total_tokens).toBeGreaterThan(0);
  });

  test("streams a tool call from the simulator", async () => {
    const call = await streamToolCall(client, "tool");
    expect(call.name).toBe("get_weather");
    expect(call.args).toEqual({ city: expect.any(String) });
    expect(call.finish).toBe("tool_calls");
    expect(call.usage).toBe(true);
  });

  test("streams a tool call from aimock, which nobody here wrote", async () => {
    const call = await streamToolCall(client, "mock");
    expect(call).toMatchObject({ name: "get_weather", args: { city: "Oslo" }, finish: "tool_calls" });
  });

  test("lists the aliases of the key", async () => {
    const models = await client.models.list();
    expect(models.data.map((model) => model.id)).toEqual(["default", "tool", "reason", "mock", "replay"]);
    expect((await client.models.retrieve("tool")).id).toBe("tool");
  });

  test("embeds, in the base64 it asks for by itself and in floats", async () => {
    const byDefault = await client.embeddings.create({ model: "default", input: ["one", "two"] });
    const floats = await client.embeddings.create({
      model: "default",
      input: ["one", "two"],
      encoding_format: "float",
    });
    expect(byDefault.data).toHaveLength(2);
    const first = floats.data[0]?.embedding ?? [];
    for (const [index, value] of (byDefault.data[0]?.embedding ?? []).entries())
      expect(value).toBeCloseTo(first[index] ?? Number.NaN, 6);
  });

  test("raises its own error classes", async () => {
    const messages = [{ role: "user" as const, content: "x" }];
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "sg_nobody_0", maxRetries: 0 });
    await expect(stranger.chat.completions.create({ model: "default", messages })).rejects.toBeInstanceOf(
      AuthenticationError,
    );
    await expect(client.chat.completions.create({ model: "defualt", messages })).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.chat.completions.create({ model: "default", messages: [] })).rejects.toBeInstanceOf(
      BadRequestError,
    );
  });

  const dir = trafficDir();
  describe.skipIf(dir === null)("the recorded exchanges with OpenAI", () => {
    const records = dir ? readTraffic(dir, "openai-chat").filter((record) => record.response.status === 200) : [];
    const streamed = records.filter(
      (record) => record.stream && JSON.stringify(record.response.body).includes("tool_calls"),
    );

    test("there are streamed tool calls among them", () => expect(streamed.length).toBeGreaterThan(1));

    test.each(streamed.map((record) => [record.id, record] as const))(
      "stream through, tool call and all: %s",
      async (_, record) => {
        replay.serve(record, 7);
        const call = await streamToolCall(client, "replay");
        const recorded = String(record.response.body);
        expect(recorded).toContain(`"name":${JSON.stringify(call.name)}`);
        // OpenAI says `stop` where the tool was forced: same dialect, same bytes.
        expect(recorded).toContain(`"finish_reason":${JSON.stringify(call.finish)}`);
      },
    );
  });
});
