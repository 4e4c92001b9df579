import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS } from "./limits.ts";
import { MemberTexts } from "./member-texts.ts";

/** Few names and values, so that objects are alike in most. */
const value = fc.oneof(
  fc.constantFrom(1, 2, 0, -0, 1796047453206, 0.5, Number.NaN, Number.POSITIVE_INFINITY),
  fc.constantFrom("", "a", "ü", '"\\', "\ud800", "\n", true, false, null),
  fc.constantFrom(undefined, [], ["a", 1], { a: { b: "c" } }, {}, { toJSON: () => undefined }, () => 1),
);
const object = fc.dictionary(fc.constantFrom("a", "b", "ü\n", "toJSON", "7", "__proto__"), value, {
  noNullPrototype: false,
});
/** The same object with one or two values changed, which is what one memory mostly sees. */
const alike = fc
  .tuple(object, fc.array(fc.dictionary(fc.constantFrom("a", "b", "7"), value, { maxKeys: 2 }), { maxLength: 6 }))
  .map(([first, changes]) => [first, ...changes.map((change) => ({ ...first, ...change }))]);

describe("texts of members", () => {
  it("are what JSON.stringify makes, of whatever came before", () => {
    const texts = new MemberTexts();
    fc.assert(
      fc.property(
        fc.oneof(alike, fc.array(object), fc.array(fc.dictionary(fc.string(), fc.jsonValue()))),
        (objects) => {
          const fresh = new MemberTexts();
          for (const one of objects) {
            expect(fresh.textOf(one)).toBe(JSON.stringify(one));
            expect(texts.textOf(one)).toBe(JSON.stringify(one));
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("stay right where more forms come by than are kept, and long ones", () => {
    const texts = new MemberTexts();
    for (let round = 0; round < 3; round++)
      for (let index = 0; index < LIMITS.memberFormsMax * 3; index++)
        for (const n of [round, index, "x".repeat(round * LIMITS.rememberedCharsMax)]) {
          const one = { [`of${index}`]: "a", n };
          expect(texts.textOf(one)).toBe(JSON.stringify(one));
        }
  });

  it("do not hear of what a later object of the same members says", () => {
    const texts = new MemberTexts();
    const steps = [
      { a: "x", n: 1 },
      { a: "x", n: 2 },
      { a: "y", n: 2 },
      { a: ["x"], n: 2 },
      { a: "x", n: 1 },
    ];
    for (const one of steps) expect(texts.textOf(one)).toBe(JSON.stringify(one));
    expect(texts.textOf({ a: undefined, n: 1 })).toBe('{"n":1}');
  });
});
