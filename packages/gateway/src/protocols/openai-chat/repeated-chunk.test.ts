import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventReading, Quirks } from "../protocol.ts";
import { RepeatedChunk } from "./repeated-chunk.ts";
import { streamReader } from "./stream.ts";

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };

function chunk(content: unknown, extra: Record<string, unknown> = {}, choice: Record<string, unknown> = {}): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null, ...choice }];
  return JSON.stringify({ id: "c1", object: "chat.completion.chunk", model: "m", choices, ...extra });
}

function event(data: string): Buffer {
  return Buffer.from(`data: ${data}\n\n`);
}

/** One that has read `raw`, an event with `data`. */
function taught(data: string, raw = event(data)): RepeatedChunk {
  const repeated = new RepeatedChunk();
  repeated.propose(data, 0);
  repeated.learn(raw);
  return repeated;
}

/** The text of an event that is known again, whole; null for any other. */
function textOf(repeated: RepeatedChunk, raw: Buffer): string | null {
  if (repeated.endOf(raw, 0) !== raw.length) return null;
  const [part] = repeated.readingOf(raw).parts;
  const text = part?.type === "text" ? part.text : null;
  expect(repeated.charsIn(raw)).toBe(text?.length);
  return text;
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
    expect(textOf(taught(chunk("first")), event(chunk(text)))).toBe(known);
  });

  it("that is not JSON is not known", () => {
    for (const text of ['x","content":"y', "x\u0001y", 'x"', "x\\", "x\\u12", "x\n", "x\ndata: y"])
      expect(textOf(taught(chunk("first")), event(chunk("first").replace("first", text)))).toBeNull();
  });

  it("that is cut anywhere is not known", () => {
    const repeated = taught(chunk("first"));
    const raw = event(chunk("next"));
    for (let end = 0; end < raw.length; end++) expect(repeated.endOf(raw.subarray(0, end), 0)).toBe(-1);
    expect(repeated.endOf(raw, 0)).toBe(raw.length);
  });

  it("is known behind another", () => {
    const repeated = taught(chunk("first"));
    const [one, two] = [event(chunk("one")), event(chunk("zwölf"))];
    const both = Buffer.concat([one, two, Buffer.from(": x\n\n")]);
    expect(repeated.endOf(both, 0)).toBe(one.length);
    expect(repeated.endOf(both, one.length)).toBe(one.length + two.length);
    expect(repeated.charsIn(both)).toBe(5);
    expect(repeated.endOf(both, one.length + two.length)).toBe(-1);
  });

  it("reads bytes that are no UTF-8 as reading the whole event would", () => {
    const repeated = taught(chunk("first"));
    const raw = Buffer.concat([Buffer.from("a"), Buffer.from([0xe2, 0x82]), Buffer.from("b")]);
    const [lead = "", tail = ""] = event(chunk("|")).toString().split("|");
    const whole = Buffer.concat([Buffer.from(lead), raw, Buffer.from(tail)]);
    expect(textOf(repeated, whole)).toBe("a\ufffdb");
  });

  it.each([
    ["data: ", "\n\n"],
    ["data:", "\n\n"],
    ["data: ", "\r\n\r\n"],
  ])("is known with %j before and %j behind it", (lead, tail) => {
    const framed = (text: string): Buffer => Buffer.from(lead + chunk(text) + tail);
    expect(textOf(taught(chunk("first"), framed("first")), framed("next"))).toBe("next");
  });

  it.each([
    ["whose lines end with CR", (data: string) => `data: ${data}\r\r`],
    ["with mixed line ends", (data: string) => `data: ${data}\r\n\n`],
    ["with a name", (data: string) => `event: x\ndata: ${data}\n\n`],
    ["behind a comment that says the same", (data: string) => `: ${data}\ndata: ${data}\n\n`],
    ["in two lines", (data: string) => `data: ${data.replace(",", "\ndata: ,")}\n\n`],
    ["behind a byte order mark", (data: string) => `\ufeffdata: ${data}\n\n`],
    ["without its blank line", (data: string) => `data: ${data}`],
  ])("and an event %s is no pattern", (_name, framed) => {
    const raw = Buffer.from(framed(chunk("first")));
    expect(taught(chunk("first"), raw).endOf(raw, 0)).toBe(-1);
  });

  it.each([
    [
      "whose text is elsewhere",
      `{"a":{"content":"x"},${chunk("first").slice(1).replace('"content"', '"c\\u006fntent"')}`,
    ],
    ["with another content before it", `{"a":{"content":"x"},${chunk("one").slice(1)}`],
    ["with two choices", '{"choices":[{"delta":{"content":"x"}},{"delta":{}}]}'],
    ["whose content is repeated", '{"choices":[{"delta":{"content":"x","content":"y"}}]}'],
    ["that is cut", chunk("first").slice(0, -2)],
  ])("and %s is no pattern", (_name, data) => {
    expect(textOf(taught(data), event(data))).toBeNull();
  });

  it("is tried a few times only where every chunk is another", () => {
    const repeated = new RepeatedChunk();
    for (let n = 0; n < 10; n++) {
      const data = chunk("first", { padding: n });
      repeated.forget();
      repeated.propose(data, 0);
      repeated.learn(event(data));
    }
    expect(textOf(repeated, event(chunk("next", { padding: 9 })))).toBeNull();
  });

  it("is tried on as long as patterns come again", () => {
    const repeated = new RepeatedChunk();
    for (let n = 0; n < 10; n++) {
      const data = chunk("first", { padding: n });
      repeated.forget();
      repeated.propose(data, 0);
      repeated.learn(event(data));
      expect(textOf(repeated, event(chunk("next", { padding: n })))).toBe("next");
    }
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
  const said = fc.record({ content, extra, choice });
  fc.assert(
    fc.property(fc.array(said, { maxLength: 30 }), (all) => {
      const together = streamReader(QUIRKS);
      const apart = streamReader(QUIRKS);
      const { repeats } = together;
      const readOrKnown = (data: string): EventReading => {
        const raw = event(data);
        if (repeats?.endOf(raw, 0) === raw.length) return repeats.readingOf(raw);
        const reading = together.read(data, null);
        repeats?.learn(raw);
        return reading;
      };
      for (const each of all) {
        const data = chunk(each.content, each.extra, each.choice);
        expect(readOrKnown(data)).toEqual(apart.read(data, null));
      }
    }),
    { numRuns: 300 },
  );
});
