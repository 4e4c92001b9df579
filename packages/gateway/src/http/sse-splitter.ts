import type { EventSplitter, StreamEvent } from "../core/stream-event.ts";

const LF = 10;
const CR = 13;
const NO_BYTES = Buffer.alloc(0);

/**
 * Cuts a byte stream into server-sent events (WHATWG HTML, "event stream interpretation") wherever the chunks were cut.
 * An event's `data` is its `data:` lines joined by LF, null for a block of comments, or of blank lines, only; its `raw` holds
 * its blank line. LF, CRLF and CR end lines. Holds at most one event; over `bytesMax` it throws.
 */
export class SseSplitter implements EventSplitter {
  readonly #bytesMax: number;
  /** The event being read, as far as earlier chunks brought it: one buffer that doubles, so that tiny chunks cost no object each. */
  #held: Buffer = NO_BYTES;
  #heldBytes = 0;
  /** True when the line being read has no byte yet. */
  #lineEmpty = true;
  #afterCr = false;
  /** True when the block being read holds a line: blank lines between events are no events. */
  #hasLine = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Nothing of an event is held. (The LF of a CRLF that was cut in two may still come: it is a blank line like any other.) */
  get isBetween(): boolean {
    return this.#heldBytes === 0;
  }

  /** Feeds bytes; calls `onEvent` for each event they complete, in order, before it returns. */
  push(chunk: Buffer, onEvent: (event: StreamEvent) => void): void {
    let start = 0;
    // Looked for by native code, and again only when passed: neither is worth a look at every byte.
    let lf = -1;
    let cr = -1;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false;
        // The second half of a CRLF. If it follows a finished event, it belongs to that event's bytes or to the next's.
        continue;
      }
      this.#afterCr = byte === CR;
      if (byte !== LF && byte !== CR) {
        this.#lineEmpty = false;
        this.#hasLine = true;
        if (lf < i) lf = placeOf(LF, chunk, i);
        if (cr < i) cr = placeOf(CR, chunk, i);
        i = Math.min(lf, cr) - 1;
        continue;
      }
      if (!this.#lineEmpty) {
        this.#lineEmpty = true;
        continue;
      }
      if (!this.#hasLine) continue;
      let end = i + 1;
      if (byte === CR && chunk[end] === LF) {
        end++;
        i++;
        this.#afterCr = false;
      }
      this.#emit(chunk.subarray(start, end), onEvent);
      start = end;
    }
    if (start < chunk.length) this.#hold(start === 0 ? chunk : chunk.subarray(start));
  }

  /** The end of the stream: a last event without its blank line still counts, and blank lines at the end are not lost. */
  end(onEvent: (event: StreamEvent) => void): void {
    if (this.#heldBytes > 0) this.#emit(NO_BYTES, onEvent);
  }

  #hold(piece: Buffer): void {
    const size = this.#heldBytes + piece.length;
    this.#bound(size);
    if (size > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(size, this.#held.length * 2), this.#bytesMax));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    piece.copy(this.#held, this.#heldBytes);
    this.#heldBytes = size;
  }

  #emit(piece: Buffer, onEvent: (event: StreamEvent) => void): void {
    let raw = piece;
    if (this.#heldBytes > 0) {
      this.#hold(piece);
      raw = this.#held.subarray(0, this.#heldBytes);
      this.#held = NO_BYTES;
      this.#heldBytes = 0;
    }
    this.#bound(raw.length);
    this.#hasLine = false;
    onEvent(parseEvent(raw));
  }

  #bound(size: number): void {
    if (size > this.#bytesMax) throw new Error(`an event of the stream is over ${this.#bytesMax} bytes`);
  }
}

/** What `raw`, the last event of a stream, lacks of the blank line that ends an event. */
export function missingBlankLine(raw: Buffer): Buffer {
  const end = raw.toString("latin1", Math.max(0, raw.length - 5)).replaceAll("\r\n", "\n");
  // Nothing but line ends: the event before them is over.
  if (/^[\r\n]*$/.test(end)) return NO_BYTES;
  // A CR at the end would make one line end of itself and the LF behind it.
  return Buffer.from(/[\r\n]{2}$/.test(end) ? "" : end.endsWith("\n") ? "\n" : "\n\n");
}

/** Where a byte stands next; the chunk's length, where it does not. */
function placeOf(byte: number, chunk: Buffer, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found === -1 ? chunk.length : found;
}

function parseEvent(raw: Buffer): StreamEvent {
  const text = raw.toString("utf8");
  let name: string | null = null;
  let data: string | null = null;
  let position = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  let lf = -1;
  let cr = -1;
  while (position < text.length) {
    if (lf < position) lf = placeIn(text, "\n", position);
    if (cr < position) cr = placeIn(text, "\r", position);
    const end = Math.min(lf, cr);
    if (text.startsWith("data", position)) {
      const value = fieldValue(text, position + 4, end);
      if (value !== null) data = data === null ? value : `${data}\n${value}`;
    } else if (text.startsWith("event", position)) {
      name = fieldValue(text, position + 5, end) ?? name;
    }
    position = end + 1;
  }
  return { name, data, raw };
}

function placeIn(text: string, character: string, from: number): number {
  const found = text.indexOf(character, from);
  return found === -1 ? text.length : found;
}

/** The value after a field name that ends at `position`; null when the name goes on (`database:`). */
function fieldValue(text: string, position: number, end: number): string | null {
  if (position === end) return "";
  if (text.charCodeAt(position) !== 58) return null;
  return text.slice(text.charCodeAt(position + 1) === 32 ? position + 2 : position + 1, end);
}
