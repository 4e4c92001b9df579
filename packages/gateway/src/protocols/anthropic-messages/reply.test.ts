import { noUsage } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import type { Reply } from "../../core/message.ts";
import { encodeReply } from "./encode-reply.ts";
import { QUIRKS, shown } from "./fixtures/calls.ts";
import { decodeReply, readReply } from "./reply.ts";

const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 10, cache_creation_input_tokens: 3, cache_read_input_tokens: 5, output_tokens: 7 },
};
const bytes = (value: unknown): Buffer => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
const facts = (value: unknown) => readReply(bytes(value), QUIRKS, 0);
const USAGE = { ...noUsage(), input_tokens: 18, cached_input_tokens: 5, cache_write_tokens: 3, output_tokens: 7 };

describe("readReply", () => {
  it("reads model, usage and finish reason", () => {
    expect(facts(MESSAGE)).toEqual({ model: "m", usage: USAGE, finishReason: "stop", outputChars: 0 });
    const call = { type: "tool_use", id: "t", name: "f", input: { a: 1 } };
    expect(facts({ ...MESSAGE, content: [call] })).toMatchObject({ finishReason: "tool_calls" });
    expect(facts({ ...MESSAGE, content: [], stop_reason: "refusal" })).toMatchObject({
      finishReason: "content_filter",
    });
  });

  it("counts the characters where there is no usage", () => {
    const content = [
      { type: "thinking", thinking: "hmm", signature: "s" },
      ...MESSAGE.content,
      { type: "tool_use", name: "f", input: {} },
    ];
    expect(facts({ ...MESSAGE, content, usage: null })).toMatchObject({ usage: null, outputChars: 3 + 5 + 3 });
  });

  it.each([
    ["<html>", "invalid_response"],
    ["", "invalid_response"],
    ["null", "invalid_response"],
    [{}, "invalid_response"],
    [{ ...MESSAGE, content: null }, "invalid_response"],
    [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "overloaded"],
    [{ type: "error", error: { type: "rate_limit_error", message: "slow" } }, "rate_limited"],
    [{ error: { message: "boom" } }, "provider_error"],
  ])("fails %j as %s", (body, kind) => {
    expect(facts(body)).toMatchObject({ failure: { class: kind } });
  });
});

describe("decodeReply", () => {
  it("reads every block of an answer", () => {
    const citation = {
      type: "web_search_result_location",
      url: "https://a",
      title: null,
      encrypted_index: "e",
      cited_text: "c",
    };
    const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
    const reply = decodeReply(
      bytes({
        ...MESSAGE,
        content: [
          { type: "thinking", thinking: "", signature: "s1" },
          { type: "redacted_thinking", data: "d" },
          search,
          { type: "text", text: "hello", citations: [citation] },
          { type: "tool_use", id: "t", name: "fs_x2e_read", input: { a: 1 } },
        ],
        stop_reason: "stop_sequence",
        stop_sequence: "END",
      }),
    );
    const dialect = "anthropic-messages";
    expect(reply).toEqual({
      id: "msg_1",
      model: "m",
      usage: USAGE,
      choices: [
        {
          blocks: [
            { type: "reasoning", text: "", signature: { dialect, value: "s1" } },
            { type: "reasoning", text: "", encrypted: { dialect, value: "d" } },
            { type: "opaque", dialect, path: "content[2]", value: search },
            { type: "text", text: "hello" },
            { type: "tool_call", id: "t", name: "fs.read", arguments: { a: 1 }, text: '{"a":1}' },
          ],
          finish: "tool_calls",
          stopSequence: "END",
          logprobs: null,
          annotations: [{ type: "url_citation", url: "https://a", title: null, start: null, end: null }],
        },
      ],
    });
  });
});

describe("encodeReply", () => {
  const written = (answer: Partial<Reply>): Record<string, unknown> =>
    JSON.parse(encodeReply({ id: "up", model: null, choices: [], usage: null, ...answer }, shown()).toString());
  const choice = { blocks: [], finish: null, stopSequence: null, logprobs: null, annotations: [] };

  it("writes a whole message", () => {
    const foreign = { dialect: "openai-responses", value: "r" };
    const answer = written({
      model: "m",
      usage: { ...USAGE, cache_write_1h_tokens: 2, reasoning_tokens: 4 },
      choices: [
        {
          ...choice,
          finish: "tool_calls",
          blocks: [
            { type: "reasoning", text: "sum", encrypted: foreign },
            { type: "reasoning", text: "bare" },
            { type: "text", text: "" },
            { type: "text", text: "hello" },
            { type: "tool_call", id: "a/b", name: "f", arguments: { a: 1 }, text: '{"a":1}', signature: foreign },
            { type: "tool_call", id: "t2", name: "f", text: "{oops" },
          ],
        },
      ],
    });
    expect(answer).toEqual({
      id: "msg_01",
      type: "message",
      role: "assistant",
      model: "m",
      content: [
        { type: "thinking", thinking: "sum", signature: "sg1.openai-responses.encrypted.r" },
        { type: "thinking", thinking: "bare", signature: "sg1.none.text.0" },
        { type: "text", text: "hello" },
        { type: "thinking", thinking: "", signature: "sg1.openai-responses.call.r" },
        { type: "tool_use", id: expect.stringMatching(/^toolu_/), name: "f", input: { a: 1 } },
        { type: "tool_use", id: "t2", name: "f", input: { __raw_arguments: "{oops" } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 4 },
      },
    });
  });

  it("keeps other makers' wordless thoughts off the end and out from between words", () => {
    const proof = { type: "reasoning" as const, text: "", signature: { dialect: "gemini-generate", value: "P" } };
    const words = (text: string) => ({ type: "text" as const, text });
    const call = { type: "tool_call" as const, id: "t", name: "f", arguments: {}, text: "{}" };
    const kinds = (...blocks: Reply["choices"][number]["blocks"]) =>
      (written({ choices: [{ ...choice, blocks }] })["content"] as Record<string, unknown>[]).map(
        (block) => block["text"] ?? block["type"],
      );
    expect(kinds(words("all"), proof)).toEqual(["all"]);
    expect(kinds(words("a"), proof, words("ll"), proof)).toEqual(["all"]);
    expect(kinds(words("all"), proof, call)).toEqual(["all", "thinking", "tool_use"]);
    expect(kinds(proof, words("all"))).toEqual(["thinking", "all"]);
  });

  it("shows the served model and zeros where the answer says nothing", () => {
    expect(written({})).toMatchObject({
      model: "served",
      content: [],
      stop_reason: "end_turn",
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    expect(
      written({ choices: [{ ...choice, blocks: [{ type: "refusal", text: "no" }], finish: "stop" }] }),
    ).toMatchObject({
      content: [{ type: "text", text: "no" }],
      stop_reason: "refusal",
    });
    expect(written({ choices: [{ ...choice, finish: "stop", stopSequence: "END" }] })).toMatchObject({
      stop_reason: "stop_sequence",
      stop_sequence: "END",
    });
  });

  it("gives an own answer back as it was", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "redacted_thinking", data: "d" },
      { type: "text", text: "hello" },
      { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
    ];
    const again = encodeReply(decodeReply(bytes({ ...MESSAGE, content, stop_reason: "tool_use" })), shown());
    expect(JSON.parse(again.toString())).toMatchObject({ content, stop_reason: "tool_use", usage: MESSAGE.usage });
  });
});
