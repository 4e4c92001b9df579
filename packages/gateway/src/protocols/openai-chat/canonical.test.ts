import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import type { Block, CanonicalRequest } from "../../core/message.ts";
import { toCanonical } from "./canonical.ts";
import { decodeRequest } from "./request.ts";

type Json = Record<string, unknown>;

const HI = [{ role: "user", content: "hi" }];
const CALL = { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };

function decode(body: Json): Call {
  return decodeRequest({
    raw: Buffer.from(JSON.stringify({ model: "default", messages: HI, ...body })),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
}

const canonical = (body: Json = {}): CanonicalRequest => toCanonical(decode(body));
const blocksOf = (message: Json): Block[] => canonical({ messages: [message] }).messages[0]?.blocks ?? [];
const foreignOf = (body: Json): string[] =>
  canonical(body).foreign.map(({ path, meaning }) => (meaning ? `${path}!` : path));

describe("messages", () => {
  it.each<[string, unknown, unknown]>([
    ["a text", "hi", [{ type: "text", text: "hi" }]],
    ["an empty text", "", [{ type: "text", text: "" }]],
    ["no parts", [], []],
    [
      "parts of text",
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    ],
    [
      "a cache marker",
      [{ type: "text", text: "a", cache_control: { type: "ephemeral", ttl: "1h" } }],
      [{ type: "text", text: "a", cache: { ttl: "1h" } }],
    ],
    [
      "OpenAI's cache breakpoint",
      [{ type: "text", text: "a", prompt_cache_breakpoint: { mode: "explicit" } }],
      [{ type: "text", text: "a", cache: { ttl: null } }],
    ],
    [
      "a picture by address",
      [{ type: "image_url", image_url: { url: "https://x/y.png", detail: "low" } }],
      [{ type: "image", source: { kind: "url", url: "https://x/y.png", mediaType: null }, detail: "low" }],
    ],
    [
      "a picture inline",
      [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
      [{ type: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" } }],
    ],
    [
      "a picture as a plain string",
      [{ type: "image_url", image_url: "https://x/y.png" }],
      [{ type: "image", source: { kind: "url", url: "https://x/y.png", mediaType: null } }],
    ],
    [
      "a sound",
      [{ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } }],
      [{ type: "audio", source: { kind: "base64", mediaType: "audio/mpeg", data: "AAAA" } }],
    ],
    [
      "a file inline",
      [{ type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } }],
      [{ type: "document", title: "a.pdf", source: { kind: "base64", mediaType: "application/pdf", data: "AAAA" } }],
    ],
    [
      "a file as bare base64",
      [{ type: "file", file: { file_data: "AAAA" } }],
      [{ type: "document", source: { kind: "base64", mediaType: "application/pdf", data: "AAAA" } }],
    ],
    [
      "a file by address (OpenRouter)",
      [{ type: "file", file: { filename: "a.pdf", file_data: "https://x/a.pdf" } }],
      [{ type: "document", title: "a.pdf", source: { kind: "url", url: "https://x/a.pdf", mediaType: null } }],
    ],
    [
      "an upload",
      [{ type: "file", file: { file_id: "file-1" } }],
      [{ type: "document", source: { kind: "file", id: "file-1", dialect: "openai-chat" } }],
    ],
    [
      "what only this dialect knows",
      [{ type: "video_url", video_url: { url: "https://x" } }],
      [
        {
          type: "opaque",
          dialect: "openai-chat",
          path: "messages[0].content[0]",
          value: { type: "video_url", video_url: { url: "https://x" } },
        },
      ],
    ],
  ])("hold %s", (_, content, blocks) => {
    expect(blocksOf({ role: "user", content })).toEqual(blocks);
  });

  it.each(["system", "developer"])("of %s are the system's, wherever they stand", (role) => {
    const { messages } = canonical({ messages: [...HI, { role, content: "be brief", name: "ops" }] });
    expect(messages[1]).toEqual({ role: "system", name: "ops", blocks: [{ type: "text", text: "be brief" }] });
  });

  it("carry a marker of their own on their last block", () => {
    expect(blocksOf({ role: "user", content: "a", cache_control: { type: "ephemeral" } })).toEqual([
      { type: "text", text: "a", cache: { ttl: null } },
    ]);
  });

  it("of an unknown role are refused", () => {
    const refusal = refusalOf(() => canonical({ messages: [{ role: "critic", content: "x" }] }));
    expect(refusal).toMatchObject({ code: "invalid_request", param: "messages[0].role" });
  });
});

describe("an assistant's message", () => {
  const assistant = (message: Json): Block[] => blocksOf({ role: "assistant", content: null, ...message });

  it.each<[string, unknown, unknown]>([
    ["an object", '{"city":"Oslo"}', { arguments: { city: "Oslo" }, text: '{"city":"Oslo"}' }],
    ["nothing", "", { arguments: {}, text: "" }],
    ["null as text", "null", { arguments: {}, text: "null" }],
    ["null", null, { arguments: {}, text: "" }],
    ["an object that is no text", { city: "Oslo" }, { arguments: { city: "Oslo" }, text: '{"city":"Oslo"}' }],
    ["half a JSON", '{"city":', { text: '{"city":' }],
    ["a list", "[1]", { text: "[1]" }],
  ])("calls with %s", (_, given, want) => {
    const calls = [{ id: "c1", type: "function", function: { name: "f", arguments: given } }];
    expect(assistant({ tool_calls: calls })).toEqual([{ type: "tool_call", id: "c1", name: "f", ...(want as Json) }]);
  });

  it("calls a custom tool", () => {
    const calls = [{ id: "c1", type: "custom", custom: { name: "patch", input: "*** Begin" } }];
    expect(assistant({ tool_calls: calls })).toEqual([
      { type: "tool_call", id: "c1", name: "patch", text: "*** Begin", custom: true },
    ]);
  });

  it("gets ids for calls without one: the same every time, and each its own", () => {
    const nameless = { type: "function", function: { name: "f", arguments: "{}" } };
    const ids = (): string[] =>
      assistant({ tool_calls: [nameless, nameless] }).flatMap((block) =>
        block.type === "tool_call" ? [block.id] : [],
      );
    expect(new Set(ids()).size).toBe(2);
    expect(ids()).toEqual(ids());
  });

  it.each(["reasoning_content", "reasoning"])("thinks in %s", (member) => {
    expect(assistant({ content: "4", [member]: "2+2" })).toEqual([
      { type: "reasoning", text: "2+2" },
      { type: "text", text: "4" },
    ]);
  });

  it("keeps thinking parts (Mistral)", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }], signature: "sig" },
      { type: "text", text: "4" },
    ];
    expect(assistant({ content })).toEqual([
      { type: "reasoning", text: "hm", signature: { dialect: "openai-chat", value: "sig" } },
      { type: "text", text: "4" },
    ]);
  });

  it("declines", () => {
    expect(assistant({ refusal: "no" })).toEqual([{ type: "refusal", text: "no" }]);
  });

  it("holds the sound it made", () => {
    expect(assistant({ audio: { id: "a1" } })).toMatchObject([{ type: "opaque", path: "messages[0].audio" }]);
  });

  it("that begins the answer has a meaning of its own", () => {
    expect(foreignOf({ messages: [...HI, { role: "assistant", content: "{", prefix: true }] })).toEqual([
      "messages[1].prefix!",
    ]);
  });
});

