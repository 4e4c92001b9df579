import fc from "fast-check";

/** A JSON value as a sender may have written it: its text, with white space and escapes of its own choice. */
type Text = string;

/** White space between tokens. */
export const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/);
const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "\n", "\u0000", "é", "😀"),
    maxLength: 12,
  }),
);

/** A string's text: plain, with every character escaped, or with `\/` and `\u` where nobody had to. */
export const stringText: fc.Arbitrary<Text> = fc.tuple(anyText, fc.nat(2)).map(([value, way]) => {
  if (way === 0) return JSON.stringify(value);
  if (way === 1)
    return `"${[...value].flatMap((char) => [...Array(char.length).keys()].map((i) => escaped(char, i))).join("")}"`;
  return JSON.stringify(value).replaceAll("/", "\\/");
});

function escaped(char: string, index: number): string {
  return `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`;
}

const numberText: fc.Arbitrary<Text> = fc.constantFrom(
  "0",
  "-0",
  "1.0",
  "1e5",
  "1E-5",
  "12345678901234567890",
  "0.1000",
  "-1.50e+3",
);
/** Any value. */
export const { value: valueText } = fc.letrec<{ value: Text }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.oneof(stringText, numberText, fc.constantFrom("true", "false", "null", "{}", "[]")),
    fc
      .array(fc.tuple(space, tie("value"), space), { maxLength: 4 })
      .map((items) => `[${items.map((i) => i.join("")).join(",")}]`),
    fc
      .array(fc.tuple(space, stringText, space, space, tie("value"), space), { maxLength: 4 })
      .map((items) => `{${items.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(",")}}`),
  ),
}));

/** A member of an object, with the white space around its parts. */
export interface Piece {
  before: string;
  key: Text;
  afterKey: string;
  beforeValue: string;
  value: Text;
  after: string;
}

/** Few names, so that they repeat. */
export const names = ["model", "stream", "a", "b"];
const keyText: fc.Arbitrary<Text> = fc.oneof(
  stringText,
  // And one that is only `model` once it is read.
  fc.constantFrom(...names.map((name) => JSON.stringify(name)), '"mod\\u0065l"'),
);
/** The members of an object. */
export const pieces: fc.Arbitrary<Piece[]> = fc.array(
  fc.record({ before: space, key: keyText, afterKey: space, beforeValue: space, value: valueText, after: space }),
  { maxLength: 7 },
);

/** The object of these members; `tail` stands in an empty one, too. */
export function textOf(list: readonly Piece[], lead: string, tail: string): string {
  const members = list.map((p) => `${p.before}${p.key}${p.afterKey}:${p.beforeValue}${p.value}${p.after}`);
  return `${lead}{${members.join(",")}${list.length === 0 ? tail : ""}}${tail}`;
}
