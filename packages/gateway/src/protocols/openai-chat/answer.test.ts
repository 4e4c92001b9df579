import { noUsage } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { chatCall } from "../../../test/support/call.ts";
import type { Choice, Reply } from "../../core/message.ts";
import type { Quirks } from "../protocol.ts";
import { decodeReply } from "./decode-reply.ts";
import { encodeReply } from "./encode-reply.ts";

type Json = Record<string, unknown>;

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };

const decode = (message: Json, rest: Json = {}): Choice => {
  const body = { id: "c-1", model: "m-1", choices: [{ index: 0, message, finish_reason: "stop", ...rest }] };
  const [choice] = decodeReply(Buffer.from(JSON.stringify(body)), QUIRKS).choices;
  if (!choice) throw new Error("no choice");
  return choice;
};

const choice = (rest: Partial<Choice>): Choice => ({
  blocks: [],
  finish: "stop",
  stopSequence: null,
  logprobs: null,
  annotations: [],
  ...rest,
});

const encode = (reply: Partial<Reply>, body: Json = {}): Json =>
  JSON.parse(
    encodeReply(
      { id: "up", model: "m-1", choices: [], usage: null, ...reply },
      { call: chatCall(body), requestId: "req_01ABC", createdS: 7, model: "asked-for" },
    ).toString("utf8"),
  ) as Json;
const encodeChoice = (rest: Partial<Choice>, body: Json = {}): Json =>
  (encode({ choices: [choice(rest)] }, body)["choices"] as [Json])[0];

describe("a provider's answer", () => {
  it.each<[string, Json, unknown]>([
    ["text", { content: "hi" }, [{ type: "text", text: "hi" }]],
    ["nothing", { content: null }, []],
    ["a refusal", { content: null, refusal: "no" }, [{ type: "refusal", text: "no" }]],
    [
      "thoughts",
      { content: "4", reasoning: "hm" },
      [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "4" },
      ],
    ],
    [
      "pieces of content (Mistral)",
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          { type: "text", text: "4" },
        ],
      },
      [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "4" },
      ],
    ],
    [
      "a custom call",
      { tool_calls: [{ id: "a", type: "custom", custom: { name: "p", input: "x" } }] },
      [{ type: "tool_call", id: "a", name: "p", text: "x", custom: true }],
    ],
    [
      "a call of an empty custom tool is a function's (Snowflake)",
      {
        tool_calls: [{ id: "a", custom: { name: "", input: "" }, function: { name: "f", arguments: "{}" } }],
        function_call: { name: "" },
      },
      [{ type: "tool_call", id: "a", name: "f", arguments: {}, text: "{}" }],
    ],
    [
      "Gemini's signature",
      {
        tool_calls: [
          { id: "a", function: { name: "f", arguments: "{}" }, extra_content: { google: { thought_signature: "g" } } },
        ],
      },
      [
        {
          type: "tool_call",
          id: "a",
          name: "f",
          arguments: {},
          text: "{}",
          signature: { dialect: "gemini-generate", value: "g" },
        },
      ],
    ],
  ])("says %s", (_, message, blocks) => {
    expect(decode(message).blocks).toEqual(blocks);
  });

  it("has an id for a call without one, another one in another answer", () => {
    const called = (id: string): unknown => {
      const choices = [{ message: { function_call: { name: "f", arguments: "{}" } } }];
      const [block] = decodeReply(Buffer.from(JSON.stringify({ id, choices })), QUIRKS).choices[0]?.blocks ?? [];
      return block?.type === "tool_call" ? block.id : null;
    };
    expect(called("1")).toMatch(/^call_[0-9a-f]{24}$/);
    expect(called("1")).toBe(called("1"));
    expect(called("1")).not.toBe(called("2"));
  });

  it.each<[Json, Json, string | null]>([
    [{ content: "a" }, {}, "stop"],
    [{ content: "a" }, { finish_reason: "length" }, "length"],
    [{ content: "a" }, { finish_reason: null }, null],
    [{ tool_calls: [{ id: "a", function: { name: "f" } }] }, {}, "tool_calls"],
    [{ tool_calls: [{ id: "a", function: { name: "f" } }] }, { finish_reason: "" }, "tool_calls"],
    [{ tool_calls: [{ id: "a", function: { name: "f" } }] }, { finish_reason: "length" }, "length"],
    [{ content: null }, { finish_reason: "content_filter" }, "content_filter"],
  ])("%j with %j finishes for %s", (message, rest, finish) => {
    expect(decode(message, rest).finish).toBe(finish);
  });

  it("filtered may have no message at all (Azure)", () => {
    const body = { choices: [{ index: 0, finish_reason: "content_filter" }] };
    expect(decodeReply(Buffer.from(JSON.stringify(body)), QUIRKS).choices).toEqual([
      choice({ finish: "content_filter" }),
    ]);
  });

  it("keeps token entries, the stop sequence and what stands beside", () => {
    const logprobs = [{ token: "a", logprob: -1 }];
    const message = {
      content: "a",
      annotations: [
        { type: "url_citation", url_citation: { url: "https://x", title: "X", start_index: 0, end_index: 1 } },
        { type: "file", file: {} },
      ],
      images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
      audio: { id: "a", data: "BB" },
    };
    expect(decode(message, { logprobs: { content: logprobs }, stop_reason: "END" })).toMatchObject({
      logprobs,
      stopSequence: "END",
      annotations: [
        { type: "url_citation", url: "https://x", title: "X", start: 0, end: 1 },
        { type: "opaque", dialect: "openai-chat" },
        { type: "media", mediaType: "audio/pcm", data: "BB" },
        { type: "media", mediaType: "image/png", data: "AA" },
      ],
    });
  });
});