describe("reasoning details", () => {
  const entry = (type: string, rest: Json): Json => ({ type: `reasoning.${type}`, ...rest });

  it.each<[string, Json, unknown]>([
    [
      "a signed text",
      { reasoning_details: [entry("text", { text: "hm", signature: "s", format: "anthropic-claude-v1", index: 0 })] },
      [{ text: "hm", signature: { dialect: "anthropic-messages", value: "s" } }],
    ],
    [
      "a signed text without words",
      { reasoning_details: [entry("text", { text: "", signature: "s", format: "anthropic-claude-v1" })] },
      [{ text: "", signature: { dialect: "anthropic-messages", value: "s" } }],
    ],
    [
      "redacted thoughts",
      { reasoning_details: [entry("encrypted", { data: "d", format: "anthropic-claude-v1" })] },
      [{ text: "", encrypted: { dialect: "anthropic-messages", value: "d" } }],
    ],
    [
      "a summary and what it sums up",
      {
        reasoning_details: [
          entry("summary", { summary: "in short", format: "openai-responses-v1", index: 0 }),
          entry("encrypted", { data: "d", format: "openai-responses-v1", index: 0 }),
        ],
      },
      [{ text: "in short", encrypted: { dialect: "openai-responses", value: "d" } }],
    ],
    [
      "Gemini's signature",
      { reasoning_details: [entry("encrypted", { data: "g", format: "google-gemini-v1" })] },
      [{ text: "", signature: { dialect: "gemini-generate", value: "g" } }],
    ],
    [
      "an unknown maker",
      { reasoning_details: [entry("text", { text: "hm", signature: "s", format: "unknown" })] },
      [{ text: "hm", signature: { dialect: "openai-chat", value: "s" } }],
    ],
    [
      "a maker that is no protocol of ours: its format is kept",
      { reasoning_details: [entry("encrypted", { data: "d", format: "xai-responses-v1" })] },
      [{ text: "", encrypted: { dialect: "openai-chat", value: "xai-responses-v1|d" } }],
    ],
    [
      "a wrapped signature",
      {
        reasoning_details: [entry("text", { text: "hm", signature: "sg1.bedrock-converse.text.s", format: "unknown" })],
      },
      [{ text: "hm", signature: { dialect: "bedrock-converse", value: "s" } }],
    ],
    [
      "pieces that a client has only collected",
      {
        reasoning_details: [
          entry("text", { text: "h", index: 0 }),
          entry("text", { text: "m", index: 0 }),
          entry("text", { signature: "s", format: "anthropic-claude-v1", index: 0 }),
          entry("text", { text: "more", index: 1 }),
        ],
      },
      [{ text: "hm", signature: { dialect: "anthropic-messages", value: "s" } }, { text: "more" }],
    ],
    [
      "what the plain text says beyond them, in its order",
      {
        reasoning_content: "first hm last",
        reasoning_details: [entry("text", { text: " hm ", signature: "s", format: "anthropic-claude-v1" })],
      },
      [{ text: "first" }, { text: " hm ", signature: { dialect: "anthropic-messages", value: "s" } }, { text: "last" }],
    ],
    [
      "plain text before what is encrypted",
      { reasoning: "hm", reasoning_details: [entry("encrypted", { data: "d", format: "anthropic-claude-v1" })] },
      [{ text: "hm" }, { text: "", encrypted: { dialect: "anthropic-messages", value: "d" } }],
    ],
    ["nothing", { reasoning_details: [entry("text", { text: "" }), null, {}] }, []],
  ])("say %s", (_, message, blocks) => {
    const said = blocksOf({ role: "assistant", content: "4", ...message }).filter(({ type }) => type === "reasoning");
    expect(said).toEqual((blocks as Json[]).map((block) => ({ type: "reasoning", ...block })));
  });

  it.each<[string, Json, Json]>([
    ["beside the call", { extra_content: { google: { thought_signature: "g" } } }, {}],
    [
      "wrapped, beside the call",
      { extra_content: { google: { thought_signature: "sg1.gemini-generate.call.g" } } },
      {},
    ],
    [
      "by the call's id",
      {},
      { reasoning_details: [entry("encrypted", { id: "c1", data: "g", format: "google-gemini-v1" })] },
    ],
  ])("hang a signature on a call: %s", (_, call, message) => {
    const blocks = blocksOf({ role: "assistant", content: null, tool_calls: [{ ...CALL, ...call }], ...message });
    expect(blocks).toMatchObject([{ type: "tool_call", signature: { dialect: "gemini-generate", value: "g" } }]);
  });
});

