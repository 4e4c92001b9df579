import { noUsage } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import type { Quirks } from "../protocol.ts";
import { readReply } from "./reply.ts";

const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };
const NOW = Date.UTC(2026, 10, 29);

const read = (body: unknown) =>
  readReply(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), PLAIN, NOW);
const answer = (message: unknown, finish: unknown = "stop", extra: Record<string, unknown> = {}) => ({
  id: "c1",
  object: "chat.completion",
  model: "m-2026",
  choices: [{ index: 0, message, finish_reason: finish }],
  ...extra,
});
const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };

describe("a JSON answer", () => {
  it("says its model, usage and finish reason", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    expect(read(answer({ role: "assistant", content: "hi" }, "length", { usage }))).toMatchObject({
      model: "m-2026",
      usage: { ...noUsage(), input_tokens: 9, output_tokens: 3 },
      finishReason: "length",
      outputChars: 0,
    });
  });

  it("goes on as the text it was read from, where that has a character for each byte", () => {
    const body = Buffer.from(JSON.stringify(answer({ content: "hi" })));
    expect(readReply(body, PLAIN, NOW)).toMatchObject({ ascii: { body, text: body.toString() } });
    expect(read(answer({ content: "h\u00ed" }))).toMatchObject({ model: "m-2026", ascii: null });
  });

  it.each<[unknown, unknown, string | null]>([
    [{ content: "x" }, "stop", "stop"],
    [{ content: null, tool_calls: [call] }, "tool_calls", "tool_calls"],
    [{ content: null, tool_calls: [call] }, "stop", "tool_calls"],
    [{ content: null, tool_calls: [] }, "stop", "stop"],
    [{ content: null, function_call: call.function }, "function_call", "tool_calls"],
    [{ content: null, function_call: call.function }, "stop", "tool_calls"],
    [{ content: null, function_call: call.function }, null, "tool_calls"],
    // Snowflake.
    [{ content: "x", function_call: { name: "", arguments: "" } }, "stop", "stop"],
    // Azure: a completion that was filtered has no message at all.
    [undefined, "content_filter", "content_filter"],
    // Snowflake.
    [{ content: "x" }, "", null],
    [{ content: "x" }, null, null],
    [{ content: "x" }, "eos", "stop"],
  ])("with %j and %j has finish reason %j", (message, finish, reason) => {
    expect(read(answer(message, finish))).toMatchObject({ finishReason: reason });
  });

  it("without usage counts what it wrote, in every choice and of every kind", () => {
    const body = answer({
      content: "12345",
      reasoning_content: "123",
      refusal: null,
      tool_calls: [call, null, { function: null }],
    });
    body.choices.push({
      index: 1,
      message: { content: [{ type: "text", text: "x" }], reasoning: "12" },
      finish_reason: "stop",
    });
    const parts = JSON.stringify([{ type: "text", text: "x" }]).length;
    expect(read(body)).toMatchObject({ usage: null, outputChars: 5 + 3 + 1 + 2 + parts + 2 });
  });

  it.each([
    [{ function_call: call.function }, 3],
    [{ tool_calls: [{ id: "a", type: "custom", custom: { name: "f", input: "free" } }] }, 5],
    [{ tool_calls: [call], function_call: { name: "", arguments: "" } }, 3],
  ])("counts the calls of %j, whatever their form", (message, chars) => {
    expect(read(answer(message))).toMatchObject({ usage: null, outputChars: chars });
  });

  it.each([
    [{ ...answer("text"), model: 7 }],
    [{ ...answer({ tool_calls: {} }), usage: [] }],
    [answer({ tool_calls: [null] })],
    [answer({ content: 7 })],
    [answer(null)],
    [{ choices: [{}] }],
  ])("that is odd is read as far as it goes: %j", (body) => {
    expect(read(body)).not.toHaveProperty("failure");
  });

  it("is read with blank lines before it: some send them to keep a connection alive", () => {
    expect(read(`\n\n\r\n${JSON.stringify(answer({ content: "x" }))}`)).toMatchObject({ finishReason: "stop" });
  });
});

describe("a 200 that is no answer", () => {
  it.each([
    ["", "invalid_response"],
    ["   ", "invalid_response"],
    ["<html><body>502 Bad Gateway</body></html>", "invalid_response"],
    ['{"choices":[{"mess', "invalid_response"],
    ["null", "invalid_response"],
    ["[]", "invalid_response"],
    ['"text"', "invalid_response"],
    ["{}", "invalid_response"],
    [{ choices: null }, "invalid_response"],
    [{ choices: [] }, "invalid_response"],
    [{ choices: {} }, "invalid_response"],
    [{ choices: [null] }, "invalid_response"],
    ["data: {}\n\n", "invalid_response"],
    [{ error: { code: 429, message: "slow" } }, "rate_limited"],
    [{ error: { code: "503", message: "busy" } }, "overloaded"],
    [{ error: { code: 402, message: "credits" }, user_id: "u" }, "quota_exhausted"],
    [{ error: { message: "boom" } }, "provider_error"],
    [{ error: "model overloaded", error_type: "overloaded" }, "overloaded"],
    [{ object: "error", message: "x", type: "BadRequestError", code: 400 }, "bad_request"],
    [
      { error: { message: "This model's maximum context length is 8192 tokens", type: "invalid_request_error" } },
      "context_overflow",
    ],
    [{ ...answer({ content: "" }, "error"), error: { code: 429, message: "slow" } }, "rate_limited"],
    [{ ...answer({ content: "" }, null), error: { code: 502, message: "died" } }, "provider_error"],
    [
      { choices: [{ message: { content: "par" }, finish_reason: "error", error: { code: 503, message: "x" } }] },
      "overloaded",
    ],
    [answer({ content: "par" }, "error"), "provider_error"],
    [answer({ content: "" }, "insufficient_system_resource"), "overloaded"],
  ])("%j is %s", (body, kind) => {
    expect(read(body)).toMatchObject({ failure: { class: kind } });
  });

  it("beside an answer that ended well, an error is a remark", () => {
    expect(read({ ...answer({ content: "x" }), error: { message: "metadata failed" } })).toMatchObject({
      finishReason: "stop",
    });
    expect(read({ ...answer({ content: "x" }, null), error: {} })).toMatchObject({ finishReason: null });
  });

  it("is billed for what it says it used", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    expect(read({ ...answer({ content: "par" }, "error"), usage })).toMatchObject({
      usage: { input_tokens: 9, output_tokens: 3 },
    });
    expect(read({ choices: [], usage })).toMatchObject({
      failure: { class: "invalid_response" },
      usage: { input_tokens: 9 },
    });
    expect(read({ choices: [] })).toMatchObject({ usage: null });
  });

  it("may have had the work done: it is ambiguous", () => {
    expect(read("<html>")).toMatchObject({ failure: { ambiguous: true, httpStatus: 200 } });
    expect(read({ error: { message: "boom" } })).toMatchObject({ failure: { ambiguous: true } });
  });
});
