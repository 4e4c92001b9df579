import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import type { ChatCompletion, ChatCompletionMessage, ChatCompletionMessageParam } from "openai/resources";
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

/* The official OpenAI SDK's chat half, unmodified, on a deployment of each dialect. */

const City = z.object({ city: z.string() });
const TOOLS = [
  zodFunction({ name: "get_weather", description: "The weather of a city", parameters: City }),
  zodFunction({ name: "get_time", description: "The time in a city", parameters: City }),
];
const HELLO: ChatCompletionMessageParam[] = [{ role: "user", content: "Grüße 👋 there" }];

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startSdkGateway();
  client = sdk();
});
afterAll(() => gateway.close());

function sdk(apiKey = CLIENT_KEY, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries });
}

/** The usage that the invoice calls for. */
function billed(): object {
  const bill = lastBill(gateway.simulator);
  return {
    prompt_tokens: bill.input_tokens,
    completion_tokens: bill.output_tokens,
    total_tokens: bill.total_tokens,
    ...(bill.cached_input_tokens > 0 && { prompt_tokens_details: { cached_tokens: bill.cached_input_tokens } }),
    ...(bill.reasoning_tokens > 0 && { completion_tokens_details: { reasoning_tokens: bill.reasoning_tokens } }),
  };
}

/** The next turn: all that was said, and a result for each call. */
function answered(message: ChatCompletionMessage, results: readonly string[]): ChatCompletionMessageParam[] {
  const calls = message.tool_calls ?? [];
  return [
    ...HELLO,
    message,
    ...calls.map(({ id }, i) => ({ role: "tool" as const, tool_call_id: id, content: results[i] ?? "" })),
  ];
}

function messageOf({ choices }: ChatCompletion): ChatCompletionMessage {
  const [choice] = choices;
  if (!choice) throw new Error("no choice");
  return choice.message;
}