describe("tool results", () => {
  const after = (...messages: Json[]): CanonicalRequest =>
    canonical({ messages: [...HI, { role: "assistant", content: null, tool_calls: [CALL] }, ...messages] });

  it("know the name of their tool", () => {
    const { messages } = after({ role: "tool", tool_call_id: "c1", content: [{ type: "text", text: "12 °C" }] });
    expect(messages[2]).toEqual({
      role: "tool",
      blocks: [
        {
          type: "tool_result",
          callId: "c1",
          name: "weather",
          content: [{ type: "text", text: "12 °C" }],
          isError: false,
        },
      ],
    });
  });

  it("can hold pictures, and nothing that is none of text, picture or document", () => {
    const { messages, foreign } = after({
      role: "tool",
      tool_call_id: "c1",
      content: [{ type: "image_url", image_url: { url: "https://x" } }, { type: "video_url" }],
    });
    expect(messages[2]?.blocks).toMatchObject([{ content: [{ type: "image" }] }]);
    expect(foreign).toEqual([{ path: "messages[2].content[1]", meaning: true }]);
  });

  it("of the older functions answer the oldest call of their name", () => {
    const called = { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } };
    const { messages } = canonical({
      messages: [
        ...HI,
        called,
        { role: "function", name: "f", content: "1" },
        called,
        { role: "function", name: "f", content: "2" },
      ],
    });
    const ids = messages.flatMap(({ blocks }) =>
      blocks.flatMap((block) =>
        block.type === "tool_call" ? [block.id] : block.type === "tool_result" ? [block.callId] : [],
      ),
    );
    expect(ids).toHaveLength(4);
    expect([ids[0], ids[2]]).toEqual([ids[1], ids[3]]);
    expect(ids[0]).not.toBe(ids[2]);
    const lost = [...HI, { role: "function", name: "f", content: "1" }];
    expect(refusalOf(() => canonical({ messages: lost }))).toMatchObject({ param: "messages[1].name" });
  });
});

