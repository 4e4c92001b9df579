import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Piece, pieces, space, stringText, textOf } from "../../test/support/json-texts.ts";
import { refusalOf } from "../../test/support/thrown.ts";
import { LIMITS } from "../core/limits.ts";
import { type Bytes, inOnePiece } from "../core/pieces.ts";
import { editBody as editedBody, foundMembers, membersIn } from "./call-members.ts";
import { parseJsonBody } from "./json-body.ts";
import { type Edit, editMembers, membersOf } from "./json-members.ts";

/** What decoding finds of a body's members. */
function found(text: string) {
  const raw = Buffer.from(text);
  return { raw, ...foundMembers(raw, parseJsonBody(raw, "application/json")) };
}

/** Whether decoding takes it: not with a key that names a prototype, however it is written. */
function isTaken(text: string): boolean {
  try {
    parseJsonBody(Buffer.from(text), "application/json");
    return true;
  } catch {
    return false;
  }
}

/** Its bytes, joined. */
function editBody(...args: Parameters<typeof editedBody>): Buffer {
  return inOnePiece(editedBody(...args));
}

/** The way without a short cut. */
function walked(text: string, edits: ReadonlyMap<string, Edit>, additions: readonly string[]): string {
  const raw = Buffer.from(text);
  return editMembers(raw, membersOf(raw), edits, additions).toString();
}

/** Values that look like the key, or hold what does. */
const lookalike = fc.constantFrom(
  '"model"',
  '"\\"model\\""',
  '"\\"model\\":\\"x\\""',
  '{"model":"x"}',
  '{"a":{"model":1}}',
  '["model"]',
  '"mod\\u0065l"',
  '"\\\\"',
  '"é"',
);
const modelValue = fc.oneof(
  stringText,
  fc.constantFrom('"bench"', '"gpt-4o"', '"a\\"b"', "7", "null", '{"model":"x"}'),
);
const modelKey = fc.oneof({ weight: 9, arbitrary: fc.constant('"model"') }, fc.constant('"mod\\u0065l"'));

/** Enough for a body to be sent on in pieces. */
const LARGE = `"${"large ".repeat(1_000)}"`;

/** A piece whose key and value have no escapes of ASCII, and are not called `model`. */
const isTame = ({ key, value }: Piece): boolean => !/\\u00|"model"/.test(key + value);

/** Members as they come, or tame ones, with a model, or two, among them. */
const bodies = fc
  .record({
    list: fc.oneof(
      pieces,
      pieces.map((list) => list.filter(isTame)),
    ),
    values: fc.array(fc.option(lookalike, { freq: 1 }), { maxLength: 3 }),
    models: fc.array(fc.record({ key: modelKey, value: modelValue, at: fc.nat(7), gap: space }), {
      minLength: 1,
      maxLength: 2,
    }),
    lead: space,
    tail: space,
    large: fc.boolean(),
  })
  .map(({ list, values, models, lead, tail, large }) => {
    const members: Piece[] = list.map((piece, index) => ({ ...piece, value: values[index] ?? piece.value }));
    for (const { key, value, at, gap } of models) {
      members.splice(at, 0, { before: gap, key, afterKey: gap, beforeValue: gap, value, after: gap });
    }
    if (large) members.unshift({ before: "", key: '"l"', afterKey: "", beforeValue: "", value: LARGE, after: "" });
    return textOf(members, lead, tail);
  })
  .filter(isTaken);

