import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { geminiCall, targetModel } from "../../../test/support/gemini-calls.ts";
import { refusalOf } from "../../../test/support/thrown.ts";
import { canonicalRequest } from "../../core/fixtures/canonical-request.ts";
import type { Block, CanonicalRequest, Message, ToolChoice } from "../../core/message.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { toCanonical } from "./canonical.ts";
import { fromCanonical } from "./encode.ts";
import { inexpressible } from "./expressible.ts";

const own = (value: string): { dialect: string; value: string } => ({ dialect: "gemini-generate", value });
const call = (id: string, more: object = {}): Block => ({
  ...{ type: "tool_call" as const, id, name: "f", arguments: { a: 1 }, text: '{"a":1}' },
  ...more,
});
const result = (callId: string, words: string): Block => ({
  ...{ type: "tool_result" as const, callId, name: "f", content: [{ type: "text" as const, text: words }] },
  isError: false,
});

function bodyOf(given: Partial<CanonicalRequest>, model?: string): Fields {
  const value: unknown = JSON.parse(fromCanonical(canonicalRequest(given), targetModel(model)).body.toString("utf8"));
  if (!isObject(value)) throw new Error("no object");
  return value;
}

const contentsOf = (messages: Message[], model?: string): unknown => bodyOf({ messages }, model)["contents"];
const droppedOf = (given: Partial<CanonicalRequest>, model?: string): string[] =>
  fromCanonical(canonicalRequest(given), targetModel(model)).dropped;

