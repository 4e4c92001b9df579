import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Block, CanonicalRequest, Message, Tool } from "../../core/message.ts";
import { BUDGET_MODEL, canonical, encoded, target } from "./fixtures/calls.ts";
import { inexpressible } from "./inexpressible.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const user = (...blocks: Block[]): Message => ({ role: "user", blocks });
const assistant = (...blocks: Block[]): Message => ({ role: "assistant", blocks });
const call = (id: string, extra: object = {}): Block => ({
  type: "tool_call",
  id,
  name: "f",
  arguments: { a: 1 },
  text: '{"a":1}',
  ...extra,
});
const result = (callId: string, words = "ok", extra: object = {}): Block => ({
  type: "tool_result",
  callId,
  name: "f",
  content: words === "" ? [] : [{ type: "text", text: words }],
  isError: false,
  ...extra,
});
const f: Tool = { type: "function", name: "f", description: "does", parameters: { type: "object", properties: {} } };
const bodyOf = (extra: Partial<CanonicalRequest>, ...to: Parameters<typeof target>) =>
  encoded(canonical(extra), target(...to)).body;
const turns = (...messages: Message[]) => bodyOf({ messages })["messages"];
const wire = (words: string) => ({ type: "text", text: words });
const NEWEST = "claude-opus-4-8";

