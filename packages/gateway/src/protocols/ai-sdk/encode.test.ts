import { describe, expect, test } from "vitest";
import { canonicalRequest } from "../../core/fixtures/canonical-request.ts";
import type { Block, CanonicalRequest, Message, Tool } from "../../core/message.ts";
import type { Target } from "../protocol.ts";
import { fromCanonical } from "./encode.ts";
import { inexpressible } from "./inexpressible.ts";

const TARGET: Target = {
  model: "some-model",
  quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: true },
  maxOutputTokens: null,
};

interface Sent {
  model: string;
  stream: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into options whose shape it is about to check
  options: any;
  dropped: string[];
}

function sent(given: Partial<CanonicalRequest>, target: Partial<Target> = {}): Sent {
  const { body, dropped } = fromCanonical(canonicalRequest(given), { ...TARGET, ...target });
  return { ...(JSON.parse(body.toString("utf8")) as Omit<Sent, "dropped">), dropped: [...dropped] };
}

const lost = (given: Partial<CanonicalRequest>): string[] => inexpressible(canonicalRequest(given));
const said = (role: Message["role"], ...blocks: Block[]): Message => ({ role, blocks });
const text = (words: string): Block => ({ type: "text", text: words });
const call = (given: object = {}): Block => ({
  ...{ type: "tool_call", id: "c1", name: "f", arguments: { a: 1 }, text: '{"a":1}', ...given },
});
const result = (given: object = {}): Block => ({
  ...{ type: "tool_result", callId: "c1", name: "f", content: [{ type: "text", text: "done" }], isError: false },
  ...given,
});
const promptOf = (...messages: Message[]): unknown => sent({ messages }).options.prompt;
const PNG = { kind: "base64", data: "eA==", mediaType: "image/png" } as const;

describe("a prompt in the SDK's form", () => {
  test("has its texts, calls and results in their places, and nothing that says nothing", () => {
    const prompt = promptOf(
      said("system", text("be"), text("good")),
      said("user", text("go"), text("")),
      said("assistant", text("I will"), call()),
      said("tool", result()),
      said("assistant", text("")),
    );
    expect(prompt).toEqual([
      { role: "system", content: "be\n\ngood" },
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I will" },
          { type: "tool-call", toolCallId: "c1", toolName: "f", input: { a: 1 } },
        ],
      },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c1", toolName: "f", output: { type: "text", value: "done" } }],
      },
    ]);
  });

  test.each([
    ["custom", call({ custom: true, arguments: undefined, text: "free" }), { input: "free" }],
    ["no JSON object", call({ arguments: undefined, text: "[1" }), { __raw_arguments: "[1" }],
  ])("a call that is %s has its text in an object", (_, block, input) => {
    expect(promptOf(said("assistant", block))).toMatchObject([{ content: [{ input }] }]);
  });

  test.each([
    ["an error", result({ isError: true }), { type: "error-text", value: "done" }],
    [
      "a picture",
      result({
        content: [
          { type: "text", text: "see" },
          { type: "image", source: PNG },
        ],
      }),
      {
        type: "content",
        value: [
          { type: "text", text: "see" },
          { type: "media", mediaType: "image/png", data: "eA==" },
        ],
      },
    ],
  ])("a result that is %s says so", (_, block, output) => {
    expect(promptOf(said("tool", block))).toMatchObject([{ content: [{ output }] }]);
  });

  test("a result of no call is refused by its id", () => {
    expect(() => promptOf(said("tool", result({ name: null })))).toThrow('the tool result for "c1"');
  });

  test("files are bytes or an address, their kind told or left open", () => {
    const url = { kind: "url", url: "https://x.test/a", mediaType: null } as const;
    const blocks: Block[] = [
      { type: "image", source: PNG },
      { type: "image", source: url },
      { type: "audio", source: { kind: "base64", data: "eA==", mediaType: "audio/wav" } },
      { type: "document", source: url, title: "T" },
      { type: "document", source: { kind: "text", text: "body" }, title: "T" },
    ];
    expect(promptOf(said("user", ...blocks))).toEqual([
      {
        role: "user",
        content: [
          { type: "file", mediaType: "image/png", data: "eA==" },
          { type: "file", mediaType: "image/*", url: "https://x.test/a" },
          { type: "file", mediaType: "audio/wav", data: "eA==" },
          { type: "file", mediaType: "application/pdf", url: "https://x.test/a", filename: "T" },
          { type: "text", text: "T\n\nbody" },
        ],
      },
    ]);
  });

  test("thoughts and calls go back with a package's own proof; others are left out, and told", () => {
    const signature = { dialect: "ai-sdk", value: '{"vendor":{"signature":"s"}}' };
    const foreign = { dialect: "anthropic-messages", value: "s" };
    const mine = said("assistant", { type: "reasoning", text: "hm", signature }, call({ signature }));
    const providerOptions = { vendor: { signature: "s" } };
    const own = sent({ messages: [mine] });
    expect(own.options.prompt).toMatchObject([
      {
        content: [
          { type: "reasoning", text: "hm", providerOptions },
          { type: "tool-call", providerOptions },
        ],
      },
    ]);
    expect(own.dropped).toEqual([]);
    const another = said(
      "assistant",
      { type: "reasoning", text: "hm", signature: foreign },
      call({ signature: foreign }),
    );
    const { options, dropped } = sent({ messages: [another] });
    expect(options.prompt).toEqual([
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "f", input: { a: 1 } }] },
    ]);
    expect(dropped).toEqual(["reasoning_history"]);
  });
});

