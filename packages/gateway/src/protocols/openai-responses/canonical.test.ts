import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Block, CanonicalRequest, Message, Tool } from "../../core/message.ts";
import { toCanonical } from "./canonical.ts";
import { fromCanonical, inexpressible } from "./encode.ts";
import { decoded, QUIRKS, responsesCall, TARGET } from "./fixtures/calls.ts";

const canonical = (body: Record<string, unknown>): CanonicalRequest => toCanonical(responsesCall(body));
const encoded = (request: CanonicalRequest) => {
  const { body, dropped } = fromCanonical(request, TARGET);
  return { body: JSON.parse(body.toString()), dropped };
};
const FUNCTION: Tool = { type: "function", name: "f", parameters: { type: "object", properties: {} } };

describe("toCanonical", () => {
  it("makes turns of items: what the assistant said in a row is one message, and so are results", () => {
    const { messages } = canonical({
      instructions: "be kind",
      input: [
        { role: "developer", content: "rules" },
        { role: "user", content: [{ type: "input_text", text: "hi" }] },
        {
          type: "reasoning",
          id: "rs_1",
          summary: [
            { type: "summary_text", text: "a" },
            { type: "summary_text", text: "b" },
          ],
          encrypted_content: "gAA",
        },
        {
          type: "message",
          role: "assistant",
          content: [
            { type: "output_text", text: "ok", annotations: [] },
            { type: "refusal", refusal: "no" },
          ],
        },
        { type: "function_call", call_id: "c1", name: "f", arguments: '{"a":1}' },
        { type: "custom_tool_call", call_id: "c2", name: "patch", input: "*** Begin" },
        { type: "function_call_output", call_id: "c1", output: "sunny" },
        {
          type: "custom_tool_call_output",
          call_id: "c2",
          output: [
            { type: "input_text", text: "done" },
            { type: "input_image", image_url: "https://x/y.png" },
          ],
        },
      ],
    });
    expect(messages).toEqual([
      { role: "system", blocks: [{ type: "text", text: "be kind" }] },
      { role: "system", blocks: [{ type: "text", text: "rules" }] },
      { role: "user", blocks: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        blocks: [
          { type: "reasoning", text: "a\n\nb", encrypted: { dialect: "openai-responses", value: "gAA" } },
          { type: "text", text: "ok" },
          { type: "refusal", text: "no" },
          { type: "tool_call", id: "c1", name: "f", arguments: { a: 1 }, text: '{"a":1}' },
          { type: "tool_call", id: "c2", name: "patch", text: "*** Begin", custom: true },
        ],
      },
      {
        role: "tool",
        blocks: [
          { type: "tool_result", callId: "c1", name: "f", content: [{ type: "text", text: "sunny" }], isError: false },
          {
            type: "tool_result",
            callId: "c2",
            name: "patch",
            content: [
              { type: "text", text: "done" },
              { type: "image", source: { kind: "url", url: "https://x/y.png", mediaType: null } },
            ],
            isError: false,
            custom: true,
          },
        ],
      },
    ]);
  });

  it.each([
    ["", { arguments: {} }],
    ["null", { arguments: {} }],
    ['{"a":', {}],
    ["[1]", {}],
  ])("reads the arguments %j", (text, expected) => {
    const call = canonical({ input: [{ type: "function_call", call_id: "c", name: "f", arguments: text }] }).messages[0]
      ?.blocks[0];
    expect(call).toEqual({ type: "tool_call", id: "c", name: "f", text, ...expected });
  });

  it("gives thoughts of other makers back to them", () => {
    const reasoning = (sealed: string) => ({
      type: "reasoning",
      summary: [{ type: "summary_text", text: "t" }],
      encrypted_content: sealed,
    });
    const { messages } = canonical({
      input: [
        reasoning("sg1.anthropic-messages.text.sig"),
        { type: "reasoning", summary: [], encrypted_content: "sg1.anthropic-messages.encrypted.red" },
        { type: "reasoning", summary: [], encrypted_content: "sg1.gemini-generate.call.thought" },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      ],
    });
    expect(messages[0]?.blocks).toEqual([
      { type: "reasoning", text: "t", signature: { dialect: "anthropic-messages", value: "sig" } },
      { type: "reasoning", text: "", encrypted: { dialect: "anthropic-messages", value: "red" } },
      {
        type: "tool_call",
        id: "c",
        name: "f",
        arguments: {},
        text: "{}",
        signature: { dialect: "gemini-generate", value: "thought" },
      },
    ]);
  });

  it("refuses a result that answers no call, unless the call may lie at the provider", () => {
    const input = [{ type: "function_call_output", call_id: "c9", output: "x" }];
    expect(refusalOf(() => canonical({ input }))).toMatchObject({ code: "invalid_request", param: "input[0].call_id" });
    expect(() => canonical({ input, previous_response_id: "resp_0123456789ab_1" })).not.toThrow();
  });

  it("names by path what only this dialect knows and what has meaning", () => {
    const meanings = (body: Record<string, unknown>): string[] =>
      canonical(body).foreign.flatMap(({ path, meaning }) => (meaning ? path : []));
    expect(
      meanings({
        store: true,
        background: true,
        prompt: { id: "p" },
        previous_response_id: "resp_0123456789ab_1",
      }).sort(),
    ).toEqual(["background", "previous_response_id", "prompt", "store"]);
    expect(
      meanings({
        store: false,
        background: false,
        truncation: "auto",
        max_tool_calls: 3,
        client_metadata: {},
        service_tier: "flex",
      }),
    ).toEqual([]);
    expect(meanings({ input: [{ type: "item_reference", id: "rs_0123456789ab_1" }] })).toEqual(["input[0]"]);
    expect(meanings({ tool_choice: { type: "mcp", server_label: "x" } })).toEqual(["tool_choice"]);
    expect(canonical({ input: [{ type: "compaction", encrypted_content: "x" }] }).messages[0]?.blocks).toEqual([
      {
        type: "opaque",
        dialect: "openai-responses",
        path: "input[0]",
        value: { type: "compaction", encrypted_content: "x" },
      },
    ]);
  });

  it("takes the hosted tools of agents for offers, and others for what they are", () => {
    const own = { type: "function", name: "shell", parameters: null };
    const offered = canonical({ tools: [own, { type: "web_search" }, { type: "tool_search" }] });
    expect(offered.tools.map(({ type }) => type)).toEqual(["function"]);
    expect(offered.foreign).toEqual([
      { path: "tools[1]", meaning: false },
      { path: "tools[2]", meaning: false },
    ]);
    for (const body of [
      { tools: [{ type: "web_search" }] },
      { tools: [own, { type: "web_search" }], tool_choice: { type: "web_search" } },
      { tools: [own, { type: "mcp", server_label: "x" }] },
    ]) {
      const { tools } = canonical(body);
      expect(tools.at(-1)).toMatchObject({ type: "hosted", dialect: "openai-responses" });
    }
  });

  it("is strict where the client says so, or says nothing of a schema that is", () => {
    const strict = (tool: object) => canonical({ tools: [{ type: "function", name: "f", ...tool }] }).tools[0];
    const closed = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    expect(strict({ parameters: closed })).toMatchObject({ strict: true });
    expect(strict({ parameters: { ...closed, required: [] } })).not.toHaveProperty("strict");
    expect(
      strict({ parameters: { ...closed, properties: { a: { type: "object", properties: {} } } } }),
    ).not.toHaveProperty("strict");
    expect(strict({ parameters: closed, strict: false })).toMatchObject({ strict: false });
  });

  it("flattens namespaces, in tools, choices and calls alike", () => {
    const request = canonical({
      tools: [
        {
          type: "namespace",
          name: "mcp__docs",
          tools: [{ type: "function", name: "find", parameters: null, strict: false }],
        },
      ],
      tool_choice: { type: "function", name: "find", namespace: "mcp__docs" },
      input: [{ type: "function_call", call_id: "c", name: "find", namespace: "mcp__docs", arguments: "{}" }],
    });
    expect(request.tools).toEqual([{ type: "function", name: "mcp__docs__find", parameters: null, strict: false }]);
    expect(request.toolChoice).toEqual({ type: "named", name: "mcp__docs__find" });
    expect(request.messages[0]?.blocks[0]).toMatchObject({ name: "mcp__docs__find" });
  });

  it("offers tools that items bring along, and of one told twice the later", () => {
    const tool = (name: string, extra = {}) => ({ type: "function", name, parameters: null, strict: false, ...extra });
    const { tools, messages, foreign } = canonical({
      tools: [tool("a", { description: "old" }), tool("b")],
      input: [
        {
          type: "additional_tools",
          role: "developer",
          tools: [
            tool("a", { description: "new" }),
            { type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }, tool("wait")] },
            { type: "web_search" },
          ],
        },
        { role: "user", content: "go" },
      ],
    });
    expect(tools).toEqual([
      tool("a", { description: "new" }),
      tool("b"),
      { type: "custom", name: "functions__exec" },
      tool("functions__wait"),
    ]);
    expect(messages).toEqual([{ role: "user", blocks: [{ type: "text", text: "go" }] }]);
    expect(foreign).toEqual([{ path: "input[0].tools[2]", meaning: false }]);
  });

  it("takes a search for tools that the client runs for a function, and what it found for tools", () => {
    const parameters = { type: "object", properties: { query: { type: "string" } } };
    const search = { type: "tool_search", execution: "client", description: "finds", parameters };
    const found = { type: "namespace", name: "agents", tools: [{ type: "function", name: "spawn", strict: false }] };
    const { tools, messages } = canonical({
      tools: [search],
      input: [
        { type: "tool_search_call", call_id: "s", execution: "client", arguments: { query: "x" } },
        { type: "tool_search_output", call_id: "s", execution: "client", status: "completed", tools: [found] },
      ],
    });
    expect(tools).toEqual([
      { type: "function", name: "tool_search", description: "finds", parameters },
      { type: "function", name: "agents__spawn", parameters: null, strict: false },
    ]);
    expect(messages.map(({ blocks }) => blocks)).toEqual([
      [{ type: "tool_call", id: "s", name: "tool_search", arguments: { query: "x" }, text: '{"query":"x"}' }],
      [
        {
          type: "tool_result",
          callId: "s",
          name: "tool_search",
          content: [{ type: "text", text: "Found these tools, now callable: agents__spawn" }],
          isError: false,
        },
      ],
    ]);
    expect(canonical({ tools: [FUNCTION, { type: "tool_search" }] }).foreign).toEqual([
      { path: "tools[1]", meaning: false },
    ]);
  });

  it.each([
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "required" }],
    [
      { type: "function", name: "f" },
      { type: "named", name: "f" },
    ],
    [
      { type: "custom", name: "p" },
      { type: "named", name: "p" },
    ],
    [
      { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "f" }, { type: "web_search" }] },
      { type: "allowed", mode: "required", names: ["f"] },
    ],
  ])("reads tool_choice %j (WIRE C3)", (given, expected) => {
    expect(canonical({ tool_choice: given }).toolChoice).toEqual(expected);
  });

  it.each([
    [{ effort: "high" }, { effort: "high", budgetTokens: null, visible: null }],
    [
      { effort: null, summary: "auto" },
      { effort: null, budgetTokens: null, visible: true },
    ],
    [{}, null],
  ])("reads reasoning %j", (given, expected) => {
    expect(canonical({ reasoning: given }).reasoning).toEqual(expected);
  });
});