describe("an answer to a chat client", () => {
  it("is a chat.completion (WIRE A1.3)", () => {
    const usage = { ...noUsage(), input_tokens: 10, cached_input_tokens: 4, output_tokens: 6, reasoning_tokens: 2 };
    const reply = encode({ choices: [choice({ blocks: [{ type: "text", text: "hi" }] })], usage });
    expect(reply).toEqual({
      id: "chatcmpl-01ABC",
      object: "chat.completion",
      created: 7,
      model: "m-1",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "hi", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 6,
        total_tokens: 16,
        prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 2,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
    });
  });

  it("names the model that was asked for where the upstream named none", () => {
    expect(encode({ model: null })).toMatchObject({ model: "asked-for" });
  });

  it("shows thoughts as text, and signed ones as details too", () => {
    const plain = { type: "reasoning", text: "hm" } as const;
    const signed = { ...plain, signature: { dialect: "anthropic-messages", value: "s" } };
    expect(encodeChoice({ blocks: [plain] })["message"]).toEqual({
      role: "assistant",
      content: null,
      refusal: null,
      reasoning_content: "hm",
    });
    expect(encodeChoice({ blocks: [signed, plain] })["message"]).toMatchObject({
      reasoning_content: "hmhm",
      reasoning_details: [
        { type: "reasoning.text", text: "hm", signature: "s", format: "anthropic-claude-v1", index: 0 },
        { type: "reasoning.text", text: "hm", format: "unknown", index: 1 },
      ],
    });
  });

  it("calls tools as the client knows them", () => {
    const blocks: Choice["blocks"] = [
      { type: "tool_call", id: "a", name: "f", arguments: {}, text: "" },
      { type: "tool_call", id: "b", name: "patch", arguments: { input: "x" }, text: '{"input":"x"}' },
    ];
    const body = { tools: [{ type: "custom", custom: { name: "patch" } }] };
    expect(encodeChoice({ blocks }, body)).toMatchObject({
      message: {
        content: null,
        tool_calls: [
          { id: "a", type: "function", function: { name: "f", arguments: "{}" } },
          { id: "b", type: "custom", custom: { name: "patch", input: "x" } },
        ],
      },
      finish_reason: "tool_calls",
    });
    const older = encodeChoice({ blocks }, { functions: [{ name: "f" }] });
    expect(older).toMatchObject({
      message: { function_call: { name: "f", arguments: "{}" } },
      finish_reason: "function_call",
    });
  });
});