describe("a canonical request as a Gemini body", () => {
  it("merges turns of one side, results first as they stand", () => {
    const contents = contentsOf([
      { role: "user", blocks: [{ type: "text", text: "go" }] },
      { role: "assistant", blocks: [call("c1", { signature: own("c2ln") }), call("c2")] },
      { role: "tool", blocks: [result("c1", "one")] },
      { role: "tool", blocks: [result("c2", "two")] },
      {
        role: "user",
        blocks: [
          { type: "text", text: "well?" },
          { type: "text", text: "" },
        ],
      },
    ]);
    expect(contents).toEqual([
      { role: "user", parts: [{ text: "go" }] },
      {
        role: "model",
        parts: [
          { functionCall: { id: "c1", name: "f", args: { a: 1 } }, thoughtSignature: "c2ln" },
          { functionCall: { id: "c2", name: "f", args: { a: 1 } } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "c1", name: "f", response: { output: "one" } } },
          { functionResponse: { id: "c2", name: "f", response: { output: "two" } } },
          { text: "well?" },
        ],
      },
    ]);
  });

  it("keeps leading system text apart and a later one in its place", () => {
    const body = bodyOf({
      messages: [
        { role: "system", blocks: [{ type: "text", text: "a" }] },
        { role: "system", blocks: [{ type: "text", text: "b" }] },
        { role: "user", blocks: [{ type: "text", text: "hi" }] },
        { role: "system", blocks: [{ type: "text", text: "c" }] },
      ],
    });
    expect(body["systemInstruction"]).toEqual({ parts: [{ text: "a" }, { text: "b" }] });
    expect(body["contents"]).toEqual([{ role: "user", parts: [{ text: "hi" }, { text: "<system>\nc\n</system>" }] }]);
  });

  it("begins with a turn of the user", () => {
    for (const messages of [
      [{ role: "assistant" as const, blocks: [{ type: "text" as const, text: "hello" }] }],
      [{ role: "system" as const, blocks: [{ type: "text" as const, text: "hello" }] }],
    ]) {
      expect((contentsOf(messages) as unknown[])[0]).toEqual({ role: "user", parts: [{ text: "." }] });
    }
  });

  it("signs for calls it never saw, for models that would refuse them", () => {
    const messages: Message[] = [
      { role: "user", blocks: [{ type: "text", text: "go" }] },
      { role: "assistant", blocks: [call("c1"), call("c2")] },
      { role: "tool", blocks: [result("c1", "one"), result("c2", "two")] },
    ];
    const first = (model: string): unknown => {
      const contents = contentsOf(messages, model) as { parts: Fields[] }[];
      return contents[1]?.parts.map((part) => part["thoughtSignature"]);
    };
    expect(first("gemini-3-pro-preview")).toEqual(["skip_thought_signature_validator", undefined]);
    expect(first("gemini-flash-latest")).toEqual(["skip_thought_signature_validator", undefined]);
    expect(first("gemini-2.5-flash")).toEqual([undefined, undefined]);
    expect(first("sim/echo")).toEqual([undefined, undefined]);
  });

  it("sends nobody's thoughts but Google's own", () => {
    const blocks: Block[] = [
      { type: "reasoning", text: "mine", signature: own("c2ln") },
      { type: "reasoning", text: "", signature: own("dGV4dA==") },
      { type: "reasoning", text: "theirs", signature: { dialect: "anthropic-messages", value: "x" } },
      { type: "reasoning", text: "unsigned" },
      { type: "text", text: "so" },
    ];
    const messages: Message[] = [
      { role: "user", blocks: [{ type: "text", text: "hi" }] },
      { role: "assistant", blocks },
    ];
    expect(contentsOf(messages)).toMatchObject([
      {},
      {
        parts: [
          { text: "mine", thought: true, thoughtSignature: "c2ln" },
          { text: "", thoughtSignature: "dGV4dA==" },
          { text: "so" },
        ],
      },
    ]);
    expect(droppedOf({ messages })).toEqual(["reasoning_history"]);
  });

  it("wraps arguments that are no object, and errors", () => {
    const messages: Message[] = [
      { role: "user", blocks: [{ type: "text", text: "go" }] },
      { role: "assistant", blocks: [{ type: "tool_call", id: "c", name: "f", text: "not json" }] },
      { role: "tool", blocks: [{ ...result("c", "broke"), isError: true } as Block] },
    ];
    expect(contentsOf(messages)).toMatchObject([
      {},
      { parts: [{ functionCall: { args: { __raw_arguments: "not json" } } }] },
      { parts: [{ functionResponse: { response: { error: "broke" } } }] },
    ]);
  });

  it("names the result that answers no call", () => {
    const messages: Message[] = [{ role: "tool", blocks: [{ ...result("lost", "x"), name: null } as Block] }];
    expect(refusalOf(() => bodyOf({ messages })).message).toMatch(/"lost" answers no tool call/);
  });

  it("makes a function of a free-text tool", () => {
    const tools: CanonicalRequest["tools"] = [
      {
        type: "custom",
        name: "patch",
        description: "Edit.",
        format: { type: "grammar", syntax: "lark", definition: "start: X" },
      },
    ];
    expect(bodyOf({ tools })["tools"]).toMatchObject([
      {
        functionDeclarations: [
          {
            name: "patch",
            description: "Edit.\n\nThe input must follow this lark grammar:\nstart: X",
            parametersJsonSchema: { required: ["input"] },
          },
        ],
      },
    ]);
  });

  it.each<[string, Partial<CanonicalRequest["reasoning"] & object>, unknown]>([
    ["gemini-2.5-flash", { effort: "low" }, { thinkingBudget: 1_024 }],
    ["gemini-2.5-flash", { effort: "none" }, { thinkingBudget: 0 }],
    ["gemini-2.5-pro", { effort: "none" }, { thinkingBudget: 128 }],
    ["gemini-2.5-flash", { effort: "max" }, { thinkingBudget: 24_576 }],
    ["gemini-2.5-flash", { budgetTokens: 100_000, visible: true }, { thinkingBudget: 24_576, includeThoughts: true }],
    ["gemini-2.5-flash-lite", { budgetTokens: 10 }, { thinkingBudget: 512 }],
    ["gemini-3-flash", { effort: "minimal" }, { thinkingLevel: "MINIMAL" }],
    ["gemini-3-pro-preview", { effort: "none" }, { thinkingLevel: "LOW" }],
    ["gemini-3-flash", { budgetTokens: 8_000 }, { thinkingLevel: "MEDIUM" }],
    ["gemini-3-flash", { effort: "xhigh" }, { thinkingLevel: "HIGH" }],
    ["gemini-3-flash", { visible: true }, { includeThoughts: true }],
    ["gemini-2.0-flash", { effort: "high" }, undefined],
    ["gemma-3-27b-it", { effort: "high" }, undefined],
  ])("%s thinks as %j asks", (model, wish, config) => {
    const reasoning = { effort: null, budgetTokens: null, visible: null, ...wish };
    const body = bodyOf({ reasoning }, model);
    expect((body["generationConfig"] as Fields | undefined)?.["thinkingConfig"]).toEqual(config);
    expect(droppedOf({ reasoning }, model)).toEqual(config === undefined ? ["reasoning"] : []);
  });

  it.each<[string, Partial<CanonicalRequest>, string[], string?]>([
    ["a wild temperature", { temperature: 2.5 }, ["temperature"]],
    ["six stops", { stop: ["1", "2", "3", "4", "5", "6"] }, ["stop"]],
    ["many answers", { n: 9 }, ["n"]],
    ["a long seed", { seed: 2 ** 40 }, ["seed"]],
    ["many log probabilities", { logprobs: { top: 21 } }, ["logprobs"]],
    [
      "a hosted tool of another",
      { tools: [{ type: "hosted", dialect: "openai-responses", path: "tools[0]", value: {} }] },
      ["tools[0]"],
    ],
    ["a field of another", { foreign: [{ path: "logit_bias", meaning: true }] }, ["logit_bias"]],
    [
      "an upload of another",
      {
        messages: [
          { role: "user", blocks: [{ type: "image", source: { kind: "file", id: "f", dialect: "openai-chat" } }] },
        ],
      },
      ["images"],
    ],
    [
      "a block of another",
      {
        messages: [
          { role: "user", blocks: [{ type: "opaque", dialect: "x", path: "messages[0].content[0]", value: {} }] },
        ],
      },
      ["messages[0].content[0]"],
    ],
    [
      "functions and a format at once, before 3",
      { responseFormat: { type: "json_object" }, tools: [{ type: "function", name: "f", parameters: null }] },
      ["response_format"],
      "gemini-2.5-flash",
    ],
  ])("cannot say %s, and leaves it out where it must", (_name, given, fields, model) => {
    const request = canonicalRequest(given);
    expect(inexpressible(request, targetModel(model))).toEqual(fields);
    const { body, dropped } = fromCanonical(request, targetModel(model));
    expect(dropped).toEqual(fields);
    expect(inexpressible(toCanonical(geminiCall(body)), targetModel(model))).toEqual([]);
  });

  it("lists the hints it has no word for", () => {
    expect(
      droppedOf({
        parallelToolCalls: false,
        metadata: { a: 1 },
        user: "u",
        verbosity: "low",
        promptCacheKey: "k",
        serviceTier: "scale",
        foreign: [{ path: "store", meaning: false }],
        messages: [
          {
            role: "user",
            name: "bo",
            blocks: [{ type: "text", text: "hi", cache: { ttl: null } }],
          },
        ],
      }),
    ).toEqual([
      ...["store", "parallel_tool_calls", "metadata", "user", "verbosity", "prompt_cache_key"],
      ...["name", "cache_control", "service_tier"],
    ]);
  });
});