const empty = canonical({ input: [] });
const asked = (part: Partial<CanonicalRequest>): CanonicalRequest => ({ ...empty, ...part });
const user = (...blocks: Block[]): Message[] => [{ role: "user", blocks }];

describe("fromCanonical", () => {
  it.each([
    ["stop", { stop: ["x"] }],
    ["n", { n: 2 }],
    ["top_k", { topK: 3 }],
    ["seed", { seed: 3 }],
    ["frequency_penalty", { frequencyPenalty: 1 }],
    ["presence_penalty", { presencePenalty: 1 }],
    ["audio", { messages: user({ type: "audio", source: { kind: "base64", data: "", mediaType: "audio/wav" } }) }],
    ["images", { messages: user({ type: "image", source: { kind: "file", id: "f", dialect: "anthropic-messages" } }) }],
    [
      "documents",
      { messages: user({ type: "document", source: { kind: "file", id: "f", dialect: "gemini-generate" } }) },
    ],
    ["messages[0].x", { messages: user({ type: "opaque", dialect: "other", path: "messages[0].x", value: 1 }) }],
    ["tools[1]", { tools: [{ type: "hosted", dialect: "other", path: "tools[1]", value: 1 }] as Tool[] }],
    ["logit_bias", { foreign: [{ path: "logit_bias", meaning: true }] }],
  ])("cannot say %s, and lists it where it is dropped", (field, part: Partial<CanonicalRequest>) => {
    expect(inexpressible(asked(part), TARGET)).toEqual([field]);
    expect(encoded(asked(part)).dropped).toContain(field);
  });

  it("leaves out what one upstream refuses", () => {
    const target = { ...TARGET, quirks: { ...QUIRKS, refuses: ["temperature" as const] } };
    expect(inexpressible(asked({ temperature: 1 }), target)).toEqual(["temperature"]);
    expect(JSON.parse(fromCanonical(asked({ temperature: 1 }), target).body.toString())).not.toHaveProperty(
      "temperature",
    );
  });

  it("keeps nothing at the provider and says strictness aloud", () => {
    const { body } = encoded(asked({ tools: [FUNCTION], stream: true, toolChoice: { type: "named", name: "f" } }));
    expect(body).toMatchObject({
      store: false,
      stream: true,
      tools: [{ strict: false }],
      tool_choice: { type: "function", name: "f" },
    });
  });

  it.each([
    [{ effort: null, budgetTokens: 1_024, visible: null }, { effort: "low" }],
    [
      { effort: null, budgetTokens: 8_000, visible: true },
      { effort: "medium", summary: "auto" },
    ],
    [{ effort: null, budgetTokens: 20_000, visible: null }, { effort: "high" }],
    [{ effort: null, budgetTokens: 64_000, visible: null }, { effort: "xhigh" }],
    [{ effort: null, budgetTokens: 0, visible: true }, { effort: "none" }],
    [{ effort: "minimal", budgetTokens: 9, visible: false }, { effort: "minimal" }],
  ])("says reasoning %j (WIRE C6)", (reasoning, expected) => {
    const { body } = encoded(asked({ reasoning }));
    expect(body.reasoning).toEqual(expected);
    expect(body.include).toEqual(expected.effort === "none" ? undefined : ["reasoning.encrypted_content"]);
  });

  it("leaves thoughts of other makers out, and hints that do not fit", () => {
    const { body, dropped } = encoded(
      asked({
        messages: [
          { role: "user", name: "bob", blocks: [{ type: "text", text: "hi", cache: { ttl: null } }] },
          {
            role: "assistant",
            blocks: [
              { type: "reasoning", text: "t", signature: { dialect: "anthropic-messages", value: "s" } },
              { type: "text", text: "a" },
            ],
          },
        ],
        serviceTier: "standard_only",
        metadata: { a: 1 },
        user: "u".repeat(100),
      }),
    );
    expect(dropped.sort()).toEqual(["cache_control", "metadata", "name", "reasoning_history", "service_tier"]);
    expect(body.input).toHaveLength(2);
    expect(body.user).toHaveLength(64);
  });

  it("marks an error, inlines a text document, and shortens long call ids alike", () => {
    const id = "x".repeat(80);
    const { body } = encoded(
      asked({
        messages: [
          { role: "assistant", blocks: [{ type: "tool_call", id, name: "f", arguments: {}, text: "" }] },
          {
            role: "tool",
            blocks: [
              { type: "tool_result", callId: id, name: "f", content: [{ type: "text", text: "no" }], isError: true },
            ],
          },
          ...user({ type: "document", source: { kind: "text", text: "body" }, title: "T" }),
        ],
      }),
    );
    expect(body.input[0]).toMatchObject({ arguments: "{}" });
    expect(body.input[0].call_id).toBe(body.input[1].call_id);
    expect(body.input[1].output).toBe("Error: no");
    expect(body.input[2].content).toBe("T\n\nbody");
  });
});

