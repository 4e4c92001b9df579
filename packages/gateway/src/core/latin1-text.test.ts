import fc from "fast-check";
import { expect, test } from "vitest";
import { utf8AsLatin1 } from "./latin1-text.ts";

test("the bytes of a text are its characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(Buffer.from(utf8AsLatin1(text), "latin1")).toEqual(Buffer.from(text));
    }),
  );
});
