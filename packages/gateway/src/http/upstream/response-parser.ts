import type { UpstreamHeaders } from "../../core/transport.ts";

/** What the parser tells of one response, in order: head, body pieces, done. */
export interface ParserEvents {
  onHead(status: number, headers: UpstreamHeaders): void;
  /** A piece of the body, without chunk framing. A view of the bytes that were pushed. */
  onBody(piece: Buffer): void;
  /** The response is complete. `reusable`: the connection may carry another request. */
  onDone(reusable: boolean): void;
}

/** All header bytes of a response together. */
const HEAD_BYTES_MAX = 64 * 1024;
/** A chunk's size line with its extensions, or a trailer line. */
const LINE_BYTES_MAX = 8 * 1024;

type State = "head" | "sized" | "until_close" | "chunk_size" | "chunk_data" | "chunk_end" | "trailer" | "done";

const LF = 10;
const CR = 13;

/**
 * Parses HTTP/1.1 responses to requests that are not HEAD (RFC 9112), one after the other on a connection, wherever the
 * bytes were cut. Throws for what is not HTTP, or goes over a bound. Interim (1xx) responses are passed over.
 */
export class ResponseParser {
  readonly #events: ParserEvents;
  #state: State = "head";
  #left = 0;
  #reusable = true;
  #told = false;
  /** A head or a line that is not complete yet. */
  #held: Buffer | null = null;

  constructor(events: ParserEvents) {
    this.#events = events;
  }

  /** Makes ready for the response to another request. */
  reset(): void {
    this.#state = "head";
    this.#held = null;
    this.#reusable = true;
    this.#told = false;
  }

