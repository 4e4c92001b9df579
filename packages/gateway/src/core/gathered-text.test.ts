import fc from "fast-check";
import { expect, it } from "vitest";
import { GatheredText } from "./gathered-text.ts";

it("is its pieces in their order, whenever it is asked for", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 }), { maxLength: 1_200 }), fc.nat(), (pieces, place) => {
      const text = new GatheredText();
      expect(text.isEmpty).toBe(true);
      const early = pieces.length === 0 ? 0 : place % pieces.length;
      for (const [index, piece] of pieces.entries()) {
        if (index === early) expect(text.whole()).toBe(pieces.slice(0, early).join(""));
        text.add(piece);
        expect(text.isEmpty).toBe(false);
      }
      expect(text.whole()).toBe(pieces.join(""));
    }),
  );
});
