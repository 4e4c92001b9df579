import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { heldBufferBytes } from "../../test/support/held-bytes.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { SegmentTail } from "./segment-tail.ts";
import { segmentPath } from "./segments.ts";

const MIB = 1024 * 1024;

it("gives back the room that a long line needed", () => {
  const directory = aDirectory();
  const long = "x".repeat(8 * MIB);
  const bytes = Buffer.from(`${long}\nshort\n`);
  writeFileSync(segmentPath(directory, 1), bytes);
  const tail = new SegmentTail(directory);
  tail.extend({ segment: 1, bytes: bytes.length });
  const lengths: number[] = [];
  const held = heldBufferBytes(() => {
    for (let read = tail.read(); read; read = tail.read()) lengths.push(...read.texts.map((text) => text.length));
  });
  expect(lengths).toEqual([8 * MIB, 5]);
  expect(held).toBeLessThan(2 * MIB);
  tail.close();
});
