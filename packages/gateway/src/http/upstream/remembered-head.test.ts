import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RememberedHead } from "./remembered-head.ts";
import { parseHead } from "./response-head.ts";
import { ResponseParser } from "./response-parser.ts";

const head = (...lines: string[]): string => `${["HTTP/1.1 200 OK", ...lines].join("\r\n")}\r\n\r\n`;

/** One that remembers `text`. */
function remembering(text: string): RememberedHead {
  const heads = new RememberedHead();
  heads.learn(text, parseHead(text));
  return heads;
}

const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");

describe("a head with the lines of the one before it", () => {
  it("is read as it would be alone, whatever its values", () => {
    const heads = remembering(head("Date: a", "content-length: 12", "X-Id:\t1"));
    const text = head("Date: b", "content-length: 12", "X-Id:\t123 \xe0\t4");
    expect(heads.read(bytesOf(`${text}body`), 0)).toEqual(parseHead(text));
    expect(heads.end).toBe(text.length);
    expect(heads.read(bytesOf(`xx${text}`), 2)).toEqual(parseHead(text));
    expect(heads.end).toBe(text.length + 2);
  });

  it("has every header, also behind a status line that ends with LF alone", () => {
    const text = head("transfer-encoding: chunked", "a: 1").replace("OK\r\n", "OK\n");
    expect(remembering(text).read(bytesOf(text), 0)).toEqual(parseHead(text));
  });

  it("is not read before it is whole", () => {
    const text = head("a: 1", "b: 2");
    const heads = remembering(text);
    for (let end = 0; end < text.length; end++) expect(heads.read(bytesOf(text.slice(0, end)), 0)).toBeNull();
  });

  it.each([
    ["another status", head("a: 1", "b: 2").replace("200 OK", "201 OK")],
    ["a line more", head("a: 1", "b: 2", "c: 3")],
    ["a line less", head("a: 1")],
    ["another name", head("a: 1", "c: 2")],
    ["a name in another case", head("A: 1", "b: 2")],
    ["its lines in another order", head("b: 2", "a: 1")],
    ["a fold", head("a: 1", " more", "b: 2")],
    ["a fold at its end", head("a: 1", "b: 2", " more")],
    ["an empty value", head("a: ", "b: 2")],
    ["blanks before a value", head("a:  1", "b: 2")],
    ["blanks behind a value", head("a: 1 ", "b: 2")],
    ["a bare LF", head("a: 1", "b: 2").replace("\r\nb", "\nb")],
    ["a bare CR", head("a: 1\r1", "b: 2")],
    ["a bare CR for a line end", head("a: 1", "b: 2").replace("\r\nb", "\rxb")],
    ["a NUL", head("a: 1", "b: 2\0")],
  ])("but for %s is left to be read whole", (_name, text) => {
    expect(remembering(head("a: 1", "b: 2")).read(bytesOf(text), 0)).toBeNull();
  });

  it.each([
    ["two lines of one name", head("a: 1", "A: 2")],
    ["a fold", head("a: 1", " more")],
    ["a fold that says nothing", head("a: 1", " ")],
    ["an empty value", head("a: 1", "b:")],
    ["a blank before its colon", head("a : 1")],
    ["a blank behind a value", head("a: 1 ")],
    ["bare line ends", "HTTP/1.1 200 OK\na: 1\n\n"],
    ["a bare line end", "HTTP/1.1 200 OK\r\na: 1\nb: 2\r\n\r\n"],
    ["over 4 KiB", head(`a: ${"x".repeat(4_096)}`)],
    ["over 64 lines", head(...Array.from({ length: 65 }, (_, i) => `a${i}: 1`))],
  ])("is not looked for where that one has %s", (_name, text) => {
    expect(remembering(text).read(bytesOf(text), 0)).toBeNull();
  });

  it("is looked for a few times only where no head comes again", () => {
    const heads = new RememberedHead();
    const texts = Array.from({ length: 5 }, (_, i) => head(`x-${i}: 1`));
    for (const text of texts) heads.learn(text, parseHead(text));
    expect(heads.read(bytesOf(texts[3] as string), 0)).not.toBeNull();
    for (const text of texts.slice(0, 4)) heads.learn(text, parseHead(text));
    expect(heads.read(bytesOf(texts[3] as string), 0)).not.toBeNull();
    expect(heads.read(bytesOf(texts[4] as string), 0)).toBeNull();
  });
});

