import { expect, test } from "vitest";
import { messageJson, messages } from "../../test/anthropic.ts";
import { type Loose, simulate } from "../../test/kit.ts";

const call = (id: string): object => ({ type: "tool_use", id, name: "f", input: {} });
const result = (id: string): object => ({ type: "tool_result", tool_use_id: id, content: "12" });
const user = (...content: object[]): object => ({ role: "user", content });
const assistant = (...content: object[]): object => ({ role: "assistant", content });
const text = (words: string, more: object = {}): object => ({ type: "text", text: words, ...more });
const marked = { cache_control: { type: "ephemeral" } };
const hour = { cache_control: { type: "ephemeral", ttl: "1h" } };
const tool = { name: "f", input_schema: { type: "object" } };
const ask = { role: "user", content: "hi" };

test.for<[string, object]>([
  ["max_tokens: Field required", { max_tokens: undefined }],
  ["messages: Field required", { messages: undefined }],
  ["foo: Extra inputs are not permitted", { foo: 1 }],
  ["context_management: Extra inputs are not permitted", { context_management: {} }],
  ['first message must use the "user" role', { messages: [assistant(text("hi"))] }],
  ["messages.0: all messages must have non-empty content", { messages: [{ role: "user", content: "" }] }],
  ["text content blocks must be non-empty", { messages: [user(text(""))] }],
  ["text content blocks must contain non-whitespace text", { messages: [user(text(" \n"))] }],
  ["messages.0.role: Input should be 'user' or 'assistant'", { messages: [{ role: "tool", content: "x" }] }],
  ["role 'system' is not supported on this model", { messages: [ask, { role: "system", content: "x" }] }],
  ["messages.0.content.0.text.foo: Extra inputs", { messages: [user(text("x", { foo: 1 }))] }],
  ["Input tag 'image_url' found using 'type'", { messages: [user({ type: "image_url" })] }],
  ["`tool_use` blocks can only be in `assistant` messages", { messages: [user(call("a"))] }],
  ["unexpected `tool_use_id` found in `tool_result` blocks: b", { messages: [user(result("b"))] }],
  [
    "`tool_use` ids were found without `tool_result` blocks immediately after: a",
    { messages: [ask, assistant(call("a")), ask] },
  ],
  [
    "without `tool_result` blocks immediately after: a",
    { messages: [ask, assistant(call("a")), user(text("first"), result("a"))] },
  ],
  [
    "without `tool_result` blocks immediately after: b",
    { messages: [ask, assistant(call("a"), call("b")), user(result("a"))] },
  ],
  ["`tool_use` ids must be unique", { messages: [ask, assistant(call("a"), call("a")), user(result("a"))] }],
  [
    "Found multiple `tool_result` blocks with id: a",
    { messages: [ask, assistant(call("a")), user(result("a"), result("a"))] },
  ],
  ["String should match pattern '^[a-zA-Z0-9_-]+$'", { messages: [ask, assistant(call("a.b")), user(result("a.b"))] }],
  [
    "Invalid `signature` in `thinking` block",
    { messages: [ask, assistant({ type: "thinking", thinking: "x", signature: "c2ln" }), ask] },
  ],
  [
    "Invalid `data` in `redacted_thinking` block",
    { messages: [ask, assistant({ type: "redacted_thinking", data: "c2ln" }), ask] },
  ],
  [
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    { system: [1, 2, 3, 4, 5].map(() => text("x", marked)) },
  ],
  ["must not come after a ttl='5m'", { messages: [user(text("x", marked), text("y", hour))] }],
  [
    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    { thinking: { type: "enabled", budget_tokens: 10 } },
  ],
  [
    "`max_tokens` must be greater than `thinking.budget_tokens`",
    { thinking: { type: "enabled", budget_tokens: 2000 } },
  ],
  [
    "`temperature` may only be set to 1 when thinking is enabled",
    { thinking: { type: "enabled", budget_tokens: 1024 }, temperature: 0 },
  ],
  [
    "Thinking may not be enabled when tool_choice forces tool use",
    { thinking: { type: "enabled", budget_tokens: 1024 }, tools: [tool], tool_choice: { type: "any" } },
  ],
  [
    "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    { thinking: { type: "enabled", budget_tokens: 1024 }, messages: [ask, assistant(call("a")), user(result("a"))] },
  ],
  ["thinking.adaptive.budget_tokens: Extra inputs", { thinking: { type: "adaptive", budget_tokens: 1024 } }],
  ["temperature: Input should be less than or equal to 1", { temperature: 1.5 }],
  ["tools.0.custom.input_schema.type: Field required", { tools: [{ name: "f", input_schema: {} }] }],
  ["tools.0.custom.name: String should match pattern", { tools: [{ ...tool, name: "a b" }] }],
  ["Tool names must be unique", { tools: [tool, tool] }],
  ["tools.0.custom.parameters: Extra inputs", { tools: [{ ...tool, parameters: {} }] }],
  ["tools.0: Input tag 'function'", { tools: [{ type: "function", function: tool }] }],
  ["tool_choice may only be specified while providing tools", { tool_choice: { type: "auto" } }],
  ["Input tag 'required' found using 'type'", { tools: [tool], tool_choice: { type: "required" } }],
  ["Tool 'g' not found in provided tools", { tools: [tool], tool_choice: { type: "tool", name: "g" } }],
  [
    "'additionalProperties' must be explicitly set to false",
    { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
  ],
  [
    "image.source.base64.media_type",
    { messages: [user({ type: "image", source: { type: "base64", media_type: "image/tiff", data: "AAAA" } })] },
  ],
  ["metadata.user: Extra inputs", { metadata: { user: "u" } }],
  ["stop_sequences: each stop sequence must contain non-whitespace", { stop_sequences: [" "] }],
  [
    "final assistant content cannot end with trailing whitespace",
    { messages: [ask, { role: "assistant", content: "so " }] },
  ],
])("refuses: %s", async ([message, extra]) => {
  const response = await messages(await simulate(), "echo", extra);
  const body: Loose = await response.json();
  expect(body).toMatchObject({ type: "error", error: { type: "invalid_request_error" }, request_id: "req_sim_1" });
  expect(body.error.message).toContain(message);
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([400, "false"]);
});

test.for<[string, object]>([
  ["a prefill", { messages: [ask, { role: "assistant", content: "so" }] }],
  ["neighbours of one role", { messages: [ask, ask, assistant(call("a")), user(result("a")), ask] }],
  [
    "server tools and their blocks",
    {
      tools: [{ type: "web_search_20250305", name: "web_search" }],
      messages: [ask, assistant({ type: "server_tool_use", id: "s", name: "web_search", input: {} }), ask],
    },
  ],
  ["an hour's marker before a short one", { system: [text("x", hour)], messages: [user(text("y", marked))] }],
  ["strict=0 with what it does not know", { model: "echo?strict=0", foo: 1 }],
])("takes %s", async ([, extra]) => {
  expect((await messages(await simulate(), "echo", extra)).status).toBe(200);
});

test("models of other generations refuse more, or take more", async () => {
  const simulator = await simulate();
  const said = async (model: string, extra: object): Promise<string> =>
    (await messageJson(simulator, model, extra)).error?.message ?? "taken";
  expect(await said("echo?quirk=no_sampling", { temperature: 0 })).toContain("temperature is deprecated");
  expect(await said("echo?quirk=no_sampling", { temperature: 1 })).toBe("taken");
  const prefill = { messages: [ask, { role: "assistant", content: "so" }] };
  expect(await said("echo?quirk=no_prefill", prefill)).toContain("does not support assistant message prefill");
  const thinking = { thinking: { type: "enabled", budget_tokens: 1024 } };
  expect(await said("echo?quirk=adaptive_only", thinking)).toContain("thinking.type.adaptive");
  const system = { messages: [ask, { role: "system", content: "x" }, ask] };
  expect(await said("echo?quirk=system_turns", system)).toBe("taken");
});

test("thinking it signed comes back, unless it was changed", async () => {
  const simulator = await simulate();
  const loop = { tools: [tool], thinking: { type: "enabled", budget_tokens: 1024 } };
  const { content } = await messageJson(simulator, "tool", loop);
  expect(content.map((block: Loose) => block.type)).toEqual(["thinking", "tool_use"]);
  const back = (blocks: Loose[]): Promise<Response> =>
    messages(simulator, "tool", { ...loop, messages: [ask, assistant(...blocks), user(result(content[1].id))] });
  const second: Loose = await (await back(content)).json();
  expect(second.content.at(-1)).toEqual({ type: "text", text: "12" });
  expect((await back([{ ...content[0], thinking: "else" }, content[1]])).status).toBe(400);
});

test("a beta field is there for who asks for it", async () => {
  const headers = { "anthropic-beta": "a-2025-01-01, context-management-2025-06-27" };
  const response = await messages(await simulate(), "echo", { context_management: { edits: [] } }, headers);
  expect(response.status).toBe(200);
});

test.for<[number, string, Record<string, string>]>([
  [401, "authentication_error", { "x-api-key": "bad-key" }],
  [401, "authentication_error", { authorization: "Bearer bad-key" }],
  [400, "invalid_request_error", { "anthropic-version": "2020-01-01" }],
])("headers: %d %s", async ([status, type, headers]) => {
  const response = await messages(await simulate(), "echo", {}, headers);
  expect([response.status, ((await response.json()) as Loose).error.type]).toEqual([status, type]);
});

test("a key and a version are wanted, the key unless the simulator is told not to", async () => {
  const body = JSON.stringify({ model: "echo", max_tokens: 5, messages: [ask] });
  const status = async (requireKey: boolean | undefined, headers: Record<string, string>): Promise<number> => {
    const simulator = await simulate(requireKey === undefined ? {} : { requireKey });
    return (await fetch(`${simulator.url}/v1/messages`, { method: "POST", headers, body })).status;
  };
  const version = { "anthropic-version": "2023-06-01" };
  expect(await status(undefined, version)).toBe(401);
  expect(await status(false, version)).toBe(200);
  expect(await status(undefined, { "x-api-key": "k" })).toBe(400);
  expect(await status(undefined, { ...version, authorization: "Bearer t" })).toBe(200);
});
