import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

async function call(simulator: Simulator, path: string, method = "GET", body?: object): Promise<Loose> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const response = await fetch(`${simulator.url}/v1/responses${path}`, init);
  return { status: response.status, ...((await response.json()) as object) };
}

async function create(simulator: Simulator, body: object): Promise<Loose> {
  return call(simulator, "", "POST", { model: "echo", input: "alpha", ...body });
}

const CALL = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
const OUTPUT = { type: "function_call_output", call_id: "c1", output: "done" };

describe("kept responses", () => {
  test("are read, listed, continued and deleted", async () => {
    const simulator = await simulate();
    const first = await create(simulator, { input: "a rather long question" });
    expect(await call(simulator, `/${first.id}`)).toMatchObject({ id: first.id, output: first.output });
    const items = await call(simulator, `/${first.id}/input_items`);
    expect(items).toMatchObject({
      object: "list",
      data: [{ type: "message", role: "user", content: [{ type: "input_text", text: "a rather long question" }] }],
      has_more: false,
    });
    expect(items.first_id).toBe(items.data[0].id);
    const second = await create(simulator, { previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    expect(second.usage.input_tokens).toBeGreaterThan(first.usage.input_tokens);
    expect(await call(simulator, `/${first.id}`, "DELETE")).toMatchObject({ id: first.id, deleted: true });
    expect((await call(simulator, `/${first.id}`)).status).toBe(404);
    expect(await create(simulator, { previous_response_id: first.id })).toMatchObject({
      status: 400,
      error: { param: "previous_response_id", code: "previous_response_not_found" },
    });
  });

  test("are none with store=false, and none of another simulator's", async () => {
    const [here, there] = [await simulate(), await simulate()];
    const unkept = await create(here, { store: false });
    expect(unkept.store).toBe(false);
    expect((await call(here, `/${unkept.id}`)).status).toBe(404);
    const kept = await create(here, {});
    expect((await create(there, { previous_response_id: kept.id })).error.code).toBe("previous_response_not_found");
    here.reset();
    expect((await call(here, `/${kept.id}`)).status).toBe(404);
  });

  test("in the background they are done later, or cancelled before", async () => {
    const simulator = await simulate();
    const slow = await create(simulator, { model: "slow?first_token=1h", background: true });
    expect(slow).toMatchObject({ output: [], usage: null, background: true });
    expect((await call(simulator, `/${slow.id}/cancel`, "POST")).status).toBe("cancelled");
    expect((await call(simulator, `/${slow.id}`)).status).toBe("cancelled");
    const quick = await create(simulator, { background: true });
    expect(await call(simulator, `/${quick.id}`)).toMatchObject({ status: "completed", usage: { output_tokens: 2 } });
    const failed = await create(simulator, { model: "errorafter?status=503", background: true });
    expect(failed.status).toBe("queued");
    expect((await call(simulator, `/${failed.id}`)).error.code).toBe("server_is_overloaded");
    const stuck = await create(simulator, { model: "hang", background: true });
    expect((await call(simulator, `/${stuck.id}`)).status).toBe("queued");
    const plain = await create(simulator, {});
    expect((await call(simulator, `/${plain.id}/cancel`, "POST")).error.message).toContain("synchronous");
  });

  test("a stream is replayed from any event on", async () => {
    const simulator = await simulate();
    const { id } = await create(simulator, {});
    const response = await fetch(`${simulator.url}/v1/responses/${id}?stream=true&starting_after=4`);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const text = await response.text();
    expect(text).toMatch(
      /^event: response.output_text.done\ndata: \{"type":"response.output_text.done","sequence_number":5,/,
    );
    expect(text).toContain("event: response.completed\n");
  });
});

describe("refusals", () => {
  test("outputs without calls, calls without outputs, ids of the wrong kind, unknown fields", async () => {
    const simulator = await simulate();
    const said = async (...input: object[]) => (await create(simulator, { input })).error?.message;
    expect(await said(OUTPUT)).toBe("No tool call found for function call output with call_id c1.");
    expect(await said(CALL)).toBe("No tool output found for function call c1.");
    expect(await said(CALL, { ...OUTPUT, type: "custom_tool_call_output" })).toContain("custom tool call output");
    expect(await said(CALL, OUTPUT)).toBeUndefined();
    expect(await said({ ...CALL, id: "call_1" }, OUTPUT)).toContain("Expected an ID that begins with 'fc'");
    expect(await said({ role: "user", content: [{ type: "text", text: "x" }] })).toContain("Invalid value: 'text'");
    expect(await said({ role: "assistant", content: [{ type: "input_text", text: "x" }] })).toContain("'output_text'");
    expect(await create(simulator, { messages: [] })).toMatchObject({
      status: 400,
      error: { message: "Unknown parameter: 'messages'.", param: "messages", code: "unknown_parameter" },
    });
    expect((await create(simulator, { model: "echo?strict=0", messages: [] })).status).toBe("completed");
    expect((await create(simulator, { max_output_tokens: 1 })).error.code).toBe("integer_below_min_value");
    expect((await create(simulator, { include: ["nothing"] })).error.param).toBe("include[0]");
  });

  test("a call of the response before may be answered by reference to it", async () => {
    const simulator = await simulate();
    const tools = [{ type: "function", name: "f" }];
    const first = await create(simulator, { model: "tool", tools });
    const input = [{ ...OUTPUT, call_id: first.output[0].call_id }];
    const second = await create(simulator, { model: "tool", tools, input, previous_response_id: first.id });
    expect(second.output[0].content[0].text).toBe("done");
    const left = await create(simulator, { model: "tool", tools, previous_response_id: first.id });
    expect(left.error.message).toContain("No tool output found");
  });

  test("reasoning that was not made here, is not kept, or leads to nothing", async () => {
    const [here, there] = [await simulate(), await simulate()];
    const ask = { model: "reason", store: false, include: ["reasoning.encrypted_content"] };
    const { output } = await create(here, ask);
    const bare = { ...output[0], encrypted_content: null };
    expect(await create(here, { input: [bare, output[1]] })).toMatchObject({ status: 404, error: { param: "input" } });
    const input = [...output, { role: "user", content: "go on" }];
    expect((await create(here, { input })).status).toBe("completed");
    expect((await create(there, { input })).error).toMatchObject({ code: "invalid_encrypted_content", param: null });
    expect((await create(here, { input: [output[0], input[2]] })).error.message).toContain("required following item");
    const [one, two] = [await simulate({ account: "same" }), await simulate({ account: "same" })];
    expect((await create(two, { input: (await create(one, ask)).output })).status).toBe("completed");
  });
});

test("counting and compaction", async () => {
  const simulator = await simulate();
  const counted = await call(simulator, "/input_tokens", "POST", { model: "echo", input: "12345678" });
  expect(counted).toMatchObject({ object: "response.input_tokens", input_tokens: 2 });
  expect(simulator.invoice().lines).toEqual([]);
  const input = [
    { role: "user", content: "What is 2+2?" },
    { role: "assistant", content: "4" },
  ];
  const compacted = await call(simulator, "/compact", "POST", { model: "echo", input });
  expect(compacted).toMatchObject({ object: "response.compaction", usage: { input_tokens: 4 } });
  expect(compacted.output.map((item: Loose) => item.type)).toEqual(["message", "compaction"]);
  expect(simulator.invoice().lines[0]?.dialect).toBe("openai-compaction");
  expect((await create(simulator, { input: [...compacted.output, input[0]] })).status).toBe("completed");
});

test("the official client follows streams, tools and errors", async () => {
  const simulator = await simulate();
  const openai = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "k", maxRetries: 0 });
  const tools = [{ type: "function" as const, name: "weather", parameters: {}, strict: false }];
  const stream = openai.responses.stream({ model: "tool?chunk=7", input: "x", tools });
  const response = await stream.finalResponse();
  expect(response.output[0]).toMatchObject({ type: "function_call", name: "weather", arguments: "{}" });
  expect((await openai.responses.create({ model: "echo", input: "hello you" })).output_text).toBe("hello you");
  expect((await openai.responses.retrieve(response.id)).id).toBe(response.id);
  const failing = await openai.responses.create({ model: "errorafter", input: "x", stream: true });
  const read = async () => {
    for await (const _ of failing);
  };
  await expect(read()).rejects.toMatchObject({ message: expect.stringContaining("simulated error") });
  await expect(openai.responses.create({ model: "quota", input: "x" })).rejects.toMatchObject({
    status: 429,
    code: "insufficient_quota",
  });
});
