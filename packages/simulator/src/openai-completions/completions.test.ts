import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import { records, shapesOf } from "../../test/traffic.ts";
import type { Simulator } from "../index.ts";

const RECORDS = records("openai-completions.jsonl");

function post(simulator: Simulator, model: string, extra: object): Promise<Response> {
  const body = { model, prompt: "alpha beta gamma", ...extra };
  return fetch(`${simulator.url}/v1/completions`, { method: "POST", body: JSON.stringify(body) });
}

async function complete(simulator: Simulator, model: string, extra: object = {}): Promise<Loose> {
  return (await post(simulator, model, extra)).json();
}

async function payloads(simulator: Simulator, model: string, extra: object = {}): Promise<string[]> {
  const text = await (await post(simulator, model, { stream: true, ...extra })).text();
  return text.split("\n\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
}

describe("JSON answers", () => {
  test("text, figures, sixteen tokens unless told otherwise", async () => {
    const simulator = await simulate();
    expect(await complete(simulator, "echo")).toEqual({
      id: "cmpl-sim1",
      object: "text_completion",
      created: expect.any(Number),
      model: "echo",
      choices: [{ text: "alpha beta gamma", index: 0, logprobs: null, finish_reason: "stop" }],
      usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 },
    });
    const cut = await complete(simulator, "long?tokens=50");
    expect([cut.choices[0].finish_reason, cut.usage.completion_tokens]).toEqual(["length", 16]);
    expect((await complete(simulator, "long?tokens=50", { max_tokens: 60 })).usage.completion_tokens).toBe(50);
  });

  test("every prompt gets n choices; an echoed prompt goes first", async () => {
    const simulator = await simulate();
    const body = await complete(simulator, "echo", { prompt: ["one two", "three", [7, 8]], n: 2, echo: true });
    const texts = body.choices.map((choice: Loose) => choice.text);
    expect(texts).toEqual(["one two", "one two", "three", "three", "7 8", "7 8"].map((text) => text + text));
    expect(body.usage.prompt_tokens).toBe(2 + 2 + 2);
    expect(simulator.invoice().lines[0]).toMatchObject({
      dialect: "openai-completions",
      output_tokens: 2 * (2 + 2 + 1),
    });
  });

  test("log probabilities and refusals", async () => {
    const simulator = await simulate();
    const [choice] = (await complete(simulator, "echo", { logprobs: 2 })).choices;
    expect(choice.logprobs).toMatchObject({ tokens: ["alpha ", "beta ", "gamma"], text_offset: [0, 6, 11] });
    expect(Object.keys(choice.logprobs.top_logprobs[0])).toHaveLength(2);
    const negative = await post(simulator, "echo", { max_tokens: -1 });
    expect([negative.status, ((await negative.json()) as Loose).error]).toEqual([
      400,
      {
        message: "Invalid 'max_tokens': integer below minimum value. Expected a value >= 0, but got -1 instead.",
        type: "invalid_request_error",
        param: "max_tokens",
        code: "integer_below_min_value",
      },
    ]);
    expect((await complete(simulator, "echo", { n: 3, best_of: 2 })).error.param).toBe("best_of");
    expect((await complete(simulator, "error?status=503")).error.code).toBe("server_is_overloaded");
  });
});

test("streams of deltas, a finish, usage when asked, [DONE]", async () => {
  const simulator = await simulate();
  const all = await payloads(simulator, "echo", { stream_options: { include_usage: true } });
  expect(all.at(-1)).toBe("[DONE]");
  const parsed: Loose[] = all.slice(0, -1).map((data) => JSON.parse(data));
  expect(parsed.map((chunk) => chunk.choices[0]?.text)).toEqual(["alpha ", "beta ", "gamma", "", undefined]);
  expect(parsed.map((chunk) => chunk.usage?.total_tokens ?? chunk.usage)).toEqual([null, null, null, null, 8]);
  expect(parsed[3].choices[0].finish_reason).toBe("stop");
  const cut = await payloads(simulator, "cut?after=2");
  expect(cut).toHaveLength(2);
  expect((await payloads(simulator, "errorafter?after=1")).at(-1)).toContain('"error"');
  const openai = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "k", maxRetries: 0 });
  let text = "";
  const prompt = ["one two", "three"];
  for await (const chunk of await openai.completions.create({ model: "echo", prompt, stream: true })) {
    text += `${chunk.choices[0]?.index}${chunk.choices[0]?.text}`;
  }
  expect(text).toBe("0one 1three0two01");
});

test.skipIf(RECORDS === null)("answers and chunks have the members of recorded ones", async () => {
  const simulator = await simulate();
  const bodies: Loose[] = (RECORDS ?? []).filter(({ response }) => response.status === 200);
  const whole = bodies.find(({ response }) => typeof response.body !== "string").response.body;
  const names = (value: unknown) => [...new Set(shapesOf(value))].sort();
  expect(names(await complete(simulator, "long"))).toEqual(names(whole));
  const streamed: string = bodies.find(({ request }) => request.body.stream_options?.include_usage).response.body;
  const real = streamed.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
  const made = (await payloads(simulator, "long", { stream_options: { include_usage: true } })).slice(0, -1);
  expect(names(JSON.parse(made[0] ?? ""))).toEqual(names(real[0]));
  expect(names(JSON.parse(made.at(-1) ?? ""))).toEqual(names(real.at(-1)));
});
