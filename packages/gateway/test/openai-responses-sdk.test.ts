import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import type { Response as Answer, ResponseInputItem, ResponseStreamEvent } from "openai/resources/responses/responses";
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
  PIXEL,
  PROOF,
  refusal,
  startSdkGateway,
} from "./support/sdk-gateway.ts";
import { until } from "./support/until.ts";

/* The official OpenAI SDK's Responses half, unmodified, on a deployment of each dialect. */

const WEATHER = {
  type: "function" as const,
  name: "get_weather",
  description: "The weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startSdkGateway();
  client = sdk();
});
afterAll(() => gateway.close());

function sdk(key = CLIENT_KEY, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries });
}

/** The usage that the invoice calls for. */
function billed(): object {
  const { input_tokens, output_tokens, total_tokens, cached_input_tokens, reasoning_tokens } = lastBill(
    gateway.simulator,
  );
  return {
    ...{ input_tokens, output_tokens, total_tokens },
    input_tokens_details: { cached_tokens: cached_input_tokens },
    output_tokens_details: { reasoning_tokens },
  };
}

/** The calls of an answer, each answered with `results`, behind all it said: the input of the next turn. */
function answered(question: string, { output }: Answer, results: readonly string[]): ResponseInputItem[] {
  const calls = output.filter((item) => item.type === "function_call");
  return [
    { role: "user", content: question },
    ...(output as ResponseInputItem[]),
    ...calls.map(({ call_id }, i) => ({ type: "function_call_output" as const, call_id, output: results[i] ?? "" })),
  ];
}

