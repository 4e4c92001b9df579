import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { bytewise, cutAt, type Parsed, parsePieces } from "../../../test/support/parsed.ts";
import { seeded } from "../../../test/support/seeded.ts";
import { ResponseParser } from "./response-parser.ts";

/** A response as it is written, and what is to be read of it. */
interface Case {
  bytes: Buffer;
  want: Omit<Parsed, "error">;
}

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

const eol = fc.constantFrom("\r\n", "\n");
const blanks = fc.constantFrom("", " ", "\t", " \t ");
const name = fc
  .stringMatching(/^[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,12}$/)
  .filter((text) => !/^(content-length|transfer-encoding|connection)$/i.test(text));
const value = fc.stringMatching(/^([!-~\x80-\xff]([\t -~\x80-\xff]{0,20}[!-~\x80-\xff])?)?$/);
const headers = fc.array(fc.tuple(name, value, blanks, blanks), { maxLength: 30 });
const interim = fc.array(fc.tuple(fc.constantFrom(100, 102, 103, 199), headers), { maxLength: 2 });
const body = fc.uint8Array({ maxLength: 300 });

const framing = fc.oneof(
  fc.record({ how: fc.constant("length" as const), body, repeated: fc.constantFrom("", ", N", ",N , N") }),
  fc.record({
    how: fc.constant("chunked" as const),
    chunks: fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 5 }),
    extension: fc.constantFrom("", ";a", " ;a=b", ';a="x;y"', "\t"),
    zeros: fc.constantFrom("", "0", "0000"),
    upper: fc.boolean(),
    trailers: headers,
    beside: fc.boolean(),
  }),
  fc.record({ how: fc.constant("until_close" as const), body }),
  fc.record({ how: fc.constant("none" as const), status: fc.constantFrom(204, 304), length: fc.boolean() }),
);

const responses: fc.Arbitrary<Case> = fc
  .record({
    eol,
    interim,
    status: fc.constantFrom(200, 201, 301, 404, 429, 503, 599),
    reason: fc.constantFrom("", " ", " OK", " Not \xe0 la carte", " 200 HTTP/1.1"),
    minor: fc.constantFrom(1, 1, 1, 0),
    connection: fc.constantFrom(null, null, "close", "Close", "keep-alive", "Keep-Alive"),
    upper: fc.boolean(),
    headers,
    framing,
  })
  .map((it) => {
    const cased = (text: string): string => (it.upper ? text.toUpperCase() : text);
    const lines = (list: [string, string, string, string][]): string =>
      list.map(([key, text, before, after]) => `${key}:${before}${text}${after}${it.eol}`).join("");
    const framed = frame(it.framing, it.eol, cased, lines);
    const status = it.framing.how === "none" ? it.framing.status : it.status;
    const own: [string, string, string, string][] = [...it.headers, ...framed.headers];
    if (it.connection !== null) own.push([cased("connection"), it.connection, " ", ""]);
    const heads = it.interim.map(([code, list]) => `HTTP/1.1 ${code} Wait${it.eol}${lines(list)}${it.eol}`).join("");
    const head = `HTTP/1.${it.minor} ${status}${it.reason}${it.eol}${lines(own)}${it.eol}`;
    const kept =
      it.minor === 1 ? it.connection?.toLowerCase() !== "close" : it.connection?.toLowerCase() === "keep-alive";
    const isOver = it.framing.how !== "until_close";
    const chunkedIn10 = it.framing.how === "chunked" && it.minor === 0;
    return {
      bytes: Buffer.concat([latin1(heads + head), framed.bytes]),
      want: {
        status,
        headers: joined(own),
        body: framed.body,
        reusable: isOver && kept && !framed.isDoubtful && !chunkedIn10,
        wholeAtClose: !isOver,
      },
    };
  });

type Framing = typeof framing extends fc.Arbitrary<infer F> ? F : never;