describe("messages", () => {
  it("puts leading instructions on top and later ones where they stand (WIRE C4)", () => {
    const system = (words: string): Message => ({ role: "system", blocks: [text(words)] });
    const body = bodyOf({ messages: [system("a"), system("b"), user(text("hi")), system("c"), user(text("there"))] });
    expect(body["system"]).toEqual([wire("a"), wire("b")]);
    expect(body["messages"]).toEqual([
      { role: "user", content: [wire("hi"), wire("<system>\nc\n</system>"), wire("there")] },
    ]);
  });

  it("alternates by merging, a user first, results before the rest of their turn", () => {
    expect(
      turns(
        assistant(text("hello")),
        user(text("go")),
        assistant(text("calling")),
        assistant(call("t1"), call("t2")),
        { role: "system", blocks: [text("note")] },
        { role: "tool", blocks: [result("t2")] },
        { role: "tool", blocks: [result("t1", "", { isError: true })] },
        user(text("and?")),
      ),
    ).toEqual([
      { role: "user", content: [wire(".")] },
      { role: "assistant", content: [wire("hello")] },
      { role: "user", content: [wire("go")] },
      {
        role: "assistant",
        content: [
          wire("calling"),
          { type: "tool_use", id: "t1", name: "f", input: { a: 1 } },
          { type: "tool_use", id: "t2", name: "f", input: { a: 1 } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t2", content: [wire("ok")] },
          { type: "tool_result", tool_use_id: "t1", is_error: true },
          wire("<system>\nnote\n</system>"),
          wire("and?"),
        ],
      },
    ]);
  });

  it("leaves out empty text and empty messages, and never sends none", () => {
    expect(turns(user(text("")), user(text(" \n")), user(text("hi")), assistant(text("")), user(text("you")))).toEqual([
      { role: "user", content: [wire("hi"), wire("you")] },
    ]);
    expect(turns({ role: "system", blocks: [text("only")] })).toEqual([{ role: "user", content: [wire(".")] }]);
  });

  it("lets a model go on from its own words where it can, and asks it to where it cannot", () => {
    const messages = [user(text("hi")), assistant(text("I am "))];
    expect(bodyOf({ messages })["messages"]).toEqual([
      { role: "user", content: [wire("hi")] },
      { role: "assistant", content: [wire("I am")] },
    ]);
    expect(bodyOf({ messages }, NEWEST)["messages"]).toEqual([
      { role: "user", content: [wire("hi")] },
      { role: "assistant", content: [wire("I am ")] },
      { role: "user", content: [wire("Continue.")] },
    ]);
  });

  it("maps ids that Anthropic refuses, keeps them unique, and answers calls in order", () => {
    const sent = turns(
      user(text("go")),
      assistant(call("a/b"), call("same"), call("same")),
      { role: "tool", blocks: [result("same", "1"), result("a/b", "2"), result("same", "3")] },
      assistant(call("same")),
      { role: "tool", blocks: [result("same", "4")] },
    ) as { content: { id?: string; tool_use_id?: string }[] }[];
    const ids = sent[1]?.content.map((block) => block.id);
    expect(ids).toEqual([expect.stringMatching(/^toolu_[0-9a-f]{24}$/), "same", "same_2"]);
    expect(sent[2]?.content.map((block) => block.tool_use_id)).toEqual(["same", ids?.[0], "same_2"]);
    expect(sent[3]?.content[0]?.id).toBe("same_3");
    expect(sent[4]?.content[0]?.tool_use_id).toBe("same_3");
  });

  it("refuses a result without a call and a call without a result, naming it", () => {
    const refused = (...messages: Message[]) => refusalOf(() => turns(...messages)).message;
    expect(refused(user(text("go")), { role: "tool", blocks: [result("lost")] })).toContain(
      '"lost" answers no tool call',
    );
    expect(refused(user(text("go")), assistant(call("t1")), user(text("well?")))).toContain('"t1" has no result');
    expect(refused(user(text("go")), assistant(call("t1")), user(text("?")), assistant(text("so")))).toContain('"t1"');
  });

  it("says arguments as objects, whatever they were", () => {
    const sent = (extra: object) => {
      const messages = turns(user(text("go")), assistant(call("t", extra)), { role: "tool", blocks: [result("t")] });
      return (messages as { content: { input: unknown }[] }[])[1]?.content[0]?.input;
    };
    expect(sent({ arguments: {}, text: "" })).toEqual({});
    expect(sent({ arguments: undefined, text: "{oops" })).toEqual({ __raw_arguments: "{oops" });
    expect(sent({ arguments: undefined, text: "free words", custom: true })).toEqual({ input: "free words" });
  });

  it("sends its own thoughts back as they were, and nobody else's", () => {
    const own = (value: string) => ({ dialect: "anthropic-messages", value });
    const foreign = { dialect: "gemini-generate", value: "x" };
    const { body, dropped } = encoded(
      canonical({
        messages: [
          user(text("go")),
          assistant(
            { type: "reasoning", text: "", signature: own("sig") },
            { type: "reasoning", text: "", encrypted: own("enc") },
            { type: "reasoning", text: "theirs", signature: foreign },
            { type: "reasoning", text: "unsigned" },
            call("t", { signature: foreign }),
          ),
          { role: "tool", blocks: [result("t")] },
        ],
      }),
    );
    expect((body["messages"] as { content: unknown[] }[])[1]?.content).toEqual([
      { type: "thinking", thinking: "", signature: "sig" },
      { type: "redacted_thinking", data: "enc" },
      { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
    ]);
    expect(dropped).toEqual(["reasoning_history"]);
  });

  it("keeps the last four cache markers", () => {
    const marked = (words: string): Block => ({ type: "text", text: words, cache: { ttl: "1h" } });
    const { body, dropped } = encoded(canonical({ messages: [user(..."abcdef".split("").map(marked))] }));
    const content = (body["messages"] as { content: object[] }[])[0]?.content ?? [];
    expect(content.map((block) => "cache_control" in block)).toEqual([false, false, true, true, true, true]);
    expect(content[5]).toEqual({ ...wire("f"), cache_control: { type: "ephemeral", ttl: "1h" } });
    expect(dropped).toEqual(["cache_control"]);
  });
});

describe("pictures and files (WIRE C5)", () => {
  const media = (type: "image" | "document", source: object): Block =>
    ({ type, source, title: "t" }) as unknown as Block;
  const base64 = (mediaType: string) => ({ kind: "base64", mediaType, data: "QUJD" });
  const lost = (block: Block) => inexpressible(canonical({ messages: [user(block)] }), target());
  const sent = (block: Block) =>
    (turns(user(block)) as { content: Record<string, unknown>[] }[])[0]?.content[0]?.["source"];

  it.each([
    [media("image", base64("image/png")), { type: "base64", media_type: "image/png", data: "QUJD" }],
    [media("image", base64("image/jpg")), { type: "base64", media_type: "image/jpeg", data: "QUJD" }],
    [media("image", { kind: "url", url: "https://x/y.png", mediaType: null }), { type: "url", url: "https://x/y.png" }],
    [
      media("image", { kind: "file", id: "file_1", dialect: "anthropic-messages" }),
      { type: "file", file_id: "file_1" },
    ],
    [media("document", base64("application/pdf")), { type: "base64", media_type: "application/pdf", data: "QUJD" }],
    [media("document", base64("text/plain; charset=utf-8")), { type: "text", media_type: "text/plain", data: "ABC" }],
    [media("document", { kind: "text", text: "ABC" }), { type: "text", media_type: "text/plain", data: "ABC" }],
  ])("says %j", (block, source) => {
    expect(lost(block)).toEqual([]);
    expect(sent(block)).toEqual(source);
  });

  it.each<[string, Block]>([
    ["images", media("image", base64("image/tiff"))],
    ["images", media("image", { kind: "file", id: "file-1", dialect: "openai-chat" })],
    ["documents", media("document", base64("application/msword"))],
    ["documents", media("document", { kind: "file", id: "file-1", dialect: "openai-responses" })],
    ["audio", { type: "audio", source: { kind: "base64", data: "", mediaType: "audio/wav" } }],
    [
      "messages[2].content[0]",
      { type: "opaque", dialect: "openai-responses", path: "messages[2].content[0]", value: {} },
    ],
  ])("cannot say %s", (field, block) => {
    expect(lost(block)).toEqual([field]);
    const { body, dropped } = encoded(canonical({ messages: [user(block, text("hi"))] }));
    expect(body["messages"]).toEqual([{ role: "user", content: [wire("hi")] }]);
    expect(dropped).toEqual([field]);
  });

  it("says pictures in results too", () => {
    const picture = { type: "image", source: base64("image/png") };
    const messages = [
      user(text("go")),
      assistant(call("t")),
      { role: "tool", blocks: [result("t", "", { content: [picture] })] },
    ];
    const sentTurns = turns(...(messages as Message[])) as { content: { content: unknown }[] }[];
    expect(sentTurns[2]?.content[0]?.content).toEqual([
      { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } },
    ]);
    const odd = [
      ...messages.slice(0, 2),
      { role: "tool", blocks: [result("t", "", { content: [{ ...picture, source: base64("image/bmp") }] })] },
    ];
    expect(inexpressible(canonical({ messages: odd as Message[] }), target())).toEqual(["tool_result_images"]);
  });
});

describe("tools (WIRE C3)", () => {
  const choice = (extra: Partial<CanonicalRequest>) => bodyOf({ tools: [f], ...extra })["tool_choice"];

  it.each<[Partial<CanonicalRequest>, unknown]>([
    [{}, undefined],
    [{ toolChoice: { type: "auto" } }, { type: "auto" }],
    [{ toolChoice: { type: "none" } }, { type: "none" }],
    [{ toolChoice: { type: "required" } }, { type: "any" }],
    [{ toolChoice: { type: "named", name: "f" } }, { type: "tool", name: "f" }],
    [{ toolChoice: { type: "allowed", mode: "required", names: ["f"] } }, { type: "any" }],
    [{ toolChoice: { type: "allowed", mode: "auto", names: ["f"] } }, { type: "auto" }],
    [{ parallelToolCalls: true }, undefined],
    [{ parallelToolCalls: false }, { type: "auto", disable_parallel_tool_use: true }],
    [
      { parallelToolCalls: false, toolChoice: { type: "required" } },
      { type: "any", disable_parallel_tool_use: true },
    ],
    [{ parallelToolCalls: false, toolChoice: { type: "none" } }, { type: "none" }],
  ])("chooses %j as %j", (extra, sent) => {
    expect(choice(extra)).toEqual(sent);
  });

  it("offers only what is allowed", () => {
    const g = { ...f, name: "g" };
    const body = bodyOf({ tools: [f, g], toolChoice: { type: "allowed", mode: "auto", names: ["g"] } });
    expect(body["tools"]).toEqual([
      { name: "g", description: "does", input_schema: f.type === "function" && f.parameters },
    ]);
    const nothing = canonical({ tools: [f], toolChoice: { type: "allowed", mode: "required", names: ["x"] } });
    expect(inexpressible(nothing, target())).toEqual(["tool_choice"]);
  });

  it("tells a free-text tool as a function of one string, its grammar in words", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: X" };
    const [tool] = bodyOf({ tools: [{ type: "custom", name: "patch", description: "Patches.", format }] })["tools"] as [
      object,
    ];
    expect(tool).toMatchObject({
      name: "patch",
      description: `Patches.\n\nThe input must be of this form: ${JSON.stringify(format)}`,
      input_schema: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
    });
  });

  it("writes names in Anthropic's alphabet, and cannot offer what does not fit or is another's", () => {
    const named = (name: string): Tool => ({ ...f, name }) as Tool;
    expect(bodyOf({ tools: [named("fs.read")] })["tools"]).toMatchObject([{ name: "fs_x2e_read" }]);
    const lost = (tool: Tool) => inexpressible(canonical({ tools: [tool] }), target());
    expect(lost(named("n".repeat(129)))).toEqual(["tools"]);
    expect(lost({ type: "function", name: "f", parameters: { type: "string" } })).toEqual(["tools"]);
    const hosted: Tool = {
      type: "hosted",
      dialect: "openai-responses",
      path: "tools[0]",
      value: { type: "web_search" },
    };
    expect(lost(hosted)).toEqual(["tools[0]"]);
    expect(bodyOf({ tools: [hosted] })["tools"]).toBeUndefined();
  });

  it("is strict only where the model and the schema allow it", () => {
    const closed = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };
    const strict = (parameters: object, model: string) => {
      const tool = { type: "function", name: "f", parameters, strict: true } as Tool;
      const { body, dropped } = encoded(canonical({ tools: [tool] }), target(model));
      return [(body["tools"] as { strict?: boolean }[])[0]?.strict, dropped];
    };
    expect(strict(closed, NEWEST)).toEqual([true, []]);
    expect(strict({ ...closed, properties: { a: { type: "string", maxLength: 3 } } }, NEWEST)).toEqual([
      undefined,
      ["strict"],
    ]);
    expect(strict(closed, BUDGET_MODEL)).toEqual([undefined, ["strict"]]);
  });

  it("makes tools known that the history calls and the request no longer has, and lets none be called", () => {
    const messages: Message[] = [user(text("go")), assistant(call("t")), { role: "tool", blocks: [result("t")] }];
    expect(bodyOf({ messages })).toMatchObject({
      tools: [{ name: "f", input_schema: { type: "object" } }],
      tool_choice: { type: "none" },
    });
  });
});

