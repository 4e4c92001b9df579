import fc from "fast-check";
import { expect, it } from "vitest";
import { HeldOutput } from "./held-output.ts";

it("gives back the bytes that it was given, in their order, once", () => {
  const round = fc.array(fc.uint8Array({ maxLength: 3 }), { maxLength: 200 });
  fc.assert(
    fc.property(fc.array(round, { maxLength: 4 }), (rounds) => {
      const held = new HeldOutput();
      for (const pieces of rounds) {
        for (const piece of pieces) held.add(Buffer.from(piece));
        const all = Buffer.concat(pieces);
        expect(held.bytes).toBe(all.length);
        expect(held.take().equals(all)).toBe(true);
        expect(held.bytes).toBe(0);
      }
    }),
  );
});
