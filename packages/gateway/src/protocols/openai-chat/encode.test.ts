import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Block, CanonicalRequest, Message } from "../../core/message.ts";
import type { Quirks, Target } from "../protocol.ts";
import { fromCanonical } from "./encode.ts";
import { inexpressible } from "./expressible.ts";
import { emptyRequest } from "./fixtures/request.ts";

type Json = Record<string, unknown>;

const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: null };
const target = (quirks: Partial<Quirks> = {}, model = "m"): Target => ({
  model,
  quirks: { ...PLAIN, ...quirks },
  maxOutputTokens: null,
});
const encoded = (
  request: Partial<CanonicalRequest>,
  quirks: Partial<Quirks> = {},
  model = "m",
): { body: Json; dropped: string[] } => {
  const { body, dropped } = fromCanonical({ ...emptyRequest(), ...request }, target(quirks, model));
  return { body: JSON.parse(body.toString("utf8")) as Json, dropped };
};
const messagesOf = (messages: Message[], quirks: Partial<Quirks> = {}): Json[] =>
  encoded({ messages }, quirks).body["messages"] as Json[];
const lost = (request: Partial<CanonicalRequest>, quirks: Partial<Quirks> = {}): string[] =>
  inexpressible({ ...emptyRequest(), ...request }, target(quirks));
const text = (words: string): Block => ({ type: "text", text: words });
const call = (id: string, rest: Json = {}): Block =>
  ({ type: "tool_call", id, name: "f", arguments: {}, text: "{}", ...rest }) as Block;
const image: Block = { type: "image", source: { kind: "base64", mediaType: "image/png", data: "AA" } };

