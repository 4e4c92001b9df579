import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import { inOnePiece } from "../../core/pieces.ts";
import { asked, decoded, target } from "./fixtures/calls.ts";
import { betaPath, upstreamHeaders } from "./headers.ts";
import { passRequest } from "./request.ts";
import { UNPROVEN, UNSIGNED } from "./wire.ts";

const refused = (extra: Record<string, unknown>) => refusalOf(() => asked(extra));
const content = (...blocks: unknown[]) => ({ messages: [{ role: "user", content: blocks }] });
const called = (...results: unknown[]) => ({
  messages: [
    { role: "user", content: "go" },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] },
    { role: "user", content: results },
  ],
});

describe("decodeRequest", () => {
  it("reads what routing, money and the ledger need", () => {
    const call = asked({ stream: true, max_tokens: 50, metadata: { user_id: "u1" }, thinking: { type: "adaptive" } });
    expect(call).toMatchObject({
      dialect: "anthropic-messages",
      operation: "chat",
      alias: "default",
      stream: true,
      maxOutputTokens: 50,
      choices: 1,
      showsUsage: true,
      holdsToolResults: false,
      reasons: true,
      platform: { user: "u1" },
      dialectHeaders: {},
    });
    expect(asked()).toMatchObject({ stream: false, reasons: false, platform: {} });
    expect(asked({ thinking: { type: "disabled" } }).reasons).toBe(false);
    expect(asked({ output_config: { effort: "high" } }).reasons).toBe(true);
  });

  it("takes versions, betas and the session of Claude Code from the headers", () => {
    const call = asked(
      {},
      { "anthropic-version": "2023-06-01", "anthropic-beta": "a,b", "x-claude-code-session-id": "s1" },
    );
    expect(call.dialectHeaders).toEqual({ "anthropic-version": "2023-06-01", "anthropic-beta": "a,b" });
    expect(call.platform).toEqual({ session_id: "s1" });
  });

  it("knows what a request needs", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA".repeat(1_000) } };
    const seen = asked(content(image));
    expect([...seen.needs]).toEqual(["vision"]);
    expect(seen.inputTokensEstimate).toBeLessThan(100);
    const file = { type: "document", source: { type: "url", url: "https://x/y.pdf" } };
    expect([...asked(content(file)).needs]).toEqual(["documents"]);
    const format = { format: { type: "json_schema", schema: { type: "object" } } };
    expect([...asked({ output_config: format }).needs]).toEqual(["json_schema"]);
    expect([...asked({ output_format: format.format }).needs]).toEqual(["json_schema"]);
    expect([...asked({ tools: [{ name: "f", input_schema: {} }] }).needs]).toEqual(["tools"]);
    const two = [1, 2].map((n) => ({ type: "tool_use", id: `t${n}`, name: "f", input: {} }));
    const results = [1, 2].map((n) => ({ type: "tool_result", tool_use_id: `t${n}`, content: [image] }));
    const turns = asked({
      messages: [
        { role: "assistant", content: two },
        { role: "user", content: results },
      ],
    });
    expect([...turns.needs].sort()).toEqual(["parallel_tools", "vision"]);
    expect(turns.holdsToolResults).toBe(true);
  });

  describe("refuses a field of the wrong type by its path", () => {
    it.each<[string, Record<string, unknown>]>([
      ["model", { model: undefined }],
      ["max_tokens", { max_tokens: undefined }],
      ["max_tokens", { max_tokens: null }],
      ["max_tokens", { max_tokens: 1.5 }],
      ["max_tokens", { max_tokens: -1 }],
      ["max_tokens", { max_tokens: "100" }],
      ["messages", { messages: undefined }],
      ["messages", { messages: [] }],
      ["messages", { messages: "hi" }],
      ["messages[0]", { messages: ["hi"] }],
      ["messages[0].role", { messages: [{ content: "hi" }] }],
      ["messages[0].role", { messages: [{ role: 1, content: "hi" }] }],
      ["messages[0].content", { messages: [{ role: "user" }] }],
      ["messages[0].content", { messages: [{ role: "user", content: 5 }] }],
      ["messages[0].content[0]", content("hi")],
      ["messages[0].content[0].type", content({ text: "hi" })],
      ["messages[0].content[0].text", content({ type: "text" })],
      ["messages[0].content[0].source", content({ type: "image" })],
      ["messages[0].content[0].source.type", content({ type: "image", source: {} })],
      ["messages[0].content[0].source.data", content({ type: "image", source: { type: "base64", media_type: "x" } })],
      ["messages[0].content[0].source.url", content({ type: "image", source: { type: "url" } })],
      ["messages[0].content[0].source.file_id", content({ type: "document", source: { type: "file" } })],
      ["messages[0].content[0].source.data", content({ type: "document", source: { type: "text" } })],
      [
        "messages[0].content[0].source.content[0].text",
        content({ type: "document", source: { type: "content", content: [{ type: "text" }] } }),
      ],
      ["messages[0].content[0].thinking", content({ type: "thinking" })],
      ["messages[0].content[0].data", content({ type: "redacted_thinking" })],
      ["messages[0].content[0].id", content({ type: "tool_use", name: "f", input: {} })],
      ["messages[0].content[0].input", content({ type: "tool_use", id: "t", name: "f", input: "{}" })],
      ["messages[2].content[0].tool_use_id", called({ type: "tool_result" })],
      ["messages[2].content[0].tool_use_id", called({ type: "tool_result", tool_use_id: "t2" })],
      [
        "messages[2].content[0].content[0].text",
        called({ type: "tool_result", tool_use_id: "t1", content: [{ type: "text" }] }),
      ],
      ["system", { system: 5 }],
      ["system[0].text", { system: [{ type: "text" }] }],
      ["stream", { stream: "yes" }],
      ["temperature", { temperature: "1" }],
      ["top_k", { top_k: 1.5 }],
      ["thinking", { thinking: "on" }],
      ["thinking.type", { thinking: {} }],
      ["tool_choice.type", { tool_choice: {} }],
      ["stop_sequences", { stop_sequences: "x" }],
      ["stop_sequences", { stop_sequences: [1] }],
      ["tools", { tools: {} }],
      ["tools[0].name", { tools: [{ input_schema: {} }] }],
      ["tools[0].input_schema", { tools: [{ name: "f" }] }],
      ["output_config.format.schema", { output_config: { format: { type: "json_schema" } } }],
      ["metadata", { metadata: "u1" }],
    ])("%s of %j", (param, extra) => {
      expect(refused(extra)).toMatchObject({ code: "invalid_request", param });
    });
  });

  it("names a tool result's id that answers nothing, and says what a missing cap is", () => {
    expect(refused(called({ type: "tool_result", tool_use_id: "lost" })).message).toContain(
      '"lost" answers no tool call',
    );
    expect(refused({ max_tokens: undefined }).message).toMatch(/^max_tokens is missing; send /);
  });

  it("leaves roles, blocks, tools and fields that it does not know to the provider", () => {
    const odd = {
      messages: [{ role: "narrator", content: [{ type: "hologram", data: 1 }] }],
      tools: [{ type: "computer_20991231" }],
      tool_choice: { type: "telepathy" },
      speed: "fast",
    };
    expect(asked(odd).body).toMatchObject(odd);
  });
});

