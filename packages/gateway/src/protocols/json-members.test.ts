import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { names, type Piece, pieces, space, textOf, valueText } from "../../test/support/json-texts.ts";
import { refusalOf } from "../../test/support/thrown.ts";
import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { type Edit, editMembers, elementsOf, membersOf } from "./json-members.ts";

function keyOf(piece: Piece): string {
  return JSON.parse(piece.key) as string;
}

describe("elementsOf", () => {
  it("finds every element where it stands, whatever the text holds", () => {
    const element = fc.record({ before: space, value: valueText, after: space });
    fc.assert(
      fc.property(fc.array(element, { maxLength: 7 }), space, space, (list, lead, tail) => {
        const items = list.map(({ before, value, after }) => before + value + after);
        const raw = Buffer.from(`${lead}[${items.join(",")}${list.length === 0 ? tail : ""}]${tail}`);
        const found = elementsOf(raw).map(({ start, end }) => raw.toString("utf8", start, end));
        expect(found).toEqual(list.map(({ value }) => value));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("membersOf", () => {
  it("finds every member where it stands, whatever the text holds", () => {
    fc.assert(
      fc.property(pieces, space, space, (list, lead, tail) => {
        const raw = Buffer.from(textOf(list, lead, tail));
        const found = membersOf(raw).map(({ key, keyStart, keyEnd, valueStart, valueEnd }) => ({
          key,
          keyText: raw.toString("utf8", keyStart, keyEnd),
          valueText: raw.toString("utf8", valueStart, valueEnd),
        }));
        expect(found).toEqual(list.map((p) => ({ key: keyOf(p), keyText: p.key, valueText: p.value })));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(["{}", " { } ", "\n{\r\n}\t"])("finds none in %j", (text) => {
    expect(membersOf(Buffer.from(text))).toEqual([]);
  });

  describe("bounds nesting", () => {
    const nested = (open: string, close: string, levels: number, inner = "1"): Buffer =>
      Buffer.from(`{"a":${open.repeat(levels)}${inner}${close.repeat(levels)}}`);

    it.each([
      ["arrays", "[", "]"],
      ["objects", '{"a":', "}"],
    ])("of %s at exactly the bound, the body's own object counted", (_name, open, close) => {
      expect(membersOf(nested(open, close, 9), 10)).toHaveLength(1);
      expect(() => membersOf(nested(open, close, 10), 10)).toThrow(/nests deeper than 10 levels/);
    });

    it("as a client's fault", () => {
      expect(refusalOf(() => membersOf(nested("[", "]", LIMITS.jsonDepthMax)))).toMatchObject({
        code: "invalid_request",
      });
    });

    it("but not brackets within strings", () => {
      expect(membersOf(nested("", "", 0, JSON.stringify("[".repeat(1_000))), 2)).toHaveLength(1);
    });

    it("of a million levels in little time", () => {
      expect(() => membersOf(nested("[", "]", 1_000_000))).toThrow(GatewayError);
    });
  });

  it("takes 100,000 members, and refuses more than the bound", () => {
    const many = (count: number): Buffer =>
      Buffer.from(`{${Array.from({ length: count }, (_, i) => `"k${i}":[${i}]`).join(",")}}`);
    // Quadratic work on so many would run into the test's timeout.
    const raw = many(100_000);
    const edits = new Map<string, Edit>([
      ["k7", null],
      ["k9", { value: "0" }],
    ]);
    const edited = editMembers(raw, membersOf(raw), edits, ['"x":1']);
    expect(Object.keys(JSON.parse(edited.toString()) as object)).toHaveLength(100_000);
    expect(() => membersOf(many(LIMITS.jsonMembersMax + 1))).toThrow(/more than 250000 top-level members/);
  });

  it("reads a string of a million quotes and backslashes in linear time", () => {
    const raw = Buffer.from(JSON.stringify({ a: '"\\'.repeat(1_000_000), b: "\\".repeat(2_000_000), c: 1 }));
    expect(membersOf(raw).map((member) => member.key)).toEqual(["a", "b", "c"]);
  });
});

describe("editMembers", () => {
  /** `null`, a value, or a new name for a few of the names; the rest is untouched. */
  const edits = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(
      fc.constant(null),
      valueText.map((value): Edit => ({ value })),
      fc.constantFrom("renamed", 'ren"amed\n').map((rename): Edit => ({ rename })),
    ),
  );
  const additions = fc.array(fc.tuple(fc.constantFrom("x", "y"), valueText), { maxLength: 2 });

  it("makes exactly the edits asked for, and leaves every other byte of the members alone", () => {
    fc.assert(
      fc.property(pieces, edits, additions, space, space, (list, wanted, extra, lead, tail) => {
        const raw = Buffer.from(textOf(list, lead, tail));
        const map = new Map<string, Edit>(Object.entries(wanted));
        const texts = extra.map(([name, value]) => `${JSON.stringify(name)}:${value}`);
        const out = editMembers(raw, membersOf(raw), map, texts);

        const expected = list.flatMap((piece) => {
          const edit = map.get(keyOf(piece));
          if (edit === undefined) return [{ key: piece.key, value: piece.value }];
          if (edit === null) return [];
          return [
            "rename" in edit
              ? { key: JSON.stringify(edit.rename), value: piece.value }
              : { key: piece.key, value: edit.value },
          ];
        });
        expected.push(...extra.map(([name, value]) => ({ key: JSON.stringify(name), value })));
        const members = membersOf(out);
        expect(
          members.map((m) => ({
            key: out.toString("utf8", m.keyStart, m.keyEnd),
            value: out.toString("utf8", m.valueStart, m.valueEnd),
          })),
        ).toEqual(expected);
        // And it is JSON, read as the members say, the last of a repeated name winning.
        const parsed = JSON.parse(out.toString()) as Record<string, unknown>;
        const last = new Map(
          expected.map(({ key, value }) => [JSON.parse(key) as string, JSON.parse(value) as unknown]),
        );
        expect(new Map(Object.entries(parsed))).toEqual(new Map(last));
      }),
      { numRuns: 1_000 },
    );
  });

  it("returns the very bytes when nothing is asked", () => {
    fc.assert(
      fc.property(pieces, space, space, (list, lead, tail) => {
        const raw = Buffer.from(textOf(list, lead, tail));
        expect(editMembers(raw, membersOf(raw), new Map(), []).equals(raw)).toBe(true);
      }),
    );
  });

  it.each([
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', { a: null }, '{ "b" : 2 , "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', { b: null }, '{ "a" : 1,"c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', { c: null }, '{ "a" : 1 , "b" : 2 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', { a: null, b: null }, '{ "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', { a: null, b: null, c: null }, "{  }"],
    ['{"a":1}', { a: { rename: "z" } }, '{"z":1}'],
    ['{"a":1.0,"b":1e5}', { a: { value: "2" } }, '{"a":2,"b":1e5}'],
  ] as [string, Record<string, Edit>, string][])("%s with %j is %s", (text, wanted, expected) => {
    const raw = Buffer.from(text);
    expect(editMembers(raw, membersOf(raw), new Map(Object.entries(wanted)), []).toString()).toBe(expected);
  });
});
