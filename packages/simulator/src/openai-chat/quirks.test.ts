import { describe, expect, test } from "vitest";
import { chatJson, chunks, type Loose, simulate } from "../../test/kit.ts";

const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ type: "function", function: { name: "weather", parameters } }];

async function quirky(quirk: string, model = "echo", extra: object = {}): Promise<Loose[]> {
  return chunks(await simulate(), `${model}?quirk=${quirk}`, extra);
}

function callsOf(all: Loose[]): Loose[] {
  return all.flatMap((chunk) => chunk.choices?.[0]?.delta?.tool_calls ?? []);
}

describe("stream quirks", () => {
  test("whole_calls and object_args send a call in one delta", async () => {
    const whole = callsOf(await quirky("whole_calls", "tool", { tools }));
    expect(whole).toHaveLength(1);
    expect(whole[0].function.arguments).toBe('{"city":"sample"}');
    const object = callsOf(await quirky("object_args", "tool", { tools }));
    expect(object[0].function.arguments).toEqual({ city: "sample" });
  });

  test("bare_calls and dup_ids spoil the keys of calls", async () => {
    const bare = callsOf(await quirky("bare_calls,whole_calls", "tool", { tools }));
    expect(Object.keys(bare[0])).toEqual(["id", "function"]);
    const simulator = await simulate();
    const same = callsOf(await chunks(simulator, "tool?calls=2&quirk=dup_ids", { tools }));
    expect(same.filter((call) => call.id === "call_same")).toHaveLength(2);
  });

  test("merged_first, stop_with_calls, finish_repeated", async () => {
    const merged = await quirky("merged_first", "tool", { tools });
    expect(merged[0].choices[0].delta).toMatchObject({ role: "assistant", tool_calls: [{ index: 0 }] });
    const stopped = await quirky("stop_with_calls", "tool", { tools });
    expect(stopped.some((chunk) => chunk.choices[0]?.finish_reason === "stop")).toBe(true);
    const repeated = await quirky("finish_repeated");
    expect(repeated.at(-1).choices[0].finish_reason).toBe("stop");
    expect(repeated.at(-1).usage.total_tokens).toBe(8);
  });

  test("usage in the finish chunk, on every chunk, though not asked", async () => {
    const inFinish = await quirky("usage_in_finish");
    expect(inFinish.at(-1).choices[0].finish_reason).toBe("stop");
    expect(inFinish.at(-1).usage.total_tokens).toBe(8);
    const every = await quirky("usage_every");
    expect(every.map((chunk) => chunk.usage.completion_tokens)).toEqual([0, 1, 2, 4, 4, 4]);
    const always = await quirky("usage_always", "echo", { stream_options: undefined });
    expect(always.at(-1).usage.total_tokens).toBe(8);
  });

  test("chunks without sense", async () => {
    expect((await quirky("azure_first"))[0]).toMatchObject({ id: "", choices: [], prompt_filter_results: [{}] });
    expect((await quirky("null_delta"))[1].choices[0].delta).toBeNull();
    expect((await quirky("null_choices"))[1].choices).toBeNull();
    expect((await quirky("empty_choices"))[1].choices).toEqual([]);
    expect((await quirky("obfuscation"))[1].obfuscation).toMatch(/^x+$/);
  });
});

test("usage in the figures of other vendors", async () => {
  const simulator = await simulate();
  const ask = async (quirk: string) =>
    (await chatJson(simulator, `fixed?input=20&cached=5&output=9&reasoning=6&quirk=${quirk}`)).usage;
  expect(await ask("deepseek_usage")).toMatchObject({ prompt_cache_hit_tokens: 5, prompt_cache_miss_tokens: 15 });
  expect(await ask("xai_usage")).toMatchObject({ completion_tokens: 3, total_tokens: 29 });
  expect(await ask("moonshot_usage")).toMatchObject({ cached_tokens: 5 });
});

test("JSON quirks", async () => {
  const simulator = await simulate();
  const called = await chatJson(simulator, "tool?quirk=object_args,stop_with_calls,dup_ids", { tools });
  expect(called.choices[0].finish_reason).toBe("stop");
  expect(called.choices[0].message.tool_calls[0]).toMatchObject({
    id: "call_same",
    function: { arguments: { city: "sample" } },
  });
  expect((await chatJson(simulator, "filter200?quirk=no_message")).choices[0]).not.toHaveProperty("message");
});
