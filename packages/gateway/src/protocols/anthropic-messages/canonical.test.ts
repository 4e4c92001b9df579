import { describe, expect, it } from "vitest";
import type { CanonicalRequest } from "../../core/message.ts";
import { anthropicCountTokens } from "../anthropic-count-tokens/index.ts";
import { toCanonical } from "./canonical.ts";
import { asked } from "./fixtures/calls.ts";

const NAME = "anthropic-messages";
const read = (extra: Record<string, unknown>, headers: Record<string, string> = {}): CanonicalRequest =>
  toCanonical(asked(extra, headers));
const blocksOf = (role: string, ...content: unknown[]) => read({ messages: [{ role, content }] }).messages[0]?.blocks;

describe("toCanonical", () => {
  it("reads plain fields", () => {
    const request = read({
      system: "be brief",
      temperature: 0.5,
      top_p: 0.9,
      top_k: 7,
      stop_sequences: ["END"],
      stream: true,
      metadata: { user_id: "u" },
      service_tier: "standard_only",
    });
    expect(request).toEqual({
      messages: [
        { role: "system", blocks: [{ type: "text", text: "be brief" }] },
        { role: "user", blocks: [{ type: "text", text: "hi" }] },
      ],
      tools: [],
      toolChoice: null,
      parallelToolCalls: null,
      responseFormat: null,
      maxOutputTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      frequencyPenalty: null,
      presencePenalty: null,
      seed: null,
      n: 1,
      logprobs: null,
      stop: ["END"],
      reasoning: null,
      user: "u",
      metadata: null,
      serviceTier: "default",
      verbosity: null,
      promptCacheKey: null,
      stream: true,
      foreign: [],
    });
  });

  it("keeps the boundaries and markers of system blocks", () => {
    const system = [
      { type: "text", text: "a" },
      { type: "text", text: "b", cache_control: { type: "ephemeral", ttl: "1h" } },
    ];
    expect(read({ system }).messages[0]).toEqual({
      role: "system",
      blocks: [
        { type: "text", text: "a" },
        { type: "text", text: "b", cache: { ttl: "1h" } },
      ],
    });
  });

  it("reads pictures and documents from wherever they are", () => {
    const source = (given: object) => ({ source: given });
    expect(
      blocksOf(
        "user",
        { type: "image", ...source({ type: "base64", media_type: "image/png", data: "QQ==" }) },
        { type: "image", ...source({ type: "url", url: "https://x" }), cache_control: { type: "ephemeral" } },
        { type: "image", ...source({ type: "file", file_id: "file_1" }) },
        { type: "image", ...source({ type: "hologram" }) },
        {
          type: "document",
          ...source({ type: "base64", media_type: "application/pdf", data: "QQ==" }),
          title: "T",
          context: "C",
          citations: { enabled: true },
        },
        { type: "document", ...source({ type: "text", media_type: "text/plain", data: "words" }) },
        { type: "document", ...source({ type: "url", url: "https://x/y.pdf" }) },
        {
          type: "document",
          ...source({
            type: "content",
            content: [
              { type: "text", text: "a" },
              { type: "image", source: { type: "url", url: "https://i" } },
              { type: "text", text: "b" },
            ],
          }),
        },
        { type: "search_result", source: "https://s", title: "S", content: [{ type: "text", text: "found" }] },
      ),
    ).toEqual([
      { type: "image", source: { kind: "base64", data: "QQ==", mediaType: "image/png" } },
      { type: "image", source: { kind: "url", url: "https://x", mediaType: null }, cache: { ttl: null } },
      { type: "image", source: { kind: "file", id: "file_1", dialect: NAME } },
      {
        type: "opaque",
        dialect: NAME,
        path: "messages[0].content[3]",
        value: { type: "image", source: { type: "hologram" } },
      },
      {
        type: "document",
        source: { kind: "base64", data: "QQ==", mediaType: "application/pdf" },
        title: "T",
        context: "C",
        citations: true,
      },
      { type: "document", source: { kind: "text", text: "words" } },
      { type: "document", source: { kind: "url", url: "https://x/y.pdf", mediaType: "application/pdf" } },
      { type: "document", source: { kind: "text", text: "a\n\nb" } },
      { type: "image", source: { kind: "url", url: "https://i", mediaType: null } },
      { type: "document", source: { kind: "text", text: "found" }, title: "S", context: "source: https://s" },
    ]);
  });

  it("puts results into a message of their own, before the rest of their turn, with the tool's name", () => {
    const messages = [
      { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: { a: 1 } }] },
      {
        role: "user",
        content: [
          { type: "text", text: "so" },
          {
            type: "tool_result",
            tool_use_id: "t1",
            content: "done",
            is_error: true,
            cache_control: { type: "ephemeral" },
          },
        ],
      },
    ];
    expect(read({ messages }).messages).toEqual([
      { role: "assistant", blocks: [{ type: "tool_call", id: "t1", name: "f", arguments: { a: 1 }, text: '{"a":1}' }] },
      {
        role: "tool",
        blocks: [
          {
            type: "tool_result",
            callId: "t1",
            name: "f",
            content: [{ type: "text", text: "done" }],
            isError: true,
            cache: { ttl: null },
          },
        ],
      },
      { role: "user", blocks: [{ type: "text", text: "so" }] },
    ]);
  });

  it("reads pictures, documents and references in results", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "QQ==" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "d" } },
      { type: "tool_reference", tool_name: "g" },
      { type: "novelty", x: 1 },
    ];
    const messages = [
      { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content }] },
    ];
    expect(read({ messages }).messages[1]?.blocks[0]).toMatchObject({
      content: [
        { type: "text", text: "a" },
        { type: "image", source: { kind: "base64" } },
        { type: "document", source: { kind: "text", text: "d" } },
        { type: "text", text: "tool g is available" },
        { type: "text", text: '{"type":"novelty","x":1}' },
      ],
    });
  });

  it("unwraps the proofs that other makers left with this client", () => {
    const thinking = (text: string, signature: string) => ({ type: "thinking", thinking: text, signature });
    expect(
      blocksOf(
        "assistant",
        thinking("mine", "c2ln"),
        thinking("", "c2ln"),
        { type: "redacted_thinking", data: "ZGF0YQ==" },
        thinking("theirs", "sg1.gemini-generate.text.g"),
        thinking("sum", "sg1.openai-responses.encrypted.r"),
        { type: "redacted_thinking", data: "sg1.openai-responses.encrypted.r2" },
        thinking("bare", "sg1.none.text.0"),
        thinking("", "sg1.none.text.0"),
        thinking("", "sg1.gemini-generate.call.c"),
        { type: "tool_use", id: "t1", name: "f", input: {} },
        { type: "tool_use", id: "t2", name: "f", input: { __raw_arguments: "{oops" } },
      ),
    ).toEqual([
      { type: "reasoning", text: "mine", signature: { dialect: NAME, value: "c2ln" } },
      { type: "reasoning", text: "", signature: { dialect: NAME, value: "c2ln" } },
      { type: "reasoning", text: "", encrypted: { dialect: NAME, value: "ZGF0YQ==" } },
      { type: "reasoning", text: "theirs", signature: { dialect: "gemini-generate", value: "g" } },
      { type: "reasoning", text: "sum", encrypted: { dialect: "openai-responses", value: "r" } },
      { type: "reasoning", text: "", encrypted: { dialect: "openai-responses", value: "r2" } },
      { type: "reasoning", text: "bare" },
      {
        type: "tool_call",
        id: "t1",
        name: "f",
        arguments: {},
        text: "{}",
        signature: { dialect: "gemini-generate", value: "c" },
      },
      { type: "tool_call", id: "t2", name: "f", text: "{oops" },
    ]);
  });

  it("keeps as opaque what only this dialect can say", () => {
    const block = { type: "server_tool_use", id: "s1", name: "web_search", input: {} };
    expect(blocksOf("assistant", block)).toEqual([
      { type: "opaque", dialect: NAME, path: "messages[0].content[0]", value: block },
    ]);
    const tool = { type: "web_search_20250305", name: "web_search" };
    expect(read({ tools: [tool] }).tools).toEqual([{ type: "hosted", dialect: NAME, path: "tools[0]", value: tool }]);
  });

  it("reads tools, and lists once what only hints at how to handle them", () => {
    const schema = { type: "object", properties: {} };
    const tools = [
      {
        name: "f",
        description: "d",
        input_schema: schema,
        strict: true,
        eager_input_streaming: true,
        cache_control: { type: "ephemeral" },
      },
      { type: "custom", name: "g", input_schema: schema, eager_input_streaming: true, defer_loading: true },
    ];
    const { tools: known, foreign } = read({ tools });
    expect(known).toEqual([
      { type: "function", name: "f", description: "d", parameters: schema, strict: true, cache: { ttl: null } },
      { type: "function", name: "g", parameters: schema },
    ]);
    expect(foreign).toEqual([
      { path: "tools.eager_input_streaming", meaning: false },
      { path: "tools.defer_loading", meaning: false },
    ]);
  });

  it.each<[unknown, unknown, boolean | null]>([
    [{ type: "auto" }, { type: "auto" }, null],
    [{ type: "any", disable_parallel_tool_use: true }, { type: "required" }, false],
    [{ type: "tool", name: "f", disable_parallel_tool_use: false }, { type: "named", name: "f" }, true],
    [{ type: "none" }, { type: "none" }, null],
    [undefined, null, null],
  ])("reads the choice %j (WIRE C3)", (given, choice, parallel) => {
    expect(read({ tool_choice: given })).toMatchObject({ toolChoice: choice, parallelToolCalls: parallel });
  });

  it.each<[Record<string, unknown>, unknown]>([
    [{ thinking: { type: "enabled", budget_tokens: 2_000 } }, { effort: null, budgetTokens: 2_000, visible: null }],
    [
      { thinking: { type: "enabled", budget_tokens: 2_000, display: "omitted" } },
      { effort: null, budgetTokens: 2_000, visible: false },
    ],
    [{ thinking: { type: "adaptive", display: "summarized" } }, { effort: null, budgetTokens: null, visible: true }],
    [
      { thinking: { type: "adaptive" }, output_config: { effort: "max" } },
      { effort: "max", budgetTokens: null, visible: null },
    ],
    [{ output_config: { effort: "low" } }, { effort: "low", budgetTokens: null, visible: null }],
    [
      { thinking: { type: "disabled" }, output_config: { effort: "low" } },
      { effort: "none", budgetTokens: null, visible: null },
    ],
    [{ output_config: {} }, null],
  ])("reads %j (WIRE C6)", (extra, reasoning) => {
    expect(read(extra).reasoning).toEqual(reasoning);
  });

  it("reads the answer's format where it stands and where the beta had it", () => {
    const format = { type: "json_schema", schema: { type: "object" } };
    const wanted = { type: "json_schema", name: "answer", schema: { type: "object" }, strict: true };
    expect(read({ output_config: { format } }).responseFormat).toEqual(wanted);
    expect(read({ output_format: format }).responseFormat).toEqual(wanted);
    expect(read({ output_config: { format: { type: "xml" } } })).toMatchObject({
      responseFormat: null,
      foreign: [{ path: "output_config.format", meaning: true }],
    });
  });

  it("tells meaning from hints in what has no place", () => {
    const { foreign } = read(
      {
        context_management: { edits: [] },
        mcp_servers: [{ url: "x" }],
        container: "c1",
        inference_geo: "eu",
        cache_control: { type: "ephemeral" },
        speed: "fast",
        output_config: { task_budget: { total: 1 } },
        metadata: { user_id: "u", team: "t" },
        unknown_of_2030: true,
        fallbacks: null,
        gateway: { agent: "a" },
      },
      { "anthropic-beta": "x" },
    );
    expect(foreign.filter(({ meaning }) => meaning).map(({ path }) => path)).toEqual([
      "mcp_servers",
      "container",
      "inference_geo",
    ]);
    expect(foreign.filter(({ meaning }) => !meaning).map(({ path }) => path)).toEqual([
      "metadata.team",
      "context_management",
      "cache_control",
      "speed",
      "unknown_of_2030",
      "output_config.task_budget",
      "anthropic-beta",
    ]);
    expect(read({ mcp_servers: [] }).foreign).toEqual([]);
  });

  it("reads instructions in the middle, and tools made available there", () => {
    const messages = [
      { role: "user", content: "hi" },
      {
        role: "system",
        content: [
          { type: "text", text: "note" },
          { type: "tool_addition", tool: {} },
        ],
      },
      { role: "narrator", content: "x" },
    ];
    const request = read({ messages });
    expect(request.messages[1]).toEqual({ role: "system", blocks: [{ type: "text", text: "note" }] });
    expect(request.foreign).toEqual([
      { path: "messages[1].content[1]", meaning: false },
      { path: "messages[2].role", meaning: true },
    ]);
  });

  it("offers the tools as they stand at the end, whatever turns added or withdrew", () => {
    const tool = (name: string, description: string) => ({ name, description, input_schema: { type: "object" } });
    const reference = (type: string, name: string) => ({ type, tool: { type: "tool_reference", name } });
    const defined = (definition: unknown) => ({ type: "tool_addition", tool: { type: "tool_definition", definition } });
    const turn = (...content: unknown[]) => ({ role: "system", content });
    const request = read({
      tools: [tool("a", "old"), tool("b", "b"), tool("c", "c"), { type: "web_search_20250305", name: "web_search" }],
      messages: [
        { role: "user", content: "hi" },
        turn(reference("tool_removal", "b"), reference("tool_removal", "c"), reference("tool_removal", "web_search")),
        turn(defined(tool("a", "new")), defined(tool("d", "d")), reference("tool_addition", "c")),
      ],
    });
    expect(request.tools.map((one) => one.type === "function" && [one.name, one.description])).toEqual([
      ["c", "c"],
      ["a", "new"],
      ["d", "d"],
    ]);
    expect(request.foreign).toEqual([]);
  });

  it("takes a body to be counted", () => {
    const raw = Buffer.from(
      JSON.stringify({
        model: "m",
        system: "s",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "a" },
              { type: "image", source: { type: "url", url: "https://x" } },
            ],
          },
          { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: { a: 1 } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "r" }] },
        ],
        tools: [{ name: "f", description: "d", input_schema: { type: "object" } }],
      }),
    );
    const call = anthropicCountTokens.decodeRequest({
      raw,
      header: (name) => (name === "content-type" ? "application/json" : undefined),
      path: { query: "beta=true" },
    });
    expect(call).toMatchObject({
      operation: "count_tokens",
      dialect: "anthropic-count-tokens",
      stream: false,
      maxOutputTokens: null,
    });
    expect(anthropicCountTokens.upstreamPath(call, "m")).toBe("/v1/messages/count_tokens?beta=true");
    expect(toCanonical(call)).toMatchObject({ maxOutputTokens: null, tools: [{ name: "f" }] });
    expect(toCanonical(call).messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
  });
});
