import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventFrame, exceptionFrame, frame } from "../../../test/support/event-frames.ts";
import type { StreamEvent } from "../../core/stream-event.ts";
import { FrameSplitter } from "./frames.ts";

const BYTES_MAX = 10_000;

/** What a splitter makes of bytes that come in these pieces. */
function read(bytes: Buffer, cuts: readonly number[] = []): StreamEvent[] {
  const splitter = new FrameSplitter(BYTES_MAX);
  const events: StreamEvent[] = [];
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (const [i, from] of places.slice(0, -1).entries()) {
    splitter.push(bytes.subarray(from, places[i + 1]), (event) => events.push(event));
  }
  splitter.end();
  return events;
}

const SAID = [
  eventFrame("messageStart", { role: "assistant" }),
  eventFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Grüße 👋" } }),
  exceptionFrame("throttlingException", { message: "slow down" }),
  frame({ ":message-type": "error", ":error-code": "InternalError", ":error-message": "gone" }, ""),
];
const STREAM = Buffer.concat(SAID);

describe("frames by AWS's own library", () => {
  it("are read, whatever they say", () => {
    expect(read(STREAM).map(({ name, data }) => [name, data])).toEqual([
      ["messageStart", '{"role":"assistant"}'],
      ["contentBlockDelta", '{"contentBlockIndex":0,"delta":{"text":"Grüße 👋"}}'],
      ["exception:throttlingException", '{"message":"slow down"}'],
      ["error:InternalError", '{"message":"gone"}'],
    ]);
  });

  it("are the same wherever the bytes are cut", () => {
    const whole = read(STREAM);
    for (let size = 1; size < 40; size++) {
      const cuts = Array.from({ length: Math.floor(STREAM.length / size) }, (_, i) => i * size);
      expect(read(STREAM, cuts)).toEqual(whole);
    }
    const places = fc.array(fc.nat(STREAM.length), { maxLength: 12 });
    fc.assert(
      fc.property(places, (cuts) => {
        expect(read(STREAM, cuts)).toEqual(whole);
      }),
    );
    expect(Buffer.concat(whole.map(({ raw }) => raw))).toEqual(STREAM);
  });

  it("are read with any headers and payload", () => {
    const names = fc.stringMatching(/^[a-z-]{1,40}$/);
    const others = fc.dictionary(names, fc.string({ maxLength: 80 }), { maxKeys: 6 });
    fc.assert(
      fc.property(others, fc.string(), (headers, payload) => {
        const bytes = frame({ ...headers, ":message-type": "event", ":event-type": "e" }, payload);
        expect(read(bytes)).toEqual([{ name: "e", data: payload, raw: bytes }]);
      }),
    );
  });

  it("are refused with any one bit wrong", () => {
    const bytes = SAID[1] as Buffer;
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const broken = Buffer.from(bytes);
      broken[bit >> 3] = (broken[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => read(broken, [7])).toThrow(/a frame of the stream/);
    }
  });

  it("are dropped where the stream ends inside one", () => {
    for (let end = 0; end < (SAID[0] as Buffer).length; end++) expect(read(STREAM.subarray(0, end))).toEqual([]);
  });

  it("are not waited for over the bound", () => {
    const bytes = eventFrame("e", "x".repeat(BYTES_MAX));
    expect(() => read(bytes.subarray(0, 12))).toThrow(`over ${BYTES_MAX} bytes`);
  });

  it("of no known kind are refused", () => {
    expect(() => read(frame({ ":event-type": "e" }, "{}"))).toThrow("message type");
  });
});