const line = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("Content-Length: 0", "content-length: 0", "date: 1", "date: 2", "x-id: ab") },
  fc.constantFrom("x-id: \xe0 b", "x-id:", " fold", "date:\t1 ", "connection: close", "x y: 1", ": 1", "x-id : 1", ""),
  fc.string({ unit: fc.constantFrom("a", ":", " ", "\t", "\r", "\n", "\0", "\xff"), maxLength: 8 }),
);
const usual = ["Content-Length: 0", "date: 1", "x-id: ab"];
const text = fc
  .record({
    status: fc.constantFrom(
      ...["HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 100 Continue"],
      "HTTP/1.1 200 OK\nx-s: 1",
    ),
    lines: fc.array(fc.oneof(fc.constant(null), line), { maxLength: 5 }),
    end: fc.constantFrom("\r\n", "\r\n", "\r\n", "\n"),
  })
  .map(({ status, lines, end }) => [status, ...lines.map((it, i) => it ?? usual[i] ?? "z: 1"), "", ""].join(end));

/** What a parser tells of an answer that comes in these pieces. */
function outcome({ parser, log }: Recording, ...pieces: Buffer[]): unknown[] {
  log.length = 0;
  parser.reset();
  try {
    for (const piece of pieces) parser.push(piece);
  } catch (error) {
    log.push(String(error));
  }
  return [...log];
}

interface Recording {
  parser: ResponseParser;
  log: unknown[];
}

function recording(): Recording {
  const log: unknown[] = [];
  const parser = new ResponseParser({
    onHead: (status, headers) => log.push([status, { ...headers }, Object.getPrototypeOf(headers)]),
    onBody: (bytes, from, to) => log.push(bytes.toString("latin1", from, to)),
    onDone: (reusable) => log.push(reusable),
  });
  return { parser, log };
}

it("whatever heads a connection has had, the next one is read as on a new one", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.option(fc.nat(), { freq: 3 })), { maxLength: 8 }), (heads) => {
      const old = recording();
      for (const [each, cut] of heads) {
        const bytes = bytesOf(each);
        const place = (cut ?? 0) % (bytes.length + 1);
        const cutUp = [bytes.subarray(0, place), bytes.subarray(place)];
        expect(outcome(old, ...cutUp)).toEqual(outcome(recording(), ...cutUp));
      }
    }),
    { numRuns: 1_500 },
  );
});

describe("a head that is remembered", () => {
  const known = head("transfer-encoding: chunked", "x-a: 1");
  const answer = bytesOf(`${known}0\r\n\r\n`);
  const interim = (bytes: number): string => `HTTP/1.1 103 Early\r\nx: ${"y".repeat(bytes)}\r\n\r\n`;
  const used = (): Recording => {
    const old = recording();
    for (let i = 0; i < 3; i++) outcome(old, answer);
    return old;
  };

  it.each([
    ["interim heads before it leave too little room", `${interim(65_490)}${known}0\r\n\r\n`, /over 65536 bytes/],
    [
      "trailers behind it are too long",
      `${known}0\r\n${`t: ${"y".repeat(8_000)}\r\n`.repeat(8)}t: ${"y".repeat(1_450)}\r\n\r\n`,
      /over 65536 bytes/,
    ],
  ])("counts among all header bytes: %s", (_name, text, error) => {
    expect(outcome(recording(), bytesOf(text)).at(-1)).toMatch(error);
    expect(outcome(used(), bytesOf(text))).toEqual(outcome(recording(), bytesOf(text)));
  });

  it("is not looked for behind the beginning of another", () => {
    const pieces = [bytesOf("HTTP/1.1 200 OK\r\nx-b: "), answer];
    expect(outcome(used(), ...pieces)).toEqual(outcome(recording(), ...pieces));
  });
});
