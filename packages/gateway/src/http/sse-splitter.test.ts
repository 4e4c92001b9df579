import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { missingBlankLine, type SseEvent, SseSplitter } from "./sse-splitter.ts";

const MIB = 1024 * 1024;

/** All events of `pieces`, and their raws one after the other. */
function split(pieces: readonly Buffer[], bytesMax = 64 * MIB): { events: SseEvent[]; raw: Buffer } {
  const splitter = new SseSplitter(bytesMax);
  const events: SseEvent[] = [];
  for (const piece of pieces) splitter.push(piece, (event) => events.push(event));
  splitter.end((event) => events.push(event));
  return { events, raw: Buffer.concat(events.map((event) => event.raw)) };
}

/** What a client would make of the events: blocks without data mean nothing to it. */
function meaning(events: readonly SseEvent[]): { name: string | null; data: string }[] {
  return events.flatMap(({ name, data }) => (data === null ? [] : [{ name, data }]));
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const edges = [0, ...[...places].map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}

/** The event stream interpretation of WHATWG HTML, step by step, over the whole text; a repeated `event:` replaces the one before. */
function bySpec(stream: string): { name: string | null; data: string }[] {
  const events: { name: string | null; data: string }[] = [];
  let name: string | null = null;
  let data: string[] = [];
  for (const entry of stream.replace(/^\ufeff/, "").split(/\r\n|\n|\r/)) {
    if (entry === "") {
      if (data.length > 0) events.push({ name, data: data.join("\n") });
      name = null;
      data = [];
      continue;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(entry) ?? [];
    if (field === "data") data.push(value);
    if (field === "event") name = value;
  }
  return events;
}

const text = fc.string({ unit: "grapheme", maxLength: 20 }).map((value) => value.replace(/[\r\n]/g, ""));
const ending = fc.constantFrom("\n", "\r\n", "\r");
const line = fc.oneof(
  text.map((value) => `data: ${value}`),
  text.map((value) => `data:${value}`),
  fc.constant("data"),
  text.map((value) => `event: ${value}`),
  text.map((value) => `: ${value}`),
  text.map((value) => `id: ${value}`),
  fc.constant("retry: 10"),
  text.map((value) => `database: ${value}`),
);

/** Streams as senders write them, odd ones included: line ends mixed, comments, a last event without its blank line. */
const streams = fc
  .record({
    bom: fc.boolean(),
    lines: fc.array(
      fc.tuple(fc.oneof({ weight: 3, arbitrary: line }, { weight: 1, arbitrary: fc.constant("") }), ending),
    ),
    rest: fc.option(line, { nil: "" }),
  })
  .map(({ bom, lines, rest }) => `${bom ? "\ufeff" : ""}${lines.map((pair) => pair.join("")).join("")}${rest}`);

describe("SseSplitter", () => {
  it("finds the same events and keeps every byte, wherever the stream is cut", () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 12 }), (stream, places) => {
        const bytes = Buffer.from(stream);
        const whole = split([bytes]);
        expect(whole.raw.equals(bytes)).toBe(true);
        const pieces = split(cut(bytes, places));
        expect(pieces.raw.equals(bytes)).toBe(true);
        expect(meaning(pieces.events)).toEqual(meaning(whole.events));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"],
  ])("stands cuts at every byte, and one byte at a time, with %s", (_name, end) => {
    const stream = [
      "\ufeff: hi",
      "event: a",
      "data: grüße 👋",
      "data:two",
      "",
      ":",
      "",
      "data: {}",
      "",
      "data: [DONE]",
      "",
      "",
    ].join(end);
    const bytes = Buffer.from(stream);
    const want = [
      { name: "a", data: "grüße 👋\ntwo" },
      { name: null, data: "{}" },
      { name: null, data: "[DONE]" },
    ];
    for (let place = 0; place <= bytes.length; place++) {
      expect(meaning(split([bytes.subarray(0, place), bytes.subarray(place)]).events), `cut at ${place}`).toEqual(want);
    }
    expect(meaning(split([...bytes].map((byte) => Buffer.from([byte]))).events)).toEqual(want);
  });

  it("reads the fields as the standard's own steps do", () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const ended = `${stream}\n\n`;
        expect(meaning(split([Buffer.from(ended)]).events)).toEqual(bySpec(ended));
      }),
      { numRuns: 2_000 },
    );
  });

  it("counts a last event that has no blank line, and loses no blank line at the end", () => {
    expect(meaning(split([Buffer.from("data: a\n\ndata: b")]).events).map((event) => event.data)).toEqual(["a", "b"]);
    expect(meaning(split([Buffer.from("data: a\r\n\r"), Buffer.from("\n")]).events)).toHaveLength(1);
    expect(split([Buffer.from("data: a\r\n\r"), Buffer.from("\n\n\n")]).raw.toString()).toBe("data: a\r\n\r\n\n\n");
  });

  it.each(["\n", "\r\n", "\r"])("gives each event its own blank line with it, of %j", (end) => {
    const stream = ["data: a", "", ": b", "", "data: c", "", ""].join(end);
    expect(split([Buffer.from(stream)]).events.map(({ raw }) => raw.toString())).toEqual(
      ["data: a", ": b", "data: c"].map((line) => line + end + end),
    );
  });

  it("takes an event as soon as its blank line is there, also when that ends with CR", () => {
    const splitter = new SseSplitter(MIB);
    const seen: (string | null)[] = [];
    splitter.push(Buffer.from("data: a\r\n\r"), (event) => seen.push(event.data));
    expect(seen).toEqual(["a"]);
  });

  it("carries an event of several MB, in pieces of every size", () => {
    const payload = "ä€😀".repeat(500_000);
    const bytes = Buffer.from(`data: ${payload}\n\ndata: next\n\n`);
    for (const size of [1_000_003, 65_536, 4_099]) {
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      const { events, raw } = split(pieces);
      expect(events.map((event) => event.data)).toEqual([payload, "next"]);
      expect(raw.equals(bytes)).toBe(true);
    }
  });

  it("keeps its own copy of what it holds: the chunk's memory may be used again", () => {
    const splitter = new SseSplitter(MIB);
    const chunk = Buffer.from("data: hello");
    splitter.push(chunk, () => {});
    chunk.fill(0);
    const seen: (string | null)[] = [];
    splitter.push(Buffer.from("\n\n"), (event) => seen.push(event.data));
    expect(seen).toEqual(["hello"]);
  });

  describe("with a bound", () => {
    const bound = 1_000;

    it.each([1, 7, 64, 2_000])("refuses a larger event, fed %i bytes at a time", (size) => {
      const bytes = Buffer.from(`data: ${"x".repeat(bound)}\n\n`);
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      expect(() => split(pieces, bound)).toThrow(/over 1000 bytes/);
    });

    it("takes one of exactly that size, again and again", () => {
      const event = `data: ${"x".repeat(bound - 8)}\n\n`;
      const { events } = split([Buffer.from(event.repeat(5))], bound);
      expect(events.map((each) => each.raw.length)).toEqual(new Array(5).fill(bound));
    });

    it("stops a line without an end at the bound, and holds no more than that", () => {
      const splitter = new SseSplitter(MIB);
      const chunk = Buffer.alloc(16_384, 120);
      let fed = 0;
      const before = process.memoryUsage().arrayBuffers;
      expect(() => {
        for (; fed < 10 * MIB; fed += chunk.length) splitter.push(chunk, () => {});
      }).toThrow(/over/);
      expect(fed).toBeLessThanOrEqual(MIB);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MIB);
    });

    it("does not let one-byte chunks cost an object each", () => {
      const splitter = new SseSplitter(16 * MIB);
      const byte = Buffer.from("x");
      for (let i = 0; i < 2_000_000; i++) splitter.push(byte, () => {});
      // Two million Buffers would be hundreds of MB; time is linear or this takes minutes.
    });

    it("bounds blank lines and comments without end too", () => {
      expect(() => split([Buffer.from("\n".repeat(bound + 1))], bound)).toThrow(/over/);
      expect(() => split([Buffer.from(":x\n".repeat(bound))], bound)).toThrow(/over/);
    });
  });
});

it.each(["", "\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\r\n\n"])(
  "completes a last event that ends with %j, and no more than that",
  (end) => {
    const split = (bytes: string): SseEvent[] => {
      const events: SseEvent[] = [];
      const splitter = new SseSplitter(1_000);
      splitter.push(Buffer.from(bytes), (event) => events.push(event));
      splitter.end((event) => events.push(event));
      return events;
    };
    const raw = `data: a${end}`;
    const whole = raw + missingBlankLine(Buffer.from(raw)).toString();
    expect(split(`${whole}data: b\n\n`).map(({ data }) => data)).toEqual(["a", "b"]);
    expect(missingBlankLine(Buffer.from(whole))).toHaveLength(0);
    // Line ends alone are what is left of an event that is over.
    expect(missingBlankLine(Buffer.from(end))).toHaveLength(0);
  },
);
