import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../../test/support/thrown.ts";
import { parametersOf } from "./header-parameters.ts";
import { contentTypeOf, editForm, type Form, formField, formOf } from "./multipart.ts";

const TYPE = "multipart/form-data; boundary=X-1";
const part = (head: string, value: string): string => `--X-1\r\n${head}\r\n\r\n${value}\r\n`;
const named = (name: string, value: string): string => part(`Content-Disposition: form-data; name="${name}"`, value);
const FILE = part(
  'content-disposition: form-data; name="file"; filename="a;b.mp3"\r\nContent-Type: audio/mpeg',
  "\x00\r\n-",
);
const END = "--X-1--\r\n";
const parse = (text: string, type: string | undefined = TYPE): Form => formOf(Buffer.from(text, "latin1"), type);
const valuesOf = (raw: Buffer, form: Form): [string, string | null, string][] =>
  form.parts.map(({ name, filename, valueStart, valueEnd }) => [
    name,
    filename,
    raw.toString("latin1", valueStart, valueEnd),
  ]);

describe("a form", () => {
  it.each([
    ["multipart/form-data; boundary=X-1"],
    ['Multipart/Form-Data; charset=utf-8; Boundary="X-1"'],
    ["multipart/form-data;boundary=X-1 ; x=y"],
  ])("is found by %s", (type) => {
    const raw = Buffer.from(named("model", "m") + FILE + named("empty", "") + END, "latin1");
    expect(valuesOf(raw, formOf(raw, type))).toEqual([
      ["model", null, "m"],
      ["file", "a;b.mp3", "\x00\r\n-"],
      ["empty", null, ""],
    ]);
  });

  it.each(["X-1", "a:b c", "(x)=?"])("has its type written in one way: %s", (boundary) => {
    const type = contentTypeOf({ boundary, parts: [] });
    expect(formOf(Buffer.from(`--${boundary}--`), type).boundary).toBe(boundary);
    expect(type).toBe(`multipart/form-data; boundary=${boundary === "X-1" ? boundary : JSON.stringify(boundary)}`);
  });

  it("may begin with a line break, have no parts, and end without one", () => {
    expect(parse(`\r\n${named("a", "1")}--X-1--`).parts).toHaveLength(1);
    expect(parse("--X-1--").parts).toEqual([]);
  });

  it("is what node's own FormData writes", async () => {
    const data = new FormData();
    data.append("model", "größe");
    data.append("file", new Blob([Buffer.from([0, 255, 13, 10])]), 'with "quotes".wav');
    const response = new Response(data);
    const raw = Buffer.from(await response.arrayBuffer());
    const form = formOf(raw, response.headers.get("content-type") ?? "");
    expect(formField(raw, form, "model", 100)).toBe("größe");
    expect(form.parts[1]).toMatchObject({ name: "file", filename: "with %22quotes%22.wav" });
  });

  it.each([
    ["no content-type", named("a", "1") + END, undefined],
    ["another content-type", "{}", "application/json"],
    ["no boundary", named("a", "1") + END, "multipart/form-data"],
    ["two boundaries", named("a", "1") + END, "multipart/form-data; boundary=X-1; boundary=Y"],
    ["an endless boundary", "", `multipart/form-data; boundary=${"x".repeat(71)}`],
    ["a boundary in another coding", named("a", "1") + END, "multipart/form-data; boundary=X-1; boundary*=utf-8''Y"],
    ["a boundary with a quote", "", 'multipart/form-data; boundary="a\\"b"'],
    ["another boundary", named("a", "1") + END, "multipart/form-data; boundary=Y"],
    ["nothing", "", TYPE],
    ["a preamble", `hi\r\n${named("a", "1")}${END}`, TYPE],
    ["an epilogue", `${named("a", "1")}${END}${named("model", "other")}${END}`, TYPE],
    ["no end", named("a", "1"), TYPE],
    ["an end cut short", `${named("a", "1")}--X-1-`, TYPE],
    ["headers without end", '--X-1\r\nContent-Disposition: form-data; name="a"', TYPE],
    [
      "headers that are too long",
      part(`Content-Disposition: form-data; name="a"\r\nX: ${"x".repeat(9_000)}`, "") + END,
      TYPE,
    ],
    ["no name", part("Content-Disposition: form-data", "1") + END, TYPE],
    ["an empty name", named("", "1") + END, TYPE],
    ["no disposition", part("Content-Type: text/plain", "1") + END, TYPE],
    ["another disposition", part('Content-Disposition: attachment; name="a"', "1") + END, TYPE],
    ["too many parts", named("a", "1").repeat(129) + END, TYPE],
  ])("with %s is refused", (_name, text, type) => {
    expect(refusalOf(() => formOf(Buffer.from(text), type)).code).toBe("invalid_request");
  });

  // What one server takes for the boundary, or for the name, and the next does not, could carry another model past the alias.
  it.each([
    [
      "a boundary behind a bare line feed",
      named("a", `x\n--X-1\nContent-Disposition: form-data; name="model"\n\nm`) + END,
    ],
    ["a boundary within a line", named("a", "x--X-1\r\n") + END],
    ["a boundary that goes on", named("a", "x\r\n--X-12\r\n") + END],
    ["two names", part('Content-Disposition: form-data; name="a"; name="model"', "m") + END],
    ["a name in another coding", part("Content-Disposition: form-data; name*=utf-8''model", "m") + END],
    ["both", part("Content-Disposition: form-data; name=a; name*=utf-8''model", "m") + END],
    ["an escape in a name", part('Content-Disposition: form-data; name="mod\\el"', "m") + END],
    [
      "two dispositions",
      part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="model"', "m") + END,
    ],
    ["a folded header", part('Content-Disposition: form-data;\r\n name="model"', "m") + END],
    ["a bare line feed in the headers", part('X: y\nContent-Disposition: form-data; name="model"', "m") + END],
  ])("with %s is refused", (_name, text) => {
    expect(refusalOf(() => parse(text)).code).toBe("invalid_request");
  });

  it("that repeats its boundary in vain takes no time", () => {
    const almost = Buffer.from(named("a", `\r\n--X-${"-".repeat(2_000_000)}${"\r\n--X-".repeat(400_000)}`) + END);
    const startedAt = process.cpuUsage().user;
    expect(formOf(almost, TYPE).parts).toHaveLength(1);
    expect(process.cpuUsage().user - startedAt).toBeLessThan(1_000_000);
  });
});