describe("the body", () => {
  it("says nothing the request does not", () => {
    expect(encoded({}).body).toEqual({ model: "m", messages: [{ role: "user", content: "hi" }] });
  });

  it("asks for usage in a stream, of those who know how", () => {
    expect(encoded({ stream: true }).body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(encoded({ stream: true }, { streamOptions: false }).body).not.toHaveProperty("stream_options");
  });

  it.each<[Partial<Quirks>, string]>([
    [{}, "max_tokens"],
    [{ maxTokensField: "max_completion_tokens" }, "max_completion_tokens"],
    [{ maxTokensField: "max_tokens", takes: { max_completion_tokens: true } }, "max_tokens"],
    [{ takes: { max_completion_tokens: true } }, "max_completion_tokens"],
  ])("spells the output cap as %j wants it", (quirks, name) => {
    expect(encoded({ maxOutputTokens: 9 }, quirks).body).toMatchObject({ [name]: 9 });
  });

  it("keeps within OpenAI's length of names, the same for the same", () => {
    const long = { user: "u".repeat(90), promptCacheKey: "short" };
    const { body } = encoded(long, { takes: { user: true, prompt_cache_key: true } });
    expect(body["user"]).toMatch(/^[0-9a-f]{64}$/);
    expect(body["prompt_cache_key"]).toBe("short");
  });

  it("lists every hint that found no place", () => {
    const { body, dropped } = encoded({
      user: "u",
      metadata: { a: 1 },
      serviceTier: "standard_only",
      verbosity: "low",
      promptCacheKey: "k",
      reasoning: { effort: "high", budgetTokens: null, visible: null },
      foreign: [{ path: "betas", meaning: false }],
    });
    expect(Object.keys(body)).toEqual(["model", "messages"]);
    expect(new Set(dropped)).toEqual(
      new Set(["user", "metadata", "service_tier", "verbosity", "prompt_cache_key", "reasoning", "betas"]),
    );
  });

  it("takes a hint only to the models that know it", () => {
    const quirks: Partial<Quirks> = { takes: { verbosity: /^gpt-5/ } };
    expect(encoded({ verbosity: "low" }, quirks, "gpt-5-mini").body).toMatchObject({ verbosity: "low" });
    expect(encoded({ verbosity: "low" }, quirks, "gpt-4o").dropped).toEqual(["verbosity"]);
  });
});

describe("reasoning", () => {
  const asked = (effort: string | null, budgetTokens: number | null = null) => ({
    reasoning: { effort, budgetTokens, visible: null },
  });

  it.each<[string | null, number | null, Partial<Quirks>, Json]>([
    ["high", null, { takes: { reasoning_effort: true } }, { reasoning_effort: "high" }],
    ["max", null, { takes: { reasoning_effort: true } }, { reasoning_effort: "high" }],
    ["minimal", null, { takes: { reasoning_effort: true } }, { reasoning_effort: "low" }],
    ["medium", null, { takes: { reasoning_effort: true }, efforts: ["low", "high"] }, { reasoning_effort: "low" }],
    ["none", null, { takes: { reasoning_effort: true }, efforts: ["none", "low"] }, { reasoning_effort: "none" }],
    [null, 2_048, { takes: { reasoning_effort: true } }, { reasoning_effort: "low" }],
    [null, 8_192, { takes: { reasoning_effort: true } }, { reasoning_effort: "medium" }],
    [null, 24_576, { takes: { reasoning_effort: true } }, { reasoning_effort: "high" }],
    [null, 900, { takes: { reasoning: true } }, { reasoning: { max_tokens: 900 } }],
    ["high", 900, { takes: { reasoning: true } }, { reasoning: { effort: "high" } }],
    [null, 0, { takes: { reasoning: true } }, { reasoning: { effort: "none" } }],
    ["high", null, { takes: { thinking: true } }, { thinking: { type: "enabled" } }],
    ["none", null, { takes: { thinking: true, reasoning_effort: true } }, { thinking: { type: "disabled" } }],
  ])("of effort %j, budget %j, for %j", (effort, budget, quirks, want) => {
    const { body, dropped } = encoded(asked(effort, budget), quirks);
    const { model: _, messages: __, ...rest } = body;
    expect(rest).toEqual(want);
    expect(dropped).toEqual([]);
  });
});

describe("messages", () => {
  it("joins text for those who read one text only", () => {
    const messages: Message[] = [{ role: "system", blocks: [text("a"), text("b")] }];
    expect(messagesOf(messages)).toEqual([{ role: "system", content: "a\n\nb" }]);
    expect(messagesOf(messages, { takes: { text_parts: true } })).toEqual([
      {
        role: "system",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
    ]);
  });

  it("joins an answer without a gap", () => {
    expect(messagesOf([{ role: "assistant", blocks: [text("a"), text("b")] }])).toEqual([
      { role: "assistant", content: "ab" },
    ]);
  });

  it("marks what may be cached for those who can be told, and lists it for the others", () => {
    const messages: Message[] = [{ role: "user", blocks: [{ type: "text", text: "a", cache: { ttl: "1h" } }] }];
    expect(messagesOf(messages, { takes: { cache_control: true } })).toEqual([
      { role: "user", content: [{ type: "text", text: "a", cache_control: { type: "ephemeral", ttl: "1h" } }] },
    ]);
    expect(encoded({ messages })).toMatchObject({ dropped: ["cache_control"] });
  });

  it("leaves out what is empty", () => {
    expect(
      messagesOf([
        { role: "user", blocks: [] },
        { role: "assistant", blocks: [] },
      ]),
    ).toEqual([]);
  });

  it.each<[string, Block, Json]>([
    ["a picture", image, { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
    [
      "a picture by address",
      { type: "image", source: { kind: "url", url: "https://x", mediaType: null }, detail: "low" },
      { type: "image_url", image_url: { url: "https://x", detail: "low" } },
    ],
    [
      "a sound",
      { type: "audio", source: { kind: "base64", mediaType: "audio/x-wav", data: "AA" } },
      { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
    ],
    [
      "a PDF",
      { type: "document", title: "a.pdf", source: { kind: "base64", mediaType: "application/pdf", data: "AA" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA" } },
    ],
    [
      "a nameless PDF",
      { type: "document", source: { kind: "base64", mediaType: "application/pdf", data: "AA" } },
      { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,AA" } },
    ],
    [
      "a text document",
      { type: "document", title: "notes", context: "from Ann", source: { kind: "text", text: "words" } },
      { type: "text", text: "notes\n\nfrom Ann\n\nwords" },
    ],
    [
      "an upload of the same vendor",
      { type: "document", source: { kind: "file", id: "file-1", dialect: "openai-responses" } },
      { type: "file", file: { file_id: "file-1" } },
    ],
  ])("hold %s", (_, block, part) => {
    const messages: Message[] = [{ role: "user", blocks: [text("see"), block] }];
    expect(lost({ messages })).toEqual([]);
    expect(messagesOf(messages, { takes: { text_parts: true } })).toEqual([
      { role: "user", content: [{ type: "text", text: "see" }, part] },
    ]);
  });
});

describe("tools in the conversation", () => {
  const results = (...blocks: Block[]): Message => ({ role: "tool", blocks });
  const result = (callId: string, content: Block[], rest: Json = {}): Block =>
    ({ type: "tool_result", callId, name: "f", content, isError: false, ...rest }) as Block;

  it("give each result a message of its own", () => {
    const sent = messagesOf([
      { role: "assistant", blocks: [call("a"), call("b")] },
      results(result("a", [text("1")]), result("b", [], { isError: true })),
    ]);
    expect(sent.slice(1)).toEqual([
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "Error: " },
    ]);
  });

  it("say that a tool failed in words", () => {
    const sent = messagesOf([
      { role: "assistant", blocks: [call("a")] },
      results(result("a", [text("no such city")], { isError: true })),
    ]);
    expect(sent[1]).toEqual({ role: "tool", tool_call_id: "a", content: "Error: no such city" });
  });

  it("show the pictures of a whole run of results behind it", () => {
    const sent = messagesOf([
      { role: "assistant", blocks: [call("a"), call("b")] },
      results(result("a", [image])),
      results(result("b", [text("ok")])),
      { role: "user", blocks: [text("well?")] },
    ]);
    expect(sent.map(({ role }) => role)).toEqual(["assistant", "tool", "tool", "user", "user"]);
    expect(sent[1]).toEqual({ role: "tool", tool_call_id: "a", content: "[image: see the user message that follows]" });
    expect(sent[3]?.["content"]).toEqual([
      { type: "text", text: "What the tool call a returned (image):" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
    ]);
  });

  it("refuse a result that answers no call, and name its id", () => {
    const messages = [results(result("ghost", [text("1")]))];
    const refusal = refusalOf(() => encoded({ messages }));
    expect(refusal.code).toBe("invalid_request");
    expect(refusal.message).toContain('"ghost"');
  });

  it.each<[Json, string]>([
    [{ text: "", arguments: {} }, "{}"],
    [{ text: "", arguments: { a: 1 } }, '{"a":1}'],
    [{ text: '{"a":', arguments: undefined }, '{"a":'],
    [{ text: '{ "a": 1.0 }', arguments: { a: 1 } }, '{ "a": 1.0 }'],
  ])("call with %j as %s", (given, sent) => {
    const [message] = messagesOf([{ role: "assistant", blocks: [call("a", given)] }]);
    expect(message?.["tool_calls"]).toEqual([{ id: "a", type: "function", function: { name: "f", arguments: sent } }]);
  });

  it("are free text only where that is known", () => {
    const blocks = [call("a", { text: "*** Begin", arguments: undefined, custom: true })];
    const tools: CanonicalRequest["tools"] = [
      {
        type: "custom",
        name: "f",
        description: "edit",
        format: { type: "grammar", syntax: "lark", definition: "start: A" },
      },
    ];
    const request: Partial<CanonicalRequest> = {
      messages: [{ role: "assistant", blocks }],
      tools,
      toolChoice: { type: "named", name: "f" },
    };
    expect(encoded(request, { takes: { custom_tools: true } }).body).toMatchObject({
      messages: [{ tool_calls: [{ id: "a", type: "custom", custom: { name: "f", input: "*** Begin" } }] }],
      tools: [
        {
          type: "custom",
          custom: {
            name: "f",
            description: "edit",
            format: { type: "grammar", grammar: { syntax: "lark", definition: "start: A" } },
          },
        },
      ],
      tool_choice: { type: "custom", custom: { name: "f" } },
    });
    expect(encoded(request).body).toMatchObject({
      messages: [
        { tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: '{"input":"*** Begin"}' } }] },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: { required: ["input"] } } }],
      tool_choice: { type: "function", function: { name: "f" } },
    });
    const [tool] = encoded(request).body["tools"] as [{ function: { description: string } }];
    expect(tool.function.description).toContain("start: A");
  });

  it("are narrowed to those allowed, by word or by leaving the others out", () => {
    const tools: CanonicalRequest["tools"] = ["f", "g"].map((name) => ({ type: "function", name, parameters: null }));
    const request: Partial<CanonicalRequest> = {
      tools,
      toolChoice: { type: "allowed", mode: "required", names: ["g"] },
    };
    expect(encoded(request).body).toMatchObject({ tools: [{ function: { name: "g" } }], tool_choice: "required" });
    const { body } = encoded(request, { takes: { allowed_tools: true } });
    expect(body["tools"]).toHaveLength(2);
    expect(body["tool_choice"]).toEqual({
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "g" } }] },
    });
  });

  it("are not chosen among where there are none", () => {
    const { body } = encoded(
      { toolChoice: { type: "none" }, parallelToolCalls: false },
      { takes: { parallel_tool_calls: true } },
    );
    expect(Object.keys(body)).toEqual(["model", "messages"]);
  });
});

