import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { CanonicalRequest, Message } from "../../core/message.ts";
import { fromCanonical } from "./encode.ts";
import { type MODELS, request, target, toolLoop, user } from "./fixtures/requests.ts";
import { inexpressible } from "./inexpressible.ts";

type Model = keyof typeof MODELS;
// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies whose shape it is about to check
type Loose = any;

function encode(
  given: Partial<CanonicalRequest>,
  model: Model = "claude",
  modelMax: number | null = null,
): { body: Loose; dropped: string[] } {
  const { body, dropped } = fromCanonical(request(given), target(model, modelMax));
  return { body: JSON.parse(body.toString()), dropped };
}
const lost = (given: Partial<CanonicalRequest>, model: Model = "claude"): string[] =>
  inexpressible(request(given), target(model));
const tool = { type: "function", name: "f", parameters: { type: "object", properties: {} } } as const;
const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
const format = { type: "json_schema", name: "a", schema } as const;
const high = { effort: "high", budgetTokens: null, visible: null };

describe("messages", () => {
  it("are alternating turns, the user's first; instructions apart", () => {
    const messages: Message[] = [
      { role: "system", blocks: [{ type: "text", text: "be brief", cache: { ttl: "1h" } }] },
      { role: "assistant", blocks: [{ type: "text", text: "hello" }] },
      user("a"),
      { role: "system", blocks: [{ type: "text", text: "now" }] },
      user(" "),
      { role: "assistant", blocks: [{ type: "refusal", text: "no" }] },
    ];
    expect(encode({ messages }, "claude46").body).toEqual({
      system: [{ text: "be brief" }, { cachePoint: { type: "default", ttl: "1h" } }],
      messages: [
        { role: "user", content: [{ text: "." }] },
        { role: "assistant", content: [{ text: "hello" }] },
        { role: "user", content: [{ text: "a" }, { text: "<system>\nnow\n</system>" }] },
        { role: "assistant", content: [{ text: "no" }] },
        { role: "user", content: [{ text: "Continue." }] },
      ],
    });
  });

  it("hold results before words, under ids that Bedrock takes", () => {
    const [first, second, third] = toolLoop("call:1") as [Message, Message, Message];
    const failed = { ...third, blocks: third.blocks.map((block) => ({ ...block, isError: true })) } as Message;
    const { messages } = encode({ messages: [first, second, user("and"), failed] }).body;
    const { toolUseId } = messages[1].content[0].toolUse;
    expect(toolUseId).toMatch(/^tooluse_[0-9a-f]{24}$/);
    expect(messages[2].content).toEqual([
      { toolResult: { toolUseId, content: [{ text: "one" }], status: "error" } },
      { text: "and" },
    ]);
  });

  it("of which a result answers nothing, or a call is not answered, are refused by the id", () => {
    const [first, second, third] = toolLoop() as [Message, Message, Message];
    expect(refusalOf(() => encode({ messages: [first, third] })).message).toContain('"call_1"');
    expect(refusalOf(() => encode({ messages: [first, second, user("a")] })).message).toContain('"call_1"');
  });

  it("hold pictures and documents as bytes, each document by a name of its own", () => {
    const file = {
      type: "document",
      source: { kind: "base64", data: "aGk=", mediaType: "application/pdf" },
      title: "My_file.v2.pdf",
    } as const;
    const image = { type: "image", source: { kind: "base64", data: "aGk=", mediaType: "image/jpg" } } as const;
    const note = { type: "document", source: { kind: "text", text: "hi" }, context: "c", citations: true } as const;
    const { messages } = encode({ messages: [{ role: "user", blocks: [file, file, image, note] }] }).body;
    expect(messages[0].content).toEqual([
      { document: { format: "pdf", name: "My file v2", source: { bytes: "aGk=" } } },
      { document: { format: "pdf", name: "My file v2 (2)", source: { bytes: "aGk=" } } },
      { image: { format: "jpeg", source: { bytes: "aGk=" } } },
      {
        document: {
          format: "txt",
          name: "document",
          source: { bytes: "aGk=" },
          context: "c",
          citations: { enabled: true },
        },
      },
      { text: "." },
    ]);
  });

  it("give thoughts back to who made them alone", () => {
    const thoughts = (dialect: string): Message[] => [
      user("a"),
      {
        role: "assistant",
        blocks: [
          { type: "reasoning", text: "hm", signature: { dialect, value: "s" } },
          { type: "reasoning", text: "", encrypted: { dialect, value: "EtkE" } },
        ],
      },
      user("b"),
    ];
    const own = encode({ messages: thoughts("bedrock-converse") });
    expect(own.body.messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: "hm", signature: "s" } } },
      { reasoningContent: { redactedContent: "EtkE" } },
    ]);
    expect(own.dropped).toEqual([]);
    // Converse says Anthropic's words as bytes.
    const anthropic = encode({ messages: thoughts("anthropic-messages") });
    expect(anthropic.body.messages[1].content[1]).toEqual({ reasoningContent: { redactedContent: "RXRrRQ==" } });
    for (const [dialect, model] of [
      ["gemini-generate", "claude"],
      ["anthropic-messages", "nova"],
    ] as const) {
      const foreign = encode({ messages: thoughts(dialect) }, model);
      expect(foreign.dropped).toEqual(["reasoning_history"]);
      expect(JSON.stringify(foreign.body)).not.toContain("reasoningContent");
    }
  });

  it("mark at most four cache points, the last ones, where the model has them", () => {
    const blocks = Array.from({ length: 6 }, (_, i) => ({
      type: "text" as const,
      text: `t${i}`,
      cache: { ttl: "1h" as const },
    }));
    const { body, dropped } = encode({ messages: [{ role: "user", blocks }] });
    const points = body.messages[0].content.filter((block: Loose) => block.cachePoint);
    expect(points).toEqual(Array(4).fill({ cachePoint: { type: "default", ttl: "1h" } }));
    expect(body.messages[0].content.slice(0, 3)).toEqual([{ text: "t0" }, { text: "t1" }, { text: "t2" }]);
    expect(dropped).toEqual(["cache_control"]);
    expect(encode({ tools: [{ ...tool, cache: { ttl: null } }] }, "nova").dropped).toEqual(["cache_control"]);
    expect(encode({ messages: [{ role: "user", blocks }] }, "llama").body.messages[0].content).toHaveLength(6);
  });
});