describe.each(APIS)("the Responses SDK on a deployment asked in %s", (api) => {
  test("text, whole", async () => {
    const answer = await client.responses.create({
      model: alias("fixed", api),
      instructions: "be brief",
      input: "Grüße 👋 there",
      max_output_tokens: 1_000,
    });
    expect(answer.output_text).toBe("Grüße 👋 there");
    expect(answer).toMatchObject({ status: "completed", usage: billed() });
    expect(answer.usage).toMatchObject({ input_tokens: 6_000, output_tokens: 300 });
  });

  test("text, streamed, and one cut off", async () => {
    const stream = client.responses.stream({ model: alias("echo", api), input: "one two three" });
    let deltas = "";
    stream.on("response.output_text.delta", ({ delta }) => {
      deltas += delta;
    });
    const final = await stream.finalResponse();
    expect([deltas, final.output_text, final.status]).toEqual(["one two three", "one two three", "completed"]);
    expect(final.usage).toMatchObject(billed());
    const cut = await client.responses.stream({ model: alias("cutoff", api), input: "one two" }).finalResponse();
    expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  });

  test.each([false, true])("a tool, its result and the answer (streamed: %s)", async (streamed) => {
    const body = { model: alias("tool", api), tools: [WEATHER], store: false };
    const ask = (input: string | ResponseInputItem[]): Promise<Answer> =>
      streamed
        ? client.responses.stream({ ...body, input }).finalResponse()
        : client.responses.create({ ...body, input });
    const first = await ask("weather?");
    const [call] = first.output.filter((item) => item.type === "function_call");
    expect(call).toMatchObject({ name: "get_weather", status: "completed" });
    expect(JSON.parse(call?.arguments ?? "")).toEqual({ city: "sample" });
    expect(first.usage).toMatchObject(billed());
    const second = await ask(answered("weather?", first, ["12 degrees"]));
    expect(second.output_text).toBe("12 degrees");
  });

  test("two calls at once, each with its result", async () => {
    const other = { ...WEATHER, name: "get_time" };
    const body = { model: alias("parallel", api), tools: [WEATHER, other], parallel_tool_calls: true, store: false };
    const first = await client.responses.stream({ ...body, input: "both?" }).finalResponse();
    const calls = first.output.filter((item) => item.type === "function_call");
    expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(2);
    const input = answered("both?", first, ["rain", "noon"]);
    expect((await client.responses.create({ ...body, input })).output_text).toBe("noon");
    const heard = await client.responses.create({ ...body, model: alias("mirror", api), input });
    expect(JSON.parse(heard.output_text)).toMatchObject({
      tools: ["get_weather", "get_time"],
      tool_results: [{ text: "rain" }, { text: "noon" }],
    });
  });

  test.each([false, true])("thoughts come and go back with their proof (streamed: %s)", async (streamed) => {
    const body = {
      ...{ model: alias("reason", api), tools: [WEATHER], store: false },
      include: ["reasoning.encrypted_content" as const],
      reasoning: { effort: "low" as const, summary: "auto" as const },
    };
    const ask = (input: string | ResponseInputItem[], tool_choice: "required" | "auto"): Promise<Answer> =>
      streamed
        ? client.responses.stream({ ...body, tool_choice, input }).finalResponse()
        : client.responses.create({ ...body, tool_choice, input });
    const first = await ask("weather?", "required");
    // Gemini's proof hangs on the call: it travels in an item of its own.
    expect([...new Set(first.output.map(({ type }) => type))]).toEqual(["reasoning", "function_call"]);
    expect(first.usage).toMatchObject(billed());
    expect(lastBill(gateway.simulator).reasoning_tokens).toBe(20);
    const second = await ask(answered("weather?", first, ["12 degrees"]), "auto");
    expect(second.output_text).toBe("12 degrees");
    expect(lastBody(gateway.simulator)).toMatch(PROOF[api]);
  });

  test("an answer of a schema", async () => {
    const Weather = z.object({ city: z.string(), degrees: z.number(), sky: z.enum(["clear", "grey"]) });
    const text = { format: zodTextFormat(Weather, "weather") };
    const wanted = { city: "sample", degrees: 0, sky: "clear" };
    const whole = await client.responses.parse({ model: alias("json", api), input: "weather", text });
    expect(whole.output_parsed).toEqual(wanted);
    const streamed = client.responses.stream({ model: alias("json", api), input: "weather", text });
    expect((await streamed.finalResponse()).output_parsed).toEqual(wanted);
    const any = await client.responses
      .create({
        ...{ model: alias("json", api), input: "answer in JSON" },
        text: { format: { type: "json_object" } },
      })
      .catch((error: unknown) => error);
    if (api !== "messages") expect(JSON.parse((any as Answer).output_text)).toEqual({ answer: "answer in JSON" });
    else expect(any).toMatchObject({ status: 400, param: expect.stringContaining("text.format") });
  });

  test("a picture, sampling and limits are understood alike", async () => {
    const answer = await client.responses.create({
      model: alias("mirror", api),
      instructions: "be brief",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "look" },
            { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
          ],
        },
      ],
      tools: [WEATHER],
      tool_choice: { type: "function", name: "get_weather" },
      temperature: 0.5,
      max_output_tokens: 5_000,
    });
    expect(JSON.parse(answer.output_text)).toMatchObject({
      system: "be brief",
      messages: [{ role: "user", kinds: ["text", "image"] }],
      ...{ images: ["image/png"], temperature: 0.5, max_output: 5_000, tool_choice: "get_weather" },
    });
  });

  test("a refusal", async () => {
    const answer = await client.responses.create({ model: alias("refuse", api), input: "no" });
    const parts = answer.output.flatMap((item) => (item.type === "message" ? item.content : []));
    const said = parts.map((part) => (part.type === "refusal" ? part.refusal : part.text)).join("");
    if (api === "messages" || api === "generate")
      expect(answer.incomplete_details).toEqual({ reason: "content_filter" });
    else expect(said).toBe("I'm sorry, I can't help with that.");
  });

  test("a client that leaves takes its provider call with it", async () => {
    const stream = await client.responses.create({ model: alias("endless", api), input: "x", stream: true });
    for await (const event of stream) if (event.type === "response.output_text.delta") break;
    await until("the simulator to see it leave", () => gateway.simulator.invoice().lines.at(-1)?.client_closed);
  });

  test("each failure is an error of its own class", async () => {
    const ask = (name: Parameters<typeof alias>[0], more: object = {}): Promise<unknown> =>
      refusal(client.responses.create({ model: alias(name, api), input: "x", ...more }));
    expect(await refusal(sdk("sg_no_0").responses.create({ model: alias("echo", api), input: "x" }))).toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
    expect(await ask("denied")).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(await ask("echo", { max_output_tokens: "many" })).toBeInstanceOf(OpenAI.BadRequestError);
    const limited = await ask("limited");
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    expect((limited as InstanceType<typeof OpenAI.RateLimitError>).headers.get("retry-after")).toBe("7");
    expect(await ask("busy")).toMatchObject({ constructor: OpenAI.InternalServerError, status: 503 });
    expect(await ask("down")).toMatchObject({ constructor: OpenAI.InternalServerError, status: 502 });
    expect(await ask("context")).toMatchObject({ status: 400, code: "context_length_exceeded" });
    expect(await ask("filter")).toMatchObject({ status: 400, code: "content_filter" });
  });

  test("an error inside a stream is raised", async () => {
    const stream = client.responses.stream({ model: alias("breaks", api), input: "x" });
    const events: ResponseStreamEvent[] = [];
    stream.on("event", (event) => void events.push(event));
    expect(await refusal(stream.finalResponse())).toBeInstanceOf(OpenAI.APIError);
    expect(events.some(({ type }) => type === "response.output_text.delta")).toBe(true);
    expect(events.some(({ type }) => type === "response.completed")).toBe(false);
  });

  test("its own retries are not added to the gateway's", async () => {
    const patient = sdk(CLIENT_KEY, 2);
    const body = { model: alias("down", api), input: "x" };
    expect(await hitsOf(gateway.simulator, () => refusal(patient.responses.create(body)))).toBe(ATTEMPTS);
    const stream = (): Promise<unknown> => refusal(patient.responses.create({ ...body, stream: true }));
    expect(await hitsOf(gateway.simulator, stream)).toBe(ATTEMPTS);
  });
});

test("an alias nobody knows is not found", async () => {
  expect(await refusal(client.responses.create({ model: "nothing", input: "x" }))).toBeInstanceOf(OpenAI.NotFoundError);
});
