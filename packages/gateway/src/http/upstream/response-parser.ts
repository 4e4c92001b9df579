import { HeldBytes } from "../../core/held-bytes.ts";
import type { UpstreamHeaders } from "../../core/transport.ts";
import { hexDigit, readChunkSize } from "./chunk-size.ts";
import { RememberedHead } from "./remembered-head.ts";
import { framingOf, isReusable, ProtocolError, parseHead, type ResponseHead } from "./response-head.ts";

/** What the parser tells of one response, in order: head, body pieces, done. */
export interface ParserEvents {
  onHead(status: number, headers: UpstreamHeaders): void;
  /** A piece of the body, without chunk framing: those of the bytes pushed that stand from `from` to `to`. */
  onBody(bytes: Buffer, from: number, to: number): void;
  /** The response is complete. `reusable`: the connection may carry another request. */
  onDone(reusable: boolean): void;
}

/** All header bytes of a response together: interim heads, its own, trailers. */
const HEAD_BYTES_MAX = 64 * 1024;
/** A chunk's size line with its extensions, or a trailer line. */
const LINE_BYTES_MAX = 8 * 1024;
/** Digits of the size of a chunk that is read in one step. */
const PLAIN_DIGITS_MAX = 4;

type State =
  | "head"
  | "sized"
  | "until_close"
  | "chunk_size"
  | "chunk_data"
  | "chunk_end"
  | "chunk_lf"
  | "trailer"
  | "done";

const LF = 10;
const CR = 13;
/** What every head begins with. */
const START = Buffer.from("HTTP/1.");

/**
 * Parses HTTP/1.1 responses to requests that are not HEAD (RFC 9112), one after the other on a connection, wherever the
 * bytes were cut. Throws a ProtocolError for what is not HTTP, or goes over a bound. Interim (1xx) responses are passed over.
 */
export class ResponseParser {
  readonly #events: ParserEvents;
  #state: State = "head";
  /** Of the body, or of the chunk, in bytes. */
  #left = 0;
  #headLeft = HEAD_BYTES_MAX;
  #reusable = true;
  #told = false;
  /** A head or a line that is not complete yet. */
  readonly #held = new HeldBytes();
  readonly #remembered = new RememberedHead();
  /** It has read a head: one that is used again may see that one again. */
  #used = false;

  constructor(events: ParserEvents) {
    this.#events = events;
  }

  /** Makes ready for the response to another request. */
  reset(): void {
    this.#state = "head";
    this.#headLeft = HEAD_BYTES_MAX;
    this.#reusable = true;
    this.#told = false;
    this.#held.clear();
  }

  /** Feeds the first `length` of `bytes`, of which it keeps none. What comes after the end of a response was not asked for. */
  push(bytes: Buffer, length = bytes.length): void {
    // Most reads of a stream bring whole chunks and nothing else, which can be told where they stand: no view of them is made.
    const at = this.#readPlainChunks(bytes, length);
    if (at < length) this.#readOn(bytes.subarray(at, length));
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

  #readOn(bytes: Buffer): void {
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
        case "chunk_end":
        case "chunk_lf":
          at = this.#readChunkEnd(bytes, at);
          break;
        case "until_close":
          this.#events.onBody(bytes, at, bytes.length);
          at = bytes.length;
          break;
        case "done":
          // Nothing was asked that these could answer: the response stands, the connection is not to be trusted further.
          this.#reusable = false;
          at = bytes.length;
          break;
        case "chunk_size":
          at = this.#readPlainChunk(bytes, at, bytes.length) || this.#readLine(bytes, at);
          break;
        default:
          at = this.#readLine(bytes, at);
      }
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const before = this.#held.length;
    const again = before === 0 && this.#used ? this.#remembered.read(bytes, at) : null;
    if (again && this.#remembered.end - at <= this.#headLeft) {
      const { end } = this.#remembered;
      this.#headLeft -= end - at;
      this.#takeHead(again);
      return end;
    }
    let all = bytes;
    let from = at;
    if (before > 0) {
      // One byte more than may come is enough to see that it did.
      this.#held.add(bytes, at, Math.min(bytes.length, at + this.#headLeft + 1 - before));
      all = this.#held.view;
      from = 0;
    }
    const found = endOfHead(all, from + Math.max(0, before - 2));
    const end = found === -1 ? all.length : found;
    if (found === -1) checkStart(all, from);
    if (end - from > this.#headLeft) throw new ProtocolError(`response headers over ${HEAD_BYTES_MAX} bytes`);
    if (found === -1) {
      if (before === 0) this.#held.add(bytes, at, end);
      return bytes.length;
    }
    const text = all.toString("latin1", from, end);
    if (before > 0) this.#held.clear();
    this.#headLeft -= end - from;
    const head = parseHead(text);
    if (this.#used && head.status >= 200) this.#remembered.learn(text, head);
    this.#takeHead(head);
    return at + (end - from) - before;
  }

  #takeHead(head: ResponseHead): void {
    const { status } = head;
    if (status < 200) {
      if (status === 101) throw new ProtocolError("the upstream switched protocols");
      return;
    }
    this.#used = true;
    const framing = framingOf(head);
    this.#reusable = framing !== "until_close" && isReusable(head);
    if (typeof framing === "number") {
      this.#left = framing;
      this.#state = framing === 0 ? "done" : "sized";
    } else {
      this.#state = framing === "chunked" ? "chunk_size" : "until_close";
    }
    this.#events.onHead(status, head.headers);
  }

