import { expect, test } from "vitest";
import { chat, type Loose, simulate } from "../../test/kit.ts";

const user = { role: "user", content: "hi" };
const tool = { type: "function", function: { name: "f" } };
const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };

/** What is sent beside the model, and the param and code of the 400 it must bring. */
const REFUSED: ReadonlyArray<readonly [extra: object, param: string | null, code: string | null]> = [
  [{ messages: undefined }, "messages", "missing_required_parameter"],
  [{ messages: [] }, "messages", "empty_array"],
  [{ messages: "hi" }, "messages", "invalid_type"],
  [{ messages: [{ role: "robot", content: "x" }] }, "messages[0].role", "invalid_value"],
  [{ messages: [{ role: "user" }] }, "messages[0].content", "missing_required_parameter"],
  [{ messages: [{ role: "user", content: null }] }, "messages[0].content", null],
  [{ messages: [{ role: "user", content: [{ type: "video" }] }] }, "messages[0].content[0]", "invalid_value"],
  [
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "ftp://x" } }] }] },
    "messages[0].content[0].image_url.url",
    "invalid_image_url",
  ],
  [{ messages: [user, { role: "tool", content: "x", tool_call_id: "c1" }] }, "messages[1].role", null],
  [{ messages: [user, { role: "assistant", tool_calls: [call] }, user] }, "messages[2].role", null],
  [{ messages: [user, { role: "assistant", tool_calls: [call] }] }, "messages[1].role", null],
  [
    { messages: [user, { role: "assistant", tool_calls: [{ ...call, function: { name: "f", arguments: {} } }] }] },
    "messages[1].tool_calls[0].function.arguments",
    "invalid_type",
  ],
  [{ temperature: 3 }, "temperature", "decimal_above_max_value"],
  [{ top_p: -1 }, "top_p", "decimal_below_min_value"],
  [{ n: 0 }, "n", "integer_below_min_value"],
  [{ n: 1.5 }, "n", "invalid_type"],
  [{ max_tokens: 5, max_completion_tokens: 5 }, "max_tokens", "invalid_parameter_combination"],
  [{ stream: "yes" }, "stream", "invalid_type"],
  [{ stream_options: {} }, "stream_options", null],
  [{ top_logprobs: 2 }, "top_logprobs", null],
  [{ stop: ["a", "b", "c", "d", "e"] }, "stop", "array_above_max_length"],
  [{ reasoning_effort: "extreme" }, "reasoning_effort", "invalid_value"],
  [{ tools: [] }, "tools", "empty_array"],
  [{ tools: [{ type: "robot" }] }, "tools[0].type", "invalid_value"],
  [{ tools: [{ type: "function", function: { name: "a b" } }] }, "tools[0].function.name", "invalid_value"],
  [{ tool_choice: "auto" }, "tool_choice", null],
  [{ tools: [tool], tool_choice: { type: "function", function: { name: "g" } } }, "tool_choice", null],
  [{ tools: [tool], tool_choice: "any" }, "tool_choice", "invalid_value"],
  [{ response_format: { type: "xml" } }, "response_format.type", "invalid_value"],
  [
    { response_format: { type: "json_schema", json_schema: { schema: {} } } },
    "response_format.json_schema.name",
    "missing_required_parameter",
  ],
];

test.for(REFUSED)("%j is a 400 at %s, %s", async ([extra, param, code]) => {
  const simulator = await simulate();
  const response = await chat(simulator, "echo", extra);
  expect(response.status).toBe(400);
  const { error }: Loose = await response.json();
  expect(error).toEqual({ message: expect.any(String), type: "invalid_request_error", param, code });
  expect(simulator.invoice().total.requests).toBe(0);
});

test("a body that is no JSON, or has no model, is a 400", async () => {
  const simulator = await simulate();
  for (const body of ["{", "[]", "", '{"messages":[]}', '{"model":5}']) {
    const response = await fetch(`${simulator.url}/v1/chat/completions`, { method: "POST", body });
    expect(response.status).toBe(400);
    expect(((await response.json()) as Loose).error.type).toBe("invalid_request_error");
  }
});

test("strict refuses unknown fields, by option or for the whole simulator", async () => {
  const lenient = await simulate();
  expect((await chat(lenient, "echo", { gateway: {} })).status).toBe(200);
  const strict = await simulate({ strict: true });
  for (const [simulator, model] of [
    [lenient, "echo?strict=1"],
    [strict, "echo"],
  ] as const) {
    const response = await chat(simulator, model, { gateway: {} });
    expect(response.status).toBe(400);
    expect(((await response.json()) as Loose).error).toMatchObject({ param: "gateway", code: "unknown_parameter" });
  }
  expect((await chat(strict, "echo?strict=0", { gateway: {} })).status).toBe(200);
});

test("options that do not exist or do not parse are a 400 that says so", async () => {
  const simulator = await simulate();
  for (const model of [
    "echo?frist_token=1s",
    "echo?after=3",
    "slow?first_token=12",
    "long?tokens=many",
    "error?status=99",
    "echo?quirk=odd",
    "echo?crlf=maybe",
  ]) {
    const response = await chat(simulator, model);
    expect(response.status).toBe(400);
    expect(((await response.json()) as Loose).error.param).toBe("model");
  }
  expect((await chat(simulator, "echo?as=nothing")).status).toBe(404);
});