describe("output cap (WIRE C8)", () => {
  it.each([
    [100, null, 100],
    [100, 64_000, 100],
    [100_000, 64_000, 64_000],
    [null, 64_000, 64_000],
    [null, null, 8_192],
  ])("asked %s of a model with %s sends %s", (maxOutputTokens, most, sent) => {
    expect(bodyOf({ maxOutputTokens }, BUDGET_MODEL, most)["max_tokens"]).toBe(sent);
  });
});

describe("thinking (WIRE C6, A3.6)", () => {
  const reasoning = (effort: string | null, budgetTokens: number | null = null, visible: boolean | null = null) => ({
    reasoning: { effort, budgetTokens, visible },
  });
  const think = (extra: Partial<CanonicalRequest>, model = BUDGET_MODEL, most: number | null = null) => {
    const { body, dropped } = encoded(canonical({ maxOutputTokens: 10_000, ...extra }), target(model, most));
    return { thinking: body["thinking"], config: body["output_config"], max: body["max_tokens"], dropped };
  };
  const budget = (tokens: number) => ({ type: "enabled", budget_tokens: tokens });

  it.each<[Partial<CanonicalRequest>, unknown]>([
    [{}, undefined],
    [reasoning("minimal"), budget(1_024)],
    [reasoning("low"), budget(2_000)],
    [reasoning("medium"), budget(5_000)],
    [reasoning("high"), budget(8_000)],
    [reasoning("xhigh"), budget(9_500)],
    [reasoning("max"), budget(9_500)],
    [reasoning(null), budget(5_000)],
    [reasoning("low", 3_000), budget(3_000)],
    [reasoning(null, 50_000), budget(9_999)],
    [reasoning(null, 10), budget(1_024)],
    [reasoning("none"), { type: "disabled" }],
    [reasoning(null, 0), { type: "disabled" }],
  ])("a budget for %j", (extra, thinking) => {
    expect(think(extra)).toMatchObject({ thinking, max: 10_000, dropped: [] });
  });

  it("makes room for a budget only where nobody asked for a cap", () => {
    expect(think({ ...reasoning(null, 20_000), maxOutputTokens: null })).toMatchObject({
      thinking: budget(20_000),
      max: 28_192,
    });
    expect(think({ ...reasoning(null, 20_000), maxOutputTokens: null }, BUDGET_MODEL, 16_000)).toMatchObject({
      thinking: budget(15_999),
      max: 16_000,
    });
    expect(think({ ...reasoning("high"), maxOutputTokens: 1_000 })).toMatchObject({
      thinking: undefined,
      dropped: ["reasoning"],
    });
  });

  it.each<[string, Partial<CanonicalRequest>, unknown, string | undefined]>([
    ["claude-opus-4-6", reasoning("high"), { type: "adaptive" }, "high"],
    ["claude-opus-4-6", reasoning("xhigh"), { type: "adaptive" }, "high"],
    [NEWEST, reasoning("xhigh"), { type: "adaptive", display: "summarized" }, "xhigh"],
    [NEWEST, reasoning("minimal"), { type: "adaptive", display: "summarized" }, "low"],
    [NEWEST, reasoning("low", null, false), { type: "adaptive", display: "omitted" }, "low"],
    [NEWEST, reasoning(null), { type: "adaptive", display: "summarized" }, undefined],
    [NEWEST, reasoning(null, 2_048), { type: "adaptive", display: "summarized" }, "low"],
    [NEWEST, reasoning(null, 8_192), { type: "adaptive", display: "summarized" }, "medium"],
    [NEWEST, reasoning(null, 24_576), { type: "adaptive", display: "summarized" }, "high"],
    [NEWEST, reasoning(null, 24_577), { type: "adaptive", display: "summarized" }, "xhigh"],
    [NEWEST, reasoning("none"), { type: "disabled" }, undefined],
    ["claude-sonnet-5", reasoning("none"), { type: "disabled" }, undefined],
  ])("an effort for %s of %j", (model, extra, thinking, effort) => {
    expect(think(extra, model)).toMatchObject({ thinking, config: effort && { effort }, dropped: [] });
  });

  it("lists what a model cannot do", () => {
    expect(think(reasoning("none"), "claude-fable-5")).toMatchObject({
      thinking: undefined,
      config: { effort: "low" },
      dropped: ["reasoning"],
    });
    expect(think(reasoning("high"), "claude-3-5-sonnet-20241022")).toMatchObject({
      thinking: undefined,
      dropped: ["reasoning"],
    });
    expect(think(reasoning("none"), "claude-3-5-haiku-20241022")).toMatchObject({ thinking: undefined, dropped: [] });
    expect(think(reasoning("cosmic"), NEWEST)).toMatchObject({ dropped: ["reasoning"] });
  });

  it("gives way to what changes the answer", () => {
    const high = reasoning("high");
    const gone = { thinking: undefined, dropped: ["reasoning"] };
    expect(think({ ...high, temperature: 0.5 })).toMatchObject(gone);
    expect(think({ ...high, topK: 5 })).toMatchObject(gone);
    expect(think({ ...high, tools: [f], toolChoice: { type: "required" } })).toMatchObject(gone);
    expect(think({ ...high, messages: [user(text("hi")), assistant(text("I"))] })).toMatchObject(gone);
    const loop: Message[] = [user(text("go")), assistant(call("t")), { role: "tool", blocks: [result("t")] }];
    expect(think({ ...high, tools: [f], messages: loop })).toMatchObject(gone);
    const signed = { type: "reasoning", text: "t", signature: { dialect: "anthropic-messages", value: "s" } } as const;
    const thoughtful = [
      user(text("go")),
      assistant(signed, call("t")),
      { role: "tool", blocks: [result("t")] },
    ] as Message[];
    expect(think({ ...high, tools: [f], messages: thoughtful })).toMatchObject({
      thinking: budget(8_000),
      dropped: [],
    });
    // An effort does not ask for so much: it stays, with or without thoughts.
    expect(think({ ...high, tools: [f], messages: loop }, NEWEST)).toMatchObject({
      config: { effort: "high" },
      dropped: [],
    });
    expect(think({ ...high, temperature: 0.5 }, "claude-opus-4-6")).toMatchObject({
      ...gone,
      config: { effort: "high" },
    });
  });
});