const text = fc.record({ type: fc.constant("text" as const), text: fc.string() });
const image = fc.record({
  type: fc.constant("image" as const),
  source: fc.oneof(
    fc.record({ kind: fc.constant("url" as const), url: fc.webUrl(), mediaType: fc.constant(null) }),
    fc.record({
      kind: fc.constant("base64" as const),
      data: fc.base64String({ minLength: 4 }),
      mediaType: fc.constantFrom("image/png", "image/webp"),
    }),
    fc.record({
      kind: fc.constant("file" as const),
      id: fc.stringMatching(/^file-[a-z]{3}$/),
      dialect: fc.constant("openai-responses"),
    }),
  ),
});
const document = fc.record({
  type: fc.constant("document" as const),
  source: fc.record({
    kind: fc.constant("base64" as const),
    data: fc.base64String({ minLength: 4 }),
    mediaType: fc.constant("application/pdf"),
  }),
  title: fc.stringMatching(/^[a-z]{1,8}\.pdf$/),
});
const name = fc
  .stringMatching(/^[a-zA-Z0-9_-]{1,20}$/)
  // What reads as a character that was replaced is written otherwise (tool-names.ts).
  .filter((word) => !/_x[0-9a-f]{1,6}(?![a-zA-Z0-9-])/.test(word));
