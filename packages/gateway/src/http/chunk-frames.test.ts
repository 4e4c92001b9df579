import fc from "fast-check";
import { expect, it } from "vitest";
import { ChunkFrames } from "./chunk-frames.ts";

const framed = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
const size = fc.oneof(
  fc.integer({ min: 1, max: 1_100 }),
  fc.constantFrom(1, 15, 16, 255, 256, 1_017, 1_018, 4_096, 70_000),
);

it("frames whatever stands anywhere, one after the other", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(size, fc.nat({ max: 20 })), { minLength: 1, maxLength: 20 }), (all) => {
      const frames = new ChunkFrames();
      for (const [index, [length, from]] of all.entries()) {
        const bytes = Buffer.alloc(from + length + 5, 97 + index);
        const chunk = frames.frame(bytes, from, from + length);
        expect(chunk.equals(framed(bytes.subarray(from, from + length)))).toBe(true);
      }
    }),
  );
});

it("leaves a chunk alone that was left its place", () => {
  const frames = new ChunkFrames();
  const all = ["one", "two", "six", "a longer one"].map((text) => Buffer.from(text));
  const kept = all.map((bytes) => {
    const chunk = frames.frame(bytes, 0, bytes.length);
    frames.leave();
    return chunk;
  });
  expect(kept).toEqual(all.map(framed));
});