function frame(
  it: Framing,
  end: string,
  cased: (text: string) => string,
  lines: (list: [string, string, string, string][]) => string,
): { headers: [string, string, string, string][]; bytes: Buffer; body: Buffer; isDoubtful: boolean } {
  if (it.how === "none") {
    const length: [string, string, string, string][] = it.length ? [["Content-Length", "7", " ", ""]] : [];
    return { headers: length, bytes: Buffer.alloc(0), body: Buffer.alloc(0), isDoubtful: false };
  }
  if (it.how === "until_close") {
    const bytes = Buffer.from(it.body);
    return { headers: [], bytes, body: bytes, isDoubtful: false };
  }
  if (it.how === "length") {
    const bytes = Buffer.from(it.body);
    const length = `${bytes.length}${it.repeated.replaceAll("N", String(bytes.length))}`;
    return { headers: [[cased("content-length"), length, " ", " "]], bytes, body: bytes, isDoubtful: false };
  }
  const bytes = it.chunks.flatMap((chunk) => {
    const size = chunk.length.toString(16);
    return [latin1(`${it.zeros}${it.upper ? size.toUpperCase() : size}${it.extension}${end}`), chunk, latin1(end)];
  });
  const coding: [string, string, string, string][] = [[cased("transfer-encoding"), cased("chunked"), " ", ""]];
  if (it.beside) coding.push(["content-length", "3", "", ""]);
  return {
    headers: coding,
    bytes: Buffer.concat([...bytes, latin1(`0${it.extension}${end}${lines(it.trailers)}${end}`)]),
    body: Buffer.concat(it.chunks),
    isDoubtful: it.beside,
  };
}

function joined(list: readonly [string, string, string, string][]): Record<string, string> {
  const all = new Map<string, string[]>();
  for (const [key, text] of list) all.set(key.toLowerCase(), [...(all.get(key.toLowerCase()) ?? []), text]);
  return Object.fromEntries([...all].map(([key, texts]) => [key, texts.join(", ")]));
}

const places = fc.array(fc.nat(), { maxLength: 12 });

describe("any response", () => {
  it("is read as it was written, wherever it is cut", () => {
    fc.assert(
      fc.property(responses, places, ({ bytes, want }, at) => {
        const plain = { ...want, headers: { ...want.headers }, error: null };
        expect(parsePieces([bytes])).toEqual(plain);
        expect(parsePieces(cutAt(bytes, at))).toEqual(plain);
        expect(parsePieces(bytewise(bytes))).toEqual(plain);
      }),
      { numRuns: 400 },
    );
  });

  it("with garbage behind it stands, and its connection is not used again", () => {
    fc.assert(
      fc.property(responses, fc.uint8Array({ minLength: 1, maxLength: 20 }), places, ({ bytes, want }, garbage, at) => {
        fc.pre(!want.wholeAtClose);
        const all = Buffer.concat([bytes, garbage]);
        const plain = { ...want, headers: { ...want.headers }, reusable: false, error: null };
        expect(parsePieces([all])).toEqual(plain);
        expect(parsePieces(cutAt(all, at))).toEqual(plain);
      }),
    );
  });

  it("cut short is never whole, unless only the close ends it", () => {
    fc.assert(
      fc.property(responses, fc.nat(), ({ bytes, want }, at) => {
        const parsed = parsePieces([bytes.subarray(0, at % bytes.length)]);
        expect(parsed.error).toBeNull();
        expect(parsed.reusable === null || want.wholeAtClose).toBe(true);
        expect(parsed.wholeAtClose).toBe(want.wholeAtClose && parsed.status !== null);
        expect(want.body.subarray(0, parsed.body.length)).toEqual(parsed.body);
      }),
    );
  });

  it("with some of its bytes broken is read, or refused, the same wherever it is cut", () => {
    const breaks = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...latin1("\r\n\0 \t:;,0fx-\xff"))), {
      minLength: 1,
      maxLength: 4,
    });
    let refused = 0;
    fc.assert(
      fc.property(responses, breaks, places, ({ bytes }, broken, at) => {
        for (const [place, byte] of broken) bytes[place % bytes.length] = byte;
        const whole = parsePieces([bytes]);
        if (whole.error !== null) refused++;
        expect(parsePieces(cutAt(bytes, at))).toEqual(whole);
        expect(parsePieces(bytewise(bytes))).toEqual(whole);
      }),
      { numRuns: 1_000 },
    );
    expect(refused).toBeGreaterThan(100);
  });
});