describe("answer formats (WIRE C7)", () => {
  const schema = { type: "object", properties: { a: { type: "integer", minimum: 1 } } };
  const format = { type: "json_schema", name: "n", schema } as const;

  it("asks for a schema in the part of JSON Schema that Anthropic takes", () => {
    expect(bodyOf({ responseFormat: format }, NEWEST)["output_config"]).toEqual({
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: { a: { type: "integer", description: "{minimum: 1}" } },
          additionalProperties: false,
        },
      },
    });
  });

  it("cannot ask older models, nor for open objects, nor for JSON without a schema", () => {
    const lost = (responseFormat: CanonicalRequest["responseFormat"], model = NEWEST) =>
      inexpressible(canonical({ responseFormat }), target(model));
    expect(lost(format)).toEqual([]);
    expect(lost(format, BUDGET_MODEL)).toEqual(["response_format"]);
    expect(lost({ ...format, schema: { type: "object", additionalProperties: true } })).toEqual(["response_format"]);
    expect(lost({ type: "json_object" })).toEqual(["response_format"]);
    expect(encoded(canonical({ responseFormat: { type: "json_object" } })).dropped).toEqual(["response_format"]);
  });
});

describe("sampling and the rest (WIRE C8, ruling 17)", () => {
  const lost = (extra: Partial<CanonicalRequest>, model = BUDGET_MODEL) =>
    inexpressible(canonical(extra), target(model));

  it.each<[Partial<CanonicalRequest>, string[], string?]>([
    [{ temperature: 0 }, []],
    [{ temperature: 1.5 }, ["temperature"]],
    [{ temperature: 0.5 }, ["temperature"], NEWEST],
    [{ temperature: 1, topP: 1 }, [], NEWEST],
    [{ topP: 0.5 }, ["top_p"], NEWEST],
    [{ topK: 5 }, ["top_k"], NEWEST],
    [{ topK: 5, topP: 0.5, temperature: 0.5 }, []],
    [{ topP: 0.5, temperature: 0.5 }, ["top_p"], "claude-sonnet-4-5"],
    [{ topP: 0.5, temperature: 1 }, [], "claude-sonnet-4-5"],
    [{ seed: 1 }, ["seed"]],
    [{ frequencyPenalty: 0, presencePenalty: 0, n: 1 }, []],
    [{ frequencyPenalty: 0.1, presencePenalty: -0.1 }, ["frequency_penalty", "presence_penalty"]],
    [{ n: 2, logprobs: { top: 1 } }, ["n", "logprobs"]],
    [{ stop: ["END", ""] }, []],
    [{ stop: ["\n"] }, ["stop"]],
    [
      {
        foreign: [
          { path: "logit_bias", meaning: true },
          { path: "store", meaning: false },
        ],
      },
      ["logit_bias"],
    ],
  ])("%j lacks %j", (extra, fields, model) => {
    expect(lost(extra, model)).toEqual(fields);
    expect(encoded(canonical(extra), target(model)).dropped).toEqual(expect.arrayContaining(fields));
  });

  it("obeys what a deployment's server refuses", () => {
    const tools = canonical({ tools: [f] });
    expect(inexpressible(tools, target("m", null, { refuses: ["tools", "seed"] }))).toEqual(["tools"]);
    expect(encoded(tools, target("m", null, { refuses: ["tools"] })).body["tools"]).toBeUndefined();
  });

  it("sends what there is a place for and lists the rest", () => {
    const { body, dropped } = encoded(
      canonical({
        temperature: 0.5,
        topK: 3,
        stop: ["END", ""],
        user: "u-1",
        serviceTier: "default",
        metadata: { a: 1 },
        verbosity: "low",
        promptCacheKey: "k",
        stream: true,
        foreign: [{ path: "store", meaning: false }],
      }),
    );
    expect(body).toEqual({
      model: BUDGET_MODEL,
      max_tokens: 100,
      messages: [{ role: "user", content: [wire("hi")] }],
      temperature: 0.5,
      top_k: 3,
      stop_sequences: ["END"],
      metadata: { user_id: "u-1" },
      service_tier: "standard_only",
      stream: true,
    });
    expect(dropped.sort()).toEqual(["metadata", "prompt_cache_key", "store", "verbosity"]);
  });

  it("hashes a user that is a person's address, and knows tiers", () => {
    const userOf = (name: string) => (bodyOf({ user: name })["metadata"] as { user_id: string }).user_id;
    expect(userOf("a@example.com")).toMatch(/^[0-9a-f]{64}$/);
    expect(userOf("+49 170 1234567")).toMatch(/^[0-9a-f]{64}$/);
    expect(userOf("user_01:x.y-z")).toBe("user_01:x.y-z");
    expect(bodyOf({ serviceTier: "priority" })["service_tier"]).toBe("auto");
    expect(encoded(canonical({ serviceTier: "flex" }))).toMatchObject({ dropped: ["service_tier"] });
  });
});