describe("passRequest", () => {
  const pass = (body: string): string => inOnePiece(passRequest(decoded(body), target("claude-x"))).toString();

  it("changes the model and takes out the platform's members, and no other byte", () => {
    const body =
      '{ "max_tokens":1.0e2 , "model" : "default","gateway":{"agent":"a"}, "messages":[{"role":"user","content":"\\u0068i"}],"new":1.50}';
    expect(pass(body)).toBe(
      '{ "max_tokens":1.0e2 , "model" : "claude-x","messages":[{"role":"user","content":"\\u0068i"}],"new":1.50}',
    );
  });

  it("takes out what another provider left in the history, and messages that held nothing else", () => {
    const messages = [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "mine", signature: "c2ln" },
          { type: "thinking", thinking: "", signature: "sg1.gemini-generate.call.x" },
          { type: "redacted_thinking", data: "sg1.openai-responses.encrypted.x" },
          { type: "text", text: "a", citations: [{ type: "web_search_result_location", encrypted_index: UNPROVEN }] },
        ],
      },
      { role: "user", content: "sg1. says the user" },
      { role: "assistant", content: [{ type: "thinking", thinking: "t", signature: UNSIGNED }] },
      { role: "user", content: "on" },
    ];
    const sent = JSON.parse(pass(JSON.stringify({ model: "default", max_tokens: 9, messages }))) as Record<
      string,
      unknown
    >;
    expect(sent["messages"]).toEqual([
      messages[0],
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "mine", signature: "c2ln" },
          { type: "text", text: "a" },
        ],
      },
      messages[2],
      messages[4],
    ]);
  });

  it("leaves a conversation that only talks of wrapped signatures as it is", () => {
    const body =
      '{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"text","text":"sg1.  x" }]}]}';
    expect(pass(body)).toBe(body.replace('"m"', '"claude-x"'));
  });
});

describe("upstream", () => {
  it("forwards versions and betas to the same dialect only", () => {
    const call = asked({}, { "anthropic-version": "2024-01-01", "anthropic-beta": "a,b" });
    expect(upstreamHeaders(call, true)).toEqual(["anthropic-version", "2024-01-01", "anthropic-beta", "a,b"]);
    expect(upstreamHeaders(call, false)).toEqual(["anthropic-version", "2023-06-01"]);
    expect(upstreamHeaders(asked(), true)).toEqual(["anthropic-version", "2023-06-01"]);
  });

  it("keeps the beta mark of the path and nothing else of the query", () => {
    const body = { model: "m", max_tokens: 1, messages: [{ role: "user", content: "hi" }] };
    const path = (query: string, dialect = "anthropic-messages"): string =>
      betaPath("/v1/messages", { ...decoded(body, {}, query), dialect });
    expect(path("beta=true")).toBe("/v1/messages?beta=true");
    expect(path("key=secret&beta=true")).toBe("/v1/messages?beta=true");
    expect(path("")).toBe("/v1/messages");
    expect(path("beta=true", "openai-chat")).toBe("/v1/messages");
  });
});
