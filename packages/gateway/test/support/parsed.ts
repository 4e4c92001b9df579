import type { UpstreamHeaders } from "../../src/core/transport.ts";
import { ProtocolError } from "../../src/http/upstream/response-head.ts";
import { ResponseParser } from "../../src/http/upstream/response-parser.ts";

/** What an earlier read left behind the bytes of a later one: the end of a body. */
const BEHIND = Buffer.from("\r\n\n0\r\n\r\n");

/** What a parser told of the bytes of one response. */
export interface Parsed {
  /** Null: no head came. */
  status: number | null;
  headers: UpstreamHeaders;
  body: Buffer;
  /** Null: it was not over. */
  reusable: boolean | null;
  /** What was thrown. */
  error: string | null;
  /** What the parser said of the close at the end. */
  wholeAtClose: boolean;
}

/** Feeds a parser `pieces`, and then the close. Bytes after the end make the connection unusable, as a connection would. */
export function parsePieces(pieces: readonly Buffer[]): Parsed {
  const parsed: Parsed = {
    status: null,
    headers: {},
    body: Buffer.alloc(0),
    reusable: null,
    error: null,
    wholeAtClose: false,
  };
  const body: Buffer[] = [];
  const parser = new ResponseParser({
    onHead(status, headers) {
      if (parsed.status !== null) throw new Error("two heads");
      parsed.status = status;
      parsed.headers = { ...headers };
    },
    onBody(bytes, from, to) {
      if (parsed.status === null || parsed.reusable !== null || from >= to) throw new Error("a stray piece");
      body.push(Buffer.from(bytes.subarray(from, to)));
    },
    onDone(reusable) {
      if (parsed.reusable !== null) throw new Error("done twice");
      parsed.reusable = reusable;
    },
  });
  try {
    for (const piece of pieces) {
      const wasOver = parsed.reusable !== null;
      // Bytes are lent: what it keeps of them has to be its own.
      const lent = Buffer.concat([piece, BEHIND]);
      parser.push(lent, piece.length);
      lent.fill("!");
      if (wasOver && piece.length > 0) parsed.reusable = false;
    }
    parsed.wholeAtClose = parser.close();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    parsed.error = error.message;
  }
  parsed.body = Buffer.concat(body);
  return parsed;
}

/** Cuts bytes at `places`, taken modulo their number. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const edges = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}

/** Each byte by itself. */
export function bytewise(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
}
