import { describe, expect, it } from "vitest";
import { bytewise, parsePieces } from "../../../test/support/parsed.ts";
import { readChunkSize } from "./chunk-size.ts";
import { framingOf, isReusable, parseHead } from "./response-head.ts";

const head = (lines: string, start = "HTTP/1.1 200 OK") => parseHead(`${start}\r\n${lines}\r\n`);

describe("a head", () => {
  it("joins repeated headers, in their order and whatever their case", () => {
    expect({ ...head("X-A: 1\r\nx-b:2\r\nx-a:\t3 \r\nX-a:\r\n").headers }).toEqual({ "x-a": "1, 3, ", "x-b": "2" });
  });

  it("unfolds what is folded", () => {
    const { headers } = head("x-a: 1\r\n  2\r\n\t3\t\r\nx-b:\r\n 4\r\nx-a: 5\r\n 6\r\n");
    expect({ ...headers }).toEqual({ "x-a": "1 2 3, 5 6", "x-b": "4" });
  });

  it("finds a length that is folded, or stands behind a space before its colon", () => {
    expect(framingOf(head("content-length:\r\n 5\r\n"))).toBe(5);
    expect(framingOf(head("Content-Length : 5\r\n"))).toBe(5);
    expect(framingOf(head("transfer-encoding\t:\r\n chunked\r\n"))).toBe("chunked");
  });

  it("keeps bytes over 0x7f as they are, at the ends of a value too", () => {
    expect(head("x: \xa0\xe0\xa0\r\n").headers["x"]).toBe("\xa0\xe0\xa0");
  });

  it.each([
    ["a name that is missing", ": x\r\n"],
    ["a name that is blank", "\t: x\r\n"],
    ["a fold of nothing", " x: y\r\n"],
    ["no colon", "x\r\n"],
    ["no colon in this line, one in the next", "x\r\ny: z\r\n"],
    ["a CR within a value", "x: a\rcontent-length: 5\r\n"],
    ["a CR before the line end", "x: a\r\r\n"],
    ["a NUL", "x: a\0b\r\n"],
  ])("with %s is refused", (_what, lines) => {
    expect(() => head(lines)).toThrow();
  });

  it.each([
    ..."HTTP/1.1 099 X|HTTP/1.1 2000 X|HTTP/1.1 20 X|HTTP/1.1  200 X|HTTP/1.2 200 X|HTTP/2 200 X".split("|"),
    ..."http/1.1 200 X|HTTP/1.1 abc X|HTTP/1.1 200X|HTTP/1.1|XHTTP/1.1 200 X|HTTP/1.1 200 a\rb".split("|"),
  ])("that starts with %j is refused", (start) => {
    expect(() => head("", start)).toThrow();
  });
});

describe("framing", () => {
  it.each<[string, string, ReturnType<typeof framingOf>, boolean]>([
    ["a length", "content-length: 5\r\n", 5, true],
    ["the same length, over again", "content-length: 5\r\ncontent-length: 5, 5\r\n", 5, true],
    ["chunks", "transfer-encoding: chunked\r\n", "chunked", true],
    ["chunks, told twice", "transfer-encoding: chunked\r\nTransfer-Encoding: Chunked\r\n", "chunked", true],
    ["chunks beside a length", "content-length: 5\r\ntransfer-encoding: chunked\r\n", "chunked", false],
    ["chunks beside a length that is none", "content-length: x\r\ntransfer-encoding: chunked\r\n", "chunked", false],
    ["no coding at all, and said so", "transfer-encoding: identity\r\ncontent-length: 5\r\n", "until_close", false],
    ["a length, and a close", "content-length: 5\r\nconnection: foo, CLOSE\r\n", 5, false],
  ])("%s", (_what, lines, framing, reusable) => {
    expect(framingOf(head(lines))).toBe(framing);
    expect(isReusable(head(lines))).toBe(reusable);
  });

  it.each([..."-1|+5|5.0|0x5|5 6|5, 6|5,|,5|5;5|''| |٥|1e3|9999999999999999|18446744073709551621".split("|")])(
    "by the length %j is refused",
    (length) => {
      expect(() => framingOf(head(`content-length: ${length}\r\n`))).toThrow(/content-length/);
    },
  );

  it.each(["gzip", "gzip, chunked", "chunked, gzip", "chunked;q=1", "xchunked", "chunked chunked"])(
    "by the coding %j is refused",
    (coding) => {
      expect(() => framingOf(head(`transfer-encoding: ${coding}\r\n`))).toThrow(/transfer-encoding/);
    },
  );

  it("of 204 and 304 is no body, whatever they say", () => {
    for (const start of ["HTTP/1.1 204 X", "HTTP/1.1 304 X"])
      for (const lines of ["content-length: 5\r\n", "transfer-encoding: chunked\r\n", "content-length: x\r\n"])
        expect(framingOf(head(lines, start))).toBe(0);
  });
});

describe("a chunk's size", () => {
  const sizeOf = (line: string): number => readChunkSize(Buffer.from(line, "latin1"), 0, line.length);

  it.each([
    ["0", 0],
    ["5", 5],
    ["fF", 255],
    ["00000000000a", 10],
    ["ffffffffffff", 2 ** 48 - 1],
    ["5;a=b;c", 5],
    ["5 \t;a", 5],
    ["5  ", 5],
  ])("%j is %i", (line, size) => expect(sizeOf(line)).toBe(size));

  it.each([
    "",
    " 5",
    "-5",
    "+5",
    "g",
    "5g",
    "0x5",
    "5 5",
    "5,",
    "1000000000000",
    "5;a\rb",
    "\xb5",
    "5\0",
    "@",
    "`",
    "/",
    ":",
  ])("%j is refused", (line) => expect(() => sizeOf(line)).toThrow());

  it("is read where it stands, and no further", () => {
    expect(readChunkSize(Buffer.from("ffaff"), 2, 3)).toBe(10);
  });
});

describe("a chunk that is longer, or shorter, than its size", () => {
  const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

  it.each(["3\r\nhello\r\n", "3\r\nhel\rlo\r\n", "3\r\nhel 0\r\n\r\n", "7\r\nhello\r\n0\r\n\r\n"])(
    "%j is refused",
    (rest) => {
      const bytes = Buffer.from(chunked + rest);
      const whole = parsePieces([bytes]);
      expect(whole).toMatchObject({ status: 200, error: expect.any(String), reusable: null });
      expect(parsePieces(bytewise(bytes))).toEqual(whole);
    },
  );

  it("is refused at its first byte too many: nothing else may ever come", () => {
    expect(parsePieces([Buffer.from(`${chunked}3\r\nhell`)]).error).toMatch(/longer/);
  });
});

it("what cannot become HTTP is refused at once, without the line end that may never come", () => {
  for (const text of ["SSH-2.0-OpenSSH_9.2", "\x15\x03\x01\x00\x02\x02\x16", "HTTP/2", "220 mail", "\r\nHTTP/1.1 200"])
    expect(parsePieces(bytewise(Buffer.from(text, "latin1"))).error).toBe("not an HTTP/1.1 response");
  expect(parsePieces([Buffer.from("HTT")])).toMatchObject({ error: null, reusable: null });
});

it("a switch of protocols is refused", () => {
  expect(parsePieces([Buffer.from("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n")]).error).toMatch(
    /switched/,
  );
});
