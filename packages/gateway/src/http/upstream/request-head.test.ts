import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { post } from "../../../test/support/recording-sink.ts";
import { type Bytes, inOnePiece } from "../../core/pieces.ts";
import { type RequestBytes, RequestHeads } from "./request-head.ts";

/** The whole request, each byte a character. */
const text = ({ first, rest }: RequestBytes): string =>
  Buffer.concat([inOnePiece(first), ...(rest ?? [])]).toString("latin1");
const inPieces = (...pieces: string[]): Bytes => ({
  pieces: pieces.map((piece) => Buffer.from(piece)),
  length: pieces.join("").length,
});
const write = (change: Parameters<typeof post>[1]): string => text(new RequestHeads("api:8080").write(post(1, change)));

describe("a request's head", () => {
  it("has its line, the host, the headers, the length and a blank line", () => {
    expect(write({ path: "/v1?a=%20", headers: ["x-a", "1", "x-b", "\xe0 2"] })).toBe(
      "POST /v1?a=%20 HTTP/1.1\r\nhost: api:8080\r\nx-a: 1\r\nx-b: \xe0 2\r\ncontent-length: 2\r\n\r\n{}",
    );
  });

  it.each([
    ["POST", null, "content-length: 0\r\n\r\n"],
    ["POST", Buffer.alloc(0), "content-length: 0\r\n\r\n"],
    ["GET", null, "host: api:8080\r\n\r\n"],
    ["DELETE", null, "host: api:8080\r\n\r\n"],
    ["DELETE", Buffer.from("abc"), "content-length: 3\r\n\r\nabc"],
    ["GET", Buffer.alloc(0), "content-length: 0\r\n\r\n"],
  ] as const)("of a %s with the body %j tells its length", (method, body, end) => {
    expect(write({ method, body, headers: [] })).toMatch(new RegExp(`${end}$`));
  });

  it("tells lists of headers apart, one that is used over again included", () => {
    const heads = new RequestHeads("h");
    const [one, other] = [
      ["x-a", "1"],
      ["x-a", "2"],
    ] as const;
    const of = (headers: readonly string[]): string | undefined =>
      /x-a: (.)/.exec(text(heads.write(post(1, { headers: [...headers] }))))?.[1];
    const same = ["x-a", "3"];
    expect([of(one), of(other), of(one)]).toEqual(["1", "2", "1"]);
    for (let i = 0; i < 2; i++) expect(text(heads.write(post(1, { headers: same })))).toContain("x-a: 3");
  });

  it("is what a writer that has written nothing before would write, whatever came before it", () => {
    const lists = [[], ["x-a", "1"], ["x-a", "\xe0"], ["bad name", "1"]];
    const request = fc.record({
      method: fc.constantFrom("GET" as const, "POST" as const, "DELETE" as const),
      path: fc.constantFrom("/a", "/b?c=%20", "/no way"),
      headers: fc.constantFrom(...lists),
      body: fc.constantFrom<Bytes | null>(
        null,
        Buffer.alloc(0),
        Buffer.from("abc"),
        Buffer.alloc(3_900, 97),
        Buffer.alloc(9_000, 98),
        "",
        "\xc3\xa9",
        "a".repeat(3_900),
        inPieces("ab", "c"),
        inPieces("a", "b".repeat(9_000), "c"),
      ),
    });
    const outcome = (heads: RequestHeads, change: Parameters<typeof post>[1]): string => {
      try {
        return text(heads.write(post(1, change)));
      } catch (error) {
        return String(error);
      }
    };
    fc.assert(
      fc.property(fc.array(request, { maxLength: 8 }), (requests) => {
        const heads = new RequestHeads("h");
        for (const each of requests) expect(outcome(heads, each)).toBe(outcome(new RequestHeads("h"), each));
      }),
    );
  });

  it("tells the length of a body behind a request that had none, and of none behind one that had", () => {
    const heads = new RequestHeads("h");
    const headers: string[] = [];
    for (const body of [null, Buffer.from("abc"), null]) {
      const change = { method: "DELETE", headers, body } as const;
      expect(text(heads.write(post(1, change)))).toBe(text(new RequestHeads("h").write(post(1, change))));
    }
  });

  it("takes a small body into its own piece, and does not copy a large one", () => {
    const [small, large] = [Buffer.alloc(1_000), Buffer.alloc(10_000)];
    const heads = new RequestHeads("h");
    expect(heads.write(post(1, { body: small })).rest).toBeNull();
    expect(heads.write(post(1, { body: large })).rest?.[0]).toBe(large);
  });

  it.each([0, 1, 9, 10, 99, 100, 1_000, 40_960, 1_234_567])("tells the length %d", (length) => {
    expect(write({ body: Buffer.alloc(length) })).toContain(`\r\ncontent-length: ${length}\r\n\r\n`);
  });

  it.each(["", "{}", "\xc3\xa9", "a".repeat(5_000)])("is the same with its body as text", (body) => {
    const heads = new RequestHeads("api:8080");
    const written = heads.write(post(1, { body, headers: ["x-a", "\xe0"] }));
    expect(typeof written.first).toBe("string");
    expect(text(written)).toBe(write({ body: Buffer.from(body, "latin1"), headers: ["x-a", "\xe0"] }));
  });

  it.each([
    [["a", "bc"], null],
    [["a", "b".repeat(9_000), "c"], 3],
  ])("is the same with its body in pieces", (pieces, apart) => {
    const body = inPieces(...pieces);
    const bytes = new RequestHeads("api:8080").write(post(1, { body }));
    expect(text(bytes)).toBe(write({ body: Buffer.from(pieces.join("")) }));
    expect(bytes.rest?.length ?? null).toBe(apart);
  });

  it.each([
    ["a line end in a value", ["x-a", "1\r\nx-evil: 1"]],
    ["a bare LF", ["x-a", "1\nx-evil: 1"]],
    ["a bare CR", ["x-a", "1\rx-evil: 1"]],
    ["a NUL", ["x-a", "1\0"]],
    ["a DEL", ["x-a", "1\x7f"]],
    // Their low bytes are CR and LF.
    ["characters that Latin-1 would make a line end", ["x-a", "1\u010d\u010ax-evil: 1"]],
    ["a line end in a name", ["x-a\r\nx-evil", "1"]],
    ["a colon in a name", ["x-a: 1, b", "1"]],
    ["a name that is empty", ["", "1"]],
    ["a host of its own", ["host", "evil"]],
    ["a length of its own", ["content-length", "0"]],
    ["a coding of its own", ["transfer-encoding", "chunked"]],
  ])("is not written with %s", (_what, headers) => {
    expect(() => write({ headers })).toThrow(/header/);
  });

  it("never names the value it refuses", () => {
    expect(() => write({ headers: ["authorization", "Bearer sk-secret\n"] })).toThrow(/^(?!.*secret)/);
  });

  it("is still refused the second time", () => {
    const heads = new RequestHeads("h");
    const request = post(1, { headers: ["x-a", "1\n"] });
    for (let i = 0; i < 2; i++) expect(() => heads.write(request)).toThrow();
  });

  it.each(["/a b", "/a HTTP/1.1\r\nx: y\r\n\r\n", "/\u010d\u010a", "/\xe0", "a", "", "//a\t", "*"])(
    "is not written with the path %j",
    (path) => {
      expect(() => write({ path })).toThrow(/path/);
    },
  );
});
