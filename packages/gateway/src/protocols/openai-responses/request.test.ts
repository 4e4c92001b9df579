import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import { inOnePiece } from "../../core/pieces.ts";
import { decoded, responsesCall, TARGET } from "./fixtures/calls.ts";
import { openaiResponses } from "./index.ts";

const TOKEN = "0123456789ab";
const OTHER = "ba9876543210";
const CALL = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };

describe("decodeRequest", () => {
  it("learns what routing and money look at", () => {
    const call = responsesCall({
      stream: true,
      max_output_tokens: 77,
      reasoning: { effort: "low" },
      tools: [{ type: "function", name: "f", parameters: null }],
      text: { format: { type: "json_schema", name: "n", schema: {} } },
      include: ["message.output_text.logprobs"],
      user: "u1",
      input: [
        { role: "user", content: [{ type: "input_image", image_url: `data:image/png;base64,${"A".repeat(4_000)}` }] },
        CALL,
        { ...CALL, call_id: "c2" },
        { type: "function_call_output", call_id: "c1", output: [{ type: "input_file", file_id: "f" }] },
      ],
    });
    expect(call).toMatchObject({
      alias: "default",
      stream: true,
      maxOutputTokens: 77,
      reasons: true,
      showsUsage: true,
    });
    expect(call).toMatchObject({ holdsToolResults: true, pinnedTo: null, platform: { user: "u1" } });
    expect([...call.needs].sort()).toEqual([
      "documents",
      "json_schema",
      "logprobs",
      "parallel_tools",
      "tools",
      "vision",
    ]);
    expect(call.inputTokensEstimate).toBeLessThan(400);
    expect(responsesCall({ reasoning: { effort: "none" } }).reasons).toBe(false);
  });

  it.each([
    ["input", { input: undefined }],
    ["input", { input: 7 }],
    ["input[0]", { input: ["x"] }],
    ["input[0].type", { input: [{ type: 3 }] }],
    ["input[0].role", { input: [{ content: "x" }] }],
    ["input[0].content", { input: [{ role: "user" }] }],
    [
      "input[0].content[1].text",
      { input: [{ role: "user", content: [{ type: "input_text", text: "" }, { type: "input_text" }] }] },
    ],
    ["input[0].call_id", { input: [{ type: "function_call", name: "f", arguments: "" }] }],
    ["input[0].arguments", { input: [{ ...CALL, arguments: {} }] }],
    ["input[1].output", { input: [CALL, { type: "function_call_output", call_id: "c1" }] }],
    ["input[0].id", { input: [{ type: "item_reference" }] }],
    ["max_output_tokens", { max_output_tokens: 1.5 }],
    ["store", { store: "yes" }],
    ["instructions", { instructions: ["x"] }],
    ["include", { include: "x" }],
    ["reasoning", { reasoning: "high" }],
    ["text.format", { text: { format: "json" } }],
    ["text.format.schema", { text: { format: { type: "json_schema", name: "n" } } }],
    ["text.format.name", { text: { format: { type: "json_schema", schema: {} } } }],
    ["tools", { tools: {} }],
    ["tools[0].type", { tools: [{}] }],
    ["tools[0].name", { tools: [{ type: "function", function: { name: "f" } }] }],
    ["tools[0].tools[0].name", { tools: [{ type: "namespace", name: "n", tools: [{ type: "function" }] }] }],
    ["input[0].tools[0].type", { input: [{ type: "additional_tools", tools: [{}] }] }],
    ["tool_choice", { tool_choice: 4 }],
    ["previous_response_id", { previous_response_id: 4 }],
  ])("refuses a wrong %s by its path", (param, body) => {
    expect(refusalOf(() => responsesCall(body))).toMatchObject({ code: "invalid_request", param });
  });

  it("takes what is not there: a conversation that lies at the provider", () => {
    expect(() => responsesCall({ input: undefined, previous_response_id: `resp_${TOKEN}_1` })).not.toThrow();
    expect(() => responsesCall({ input: undefined, prompt: { id: "pmpt_1" } })).not.toThrow();
  });
});