describe("tools", () => {
  it("are functions, free text, and what only this dialect runs", () => {
    const search = { type: "web_search", external: true };
    const { tools } = canonical({
      tools: [
        {
          type: "function",
          function: { name: "f", description: "d", parameters: { type: "object" }, strict: true },
          cache_control: { type: "ephemeral" },
        },
        { type: "function", function: { name: "g" } },
        {
          type: "custom",
          custom: {
            name: "p",
            description: "d",
            format: { type: "grammar", grammar: { syntax: "lark", definition: "start: A" } },
          },
        },
        search,
      ],
    });
    expect(tools).toEqual([
      {
        type: "function",
        name: "f",
        description: "d",
        parameters: { type: "object" },
        strict: true,
        cache: { ttl: null },
      },
      { type: "function", name: "g", parameters: null },
      {
        type: "custom",
        name: "p",
        description: "d",
        format: { type: "grammar", syntax: "lark", definition: "start: A" },
      },
      { type: "hosted", dialect: "openai-chat", path: "tools[3]", value: search },
    ]);
  });

  it("were once functions, one call at a time", () => {
    const request = canonical({
      functions: [{ name: "f", parameters: { type: "object" } }],
      function_call: { name: "f" },
    });
    expect(request).toMatchObject({
      tools: [{ type: "function", name: "f" }],
      toolChoice: { type: "named", name: "f" },
      parallelToolCalls: false,
    });
  });

  it.each<[unknown, unknown]>([
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "required" }],
    ["any", { type: "required" }],
    [
      { type: "function", function: { name: "f" } },
      { type: "named", name: "f" },
    ],
    [
      { type: "custom", custom: { name: "p" } },
      { type: "named", name: "p" },
    ],
    [
      {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "f" } }] },
      },
      { type: "allowed", mode: "required", names: ["f"] },
    ],
    [null, null],
  ])("are chosen by %j", (choice, want) => {
    expect(canonical({ tool_choice: choice }).toolChoice).toEqual(want);
  });

  it.each<[string, Json]>([
    ["tool_choice", { tool_choice: "sometimes" }],
    ["tool_choice", { tool_choice: { type: "function" } }],
    ["function_call", { function_call: {} }],
    ["tools[0].custom.name", { tools: [{ type: "custom", custom: {} }] }],
    ["tools[0].function.parameters", { tools: [{ type: "function", function: { name: "f", parameters: "{}" } }] }],
    ["functions[0]", { functions: [null] }],
  ])("are refused at %s: %j", (param, body) => {
    expect(refusalOf(() => canonical(body))).toMatchObject({ code: "invalid_request", param });
  });
});

