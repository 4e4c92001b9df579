import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Quirks } from "../protocol.ts";
import { RepeatedChunk } from "./repeated-chunk.ts";
import { streamReader } from "./stream.ts";

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };

function chunk(content: unknown, extra: Record<string, unknown> = {}, choice: Record<string, unknown> = {}): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null, ...choice }];
  return JSON.stringify({ id: "c1", object: "chat.completion.chunk", model: "m", choices, ...extra });
}

describe("a chunk that is the last one but for its text", () => {
  it.each([
    ["a word", " word", " word"],
    ["beyond ASCII", "ünï 😀", "ünï 😀"],
    ["nothing", "", null],
    ["a quote", '"', null],
    ["a backslash", "\\", null],
    ["a line end", "\n", null],
  ])("with %s", (_name, text, known) => {
    const repeated = new RepeatedChunk();
    repeated.learn(chunk("first"));
    expect(repeated.textOf(chunk(text))).toBe(known);
  });

  it("that is not JSON is not known", () => {
    const repeated = new RepeatedChunk();
    repeated.learn(chunk("first"));
    for (const text of ['x","content":"y', "x\u0001y", 'x"', "x\\", "x\\u12"])
      expect(repeated.textOf(chunk("first").replace("first", text))).toBeNull();
  });

  it.each([
    [
      "whose text is elsewhere",
      `{"a":{"content":"x"},${chunk("first").slice(1).replace('"content"', '"c\\u006fntent"')}`,
    ],
    ["with two choices", '{"choices":[{"delta":{"content":"x"}},{"delta":{}}]}'],
    ["whose content is repeated", '{"choices":[{"delta":{"content":"x","content":"y"}}]}'],
    ["that is cut", chunk("first").slice(0, -2)],
  ])("and %s is no pattern", (_name, data) => {
    const repeated = new RepeatedChunk();
    repeated.learn(data);
    expect(repeated.textOf(data)).toBeNull();
  });

  it("is tried a few times only where every chunk is another", () => {
    const repeated = new RepeatedChunk();
    for (let n = 0; n < 10; n++) repeated.learn(chunk("first", { padding: n }));
    expect(repeated.textOf(chunk("next", { padding: 9 }))).toBeNull();
  });
});

it("whatever repeats, a stream reads as its chunks do", () => {
  const content = fc.oneof(fc.constantFrom("", "a", " b", '"', "\\n", "é"), fc.string({ unit: "binary" }));
  const extra = fc.constantFrom({}, {}, {}, { created: 1 }, { citations: ["u"] }, { usage: null });
  const choice = fc.constantFrom(
    {},
    {},
    {},
    {},
    { index: 1 },
    { finish_reason: "stop" },
    { logprobs: { content: [{ token: "t" }] } },
  );
  const event = fc.record({ content, extra, choice });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const chunks = events.map((each) => chunk(each.content, each.extra, each.choice));
      const together = streamReader(QUIRKS);
      const apart = streamReader(QUIRKS);
      for (const data of chunks) {
        // Blanks around a chunk mean nothing, and make it another one.
        const parsed = apart.read(`${data}${" ".repeat(1 + chunks.indexOf(data))}`, null);
        expect(together.read(data, null)).toEqual(parsed);
      }
    }),
  );
});
