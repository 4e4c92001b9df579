import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UpstreamHeaders } from "../../core/transport.ts";
import { ResponseParser } from "./response-parser.ts";

interface Response {
  status: number;
  headers: UpstreamHeaders;
  body: string;
  /** Null while it is not over. */
  reusable: boolean | null;
}

/** Feeds `pieces`; each response that is done makes the parser ready for the next, as a connection does. */
function parse(pieces: readonly (string | Buffer)[], close = false): { responses: Response[]; whole: boolean } {
  const responses: Response[] = [];
  const last = (): Response => responses[responses.length - 1] as Response;
  const parser = new ResponseParser({
    onHead: (status, headers) => responses.push({ status, headers, body: "", reusable: null }),
    onBody: (bytes, from, to) => {
      last().body += bytes.toString("latin1", from, to);
    },
    onDone: (reusable) => {
      expect(last().reusable).toBeNull();
      last().reusable = reusable;
      parser.reset();
    },
  });
  for (const piece of pieces) parser.push(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece);
  const whole = close ? parser.close() : false;
  return { responses, whole };
}

const bytewise = (text: string): Buffer[] => [...Buffer.from(text, "latin1")].map((byte) => Buffer.from([byte]));

const HEADERS = "x-a: b\r\nContent-Type:text/plain \r\nx-a:  c\r\n";
const SIZED = `HTTP/1.1 200 OK\r\n${HEADERS}content-length: 5\r\n\r\nhello`;
const CHUNKED = `HTTP/1.1 200 OK\r\n${HEADERS}transfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;a="b"\r\nlo\r\n0\r\nx-t: 1\r\n\r\n`;
const INTERIM = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";

describe("a response", () => {
  it.each([
    ["of a length", SIZED],
    ["in chunks", CHUNKED],
    ["behind interim ones", INTERIM + SIZED],
    ["with bare line feeds", SIZED.replaceAll("\r\n", "\n")],
    ["in chunks, with bare line feeds", CHUNKED.replaceAll("\r\n", "\n")],
  ])("%s is read the same, wherever it is cut", (_how, text) => {
    const want = [{ status: 200, body: "hello", reusable: true }];
    for (let place = 0; place <= text.length; place++) {
      expect(parse([text.slice(0, place), text.slice(place)]).responses, `cut at ${place}`).toMatchObject(want);
    }
    const [response] = parse(bytewise(text)).responses;
    expect(response).toMatchObject(want[0] ?? {});
    expect({ ...response?.headers }).toMatchObject({ "x-a": "b, c", "content-type": "text/plain" });
  });

  it("lasts until the close where nothing says its length", () => {
    expect(parse(bytewise("HTTP/1.1 200 OK\r\n\r\nhello"), true)).toEqual({
      responses: [{ status: 200, headers: {}, body: "hello", reusable: false }],
      whole: true,
    });
  });

  it.each([SIZED.slice(0, -1), CHUNKED.slice(0, -2), "HTTP/1.1 200 OK\r\ncontent-le", ""])(
    "cut short by the close is not whole: %j",
    (text) => {
      const { responses, whole } = parse([text], true);
      expect(whole).toBe(false);
      expect(responses.every(({ reusable }) => reusable === null)).toBe(true);
    },
  );

  it.each([
    ["HTTP/1.1 204 No Content\r\n\r\n", 204, true],
    ["HTTP/1.1 304 Not Modified\r\ncontent-length: 50\r\n\r\n", 304, true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, true],
    ["HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", 200, true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n", 200, false],
    ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", 200, false],
    ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n", 200, true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0, 0\r\n\r\n", 200, true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n", 200, true],
    // Both: chunked holds, and the connection is not trusted further (RFC 9112, 6.3).
    ["HTTP/1.1 200 OK\r\ncontent-length: 99\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 200, false],
    // More than was asked for: the answer stands, the connection does not.
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nmore", 200, false],
  ])("%j is %i, and the connection reusable: %s", (text, status, reusable) => {
    expect(parse([text]).responses).toMatchObject([{ status, body: "", reusable }]);
  });

  it.each([
    "SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP/2 200\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    "HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 5x\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhello\r\n",
    `HTTP/1.1 200 OK\r\nx: ${"x".repeat(70_000)}\r\n\r\n`,
    `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(20_000)}`,
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(9_000)}`,
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ${"x".repeat(9_000)}`,
  ])("is refused: %#", (text) => {
    expect(() => parse([text])).toThrow();
    expect(() => parse(bytewise(text))).toThrow();
  });

  it("that never ends its head is stopped at the bound, byte by byte, in little time", () => {
    expect(() => parse(bytewise(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(100_000)}`))).toThrow(/over/);
  });

  it("has headers of its own, whatever their names", () => {
    const [response] = parse([
      "HTTP/1.1 200 OK\r\n__proto__: x\r\nconstructor: y\r\ncontent-length: 0\r\n\r\n",
    ]).responses;
    expect(Object.keys(response?.headers ?? {})).toEqual(["__proto__", "constructor", "content-length"]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });
});

it("many responses on one connection are told apart, however they are cut", () => {
  const response = fc
    .record({
      status: fc.constantFrom(200, 400, 503),
      pieces: fc.array(fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 30 }), { maxLength: 4 }),
      chunked: fc.boolean(),
    })
    .map(({ status, pieces, chunked }) => {
      const body = pieces.join("");
      const framed = chunked
        ? `transfer-encoding: chunked\r\n\r\n${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join("")}0\r\n\r\n`
        : `content-length: ${body.length}\r\n\r\n${body}`;
      return { status, body, text: `HTTP/1.1 ${status} X\r\n${framed}` };
    });
  fc.assert(
    fc.property(
      fc.array(response, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 10 }),
      (list, places) => {
        // A response's bytes never share a piece with another's: nothing is asked before the one before is over.
        const pieces = list.flatMap(({ text }) => {
          const edges = [0, ...places.map((place) => place % (text.length + 1)).sort((a, b) => a - b), text.length];
          return edges.slice(1).map((edge, index) => text.slice(edges[index], edge));
        });
        expect(parse(pieces).responses.map(({ status, body, reusable }) => ({ status, body, reusable }))).toEqual(
          list.map(({ status, body }) => ({ status, body, reusable: true })),
        );
      },
    ),
    { numRuns: 500 },
  );
});