describe("tools", () => {
  it.each([
    ["auto", { type: "auto" }, { auto: {} }],
    ["required", { type: "required" }, { any: {} }],
    ["named", { type: "named", name: "f" }, { tool: { name: "f" } }],
  ] as const)("may be chosen: %s", (_, toolChoice, wire) => {
    const { toolConfig } = encode({ tools: [tool], toolChoice }).body;
    expect(toolConfig).toEqual({
      tools: [{ toolSpec: { name: "f", inputSchema: { json: tool.parameters } } }],
      toolChoice: wire,
    });
  });

  it("may be a subset, or one of a model that can only be told to call any", () => {
    const tools = [tool, { ...tool, name: "g" }];
    const names = ({ body }: { body: Loose }): string[] => body.toolConfig.tools.map((one: Loose) => one.toolSpec.name);
    const allowed = encode({ tools, toolChoice: { type: "allowed", mode: "required", names: ["g"] } });
    expect([names(allowed), allowed.body.toolConfig.toolChoice]).toEqual([["g"], { any: {} }]);
    const named = encode({ tools, toolChoice: { type: "named", name: "g" } }, "mistral");
    expect([names(named), named.body.toolConfig.toolChoice]).toEqual([["g"], { any: {} }]);
    expect(lost({ tools, toolChoice: { type: "required" } }, "llama")).toEqual(["tool_choice"]);
  });

  it("that must not be called are left out, unless the history calls them", () => {
    expect(encode({ tools: [tool], toolChoice: { type: "none" } }).body.toolConfig).toBeUndefined();
    expect(lost({ tools: [tool], toolChoice: { type: "none" }, messages: toolLoop() })).toEqual(["tool_choice"]);
    // Without any tool there is nothing to choose from; Bedrock wants to know them all the same.
    expect(encode({ messages: toolLoop() }).body.toolConfig).toEqual({
      tools: [{ toolSpec: { name: "f", inputSchema: { json: { type: "object", properties: {} } } } }],
    });
  });

  it("have names of Bedrock's alphabet, or none", () => {
    expect(encode({ tools: [{ ...tool, name: "a.b" }] }).body.toolConfig.tools[0].toolSpec.name).toBe("a_x2e_b");
    expect(lost({ tools: [{ ...tool, name: "n".repeat(65) }] })).toEqual(["tools"]);
  });

  it("of free text are functions of one string", () => {
    const custom = { type: "custom", name: "c", format: { type: "grammar", syntax: "lark", definition: "x" } } as const;
    const { toolSpec } = encode({ tools: [custom] }).body.toolConfig.tools[0];
    expect(toolSpec.inputSchema.json.required).toEqual(["input"]);
    expect(toolSpec.description).toContain("lark");
  });

  it("are strict where Claude takes it, and called one at a time", () => {
    const strict = { ...tool, strict: true, parameters: schema };
    expect(encode({ tools: [strict] }).body.toolConfig.tools[0].toolSpec.strict).toBe(true);
    expect(encode({ tools: [strict] }, "nova").dropped).toEqual(["strict"]);
    const one = { tools: [tool], parallelToolCalls: false };
    expect(encode(one).body.additionalModelRequestFields).toEqual({
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
    });
    expect(encode(one, "nova").dropped).toEqual(["parallel_tool_calls"]);
  });
});