describe("a field", () => {
  const raw = Buffer.from(named("a", "1") + named("b", "2") + named("b", "3") + FILE + END, "latin1");
  const form = formOf(raw, TYPE);

  it("is its text, or nothing", () => {
    expect(formField(raw, form, "a", 10)).toBe("1");
    expect(formField(raw, form, "c", 10)).toBeUndefined();
  });

  it.each([
    ["b", 10],
    ["file", 10],
    ["a", 0],
  ])("%s of at most %d bytes is refused by its name", (name, bytesMax) => {
    expect(refusalOf(() => formField(raw, form, name, bytesMax))).toMatchObject({ param: name });
  });
});

describe("an edit", () => {
  const field = fc.record({
    name: fc.constantFrom("model", "gateway", "prompt", "timestamp_granularities[]"),
    value: fc.uint8Array({ maxLength: 40 }),
    file: fc.boolean(),
  });
  const write = (fields: { name: string; value: Uint8Array; file: boolean }[]): Buffer =>
    Buffer.concat([
      ...fields.flatMap(({ name, value, file }) => [
        Buffer.from(`--X-1\r\nContent-Disposition: form-data; name="${name}"${file ? '; filename="f"' : ""}\r\n\r\n`),
        value,
        Buffer.from("\r\n"),
      ]),
      Buffer.from(END),
    ]);

  it("changes what it names, takes out what it is told to, puts in what is missing, and leaves every other byte", () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 6 }), fc.string({ unit: "grapheme", maxLength: 8 }), (fields, model) => {
        const raw = write(fields);
        const form = formOf(raw, TYPE);
        const additions = new Map([["added", model]]);
        const edited = editForm(
          raw,
          form,
          new Map([
            ["model", model],
            ["gateway", null],
          ]),
          additions,
        );
        const wanted = fields
          .filter(({ name }) => name !== "gateway")
          .map((kept) => (kept.name === "model" ? { ...kept, value: Buffer.from(model) } : kept));
        expect(edited).toEqual(write([{ name: "added", value: Buffer.from(model), file: false }, ...wanted]));
        expect(editForm(raw, form, new Map(), new Map())).toEqual(raw);
      }),
    );
  });
});

describe("parameters", () => {
  it.each<[string, string, [string, string][]]>([
    ["form-data", "form-data", []],
    ["a;", "a", []],
    ["a; b", "a", []],
    [
      "a; b=c;d = e ",
      "a",
      [
        ["b", "c"],
        ["d", "e"],
      ],
    ],
    [
      'A; b="c;\\"d\\"=\\\\"; e=f',
      "a",
      [
        ["b", 'c;"d"=\\'],
        ["e", "f"],
      ],
    ],
    ['a; b="c:\\dir\\x"', "a", [["b", "c:\\dir\\x"]]],
    ['a; b="open', "a", [["b", "open"]]],
    [
      "a; =; ==",
      "a",
      [
        ["", ""],
        ["", "="],
      ],
    ],
  ])("of %s", (header, kind, parameters) => {
    expect(parametersOf(header)).toEqual([kind, parameters]);
  });
});
