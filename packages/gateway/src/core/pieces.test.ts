import { expect, test } from "vitest";
import { inOnePiece } from "./pieces.ts";

test("one piece is itself, several are joined in their order", () => {
  const one = Buffer.from("one");
  expect(inOnePiece(one)).toBe(one);
  const pieces = [Buffer.from("a"), Buffer.alloc(0), Buffer.from("bc")];
  expect(inOnePiece({ pieces, length: 3 }).toString()).toBe("abc");
  expect(inOnePiece("a\xff")).toEqual(Buffer.of(97, 255));
});