const words = fc.string({ minLength: 1, maxLength: 12 });
const json = fc.dictionary(
  fc.string({ maxLength: 5 }).filter((key) => !/^__/.test(key)),
  fc.oneof(words, fc.integer(), fc.boolean()),
  {
    maxKeys: 3,
  },
);
const base64 = fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const choices: fc.Arbitrary<ToolChoice | null> = fc.oneof(
  fc.constant(null),
  fc.record({ type: fc.constantFrom("auto" as const, "none" as const, "required" as const) }),
  fc.record({ type: fc.constant("named" as const), name: fc.constant("f") }),
  fc.constant({ type: "allowed" as const, mode: "auto" as const, names: ["f"] }),
  fc.constant({ type: "allowed" as const, mode: "required" as const, names: ["f", "g"] }),
);
const userBlock: fc.Arbitrary<Block> = fc.oneof(
  words.map((text): Block => ({ type: "text", text })),
  base64.map((data): Block => ({ type: "image", source: { kind: "base64", data, mediaType: "image/png" } })),
  base64.map((data): Block => ({ type: "document", source: { kind: "base64", data, mediaType: "application/pdf" } })),
  base64.map((data): Block => ({ type: "audio", source: { kind: "base64", data, mediaType: "audio/wav" } })),
  fc.constant<Block>({
    type: "image",
    source: { kind: "url", url: "https://x.example/a.png", mediaType: "image/png" },
  }),
);
/** One step of an agent: what the model thought, said and called, and what the tools answered. */
const step = fc
  .tuple(
    fc.option(fc.tuple(words, base64)),
    fc.option(words),
    fc.array(fc.tuple(json, fc.option(base64), words, fc.boolean()), { maxLength: 3 }),
    fc.array(userBlock, { minLength: 1, maxLength: 3 }),
  )
  .map(([thought, said, calls, next], index): Message[] => [
    {
      role: "assistant",
      blocks: [
        ...(thought ? [{ type: "reasoning" as const, text: thought[0], signature: own(thought[1]) }] : []),
        { type: "text" as const, text: said ?? "-" },
        ...calls.map(
          ([args, signature], place): Block => ({
            ...{ type: "tool_call" as const, id: `c${index}-${place}-${JSON.stringify(args).length}`, name: "f" },
            ...{ arguments: args, text: JSON.stringify(args) },
            ...(signature !== null && { signature: own(signature) }),
          }),
        ),
      ],
    },
    ...(calls.length === 0
      ? []
      : [
          {
            role: "tool" as const,
            blocks: calls.map(
              ([args, , words], place): Block =>
                ({
                  ...result(`c${index}-${place}-${JSON.stringify(args).length}`, words),
                  isError: calls[place]?.[3] === true,
                }) as Block,
            ),
          },
        ]),
    { role: "user", blocks: next },
  ]);

