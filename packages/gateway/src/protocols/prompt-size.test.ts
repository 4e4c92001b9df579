import { describe, expect, test } from "vitest";
import { promptSize } from "./prompt-size.ts";

const user = (content: unknown) => ({ role: "user", content });
const answer = { role: "assistant", content: "a long answer that counts for nothing" };
const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

describe("the size of a prompt", () => {
  test.each<[string, Record<string, unknown>, number]>([
    ["the last of the user's", { messages: [user("first"), answer, user("last")] }, 4],
    ["not what others say after it", { messages: [user("asked"), answer] }, 5],
    ["parts", { messages: [user([{ type: "text", text: "ab" }, image, { type: "text", text: "cde" }])] }, 5],
    ["the last that holds any text", { messages: [user("seven"), user([{ type: "tool_result", content: "x" }])] }, 5],
    ["no message of the user's", { messages: [answer] }, 0],
    ["a responses input", { input: "four" }, 4],
    ["responses items", { input: [user([{ type: "input_text", text: "abc" }]), { type: "function_call" }] }, 3],
    [
      "gemini contents",
      {
        contents: [
          { role: "user", parts: [{ text: "ab" }] },
          { role: "model", parts: [] },
        ],
      },
      2,
    ],
    ["gemini contents without a role", { contents: [{ parts: [{ text: "abcd" }] }] }, 4],
    ["a prompt", { prompt: "abc" }, 3],
    ["several prompts", { prompt: ["ab", "c"] }, 3],
    ["nothing that is known", { question: "?" }, 0],
    ["nonsense", { messages: [null, 1, { role: "user", content: { text: 1 } }] }, 0],
  ])("%s", (_, body, chars) => {
    expect(promptSize({ body }).lastMessageChars).toBe(chars);
  });

  test.each<[unknown, number]>([
    [undefined, 0],
    [null, 0],
    [[], 0],
    [[{ type: "function" }, { type: "function" }], 2],
    [[{ functionDeclarations: [{}, {}, {}] }, { googleSearch: {} }], 4],
    [[{ function_declarations: [{}] }], 1],
  ])("tools %j: %i", (tools, count) => {
    expect(promptSize({ body: { tools } }).tools).toBe(count);
  });
});