describe("earlier thoughts", () => {
  const thought = (rest: Json): Block => ({ type: "reasoning", text: "hm", ...rest }) as Block;
  const claude = { dialect: "anthropic-messages", value: "s" };
  const bedrock = { dialect: "bedrock-converse", value: "b" };
  const said = (blocks: Block[], quirks: Partial<Quirks>): { message: Json; dropped: string[] } => {
    const { body, dropped } = encoded({ messages: [{ role: "assistant", blocks: [...blocks, text("4")] }] }, quirks);
    const [{ role: _, content: __, ...message }] = body["messages"] as [Json];
    return { message, dropped };
  };

  it("go as plain text to those who read it, unsigned ones only", () => {
    const quirks: Partial<Quirks> = { takes: { history_reasoning_content: true } };
    expect(said([thought({})], quirks)).toEqual({ message: { reasoning_content: "hm" }, dropped: [] });
    expect(said([thought({ signature: claude })], quirks)).toEqual({ message: {}, dropped: ["reasoning_history"] });
    expect(said([thought({ signature: { dialect: "openai-chat", value: "x" } })], quirks).message).toEqual({
      reasoning_content: "hm",
    });
    expect(said([thought({})], { takes: { history_reasoning: true } }).message).toEqual({ reasoning: "hm" });
    expect(said([thought({})], {})).toEqual({ message: {}, dropped: ["reasoning_history"] });
  });

  it("go with the signatures of every maker a server of many vendors knows", () => {
    const quirks: Partial<Quirks> = { takes: { history_reasoning_details: true } };
    const encrypted = { dialect: "openai-chat", value: "xai-responses-v1|d" };
    expect(
      said([thought({ signature: claude }), thought({ text: "", encrypted }), thought({ signature: bedrock })], quirks),
    ).toEqual({
      message: {
        reasoning_details: [
          { type: "reasoning.text", text: "hm", signature: "s", format: "anthropic-claude-v1", index: 0 },
          { type: "reasoning.encrypted", data: "d", format: "xai-responses-v1", index: 1 },
        ],
      },
      dropped: ["reasoning_history"],
    });
  });

  it("hang on calls where Google's endpoint reads them", () => {
    const blocks = [call("a", { signature: { dialect: "gemini-generate", value: "g" } })];
    const request = { messages: [{ role: "assistant" as const, blocks }] };
    const { body, dropped } = encoded(request, { takes: { google_signatures: true } });
    expect(body["messages"]).toMatchObject([
      { tool_calls: [{ id: "a", extra_content: { google: { thought_signature: "g" } } }] },
    ]);
    expect(dropped).toEqual([]);
    expect(encoded(request).dropped).toEqual(["reasoning_history"]);
  });
});