const call = (id: string): fc.Arbitrary<Block> =>
  fc.oneof(
    fc.tuple(name, fc.dictionary(fc.string(), fc.jsonValue())).map(([toolName, args]): Block => {
      const json = JSON.stringify(args);
      return { type: "tool_call", id, name: toolName, arguments: JSON.parse(json), text: json };
    }),
    fc
      .tuple(name, fc.string())
      .map(([toolName, input]): Block => ({ type: "tool_call", id, name: toolName, text: input, custom: true })),
  );
const said: fc.Arbitrary<Block> = fc.oneof(
  text,
  fc.record({ type: fc.constant("refusal" as const), text: fc.string({ minLength: 1 }) }),
  fc.string().map(
    (thought): Block => ({
      type: "reasoning",
      text: thought,
      encrypted: { dialect: "openai-responses", value: "gAAA" },
    }),
  ),
);
const turn = fc.nat().chain((seed): fc.Arbitrary<Message[]> => {
  const ids = [`c${seed}a`, `c${seed}b`];
  return fc
    .tuple(
      fc.array(fc.oneof(text, image, document), { minLength: 1, maxLength: 3 }),
      fc.array(said, { minLength: 1, maxLength: 3 }),
      fc.tuple(...ids.map(call)),
      fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 2 }),
    )
    .map(([asks, answers, calls, result]): Message[] => [
      { role: "system", blocks: [{ type: "text", text: "s" }] },
      { role: "user", blocks: asks },
      { role: "assistant", blocks: [...answers, ...calls] },
      {
        role: "tool",
        blocks: calls.map((block): Block => {
          if (block.type !== "tool_call") throw new Error("no call");
          const { id, name: tool, custom } = block;
          return {
            type: "tool_result",
            callId: id,
            name: tool,
            content: result,
            isError: false,
            ...(custom && { custom }),
          };
        }),
      },
    ]);
});
const request = fc.record({
  messages: fc.array(turn, { minLength: 1, maxLength: 2 }).map((turns) => turns.flat()),
  tools: fc.constantFrom<Tool[]>(
    [],
    [
      { ...FUNCTION, strict: true },
      { type: "custom", name: "p", format: { type: "text" } },
    ],
  ),
  responseFormat: fc.constantFrom<CanonicalRequest["responseFormat"]>(
    null,
    { type: "json_object" },
    { type: "json_schema", name: "n", schema: { type: "object" }, strict: true },
  ),
  maxOutputTokens: fc.option(fc.integer({ min: 1, max: 9_000 })),
  temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true })),
  topP: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
  logprobs: fc.constantFrom(null, { top: 0 }, { top: 5 }),
  reasoning: fc.constantFrom<CanonicalRequest["reasoning"]>(null, {
    effort: "high",
    budgetTokens: null,
    visible: true,
  }),
  user: fc.constantFrom(null, "u1"),
  metadata: fc.constantFrom(null, { a: "b" }),
  serviceTier: fc.constantFrom(null, "flex"),
  verbosity: fc.constantFrom(null, "low"),
  promptCacheKey: fc.constantFrom(null, "k"),
  stream: fc.boolean(),
});

it("a canonical request comes back as it was, whatever of it the dialect can say", () => {
  fc.assert(
    fc.property(request, (part) => {
      const whole = asked({
        ...part,
        ...(part.tools.length > 0 && { toolChoice: { type: "named", name: "p" }, parallelToolCalls: false }),
      });
      expect(inexpressible(whole, TARGET)).toEqual([]);
      const { body, dropped } = fromCanonical(whole, TARGET);
      expect(dropped).toEqual([]);
      expect(toCanonical(decoded(body))).toEqual(whole);
    }),
    { numRuns: 200 },
  );
});
