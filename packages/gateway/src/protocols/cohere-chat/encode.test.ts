import { describe, expect, test } from "vitest";
import type { Block, CanonicalRequest, Message } from "../../core/message.ts";
import { emptyRequest } from "../openai-chat/fixtures/request.ts";
import type { Target } from "../protocol.ts";
import { fromCanonical } from "./encode.ts";
import { inexpressible } from "./inexpressible.ts";

const TARGET: Target = {
  model: "command-a-03-2025",
  quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: true },
  maxOutputTokens: null,
};

function sent(more: Partial<CanonicalRequest>): { body: Record<string, unknown>; dropped: string[] } {
  const { body, dropped } = fromCanonical({ ...emptyRequest(), ...more }, TARGET);
  return { body: JSON.parse(body.toString("utf8")) as Record<string, unknown>, dropped };
}

const said = (role: Message["role"], ...blocks: Block[]): Message => ({ role, blocks });
const text = (words: string): Block => ({ type: "text", text: words });
const call = (id: string, signature?: { dialect: string; value: string }): Block => ({
  ...{ type: "tool_call", id, name: "f", arguments: {}, text: "" },
  ...(signature && { signature }),
});
const result = (callId: string, isError = false): Block => ({
  ...{ type: "tool_result", callId, name: "f", content: [{ type: "text", text: "no" }], isError },
});
const paper = (citations: boolean): Block => ({
  ...{ type: "document", title: "T", source: { kind: "text", text: "body" } },
  ...(citations && { citations }),
});

describe("a conversation in Cohere's form", () => {
  test("text beside calls is their plan; results answer in order, also under one id", () => {
    const messages = [
      said("user", text("go")),
      said("assistant", text("I will"), call("a"), call("a")),
      said("tool", result("a"), result("a", true)),
    ];
    const calls = ["a", "a_2"].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
    expect(sent({ messages }).body["messages"]).toEqual([
      { role: "user", content: "go" },
      { role: "assistant", tool_plan: "I will", tool_calls: calls },
      { role: "tool", tool_call_id: "a", content: "no" },
      { role: "tool", tool_call_id: "a_2", content: "Error: no" },
    ]);
  });

  test("a result of no call is refused by its id", () => {
    expect(() => sent({ messages: [said("tool", result("x"))] })).toThrow('the tool result for "x"');
  });

  test("thoughts nobody signed go back; another's are left out, and told", () => {
    const reasoning = (more: object): Block => ({ type: "reasoning", text: "hm", ...more }) as Block;
    const signature = { dialect: "anthropic-messages", value: "s" };
    const messages = [said("user", text("go")), said("assistant", reasoning({}), reasoning({ signature }), text("x"))];
    const { body, dropped } = sent({ messages });
    expect((body["messages"] as unknown[])[1]).toEqual({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "x" },
      ],
    });
    expect(dropped).toEqual(["reasoning_history"]);
  });

  test("documents to be cited stand beside it, others are words in it, and beside a form all of them are", () => {
    const messages = [said("user", paper(true), paper(false), text("?"))];
    const cited = sent({ messages });
    expect(cited.body["documents"]).toEqual([{ id: "doc:0", data: { title: "T", text: "body" } }]);
    const words = { type: "text", text: "T\n\nbody" };
    expect((cited.body["messages"] as unknown[])[0]).toEqual({
      ...{ role: "user", content: [words, { type: "text", text: "?" }] },
    });
    const formed = sent({ messages, responseFormat: { type: "json_object" } });
    expect([formed.body["documents"], formed.dropped]).toEqual([undefined, ["citations"]]);
  });

  test("nothing that says nothing is sent", () => {
    const messages = [said("user", text("go")), said("assistant", text("")), said("user", text(""), text("on"))];
    expect(sent({ messages }).body["messages"]).toEqual([
      { role: "user", content: "go" },
      { role: "user", content: "on" },
    ]);
  });
});

describe("what cannot be told", () => {
  const image: Block = { type: "image", source: { kind: "base64", data: "eA==", mediaType: "image/png" } };
  const pdf: Block = { type: "document", source: { kind: "base64", data: "eA==", mediaType: "application/pdf" } };
  const tool = { type: "function" as const, name: "f", parameters: null };

  test.each<[string, Partial<CanonicalRequest>, string[]]>([
    ["a picture of a user's", { messages: [said("user", image)] }, []],
    ["a picture of the model's", { messages: [said("assistant", image)] }, ["images"]],
    ["a PDF", { messages: [said("user", pdf)] }, ["documents"]],
    ["a tool that is not there", { tools: [tool], toolChoice: { type: "named", name: "g" } }, ["tool_choice"]],
    ["a form beside tools", { tools: [tool], responseFormat: { type: "json_object" } }, ["response_format"]],
    [
      "a form beside tools that rest",
      { tools: [tool], toolChoice: { type: "none" }, responseFormat: { type: "json_object" } },
      [],
    ],
    [
      "a list by a schema",
      { responseFormat: { type: "json_schema", name: "x", schema: { type: "array" } } },
      ["response_format"],
    ],
    ["a top_k over its bound", { topK: 501 }, ["top_k"]],
    ["a negative seed", { seed: -1 }, ["seed"]],
  ])("%s", (_, more, fields) => {
    const request = { ...emptyRequest(), ...more };
    expect(inexpressible(request)).toEqual(fields);
    const { dropped } = fromCanonical(request, TARGET);
    expect(dropped).toEqual(fields);
  });
});