describe("editBody", () => {
  const edited = modelValue.map((value): Map<string, Edit> => new Map([["model", { value }]]));
  const additions = fc.array(fc.constantFrom('"x":1', '"stream_options":{"include_usage":true}', '"é":"é"'), {
    maxLength: 2,
  });

  it("makes of any body what the walk over all members makes of it", () => {
    let short = 0;
    let asText = 0;
    fc.assert(
      fc.property(bodies, edited, additions, (text, edits, added) => {
        const call = found(text);
        if (call.modelAt) short++;
        if (typeof editedBody(call, edits, added) === "string") asText++;
        expect(editBody(call, edits, added).toString()).toBe(walked(text, edits, added));
      }),
      { numRuns: 3_000 },
    );
    // Each way was taken.
    expect(short).toBeGreaterThan(100);
    expect(short).toBeLessThan(2_000);
    expect(asText).toBeGreaterThan(10);
    expect(asText).toBeLessThan(short - 10);
  });

  it.each([
    ['{"model":"a"}', true],
    [' { "messages" : [ ] , "model" : "a" } ', true],
    ['{"é":"é","model":"é"}', true],
    ['{"model":"a","b":"\\"model\\""}', false],
    ['{"model_x":"a","model":"a"}', false],
    ['{"model":"a","models":["b"]}', false],
    ['{"model":"a","b":"model"}', false],
    ['{"b":{"model":"x"},"model":"a"}', false],
    ['{"model":"a","model":"b"}', false],
    ['{"model":"a","mod\\u0065l":"b"}', false],
    ['{"mod\\u0065l":"b","b":"model"}', false],
    ['{"model":"a\\nb"}', false],
    ['{"model":7}', false],
    ['{"b":{"model":"x"}}', false],
  ])("knows the model's place in %s without a walk: %s", (text, known) => {
    const call = found(text);
    expect(call.members).toBeNull();
    expect(call.modelAt !== null).toBe(known);
    const edits = new Map<string, Edit>([["model", { value: '"spliced"' }]]);
    expect(editBody(call, edits, []).toString()).toBe(walked(text, edits, []));
  });

  it("makes text of a short body that is all ASCII, and leaves any other where it is", () => {
    const spliced = (text: string, value: string, ...added: string[]) =>
      editedBody(found(text), new Map<string, Edit>([["model", { value }]]), added);
    const isText = (body: Bytes): boolean => typeof body === "string";
    expect(spliced('{"model":"a"}', '"s"', '"x":1')).toBe('{"model":"s","x":1}');
    expect(isText(spliced('{"model":"a","é":1}', '"s"'))).toBe(false);
    expect(isText(spliced('{"model":"a"}', '"é"'))).toBe(false);
    expect(isText(spliced('{"model":"a"}', '"s"', '"x":"é"'))).toBe(false);
    const edits = new Map<string, Edit>([["model", { value: '"spliced"' }]]);
    const call = found(`{"model":"a","l":${LARGE}}`);
    const body = editedBody(call, edits, ['"x":1']);
    if (typeof body === "string" || Buffer.isBuffer(body)) throw new Error("it was copied");
    expect(body.pieces.filter((piece) => piece.buffer === call.raw.buffer).length).toBeGreaterThan(0);
    expect(body.length).toBe(inOnePiece(body).length);
  });

  it.each<[string, Edit | undefined]>([
    ["model", null],
    ["model", { rename: "name" }],
    ["b", { value: "2" }],
  ])("walks where %s becomes %j", (key, edit) => {
    const text = '{"a":1,"model":"a","b":1}';
    const edits = new Map<string, Edit>([[key, edit ?? null]]);
    expect(editBody(found(text), edits, []).toString()).toBe(walked(text, edits, []));
    edits.set("model", { value: '"m"' });
    edits.set("a", null);
    expect(editBody(found(text), edits, []).toString()).toBe(walked(text, edits, []));
  });
});

describe("foundMembers", () => {
  const nested = (levels: number, beside: number): string =>
    `{"a":${"[".repeat(levels)}${"]".repeat(levels)},"b":[${Array(beside).fill("{}").join(",")}],"c":"[{["}`;

  it("holds every body to the bound on nesting as the walk does", () => {
    const { jsonDepthMax } = LIMITS;
    fc.assert(
      fc.property(fc.integer({ min: jsonDepthMax - 5, max: jsonDepthMax + 2 }), fc.nat(4), (levels, beside) => {
        const text = nested(levels, beside);
        const refusal = (act: () => unknown): string | null => {
          try {
            act();
            return null;
          } catch (error) {
            return String(error);
          }
        };
        const refused = refusal(() => found(text));
        expect(refused).toBe(refusal(() => membersOf(Buffer.from(text))));
        if (refused === null) expect(membersIn(found(text))).toEqual(membersOf(Buffer.from(text)));
      }),
    );
  });

  it("leaves the walk out where brackets are few, and makes it where they are not", () => {
    expect(found(nested(10, 10)).members).toBeNull();
    expect(found(nested(10, LIMITS.jsonDepthMax)).members).toHaveLength(3);
  });

  it("counts the members of a body that could hold too many", () => {
    const many = Array.from({ length: LIMITS.jsonMembersMax + 1 }, () => '"":1').join(",");
    expect(refusalOf(() => found(`{${many}}`)).message).toContain("top-level members");
  });
});