describe("a body of megabytes", () => {
  const random = seeded(7);
  const megabytes = Buffer.alloc(5 * 1024 * 1024);
  for (let at = 0; at < megabytes.length; at += 4) megabytes.writeInt32LE(random.int(-(2 ** 31), 2 ** 31 - 1), at);
  const cuts = Array.from({ length: 2_000 }, () => random.int(0, megabytes.length));

  it("of a length comes through whole", () => {
    const bytes = Buffer.concat([latin1(`HTTP/1.1 200 OK\r\ncontent-length: ${megabytes.length}\r\n\r\n`), megabytes]);
    for (const pieces of [[bytes], cutAt(bytes, cuts)]) {
      const { body: read, reusable } = parsePieces(pieces);
      expect(reusable).toBe(true);
      expect(read.equals(megabytes)).toBe(true);
    }
  });

  it("in chunks of any size comes through whole", () => {
    const chunks: Buffer[] = [];
    for (let at = 0; at < megabytes.length; ) {
      const chunk = megabytes.subarray(at, at + random.pick([1, 15, 16, 255, 4_096, 65_535, 1_000_000]));
      chunks.push(latin1(`${chunk.length.toString(16)}\r\n`), chunk, latin1("\r\n"));
      at += chunk.length;
    }
    const bytes = Buffer.concat([
      latin1("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
      ...chunks,
      latin1("0\r\n\r\n"),
    ]);
    for (const pieces of [[bytes], cutAt(bytes, cuts)]) {
      const { body: read, reusable } = parsePieces(pieces);
      expect(reusable).toBe(true);
      expect(read.equals(megabytes)).toBe(true);
    }
  });
});

describe("what comes byte by byte", () => {
  /** Bytes that are copied into new memory, and bytes that are searched through, while `act` runs. */
  function workOf(act: () => void): number {
    let work = 0;
    const allocUnsafe = Buffer.allocUnsafe;
    const indexOf = Buffer.prototype.indexOf;
    const spies = [
      vi.spyOn(Buffer, "allocUnsafe").mockImplementation((size) => {
        work += size;
        return allocUnsafe(size);
      }),
      vi.spyOn(Buffer.prototype, "indexOf").mockImplementation(function (this: Buffer, ...args: unknown[]) {
        work += this.length - Number(args[1] ?? 0);
        return Reflect.apply(indexOf, this, args) as number;
      }),
    ];
    try {
      act();
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
    return work;
  }

  it.each([
    ["a head", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(60_000)}\r\n\r\n`],
    ["a head of many lines", `HTTP/1.1 200 OK\n${"x: y\n".repeat(12_000)}\n`],
    ["a head that never ends", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(70_000)}`],
    ["a chunk's line", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(8_000)}\r\n`],
    [
      "trailers",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${`x: ${"y".repeat(8_000)}\r\n`.repeat(7)}`,
    ],
  ])("%s costs work in proportion to its length", (_what, text) => {
    const pieces = bytewise(latin1(text));
    expect(workOf(() => parsePieces(pieces))).toBeLessThan(12 * text.length);
  });

  it("headers that need looking at again and again cost no more than others", () => {
    // Spaces before a comma that never comes; one CR at the very end of many lines; a fold of a fold.
    for (const line of [
      `content-length: 1${" ".repeat(60_000)}x`,
      `transfer-encoding: chunked${" ,".repeat(30_000)}x`,
    ]) {
      expect(parsePieces([latin1(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n`)]).error).not.toBeNull();
    }
    const folds = parsePieces([latin1(`HTTP/1.1 204 No\n${"x: y\n z\n".repeat(8_000)}\r\n`)]);
    expect(folds.headers["x"]).toHaveLength("y z, ".length * 8_000 - 2);
  });
});

describe("bounds", () => {
  const BOUND = 64 * 1024;
  const start = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ";
  const headOf = (size: number): Buffer => latin1(`${start}${"x".repeat(size - start.length - 4)}\r\n\r\n`);

  it.each([
    ["whole", (bytes: Buffer) => [bytes]],
    ["byte by byte", bytewise],
    ["with its blank line apart", (bytes: Buffer) => cutAt(bytes, [bytes.length - 2])],
  ])("a head of just the bound is read, one of a byte more is refused: %s", (_how, cut) => {
    expect(parsePieces(cut(headOf(BOUND)))).toMatchObject({ status: 200, error: null });
    expect(parsePieces(cut(headOf(BOUND + 1)))).toMatchObject({
      status: null,
      error: "response headers over 65536 bytes",
    });
  });

  it.each([
    ["interim heads", "HTTP/1.1 100 Continue\r\n\r\n".repeat(3_000)],
    ["trailers", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"x: y\r\n".repeat(12_000)}`],
    ["an endless chunk line", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(9_000)}`],
  ])("%s without end are stopped", (_what, text) => {
    const bytes = latin1(text);
    const whole = parsePieces([bytes]);
    expect(whole.error).toMatch(/over/);
    expect(parsePieces(bytewise(bytes))).toEqual(whole);
  });

  it("start anew with every response", () => {
    let read = 0;
    const parser = new ResponseParser({
      onHead() {},
      onBody() {},
      onDone: (reusable) => {
        read += Number(reusable);
      },
    });
    for (let i = 0; i < 3; i++) {
      parser.reset();
      parser.push(headOf(BOUND));
    }
    expect(read).toBe(3);
  });
});