describe("call options", () => {
  test("hold what is asked for, and nothing that is not", () => {
    expect(Object.keys(sent({}).options)).toEqual(["prompt"]);
    const given = {
      ...{ temperature: 0.5, topP: 0.9, topK: 3, frequencyPenalty: 0.1, presencePenalty: 0.2, seed: 4 },
      ...{ maxOutputTokens: 9 },
    };
    const { model, stream, options, dropped } = sent({ ...given, stop: ["x"], stream: true });
    expect([model, stream, dropped]).toEqual(["some-model", true, []]);
    expect(options).toMatchObject({ ...given, stopSequences: ["x"] });
  });

  test("tell a model's cap where the client named none", () => {
    expect(sent({}, { maxOutputTokens: 77 }).options.maxOutputTokens).toBe(77);
    expect(sent({ maxOutputTokens: 5 }, { maxOutputTokens: 77 }).options.maxOutputTokens).toBe(5);
  });

  test.each([
    [{ type: "json_object" } as const, { type: "json" }, []],
    [
      { type: "json_schema", name: "a", schema: { type: "object" }, strict: true } as const,
      { type: "json", name: "a", schema: { type: "object" } },
      ["strict"],
    ],
  ])("have the answer's form %j", (responseFormat, told, dropped) => {
    const given = sent({ responseFormat });
    expect([given.options.responseFormat, given.dropped]).toEqual([told, dropped]);
  });
});

describe("tools", () => {
  const tool = (name: string): Tool => ({ type: "function", name, parameters: { type: "object", properties: {} } });
  const tools: Tool[] = [tool("a"), tool("b.c"), { type: "custom", name: "free" }];

  test("are functions, free text one of a text, under names everybody takes", () => {
    const { options } = sent({ tools, parallelToolCalls: false });
    expect(options.tools.map(({ name }: { name: string }) => name)).toEqual(["a", "b_x2e_c", "free"]);
    expect(options.tools[2].inputSchema).toMatchObject({ required: ["input"] });
    expect(sent({ tools, parallelToolCalls: false }).dropped).toEqual(["parallel_tool_calls"]);
  });

  test.each([
    [{ type: "required" } as const, { type: "required" }, 3],
    [{ type: "named", name: "b.c" } as const, { type: "tool", toolName: "b_x2e_c" }, 3],
    [{ type: "allowed", mode: "required", names: ["a"] } as const, { type: "required" }, 1],
  ])("are chosen by %j", (toolChoice, told, offered) => {
    const { options } = sent({ tools, toolChoice });
    expect([options.toolChoice, options.tools.length]).toEqual([told, offered]);
  });
});

describe("what cannot be told", () => {
  const file = { kind: "file", id: "f1", dialect: "openai-chat" } as const;
  const hosted: Tool = { type: "hosted", dialect: "openai-responses", path: "tools[0]", value: {} };

  test.each([
    [{ n: 2 }, ["n"]],
    [{ logprobs: { top: 1 } }, ["logprobs"]],
    [{ tools: [hosted], toolChoice: { type: "required" } as const }, ["tools[0]", "tool_choice"]],
    [{ messages: [said("user", { type: "image", source: file })] }, ["images"]],
    [{ messages: [said("assistant", { type: "image", source: PNG })] }, ["images"]],
    [{ messages: [said("user", { type: "document", source: file })] }, ["documents"]],
    [{ messages: [said("tool", result({ content: [{ type: "image", source: file }] }))] }, ["tool_result_images"]],
    [{ messages: [said("user", { type: "opaque", dialect: "x", path: "p", value: 1 })] }, ["p"]],
    [
      {
        foreign: [
          { path: "logit_bias", meaning: true },
          { path: "store", meaning: false },
        ],
      },
      ["logit_bias"],
    ],
    [{ messages: [said("user", { type: "image", source: PNG })], temperature: 2 }, []],
  ])("%j: %j", (given, fields) => {
    expect(lost(given)).toEqual(fields);
  });

  test("hints that find no place are dropped and told", () => {
    const { dropped } = sent({
      ...{ user: "u", metadata: { a: "b" }, serviceTier: "flex", verbosity: "low", promptCacheKey: "k" },
      ...{ reasoning: { effort: "low", budgetTokens: null, visible: null } },
      foreign: [{ path: "store", meaning: false }],
    });
    expect([...dropped].sort()).toEqual([
      ...["metadata", "prompt_cache_key", "reasoning", "service_tier", "store", "user", "verbosity"],
    ]);
    expect(sent({ serviceTier: "auto" }).dropped).toEqual([]);
  });
});