describe("what cannot be said", () => {
  const user = (...blocks: Block[]): Partial<CanonicalRequest> => ({ messages: [{ role: "user", blocks }] });
  const upload = { kind: "file", id: "f", dialect: "anthropic-messages" } as const;

  it.each<[string, Partial<CanonicalRequest>, Partial<Quirks>, string[]]>([
    ["nothing", { temperature: 2, stop: ["a", "b", "c", "d"], n: 3, seed: 1, logprobs: { top: 2 } }, {}, []],
    ["a sixth stop sequence", { stop: ["a", "b", "c", "d", "e"] }, {}, ["stop"]],
    ["no sixth stop sequence", { stop: ["a", "b", "c", "d", "e"] }, { stopMax: 8 }, []],
    ["a temperature above 2", { temperature: 2.5 }, {}, ["temperature"]],
    ["top_k", { topK: 4 }, {}, ["top_k"]],
    ["no top_k", { topK: 4 }, { takes: { top_k: true } }, []],
    ["several answers", { n: 2 }, { refuses: ["n"] }, ["n"]],
    ["one answer", { n: 1, frequencyPenalty: 0 }, { refuses: ["n", "frequency_penalty"] }, []],
    ["logprobs and seed", { logprobs: { top: 0 }, seed: 1 }, { refuses: ["logprobs", "seed"] }, ["logprobs", "seed"]],
    [
      "a schema",
      { responseFormat: { type: "json_schema", name: "n", schema: {} } },
      { jsonSchema: false },
      ["response_format"],
    ],
    ["no schema", { responseFormat: { type: "json_object" } }, { jsonSchema: false }, []],
    [
      "another vendor's upload",
      user({ type: "image", source: upload }, { type: "document", source: upload }),
      {},
      ["images", "documents"],
    ],
    [
      "a document by address",
      user({ type: "document", source: { kind: "url", url: "https://x", mediaType: null } }),
      {},
      ["documents"],
    ],
    [
      "a sound of a strange kind",
      user({ type: "audio", source: { kind: "base64", mediaType: "audio/ogg", data: "AA" } }),
      {},
      ["audio"],
    ],
    ["a picture to a model of text", user(image), { refuses: ["images"] }, ["images"]],
    ["a picture in an answer", { messages: [{ role: "assistant", blocks: [image] }] }, {}, ["images"]],
    [
      "what only another dialect knows",
      {
        ...user({ type: "opaque", dialect: "anthropic-messages", path: "messages[0].content[0]", value: {} }),
        tools: [{ type: "hosted", dialect: "openai-responses", path: "tools[0]", value: {} }],
        foreign: [
          { path: "container", meaning: true },
          { path: "betas", meaning: false },
        ],
      },
      {},
      ["messages[0].content[0]", "tools[0]", "container"],
    ],
  ])("%s", (_, request, quirks, fields) => {
    expect(lost(request, quirks)).toEqual(fields);
    // A route that drops them gets a body without, and a list.
    const { dropped } = encoded(request, quirks);
    for (const field of fields) expect(dropped).toContain(field);
  });

  it("is a document by address, but to those who fetch it", () => {
    const source = { kind: "url", url: "https://x/a.pdf", mediaType: null } as const;
    const request = user({ type: "document", title: "a.pdf", source });
    const quirks: Partial<Quirks> = { takes: { document_urls: true } };
    expect(lost(request, quirks)).toEqual([]);
    expect(encoded(request, quirks).body["messages"]).toEqual([
      { role: "user", content: [{ type: "file", file: { filename: "a.pdf", file_data: "https://x/a.pdf" } }] },
    ]);
  });

  it("is left out where the route drops it", () => {
    const { body } = encoded(
      {
        n: 2,
        seed: 1,
        topK: 3,
        temperature: 3,
        stop: ["a", "b", "c", "d", "e"],
        ...user(text("a"), { type: "image", source: upload }),
      },
      { refuses: ["n"] },
    );
    expect(body).toEqual({
      model: "m",
      messages: [{ role: "user", content: "a" }],
      seed: 1,
      stop: ["a", "b", "c", "d"],
    });
  });
});
