import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import type { Dresser, Protocol, Quirks } from "../protocols/protocol.ts";
import type { StreamWriter } from "../protocols/translation.ts";
import { EventIntake, type Taken } from "./event-intake.ts";
import { type Meter, openMeter } from "./meter.ts";

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };

/** The same protocol, with every event read. */
const READS_ALL: Protocol = {
  ...openaiChat,
  streamReader(quirks) {
    const reader = openaiChat.streamReader(quirks);
    return { read: (data, name) => reader.read(data, name) };
  },
};

/** Marks every event that it has dressed, and what it was told the event says. */
const DRESSER: Dresser = {
  reply: (body) => body,
  event: (raw, data) => Buffer.concat([Buffer.from(`: ${data === null ? "" : data.length}\n`), raw]),
  end: () => null,
};

const WRITER: StreamWriter = {
  write: (part) => Buffer.from(`${JSON.stringify(part)}\n`),
  end: () => null,
} as StreamWriter;

/** One for a client of the same dialect. */
function intakeOf(): EventIntake {
  const way = { writer: null, dresser: null, choices: 1, showsUsage: true, holdTerminator: false };
  return new EventIntake({ protocol: openaiChat, quirks: QUIRKS, ...way }, openMeter(0), systemClock);
}

interface Way {
  writer: StreamWriter | null;
  dresser: Dresser | null;
}

/** What comes of a stream: the bytes that go on, what was said and found broken, and what was metered. */
interface Outcome {
  bytes: string;
  said: unknown;
  broken: string | null;
  meter: Partial<Meter>;
  finished: boolean;
  terminated: boolean;
}

/** What it makes of a piece in the midst of other bytes, which are overwritten behind it; null where it wants the piece. */
function lent(intake: EventIntake, piece: Buffer): Taken | null {
  const bytes = Buffer.from(`f\r\n${piece.toString("latin1")}\r\n"}\n\n`, "latin1");
  const taken = intake.translates(bytes, 3, 3 + piece.length);
  bytes.fill("!");
  return taken;
}

function take(protocol: Protocol, pieces: readonly Buffer[], way: Way): Outcome {
  const meter = openMeter(0);
  const spec = { protocol, quirks: QUIRKS, ...way, choices: 1, showsUsage: true, holdTerminator: false };
  const intake = new EventIntake(spec, meter, systemClock);
  const bytes: Buffer[] = [];
  let said: unknown = null;
  let broken: string | null = null;
  for (const piece of [...pieces, null]) {
    const taken = piece ? (lent(intake, piece) ?? intake.push(piece)) : intake.end();
    if (taken.bytes) bytes.push(Buffer.from(taken.bytes));
    said = taken.said;
    broken = taken.broken;
    if (said || broken !== null) break;
  }
  const { finished, terminated } = intake;
  const { model, usage, finishReason, finishes, outputChars, reportedChars, firstOutputAt } = meter;
  const metered = { model, usage, finishReason, finishes, outputChars, reportedChars };
  return {
    bytes: Buffer.concat(bytes).toString("latin1"),
    said,
    broken,
    meter: { ...metered, firstOutputAt: firstOutputAt === null ? null : 0 },
    finished,
    terminated,
  };
}

function chunk(content: unknown, extra: Record<string, unknown> = {}, choice: Record<string, unknown> = {}): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null, ...choice }];
  return JSON.stringify({ id: "c1", model: "m", choices, ...extra });
}

const content = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("", "a", " b", "é", "😀", "one", "two", "a\\", '"', "\n", "content") },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
);
const extra = fc.oneof(
  { weight: 12, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, unknown>>(
      { created: 1 },
      { citations: ["u"] },
      { usage: { prompt_tokens: 3, completion_tokens: 4 } },
      { error: { message: "no" } },
      { a: { content: "x" } },
    ),
  },
);
const choice = fc.oneof(
  { weight: 12, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, unknown>>(
      { index: 1 },
      { finish_reason: "stop" },
      { logprobs: { content: [{ token: "t" }] } },
      { delta: { reasoning: "hm" } },
    ),
  },
);
const said = fc.record({ content, extra, choice }).map((it) => chunk(it.content, it.extra, it.choice));
const framing = fc.oneof(
  { weight: 10, arbitrary: fc.constant((data: string) => `data: ${data}\n\n`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      (data: string) => `data:${data}\n\n`,
      (data: string) => `data: ${data}\r\n\r\n`,
      (data: string) => `data: ${data}\r\r`,
      (data: string) => `id: 1\ndata: ${data}\n\n`,
      (data: string) => `event: x\ndata: ${data}\n\n`,
      (data: string) => `: hi\n\ndata: ${data}\n\n`,
      (data: string) => `: hi\r\rdata: ${data}\n\n`,
      () => "\n",
      () => "data: [DONE]\n\n",
      () => "{}\n\n",
      () => '{"error":{"message":"bare"}}\n\n',
    ),
  },
);
/** Streams in which most events are alike, framed alike; bytes may be changed here and there. */
const streams = fc
  .record({
    usual: framing,
    events: fc.array(fc.record({ said, framing: fc.option(framing, { freq: 6 }) }), { maxLength: 20 }),
    flips: fc.array(fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) }), { maxLength: 1 }),
  })
  .map(({ usual, events, flips }) => {
    const bytes = Buffer.from(events.map((event) => (event.framing ?? usual)(event.said)).join(""));
    for (const { at, byte } of flips) if (bytes.length > 0) bytes[at % bytes.length] = byte;
    return bytes;
  });