  /** Feeds bytes. What comes after the end of a response is not HTTP: nothing was asked. */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#state) {
        case "head":
          at = this.#readHead(bytes, at);
          break;
        case "sized":
        case "chunk_data":
          at = this.#readSized(bytes, at);
          break;
        case "until_close":
          this.#events.onBody(at === 0 ? bytes : bytes.subarray(at));
          at = bytes.length;
          break;
        case "done":
          // Nothing was asked that these could answer: the response stands, the connection is not to be trusted further.
          this.#reusable = false;
          at = bytes.length;
          break;
        default:
          at = this.#readLine(bytes, at);
      }
    }
    // Only now: telling it may put the next request on this connection, and these bytes must not be taken for its answer.
    if (this.#state === "done" && !this.#told) {
      this.#told = true;
      this.#events.onDone(this.#reusable);
    }
  }

  /** The peer has closed. True when that ends the response well; false when it cuts it short. */
  close(): boolean {
    if (this.#state !== "until_close") return false;
    this.#state = "done";
    this.#told = true;
    this.#events.onDone(false);
    return true;
  }

  #readHead(bytes: Buffer, at: number): number {
    const before = this.#held?.length ?? 0;
    const all = this.#held ? Buffer.concat([this.#held, bytes.subarray(at)]) : at === 0 ? bytes : bytes.subarray(at);
    const end = endOfHead(all, Math.max(0, before - 3));
    if ((end === -1 ? all.length : end) > HEAD_BYTES_MAX)
      throw new Error(`response headers over ${HEAD_BYTES_MAX} bytes`);
    if (end === -1) {
      // The piece may be a view of a buffer that is used again.
      this.#held = Buffer.from(all);
      return bytes.length;
    }
    this.#held = null;
    this.#takeHead(all.toString("latin1", 0, end));
    return at + (end - before);
  }

  #takeHead(text: string): void {
    const status = /^HTTP\/1\.([01]) (\d{3})(?=[ \r\n])/.exec(text);
    if (!status) throw new Error("not an HTTP/1.1 response");
    const code = Number(status[2]);
    const headers: UpstreamHeaders = Object.create(null);
    for (let at = text.indexOf("\n") + 1; at < text.length; ) {
      const end = text.indexOf("\n", at);
      readHeader(text, at, end, headers);
      at = end + 1;
    }
    if (code >= 100 && code < 200) {
      if (code === 101) throw new Error("the upstream switched protocols");
      return;
    }
    const connection = headers["connection"]?.toLowerCase() ?? "";
    this.#reusable = status[1] === "1" ? !connection.includes("close") : connection.includes("keep-alive");
    this.#frame(code, headers);
    this.#events.onHead(code, headers);
  }

  /** How the body is delimited (RFC 9112, 6.3). Chunked wins over a length, and then the connection is not used again. */
  #frame(code: number, headers: UpstreamHeaders): void {
    const encoding = headers["transfer-encoding"]?.toLowerCase();
    const length = headers["content-length"];
    if (code === 204 || code === 304) {
      this.#state = "done";
    } else if (encoding !== undefined) {
      if (!/(?:^|,)\s*chunked\s*$/.test(encoding)) this.#untilClose();
      else this.#state = "chunk_size";
      if (length !== undefined) this.#reusable = false;
    } else if (length !== undefined) {
      // The same length twice is joined by a comma.
      const [first = "", ...rest] = length.split(/\s*,\s*/);
      if (!/^\d{1,15}$/.test(first) || rest.some((other) => other !== first))
        throw new Error("a content-length that is no number");
      this.#left = Number(first);
      this.#state = this.#left === 0 ? "done" : "sized";
    } else {
      this.#untilClose();
    }
  }

  #untilClose(): void {
    this.#state = "until_close";
    this.#reusable = false;
  }

  #readSized(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#state === "sized" ? "done" : "chunk_end";
    this.#events.onBody(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    return end;
  }

  /** Chunk sizes, chunk ends and trailers: short lines that end with LF. */
  #readLine(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at);
    const end = lf === -1 ? bytes.length : lf + 1;
    let line = bytes.subarray(at, end);
    if (this.#held) line = Buffer.concat([this.#held, line]);
    if (line.length > LINE_BYTES_MAX) throw new Error("a chunk header over its bound");
    if (lf === -1) {
      this.#held = Buffer.from(line);
      return end;
    }
    this.#held = null;
    const length = line.length - (line[line.length - 2] === CR ? 2 : 1);
    if (this.#state === "chunk_end") {
      if (length !== 0) throw new Error("a chunk longer than its size");
      this.#state = "chunk_size";
    } else if (this.#state === "trailer") {
      if (length === 0) this.#state = "done";
    } else {
      this.#takeChunkSize(line.toString("latin1", 0, length));
    }
    return end;
  }

  #takeChunkSize(line: string): void {
    const size = /^([0-9a-fA-F]{1,12})\s*(?:;|$)/.exec(line);
    if (!size) throw new Error("a chunk size that is no number");
    this.#left = Number.parseInt(size[1] ?? "", 16);
    this.#state = this.#left === 0 ? "trailer" : "chunk_data";
  }
}

/** The offset after the blank line that ends a head, or -1. */
function endOfHead(bytes: Buffer, from: number): number {
  let lf = bytes.indexOf(LF, from);
  while (lf !== -1) {
    const next = bytes[lf + 1];
    if (next === LF) return lf + 2;
    if (next === CR && bytes[lf + 2] === LF) return lf + 3;
    lf = bytes.indexOf(LF, lf + 1);
  }
  return -1;
}

/** One header line of a head, from `start` to its LF at `lf`. */
function readHeader(text: string, start: number, lf: number, headers: UpstreamHeaders): void {
  const end = text.charCodeAt(lf - 1) === CR ? lf - 1 : lf;
  if (end <= start) return;
  const colon = text.indexOf(":", start);
  if (colon <= start || colon >= end) throw new Error("a response header without a name");
  const name = text.slice(start, colon).toLowerCase();
  const value = text.slice(colon + 1, end).trim();
  const known = headers[name];
  headers[name] = known === undefined ? value : `${known}, ${value}`;
}