describe("what Gemini can say", () => {
  it("comes back from its body as it was", () => {
    const request = fc.record({
      messages: fc
        .tuple(fc.array(userBlock, { minLength: 1, maxLength: 2 }), fc.array(step, { maxLength: 3 }), fc.option(words))
        .map(([first, steps, system]): Message[] => [
          ...(system === null ? [] : [{ role: "system" as const, blocks: [{ type: "text" as const, text: system }] }]),
          { role: "user", blocks: first },
          ...steps.flatMap((messages, at) => renumbered(messages, at)),
        ]),
      toolChoice: choices,
      temperature: fc.option(fc.constantFrom(0, 0.5, 2)),
      topP: fc.option(fc.constantFrom(0.1, 1)),
      topK: fc.option(fc.integer({ min: 1, max: 40 })),
      maxOutputTokens: fc.option(fc.integer({ min: 1, max: 9_999 })),
      seed: fc.option(fc.integer()),
      n: fc.integer({ min: 1, max: 8 }),
      stop: fc.array(words, { maxLength: 5 }),
      logprobs: fc.option(fc.record({ top: fc.integer({ min: 0, max: 20 }) })),
      reasoning: fc.option(
        fc.oneof(
          fc.record({
            effort: fc.constantFrom("minimal", "low", "high"),
            budgetTokens: fc.constant(null),
            visible: fc.option(fc.boolean()),
          }),
          fc.record({ effort: fc.constant(null), budgetTokens: fc.nat(9_999), visible: fc.option(fc.boolean()) }),
        ),
      ),
      serviceTier: fc.constantFrom(null, "flex", "priority"),
    });
    const tools: CanonicalRequest["tools"] = [
      {
        type: "function",
        name: "f",
        description: "F.",
        parameters: { type: "object", properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: { type: "integer" } } },
      },
      { type: "function", name: "g", parameters: null },
    ];
    fc.assert(
      fc.property(request, (given) => {
        const wanted = canonicalRequest({ ...given, tools } as Partial<CanonicalRequest>);
        const { body, dropped } = fromCanonical(wanted, targetModel("sim/echo"));
        expect(dropped).toEqual([]);
        expect(toCanonical(geminiCall(body))).toEqual(wanted);
      }),
      { numRuns: 200 },
    );
  });
});

/** Ids are unique in a conversation. */
function renumbered(messages: Message[], step: number): Message[] {
  const rename = (id: string): string => `${step}.${id}`;
  return messages.map((message) => ({
    ...message,
    blocks: message.blocks.map((block): Block => {
      if (block.type === "tool_call") return { ...block, id: rename(block.id) };
      return block.type === "tool_result" ? { ...block, callId: rename(block.callId) } : block;
    }),
  }));
}