describe("ids of a deployment", () => {
  it("pin the call to it", () => {
    expect(responsesCall({ previous_response_id: `resp_${TOKEN}_1` }).pinnedTo).toBe(TOKEN);
    expect(responsesCall({ conversation: { id: `conv_${TOKEN}_1` } }).pinnedTo).toBe(TOKEN);
    expect(responsesCall({ input: [{ type: "item_reference", id: `rs_${TOKEN}_1` }] }).pinnedTo).toBe(TOKEN);
    const approval = { type: "mcp_approval_response", approval_request_id: `mcpr_${TOKEN}_1`, approve: true };
    expect(responsesCall({ input: [approval] }).pinnedTo).toBe(TOKEN);
    // An item that is there whole needs nobody's store.
    expect(responsesCall({ input: [{ ...CALL, id: `fc_${TOKEN}_1` }] }).pinnedTo).toBeNull();
  });

  it("are refused without a token, and where they belong to two", () => {
    expect(refusalOf(() => responsesCall({ previous_response_id: "resp_0a78" }))).toMatchObject({
      param: "previous_response_id",
    });
    const input = [{ type: "item_reference", id: `rs_${OTHER}_1` }];
    expect(refusalOf(() => responsesCall({ previous_response_id: `resp_${TOKEN}_1`, input }))).toMatchObject({
      param: "input[0].id",
    });
    const made = refusalOf(() => responsesCall({ input: [{ type: "item_reference", id: "msg_sg01abcx0" }] }));
    expect(made.message).toContain("store: false");
  });
});

describe("passRequest", () => {
  const pass = (raw: string): string => inOnePiece(openaiResponses.passRequest(decoded(raw), TARGET)).toString();

  it("changes the model and takes platform members out; every other byte stays", () => {
    expect(
      pass('{ "model" : "default", "input":"hé\\u00e9", "n":1.0, "gateway":{"agent":"a"}, "odd": [1, 2.50] }'),
    ).toBe('{ "model" : "gpt-x", "input":"hé\\u00e9", "n":1.0,"odd": [1, 2.50] }');
  });

  it("gives ids back as their provider knows them", () => {
    const raw = `{"model":"m","previous_response_id":"resp_${TOKEN}_1","conversation":{"id":"conv_${TOKEN}_2", "x":"é"},"input":[ {"type":"item_reference","id":"rs_${TOKEN}_3"}, {"role":"user","content":"id \\"msg_${TOKEN}_4\\" ü"}, {"type":"message","id":"item_${TOKEN}.odd id","role":"user","content":"x"} ]}`;
    expect(pass(raw)).toBe(
      `{"model":"gpt-x","previous_response_id":"resp_1","conversation":{"id":"conv_2", "x":"é"},"input":[{"type":"item_reference","id":"rs_3"},{"role":"user","content":"id \\"msg_${TOKEN}_4\\" ü"},{"type":"message","id":"odd id","role":"user","content":"x"}]}`,
    );
  });

  it("leaves out thoughts that another dialect's provider made", () => {
    const raw =
      '{"model":"m","input":[{"type":"reasoning","summary":[],"encrypted_content":"sg1.anthropic-messages.text.abc"},{"type":"reasoning","id":"rs_sg01x0","summary":[]},{"type":"reasoning","summary":[],"encrypted_content":"gAAA"},{"role":"user","content":"x"}]}';
    expect(pass(raw)).toBe(
      '{"model":"gpt-x","input":[{"type":"reasoning","summary":[],"encrypted_content":"gAAA"},{"role":"user","content":"x"}]}',
    );
  });

  it("gives sealed thoughts to the account that made them, and to no other", () => {
    const item = (sealed: string): string => `{"type":"reasoning","summary":[],"encrypted_content":"${sealed}"}`;
    const raw = `{"model":"m","input":[${item("sga.01234567.gAAA")},${item("sga.76543210.gBBB")},${item("gCCC")},{"type":"compaction","encrypted_content":"sga.76543210.gDDD"}]}`;
    const passed = inOnePiece(openaiResponses.passRequest(decoded(raw), { ...TARGET, account: "01234567" })).toString();
    expect(passed).toBe(
      `{"model":"gpt-x","input":[${item("gAAA")},${item("gCCC")},{"type":"compaction","encrypted_content":"gDDD"}]}`,
    );
  });
});
