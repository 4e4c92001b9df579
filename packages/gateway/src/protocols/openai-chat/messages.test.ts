import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import { readMessages } from "./messages.ts";

const user = { role: "user", content: "hi" };
const calling = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
});
const result = (id: unknown) => ({ role: "tool", tool_call_id: id, content: "done" });
const asks = (part: unknown) => [{ role: "user", content: [{ type: "text", text: "see" }, part] }];

describe("readMessages refuses by path", () => {
  it.each<[string, unknown]>([
    ["messages", undefined],
    ["messages", null],
    ["messages", []],
    ["messages", {}],
    ["messages", "hi"],
    ["messages[0]", ["hi"]],
    ["messages[1]", [user, null]],
    ["messages[0].role", [{ content: "hi" }]],
    ["messages[0].role", [{ role: null, content: "hi" }]],
    ["messages[0].role", [{ role: 7, content: "hi" }]],
    ["messages[0].content", [{ role: "user" }]],
    ["messages[0].content", [{ role: "system", content: null }]],
    ["messages[0].content", [{ role: "user", content: 7 }]],
    ["messages[0].content", [{ role: "user", content: { type: "text" } }]],
    ["messages[0].content[0]", [{ role: "user", content: ["hi"] }]],
    ["messages[0].content[0].type", [{ role: "user", content: [{ text: "hi" }] }]],
    ["messages[0].content[1].text", asks({ type: "text" })],
    ["messages[0].content[1].text", asks({ type: "text", text: 7 })],
    ["messages[0].content[1].image_url.url", asks({ type: "image_url" })],
    ["messages[0].content[1].image_url.url", asks({ type: "image_url", image_url: {} })],
    ["messages[0].content[1].input_audio.data", asks({ type: "input_audio", input_audio: {} })],
    ["messages[0].content[1].file", asks({ type: "file" })],
    ["messages[0].tool_calls", [{ role: "assistant", tool_calls: {} }]],
    ["messages[0].tool_calls[0]", [{ role: "assistant", tool_calls: ["f"] }]],
    ["messages[0].tool_calls[0].function", [{ role: "assistant", tool_calls: [{ id: "a", type: "function" }] }]],
    ["messages[0].tool_calls[0].function.name", [{ role: "assistant", tool_calls: [{ id: "a", function: {} }] }]],
    ["messages[0].tool_call_id", [{ role: "tool", content: "x" }]],
    ["messages[2].tool_call_id", [user, calling("a"), result(7)]],
  ])("%s in %j", (param, messages) => {
    const refusal = refusalOf(() => readMessages(messages));
    expect(refusal).toMatchObject({ code: "invalid_request", param });
    expect(refusal.message).toContain(param);
  });
});

describe("a tool result", () => {
  it("that answers no call is refused, naming its id", () => {
    const refusal = refusalOf(() => readMessages([user, calling("a", "b"), result("c")]));
    expect(refusal).toMatchObject({ param: "messages[2].tool_call_id" });
    expect(refusal.message).toContain('"c"');
  });

  it("that comes before its call answers nothing yet", () => {
    expect(refusalOf(() => readMessages([user, result("a"), calling("a")])).param).toBe("messages[1].tool_call_id");
  });

  it.each(["__proto__", "constructor", "toString"])(
    "with the id %s is held against the calls, not against an object's own names",
    (id) => {
      expect(refusalOf(() => readMessages([user, result(id)])).param).toBe("messages[1].tool_call_id");
      expect(() => readMessages([user, calling(id), result(id)])).not.toThrow();
    },
  );

  it("of a parallel call, a repeated id, a later turn is taken", () => {
    expect(() =>
      readMessages([user, calling("a", "b"), result("b"), result("a"), user, calling("a"), result("a")]),
    ).not.toThrow();
  });

  it("names a clipped id, however long", () => {
    expect(refusalOf(() => readMessages([user, result("x".repeat(100_000))])).message.length).toBeLessThan(300);
  });
});

describe("readMessages learns", () => {
  it.each<[boolean, unknown[]]>([
    [false, [user]],
    [false, [user, calling("a")]],
    [true, [user, calling("a"), result("a")]],
    [true, [user, { role: "function", name: "f", content: "x" }]],
  ])("whether tool results are there: %s", (holds, messages) => {
    expect(readMessages(messages).holdsToolResults).toBe(holds);
  });

  it.each<[string[], unknown[]]>([
    [[], [user]],
    [["vision"], asks({ type: "image_url", image_url: { url: "https://x/y.png" } })],
    [["vision"], asks({ type: "image_url", image_url: "data:image/png;base64,AAAA" })],
    [["audio"], asks({ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } })],
    [["documents"], asks({ type: "file", file: { file_id: "f" } })],
    [["parallel_tools"], [user, calling("a", "b")]],
    [[], [user, calling("a")]],
    // Images may come back from a tool.
    [
      ["vision"],
      [
        user,
        calling("a"),
        { role: "tool", tool_call_id: "a", content: [{ type: "image_url", image_url: { url: "https://x" } }] },
      ],
    ],
  ])("that %j is needed", (needs, messages) => {
    expect([...readMessages(messages).needs]).toEqual(needs);
  });

  it("how much of it is data and no text", () => {
    const data = `data:image/png;base64,${"A".repeat(100)}`;
    expect(readMessages(asks({ type: "image_url", image_url: { url: data } })).inlineDataChars).toBe(data.length);
    expect(readMessages(asks({ type: "image_url", image_url: { url: "https://x/y.png" } })).inlineDataChars).toBe(0);
    expect(readMessages(asks({ type: "input_audio", input_audio: { data: "AAAA" } })).inlineDataChars).toBe(4);
    expect(readMessages(asks({ type: "file", file: { file_data: "AAAAA" } })).inlineDataChars).toBe(5);
  });
});

it("takes what clients really send: unknown roles and parts, no content beside calls, empty and legacy calls", () => {
  expect(() =>
    readMessages([
      { role: "developer", content: "be brief" },
      { role: "critic", content: "hm" },
      { role: "user", content: [{ type: "new_kind", x: 1 }], cache_control: { type: "ephemeral" } },
      { role: "assistant", tool_calls: [] },
      { role: "assistant", content: "", reasoning_content: "…", tool_calls: null },
      { role: "assistant", function_call: { name: "f", arguments: "" } },
      { role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
    ]),
  ).not.toThrow();
});
