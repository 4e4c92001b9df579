import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
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

/* The official Anthropic SDK, unmodified, on a deployment of each dialect. */

type Messages = Anthropic.MessageParam[];

const WEATHER: Anthropic.Tool = {
  name: "get_weather",
  description: "The weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const HELLO: Messages = [{ role: "user", content: "Grüße 👋 there" }];

let gateway: TestGateway;
let client: Anthropic;

beforeAll(async () => {
  gateway = await startSdkGateway();
  client = sdk();
});
afterAll(() => gateway.close());

function sdk(apiKey = CLIENT_KEY, maxRetries = 0): Anthropic {
  return new Anthropic({ baseURL: gateway.url, apiKey, maxRetries });
}

/** The usage that the invoice calls for: Anthropic counts what was cached apart. */
function billed(): object {
  const { input_tokens, output_tokens, cached_input_tokens } = lastBill(gateway.simulator);
  return {
    ...{ input_tokens: input_tokens - cached_input_tokens, output_tokens },
    cache_read_input_tokens: cached_input_tokens,
  };
}

/** The next turn: all that was said, and a result for each call. */
function answered(before: Messages, message: Anthropic.Message, results: readonly string[]): Messages {
  const calls = message.content.filter((block) => block.type === "tool_use");
  const content = calls.map(({ id }, i) => ({
    ...{ type: "tool_result" as const, tool_use_id: id },
    content: results[i] ?? "",
  }));
  return [...before, { role: "assistant", content: message.content }, { role: "user", content }];
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

describe.each(APIS)("the Anthropic SDK on a deployment asked in %s", (api) => {
  const asker =
    (streamed: boolean) =>
    (body: Anthropic.MessageCreateParamsNonStreaming): Promise<Anthropic.Message> =>
      streamed ? client.messages.stream(body).finalMessage() : client.messages.create(body);

  test("text, whole", async () => {
    const answer = await client.messages.create({
      ...{ model: alias("fixed", api), max_tokens: 1_000, system: "be brief", messages: HELLO },
    });
    expect(answer).toMatchObject({ type: "message", role: "assistant", stop_reason: "end_turn", usage: billed() });
    expect(answer.content).toMatchObject([{ type: "text", text: "Grüße 👋 there" }]);
    expect(answer.usage).toMatchObject({
      ...{ input_tokens: 1_000, cache_read_input_tokens: 5_000, output_tokens: 300 },
    });
  });

  test("text, streamed, and one cut off", async () => {
    const stream = client.messages.stream({ model: alias("echo", api), max_tokens: 1_000, messages: HELLO });
    let deltas = "";
    stream.on("text", (delta) => {
      deltas += delta;
    });
    const final = await stream.finalMessage();
    expect([deltas, textOf(final), final.stop_reason]).toEqual(["Grüße 👋 there", "Grüße 👋 there", "end_turn"]);
    expect(final.usage).toMatchObject(billed());
    const cut = await asker(true)({ model: alias("cutoff", api), max_tokens: 1_000, messages: HELLO });
    expect(cut.stop_reason).toBe("max_tokens");
  });

  test.each([false, true])("a tool, its result and the answer (streamed: %s)", async (streamed) => {
    const ask = asker(streamed);
    const body = { model: alias("tool", api), max_tokens: 1_000, tools: [WEATHER] };
    const first = await ask({ ...body, messages: HELLO });
    expect(first.stop_reason).toBe("tool_use");
    const calls = first.content.filter((block) => block.type === "tool_use");
    expect(calls).toMatchObject([{ name: "get_weather", input: { city: "sample" } }]);
    expect(first.usage).toMatchObject(billed());
    const second = await ask({ ...body, messages: answered(HELLO, first, ["12 degrees"]) });
    expect([textOf(second), second.stop_reason]).toEqual(["12 degrees", "end_turn"]);
  });

  test("a tool without parameters is called with an empty object", async () => {
    const tools = [{ name: "now", input_schema: { type: "object" as const } }];
    for (const streamed of [false, true]) {
      const body = { model: alias("nothing", api), max_tokens: 1_000, tools, messages: HELLO };
      const calls = (await asker(streamed)(body)).content.filter((block) => block.type === "tool_use");
      expect(calls).toMatchObject([{ name: "now", input: {} }]);
    }
  });

  test("two calls at once, each with its result, one of them a failure with a picture", async () => {
    const body = { max_tokens: 1_000, tools: [WEATHER, { ...WEATHER, name: "get_time" }] };
    const first = await asker(true)({ ...body, model: alias("parallel", api), messages: HELLO });
    const calls = first.content.filter((block) => block.type === "tool_use");
    expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    const messages = answered(HELLO, first, ["rain", "noon"]);
    expect(textOf(await client.messages.create({ ...body, model: alias("parallel", api), messages }))).toBe("noon");
    const heard = JSON.parse(textOf(await client.messages.create({ ...body, model: alias("mirror", api), messages })));
    expect(heard).toMatchObject({
      tools: ["get_weather", "get_time"],
      tool_results: [{ text: "rain" }, { text: "noon" }],
    });
  });

  test.each([false, true])("thoughts come and go back with their signature (streamed: %s)", async (streamed) => {
    const ask = asker(streamed);
    // Anthropic lets nobody who thinks be forced to a tool.
    const forced = api !== "messages" && api !== "generate";
    const body = {
      ...{ model: alias(forced ? "reason" : "tool", api), max_tokens: 4_000, tools: [WEATHER] },
      thinking: { type: "enabled" as const, budget_tokens: 2_000, display: "summarized" as const },
    };
    const first = await ask({ ...body, messages: HELLO, ...(forced && { tool_choice: { type: "any" } }) });
    expect([...new Set(first.content.map(({ type }) => type))]).toEqual(["thinking", "tool_use"]);
    const told = first.content.map((block) => (block.type === "thinking" ? block.thinking : "")).join("");
    expect(told.trim().split(/\s+/)).toHaveLength(20);
    expect(first.usage).toMatchObject(billed());
    const second = await ask({ ...body, messages: answered(HELLO, first, ["12 degrees"]) });
    expect(textOf(second)).toBe("12 degrees");
    expect(lastBody(gateway.simulator)).toMatch(PROOF[api]);
  });

  test("an answer of a schema", async () => {
    const Weather = z.object({ city: z.string(), degrees: z.number(), likely: z.boolean() });
    const wanted = { city: "sample", degrees: 0, likely: true };
    const body = {
      ...{ model: alias("json", api), max_tokens: 1_000, messages: HELLO },
      output_config: { format: zodOutputFormat(Weather) },
    };
    expect((await client.messages.parse(body)).parsed_output).toEqual(wanted);
    expect((await client.messages.stream(body).finalMessage()).parsed_output).toEqual(wanted);
  });

  test("a picture, sampling, stop words and limits are understood alike", async () => {
    const image = { type: "base64" as const, media_type: "image/png" as const, data: PIXEL };
    const stops = api === "responses" ? {} : { stop_sequences: ["END"] };
    const answer = await client.messages.create({
      ...{ model: alias("mirror", api), max_tokens: 5_000, temperature: 0.5, ...stops },
      system: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image", source: image },
          ],
        },
      ],
      tools: [WEATHER],
      tool_choice: { type: "tool", name: "get_weather" },
      metadata: { user_id: "u1" },
    });
    expect(JSON.parse(textOf(answer))).toMatchObject({
      system: "be brief",
      messages: [{ role: "user", kinds: ["text", "image"] }],
      ...{ images: ["image/png"], temperature: 0.5, max_output: 5_000, tool_choice: "get_weather" },
      ...{ stop: api === "responses" ? [] : ["END"] },
    });
  });

  test("tokens are counted", async () => {
    const asked = { model: alias("echo", api), messages: HELLO, system: "be brief", tools: [WEATHER] };
    const bills = gateway.simulator.invoice().total.requests;
    expect((await client.messages.countTokens(asked)).input_tokens).toBeGreaterThan(10);
    expect(gateway.simulator.invoice().total.requests).toBe(bills);
  });

  test("a client that leaves takes its provider call with it", async () => {
    const stream = await client.messages.create({
      ...{ model: alias("endless", api), max_tokens: 10_000, messages: HELLO, stream: true },
    });
    for await (const event of stream) if (event.type === "content_block_delta") break;
    await until("the simulator to see it leave", () => gateway.simulator.invoice().lines.at(-1)?.client_closed);
  });

  test("each failure is an error of its own class", async () => {
    const body = { max_tokens: 100, messages: HELLO };
    const ask = (name: ModelName, more: object = {}): Promise<unknown> =>
      refusal(client.messages.create({ ...body, model: alias(name, api), ...more }));
    const stranger = sdk("sg_no_0").messages.create({ ...body, model: alias("echo", api) });
    expect(await refusal(stranger)).toMatchObject({
      ...{ constructor: Anthropic.AuthenticationError, type: "authentication_error" },
      requestID: expect.stringMatching(/^req_/),
    });
    const classes = {
      denied: [Anthropic.PermissionDeniedError, 403, "permission_error"],
      limited: [Anthropic.RateLimitError, 429, "rate_limit_error"],
      busy: [Anthropic.InternalServerError, 529, "overloaded_error"],
      down: [Anthropic.InternalServerError, 502, "api_error"],
      context: [Anthropic.BadRequestError, 400, "invalid_request_error"],
      filter: [Anthropic.BadRequestError, 400, "invalid_request_error"],
    } as const;
    for (const [name, [kind, status, type]] of Object.entries(classes)) {
      expect(await ask(name as ModelName), name).toMatchObject({ constructor: kind, status, type });
    }
    expect(await ask("echo", { max_tokens: "many" })).toMatchObject({ constructor: Anthropic.BadRequestError });
    expect(await ask("context")).toMatchObject({ message: expect.stringContaining("prompt is too long") });
    const { headers } = (await ask("limited")) as InstanceType<typeof Anthropic.RateLimitError>;
    expect(headers.get("retry-after")).toBe("7");
  });

  test("an error inside a stream is raised", async () => {
    const stream = client.messages.stream({ model: alias("breaks", api), max_tokens: 100, messages: HELLO });
    const types: string[] = [];
    stream.on("streamEvent", ({ type }) => void types.push(type));
    expect(await refusal(stream.finalMessage())).toMatchObject({ constructor: Anthropic.APIError, type: "api_error" });
    expect(types).toContain("content_block_delta");
    expect(types).not.toContain("message_stop");
  });

  test("its own retries are not added to the gateway's", async () => {
    const patient = sdk(CLIENT_KEY, 2);
    const body = { model: alias("down", api), max_tokens: 100, messages: HELLO };
    expect(await hitsOf(gateway.simulator, () => refusal(patient.messages.create(body)))).toBe(ATTEMPTS);
    const streamed = (): Promise<unknown> => refusal(patient.messages.stream(body).finalMessage());
    expect(await hitsOf(gateway.simulator, streamed)).toBe(ATTEMPTS);
  });
});

test("models are listed and looked up, and an alias nobody knows is not found", async () => {
  const ids: string[] = [];
  for await (const model of client.models.list({ limit: 5 })) ids.push(model.id);
  expect(ids).toContain(alias("echo", "chat"));
  expect(ids).not.toContain(alias("denied", "chat"));
  expect(new Set(ids).size).toBe(ids.length);
  expect(await client.models.retrieve(alias("tool", "generate"))).toMatchObject({ type: "model" });
  const body = { model: "nothing", max_tokens: 100, messages: HELLO };
  expect(await refusal(client.messages.create(body))).toMatchObject({
    ...{ constructor: Anthropic.NotFoundError, type: "not_found_error" },
  });
});