describe("an answer's form", () => {
  it("is a schema where the model has it", () => {
    for (const model of ["claude", "gptOss", "qwen", "profile"] as const) {
      const { jsonSchema } = encode({ responseFormat: format }, model).body.outputConfig.textFormat.structure;
      expect([jsonSchema.name, JSON.parse(jsonSchema.schema)]).toEqual(["a", schema]);
    }
  });

  it("is a forced tool where it has not, and nothing is lost by that", () => {
    for (const model of ["claude37", "nova"] as const) {
      const { body } = encode({ responseFormat: format }, model);
      expect(body.outputConfig).toBeUndefined();
      expect(body.toolConfig.toolChoice).toEqual({ tool: { name: "json_answer" } });
      expect(body.toolConfig.tools[0].toolSpec.inputSchema.json).toEqual(schema);
      expect(lost({ responseFormat: format, tools: [tool] }, model)).toEqual(["response_format"]);
      expect(lost({ responseFormat: { ...format, schema: { type: "array" } } }, model)).toEqual(["response_format"]);
    }
    expect(lost({ responseFormat: format }, "llama")).toEqual(["response_format"]);
    expect(lost({ responseFormat: { type: "json_object" } })).toEqual(["response_format"]);
  });
});

describe("sampling and the cap", () => {
  it("have their places", () => {
    const { body } = encode({ maxOutputTokens: 100, temperature: 0.5, topK: 3, stop: ["END"] });
    expect(body.inferenceConfig).toEqual({ maxTokens: 100, temperature: 0.5, stopSequences: ["END"] });
    expect(body.additionalModelRequestFields).toEqual({ top_k: 3 });
    expect(body.additionalModelResponseFieldPaths).toEqual(["/stop_sequence", "/delta/stop_sequence"]);
    expect(encode({ topK: 3 }, "nova").body.additionalModelRequestFields).toEqual({ inferenceConfig: { topK: 3 } });
    expect(encode({}).body.inferenceConfig).toBeUndefined();
    expect(encode({ maxOutputTokens: 100 }, "claude", 50).body.inferenceConfig).toEqual({ maxTokens: 50 });
  });

  it.each([
    [{ temperature: 1.5 }, "claude", ["temperature"]],
    [{ temperature: 0.5, topP: 0.5 }, "claude", ["top_p"]],
    [{ temperature: 0.5, topP: 0.5 }, "nova", []],
    [{ temperature: 0.5 }, "claude5", ["temperature"]],
    [{ topK: 3 }, "gptOss", ["top_k"]],
    [
      { seed: 1, n: 2, frequencyPenalty: 1, presencePenalty: 1, logprobs: { top: 0 } },
      "nova",
      ["seed", "frequency_penalty", "presence_penalty", "n", "logprobs"],
    ],
    [{ stop: ["\n"] }, "claude", ["stop"]],
    [{ stop: ["\n"] }, "nova", []],
    [{ foreign: [{ path: "modalities", meaning: true }] }, "nova", ["modalities"]],
  ] as const)("%j cannot be told to %s: %j", (given, model, fields) => {
    expect(lost(given as Partial<CanonicalRequest>, model)).toEqual(fields);
    expect(encode(given as Partial<CanonicalRequest>, model).dropped).toEqual(expect.arrayContaining([...fields]));
  });

  it("cannot be told of pictures elsewhere, sounds, or what only another dialect says", () => {
    const blocks: Message["blocks"] = [
      { type: "image", source: { kind: "url", url: "https://a.example/b.png", mediaType: null } },
      { type: "audio", source: { kind: "base64", data: "", mediaType: "audio/wav" } },
      { type: "document", source: { kind: "file", id: "f", dialect: "openai-chat" } },
      { type: "opaque", dialect: "anthropic-messages", path: "messages[0].content[3]", value: {} },
    ];
    expect(lost({ messages: [{ role: "user", blocks }] })).toEqual([
      "images",
      "audio",
      "documents",
      "messages[0].content[3]",
    ]);
  });
});