  #readSized(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#state === "sized" ? "done" : "chunk_end";
    this.#events.onBody(bytes, at, end);
    return end;
  }

  /** The plain chunks that `bytes` begin with. Returns where they end. */
  #readPlainChunks(bytes: Buffer, length: number): number {
    let at = 0;
    while (this.#state === "chunk_size" && at < length) {
      const end = this.#readPlainChunk(bytes, at, length);
      if (end === 0) break;
      at = end;
    }
    return at;
  }

  /**
   * A chunk that is here whole, with nothing but its size in its line, as most are that bring an event of a stream: without
   * the steps that another takes. Returns where it ends; 0 for another, of which it takes nothing.
   */
  #readPlainChunk(bytes: Buffer, at: number, length: number): number {
    if (this.#held.length > 0) return 0;
    let size = 0;
    let line = at;
    for (; line < length && line < at + PLAIN_DIGITS_MAX; line++) {
      const digit = hexDigit(bytes[line] as number);
      if (digit === -1) break;
      size = size * 16 + digit;
    }
    const from = line + 2;
    const to = from + size;
    if (size === 0 || to + 2 > length) return 0;
    if (bytes[line] !== CR || bytes[line + 1] !== LF || bytes[to] !== CR || bytes[to + 1] !== LF) return 0;
    this.#events.onBody(bytes, from, to);
    return to + 2;
  }

  /** The line end behind a chunk. */
  #readChunkEnd(bytes: Buffer, at: number): number {
    const lf = this.#state === "chunk_end" && bytes[at] === CR ? at + 1 : at;
    if (lf === bytes.length) {
      this.#state = "chunk_lf";
      return lf;
    }
    if (bytes[lf] !== LF) throw new ProtocolError("a chunk longer than its size");
    this.#state = "chunk_size";
    return lf + 1;
  }

  /** Chunk sizes and trailers: short lines that end with LF. */
  #readLine(bytes: Buffer, at: number): number {
    // They are too short for a call into native code to be worth it.
    let end = at;
    while (end < bytes.length && bytes[end] !== LF) end++;
    const isWhole = end < bytes.length;
    if (isWhole) end++;
    if (this.#held.length + (end - at) > LINE_BYTES_MAX) throw new ProtocolError("a chunk header over its bound");
    if (isWhole && this.#held.length === 0) {
      this.#takeLine(bytes, at, end);
      return end;
    }
    this.#held.add(bytes, at, end);
    if (isWhole) {
      const line = this.#held.view;
      this.#held.clear();
      this.#takeLine(line, 0, line.length);
    }
    return end;
  }

  /** A line with its LF. */
  #takeLine(bytes: Buffer, from: number, end: number): void {
    const to = end - (end - from > 1 && bytes[end - 2] === CR ? 2 : 1);
    if (this.#state === "chunk_size") {
      this.#left = readChunkSize(bytes, from, to);
      this.#state = this.#left === 0 ? "trailer" : "chunk_data";
    } else if (to === from) {
      this.#state = "done";
    } else {
      this.#headLeft -= end - from;
      if (this.#headLeft < 0) throw new ProtocolError(`response trailers over ${HEAD_BYTES_MAX} bytes`);
    }
  }
}

/** What cannot become a head is told at once: a peer that speaks something else may never send a blank line. */
function checkStart(bytes: Buffer, from: number): void {
  const length = Math.min(bytes.length - from, START.length);
  if (bytes.compare(START, 0, length, from, from + length) !== 0) throw new ProtocolError("not an HTTP/1.1 response");
}

/** The offset after the blank line that ends a head, or -1. Lines are too short for a call into native code each. */
function endOfHead(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== LF) continue;
    const next = bytes[at + 1];
    if (next === LF) return at + 2;
    if (next === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}
