import { crc32 } from "node:zlib";
import type { EventSplitter, StreamEvent } from "../../core/stream-event.ts";

/** Total length, length of the headers, and the checksum of the two. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const NO_BYTES = Buffer.alloc(0);
const TYPE_STRING = 7;
/** Bytes of a header's value by its type; null: two bytes tell how many follow. */
const VALUE_BYTES: readonly (number | null)[] = [0, 0, 1, 2, 4, 8, null, null, 8, 16];

/** Begins the name of an event that is an error of the model's or of the service, before its type. */
export const EXCEPTION = "exception:";
/** The same for an error of the connection, before its code. */
export const ERROR = "error:";

/**
 * Cuts an AWS event stream (`application/vnd.amazon.eventstream`, WIRE B5) into frames wherever the chunks were cut, and checks
 * both checksums of each: the one of its length as soon as that is there, so that no broken length is waited for. A frame that
 * the stream ends in is dropped: what it would have said is missing, and the reader of the stream sees that.
 */
export class FrameSplitter implements EventSplitter {
  readonly #bytesMax: number;
  /** The frame at hand, in a buffer of its size, or of the prelude's while that is not known. */
  #frame: Buffer = NO_BYTES;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  push(chunk: Buffer, onEvent: (event: StreamEvent) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#bytes === 0 && chunk.length - at >= PRELUDE_BYTES) {
        const end = at + this.#length(chunk.subarray(at, at + PRELUDE_BYTES));
        if (end <= chunk.length) {
          onEvent(readFrame(chunk.subarray(at, end)));
          at = end;
          continue;
        }
      }
      at += this.#hold(chunk, at, onEvent);
    }
  }

  end(): void {
    this.#frame = NO_BYTES;
    this.#bytes = 0;
  }

  /** Takes what the frame at hand lacks, or its prelude; returns how much that was. */
  #hold(chunk: Buffer, at: number, onEvent: (event: StreamEvent) => void): number {
    if (this.#bytes === 0) this.#frame = Buffer.allocUnsafe(PRELUDE_BYTES);
    const taken = chunk.copy(this.#frame, this.#bytes, at);
    this.#bytes += taken;
    if (this.#bytes < this.#frame.length) return taken;
    const held = this.#frame;
    if (held.length === PRELUDE_BYTES) {
      this.#frame = Buffer.allocUnsafe(this.#length(held));
      held.copy(this.#frame);
    } else {
      this.end();
      onEvent(readFrame(held));
    }
    return taken;
  }

  #length(prelude: Buffer): number {
    if (crc32(prelude.subarray(0, 8)) !== prelude.readUInt32BE(8)) {
      throw new Error("a frame of the stream is damaged: the checksum of its length is wrong");
    }
    const total = prelude.readUInt32BE(0);
    if (total > this.#bytesMax) throw new Error(`a frame of the stream is over ${this.#bytesMax} bytes`);
    if (prelude.readUInt32BE(4) > total - PRELUDE_BYTES - CHECKSUM_BYTES) {
      throw new Error("a frame of the stream is shorter than what it says it holds");
    }
    return total;
  }
}

/** One whole frame: an event with its payload as text, or an error under a name that says so. */
function readFrame(raw: Buffer): StreamEvent {
  const end = raw.length - CHECKSUM_BYTES;
  if (crc32(raw.subarray(0, end)) !== raw.readUInt32BE(end)) {
    throw new Error("a frame of the stream is damaged: its checksum is wrong");
  }
  const headersEnd = PRELUDE_BYTES + raw.readUInt32BE(4);
  const headers = readHeaders(raw.subarray(PRELUDE_BYTES, headersEnd));
  const payload = raw.toString("utf8", headersEnd, end);
  switch (headers.get(":message-type")) {
    case "event":
      return { name: headers.get(":event-type") ?? "", data: payload, raw };
    case "exception":
      return { name: EXCEPTION + (headers.get(":exception-type") ?? ""), data: payload, raw };
    case "error": {
      const message = headers.get(":error-message") ?? "";
      return { name: ERROR + (headers.get(":error-code") ?? ""), data: JSON.stringify({ message }), raw };
    }
    default:
      throw new Error("a frame of the stream is of no known message type");
  }
}

/** The headers that are text; the others are stepped over. */
function readHeaders(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + bytes.readUInt8(at);
    const type = nameEnd < bytes.length ? bytes.readUInt8(nameEnd) : -1;
    let size = VALUE_BYTES[type];
    let start = nameEnd + 1;
    if (size === null && start + 2 <= bytes.length) {
      size = bytes.readUInt16BE(start);
      start += 2;
    }
    if (size === undefined || size === null || start + size > bytes.length) {
      throw new Error("a frame of the stream has a header that cannot be read");
    }
    if (type === TYPE_STRING) {
      headers.set(bytes.toString("utf8", at + 1, nameEnd), bytes.toString("utf8", start, start + size));
    }
    at = start + size;
  }
  return headers;
}