describe("reasoning", () => {
  it.each([
    [
      "claude37",
      { reasoning: { effort: null, budgetTokens: 2_000, visible: null }, maxOutputTokens: 4_000 },
      { thinking: { type: "enabled", budget_tokens: 2_000 } },
    ],
    ["claude46", { reasoning: high }, { thinking: { type: "adaptive" }, output_config: { effort: "high" } }],
    ["nova2", { reasoning: high }, { reasoningConfig: { type: "enabled", maxReasoningEffort: "high" } }],
    ["gptOss", { reasoning: { ...high, effort: "minimal" } }, { reasoning_effort: "low" }],
    ["gptOss", { reasoning: { effort: null, budgetTokens: 5_000, visible: null } }, { reasoning_effort: "medium" }],
    ["qwen", { reasoning: { ...high, effort: "max" } }, { reasoning_config: "high" }],
    ["claude5", { tools: [tool], toolChoice: { type: "required" } }, { thinking: { type: "disabled" } }],
  ] as const)("is asked of %s in its own words", (model, given, fields) => {
    const { body, dropped } = encode(given as Partial<CanonicalRequest>, model);
    expect(body.additionalModelRequestFields).toEqual(fields);
    expect(dropped).toEqual([]);
  });

  it.each([
    ["llama", { reasoning: high }],
    ["gptOss", { reasoning: { ...high, effort: "none" } }],
    ["claude37", { reasoning: high, temperature: 0.5 }],
    ["claude37", { reasoning: high, tools: [tool], toolChoice: { type: "required" } }],
    ["claude5", { reasoning: high, tools: [tool], toolChoice: { type: "required" } }],
    ["claude37", { reasoning: high, messages: toolLoop() }],
  ] as const)("is a hint that %s does without for %j", (model, given) => {
    expect(encode(given as Partial<CanonicalRequest>, model).dropped).toContain("reasoning");
  });

  it("leaves room for the answer", () => {
    const { body } = encode({ reasoning: high }, "claude37");
    const { maxTokens } = body.inferenceConfig;
    expect(body.additionalModelRequestFields.thinking.budget_tokens).toBeLessThan(maxTokens);
  });
});

describe("hints", () => {
  it("go where there is a place for them", () => {
    const { body, dropped } = encode({ metadata: { team: "a b" }, serviceTier: "flex" }, "nova");
    expect([body.requestMetadata, body.serviceTier, dropped]).toEqual([{ team: "a b" }, { type: "flex" }, []]);
    expect(encode({ metadata: { "tea;m": "x" }, serviceTier: "flex" }).dropped).toEqual(["service_tier", "metadata"]);
    expect(encode({ serviceTier: "auto" }).dropped).toEqual([]);
  });
});