describe("fields", () => {
  it("are all there", () => {
    const request = canonical({
      max_tokens: 5,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 3,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      seed: 7,
      n: 2,
      logprobs: true,
      top_logprobs: 4,
      stop: "END",
      user: "u",
      metadata: { a: "b" },
      service_tier: "flex",
      verbosity: "low",
      prompt_cache_key: "k",
      parallel_tool_calls: false,
      stream: true,
    });
    expect(request).toMatchObject({
      maxOutputTokens: 5,
      temperature: 0.5,
      topP: 0.9,
      topK: 3,
      frequencyPenalty: 0.1,
      presencePenalty: 0.2,
      seed: 7,
      n: 2,
      logprobs: { top: 4 },
      stop: ["END"],
      user: "u",
      metadata: { a: "b" },
      serviceTier: "flex",
      verbosity: "low",
      promptCacheKey: "k",
      parallelToolCalls: false,
      stream: true,
      foreign: [],
    });
  });

  it.each<[unknown, unknown]>([
    [{ type: "text" }, null],
    [{ type: "json_object" }, { type: "json_object" }],
    [
      { type: "json_schema", json_schema: { name: "n", description: "d", schema: { type: "object" }, strict: true } },
      { type: "json_schema", name: "n", description: "d", schema: { type: "object" }, strict: true },
    ],
    [
      { type: "json_schema", json_schema: {} },
      { type: "json_schema", name: "response", schema: {} },
    ],
    [
      { type: "json_object", schema: { type: "object" } },
      { type: "json_schema", name: "response", schema: { type: "object" } },
    ],
  ])("response_format %j", (format, want) => {
    expect(canonical({ response_format: format }).responseFormat).toEqual(want);
  });

  it.each<[Json, unknown]>([
    [{ reasoning_effort: "high" }, { effort: "high", budgetTokens: null, visible: null }],
    [{ reasoning: { effort: "low", exclude: true } }, { effort: "low", budgetTokens: null, visible: false }],
    [{ reasoning: { max_tokens: 900 } }, { effort: null, budgetTokens: 900, visible: null }],
    [{ reasoning: { enabled: true } }, { effort: "medium", budgetTokens: null, visible: null }],
    [{ reasoning: { enabled: false } }, { effort: "none", budgetTokens: null, visible: null }],
    [{ thinking: { type: "enabled", budget_tokens: 2000 } }, { effort: null, budgetTokens: 2000, visible: null }],
    [{ thinking: { type: "enabled" } }, { effort: "medium", budgetTokens: null, visible: null }],
    [{ thinking: { type: "disabled" } }, { effort: "none", budgetTokens: null, visible: null }],
    [{ include_reasoning: true }, { effort: null, budgetTokens: null, visible: true }],
    [{}, null],
  ])("reasoning in %j", (body, want) => {
    expect(canonical(body).reasoning).toEqual(want);
  });

  it("of a user are safety identifiers too", () => {
    expect(canonical({ safety_identifier: "s" }).user).toBe("s");
  });

  it.each<[Json, string[]]>([
    [{ logit_bias: { "5": 1 } }, ["logit_bias!"]],
    [{ prediction: { type: "content", content: "x" } }, ["prediction!"]],
    [{ modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } }, ["modalities!", "audio"]],
    [{ web_search_options: {} }, ["web_search_options!"]],
    [{ response_format: { type: "grammar", grammar: "x" } }, ["response_format!"]],
    [{ store: true }, ["store"]],
    [{ x_new: 1 }, ["x_new"]],
    [{ prompt_cache_options: { mode: "explicit" } }, ["prompt_cache_options"]],
    [{ logit_bias: {}, modalities: ["text"], store: false, audio: null, prediction: null }, []],
    [{ gateway: { user: "u" }, session_id: "s", usage: { include: true } }, []],
  ])("that have no place: %j", (body, paths) => {
    expect(foreignOf(body)).toEqual(paths);
  });
});