describe.each(APIS)("the OpenAI SDK on a deployment asked in %s", (api) => {
  type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "model">;
  const asker =
    (streamed: boolean, name: ModelName) =>
    (body: Body): Promise<ChatCompletion> => {
      const asked = { ...body, model: alias(name, api) };
      if (!streamed) return client.chat.completions.create(asked);
      const stream = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } } as never);
      return stream.finalChatCompletion() as Promise<ChatCompletion>;
    };

  test("text, whole, streamed, and cut off", async () => {
    const whole = await asker(false, "fixed")({ messages: [{ role: "developer", content: "be brief" }, ...HELLO] });
    expect(whole.choices).toMatchObject([{ finish_reason: "stop", message: { content: "Grüße 👋 there" } }]);
    expect(whole.usage).toMatchObject({ ...billed(), prompt_tokens: 6_000, completion_tokens: 300 });
    const streamed = await asker(true, "echo")({ messages: HELLO });
    expect(streamed.choices).toMatchObject([{ finish_reason: "stop", message: { content: "Grüße 👋 there" } }]);
    expect(streamed.usage).toMatchObject(billed());
    expect((await asker(true, "cutoff")({ messages: HELLO })).choices[0]?.finish_reason).toBe("length");
  });

  test.each([false, true])("two calls at once, their results and the answer (streamed: %s)", async (streamed) => {
    const ask = asker(streamed, "parallel");
    const first = await ask({ messages: HELLO, tools: TOOLS });
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    expect(first.usage).toMatchObject(billed());
    const calls = messageOf(first).tool_calls ?? [];
    expect(
      calls.map((call) => call.type === "function" && [call.function.name, JSON.parse(call.function.arguments)]),
    ).toEqual([
      ["get_weather", { city: "sample" }],
      ["get_time", { city: "sample" }],
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    const messages = answered(messageOf(first), ["rain", "noon"]);
    const second = await ask({ messages, tools: TOOLS });
    expect(second.choices).toMatchObject([{ finish_reason: "stop", message: { content: "noon" } }]);
    const heard = await asker(streamed, "mirror")({ messages, tools: TOOLS });
    expect(JSON.parse(messageOf(heard).content ?? "")).toMatchObject({
      tools: ["get_weather", "get_time"],
      tool_results: [{ text: "rain" }, { text: "noon" }],
    });
  });

  test("the SDK's own runner of tools", async () => {
    const said: unknown[] = [];
    const runner = client.chat.completions.runTools({
      ...{ model: alias("tool", api), messages: HELLO, stream: true },
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "The weather of a city",
            parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
            parse: JSON.parse,
            function: (input: object) => {
              said.push(input);
              return "12 degrees";
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("12 degrees");
    expect(said).toEqual([{ city: "sample" }]);
  });

  test.each([false, true])("thoughts come and go back with their proof (streamed: %s)", async (streamed) => {
    const ask = asker(streamed, "reason");
    const first = messageOf(
      await ask({ messages: HELLO, tools: TOOLS, tool_choice: "required", reasoning_effort: "low" }),
    );
    expect(first.tool_calls).toHaveLength(1);
    const second = await ask({ messages: answered(first, ["12 degrees"]), tools: TOOLS });
    expect(messageOf(second).content).toBe("12 degrees");
    // Its helper for streams keeps no more than the last piece of what it does not know.
    if (streamed) return;
    const told = (first as unknown as { reasoning_content?: string }).reasoning_content ?? "";
    // OpenAI and Google show none to whom asks for none.
    if (api === "chat" || api === "messages") expect(told.trim().split(/\s+/)).toHaveLength(20);
    expect(lastBody(gateway.simulator)).toMatch(PROOF[api]);
  });

  test("an answer of a schema, and any JSON", async () => {
    const Weather = z.object({ city: z.string(), degrees: z.number(), sky: z.enum(["clear", "grey"]) });
    const wanted = { city: "sample", degrees: 0, sky: "clear" };
    const body = { model: alias("json", api), messages: HELLO, response_format: zodResponseFormat(Weather, "weather") };
    const parsed = await client.chat.completions.parse(body);
    expect(parsed.choices[0]?.message.parsed).toEqual(wanted);
    const streamed = await client.chat.completions.stream(body).finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual(wanted);
    const any = asker(false, "json")({ messages: HELLO, response_format: { type: "json_object" } });
    // Anthropic knows no JSON without a schema.
    if (api === "messages") {
      expect(await refusal(any)).toMatchObject({ status: 400, param: expect.stringContaining("response_format") });
    } else expect(JSON.parse(messageOf(await any).content ?? "")).toEqual({ answer: "Grüße 👋 there" });
  });

  test("a picture, sampling, stop words and limits are understood alike", async () => {
    const stop = api === "responses" ? {} : { stop: ["END"] };
    const answer = await asker(
      false,
      "mirror",
    )({
      messages: [
        { role: "system", content: "be brief" },
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
          ],
        },
      ],
      ...{ temperature: 0.5, max_completion_tokens: 5_000, tools: TOOLS, user: "u1", ...stop },
      tool_choice: { type: "function", function: { name: "get_time" } },
    });
    expect(JSON.parse(messageOf(answer).content ?? "")).toMatchObject({
      system: "be brief",
      messages: [{ role: "user", kinds: ["text", "image"] }],
      ...{ images: ["image/png"], temperature: 0.5, max_output: 5_000, tool_choice: "get_time" },
      stop: api === "responses" ? [] : ["END"],
    });
  });

  test("a client that leaves takes its provider call with it", async () => {
    const stream = await client.chat.completions.create({
      model: alias("endless", api),
      messages: HELLO,
      stream: true,
    });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await until("the simulator to see it leave", () => gateway.simulator.invoice().lines.at(-1)?.client_closed);
  });

  test("each failure is an error of its own class", async () => {
    const ask = (name: ModelName, more: object = {}): Promise<unknown> =>
      refusal(client.chat.completions.create({ model: alias(name, api), messages: HELLO, ...more }));
    const stranger = sdk("sg_no_0").chat.completions.create({ model: alias("echo", api), messages: HELLO });
    expect(await refusal(stranger)).toMatchObject({ constructor: OpenAI.AuthenticationError, code: "invalid_api_key" });
    const classes = {
      denied: [OpenAI.PermissionDeniedError, 403, "model_not_allowed"],
      limited: [OpenAI.RateLimitError, 429, "rate_limit_exceeded"],
      busy: [OpenAI.InternalServerError, 503, "overloaded"],
      down: [OpenAI.InternalServerError, 502, "all_providers_failed"],
      context: [OpenAI.BadRequestError, 400, "context_length_exceeded"],
      filter: [OpenAI.BadRequestError, 400, "content_filter"],
    } as const;
    for (const [name, [kind, status, code]] of Object.entries(classes)) {
      expect(await ask(name as ModelName), name).toMatchObject({
        ...{ constructor: kind, status, code, requestID: expect.stringMatching(/^req_/) },
      });
    }
    const overflow = expect.stringMatching(
      api === "chat" ? /maximum context length/ : /prompt is too long.*maximum context length/,
    );
    expect(await ask("context")).toMatchObject({ message: overflow });
    expect(await ask("echo", { temperature: "warm" })).toBeInstanceOf(OpenAI.BadRequestError);
    const { headers } = (await ask("limited")) as InstanceType<typeof OpenAI.RateLimitError>;
    expect([headers.get("retry-after"), headers.get("x-should-retry")]).toEqual(["7", "true"]);
  });

  test("an error inside a stream is raised, and is the only end", async () => {
    const stream = await client.chat.completions.create({ model: alias("breaks", api), messages: HELLO, stream: true });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    const reading = (async () => {
      for await (const chunk of stream) chunks.push(chunk);
    })();
    expect(await refusal(reading)).toBeInstanceOf(OpenAI.APIError);
    expect(chunks.some(({ choices }) => choices[0]?.delta.content)).toBe(true);
    expect(chunks.some(({ choices }) => choices[0]?.finish_reason)).toBe(false);
  });

  test("its own retries are not added to the gateway's", async () => {
    const patient = sdk(CLIENT_KEY, 2);
    const body = { model: alias("down", api), messages: HELLO };
    expect(await hitsOf(gateway.simulator, () => refusal(patient.chat.completions.create(body)))).toBe(ATTEMPTS);
    const streamed = { ...body, stream: true as const };
    expect(await hitsOf(gateway.simulator, () => refusal(patient.chat.completions.create(streamed)))).toBe(ATTEMPTS);
  });
});

test.each(EMBEDDERS)("texts are embedded by %s, as floats and as base64", async (model) => {
  const body = { model, input: ["one", "two"], dimensions: 16 };
  const byDefault = await client.embeddings.create(body);
  const floats = await client.embeddings.create({ ...body, encoding_format: "float" });
  const base64 = await client.embeddings.create({ ...body, encoding_format: "base64" });
  expect(floats.data.map(({ embedding }) => embedding.length)).toEqual([16, 16]);
  expect(floats.data.map(({ index }) => index)).toEqual([0, 1]);
  for (const [place, { embedding }] of floats.data.entries()) {
    const bytes = Buffer.from(base64.data[place]?.embedding as unknown as string, "base64");
    expect(bytes).toHaveLength(64);
    embedding.forEach((value, i) => {
      expect(byDefault.data[place]?.embedding[i]).toBeCloseTo(value, 6);
      expect(bytes.readFloatLE(i * 4)).toBeCloseTo(value, 6);
    });
  }
  // Google does not say what it counted.
  if (model === "embed-openai") expect(floats.usage.prompt_tokens).toBe(lastBill(gateway.simulator).input_tokens);
});

test("models are listed and looked up, and an alias nobody knows is not found", async () => {
  const ids = (await client.models.list()).data.map(({ id }) => id);
  expect(ids).toContain(alias("echo", "messages"));
  expect(ids).not.toContain(alias("denied", "messages"));
  expect((await client.models.retrieve(alias("tool", "generate"))).id).toBe(alias("tool", "generate"));
  expect(await refusal(client.chat.completions.create({ model: "nothing", messages: HELLO }))).toMatchObject({
    ...{ constructor: OpenAI.NotFoundError, code: "model_not_found" },
  });
});