/** Cut at the ends of events, as most senders do, and anywhere. */
function cut(bytes: Buffer, places: readonly number[], byEvent: boolean): Buffer[] {
  const edges = places.map((place) => place % (bytes.length + 1));
  for (let at = bytes.indexOf("\n\n"); byEvent && at !== -1; at = bytes.indexOf("\n\n", at + 2)) edges.push(at + 2);
  const all = [0, ...edges.sort((a, b) => a - b), bytes.length];
  return all.slice(1).map((edge, index) => bytes.subarray(all[index], edge));
}

describe("what is passed on unread", () => {
  it.each<[string, Way]>([
    ["as it came", { writer: null, dresser: null }],
    ["dressed", { writer: null, dresser: DRESSER }],
    ["translated", { writer: WRITER, dresser: null }],
  ])("comes to the same as reading every event, %s", (_name, way) => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 6 }), fc.boolean(), (bytes, places, byEvent) => {
        const pieces = cut(bytes, places, byEvent);
        expect(take(openaiChat, pieces, way)).toEqual(take(READS_ALL, pieces, way));
      }),
      { numRuns: 600 },
    );
  });

  it.each(["id: 1\n", ": hi\n", "data: {", "\n", ": hi\r\r", ": hi\n\r"])("waits behind %j", (before) => {
    const way = { writer: null, dresser: null };
    const events = ["a", "b", "c"].map((text) => Buffer.from(`data: ${chunk(text)}\n\n`)) as [Buffer, Buffer, Buffer];
    const pieces = [...events.slice(0, 2), Buffer.from(before), events[2], Buffer.from("\n"), events[1]];
    expect(take(openaiChat, pieces, way)).toEqual(take(READS_ALL, pieces, way));
  });

  it("is not read: the bytes that came are the bytes that go on", () => {
    const intake = intakeOf();
    for (const text of ["a", "b"]) intake.push(Buffer.from(`data: ${chunk(text)}\n\n`));
    const pieces = Buffer.from(`data: ${chunk("c")}\n\ndata: ${chunk("d")}\n\n`);
    expect(intake.push(pieces).bytes).toBe(pieces);
  });

  it("is held to the bound of an event", () => {
    const intake = intakeOf();
    for (const text of ["a", "b"]) intake.push(Buffer.from(`data: ${chunk(text)}\n\n`));
    const long = Buffer.from(`data: ${chunk("c".repeat(LIMITS.sseEventBytesMax))}\n\n`);
    const { bytes, broken } = intake.push(long);
    expect(bytes === null).toBe(true);
    expect(broken).toContain("over");
  });

  it("is said anew from where it stands, and held to what may be translated", () => {
    const spec = { protocol: openaiChat, quirks: QUIRKS, choices: 1, showsUsage: true, holdTerminator: false };
    const meter = openMeter(0);
    const intake = new EventIntake({ ...spec, writer: WRITER, dresser: null }, meter, systemClock);
    expect(lent(intake, Buffer.from(`data: ${chunk("a")}\n\n`))).toBeNull();
    for (const text of ["a", "b"]) intake.push(Buffer.from(`data: ${chunk(text)}\n\n`));
    expect(lent(intake, Buffer.from(`data: ${chunk("c")}\n\n`))?.bytes?.toString()).toContain('"text":"c"');
    expect(lent(intake, Buffer.from(`data: ${chunk("d")}\n\ndata: ${chunk("e")}\n\n`))).toBeNull();
    expect(meter.outputChars).toBe(3);
    const long = Buffer.from(`data: ${chunk("c".repeat(LIMITS.sseEventBytesMax / 2))}\n\n`);
    let broken: string | null | undefined;
    for (let i = 0; i <= LIMITS.translatedStreamBytesMax / long.length + 2 && !broken; i++)
      broken = lent(intake, long)?.broken;
    expect(broken).toContain("can be translated");
  });

  it("says nothing of an empty piece", () => {
    expect(intakeOf().push(Buffer.alloc(0)).bytes).toBeNull();
  });
});

it("an event that ends beyond what came is not passed on, though the bytes behind it would end it", () => {
  const event = (text: string) =>
    Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}]}\n\n`);
  const intake = intakeOf();
  intake.push(event("a"));
  const lent = event("bc");
  expect(intake.passes(lent, 0, lent.length - 3)).toBe(false);
  expect(intake.passes(lent, 0, lent.length)).toBe(true);
});
