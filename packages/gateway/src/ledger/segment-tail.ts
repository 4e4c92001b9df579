import { isAscii } from "node:buffer";
import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { LEDGER_LIMITS } from "./bounds.ts";
import { listSegments, type Position, SPOOL_START, segmentPath } from "./segments.ts";

const NEWLINE = 10;

/** Whole lines of one segment, in order. The texts may be parts of one that is as long as all of them together. */
export interface TailLines {
  segment: number;
  /** How many lines of the segment lie before. */
  linesBefore: number;
  /** Without their newlines. */
  texts: string[];
  /** Bytes of the segment that lie before each. */
  starts: number[];
}

/** Reads a spool's lines in order, segment after segment, never past what it was told is there. */
export class SegmentTail {
  readonly #directory: string;
  #fd: number | null = null;
  #openSegment = 0;
  #position: Position;
  #end: Pick<Position, "segment" | "bytes">;
  #buffer = Buffer.allocUnsafe(LEDGER_LIMITS.batchBytes);

  /** Starts at the oldest segment that is left. */
  constructor(directory: string) {
    this.#directory = directory;
    this.#position = { ...SPOOL_START, segment: listSegments(directory)[0] ?? SPOOL_START.segment };
    this.#end = { segment: this.#position.segment, bytes: 0 };
  }

  get position(): Position {
    return this.#position;
  }

  /** There are lines up to here: segments before it are closed, and `bytes` of it may be read. */
  extend(end: Pick<Position, "segment" | "bytes">): void {
    this.#end = end;
  }

  /** The next lines, at most a batch of them; null when the end is reached. */
  read(): TailLines | null {
    for (;;) {
      const available = this.#available();
      const closed = this.#position.segment < this.#end.segment;
      const count = Math.min(available, this.#buffer.length);
      const taken =
        count > 0 && this.#fd !== null ? readSync(this.#fd, this.#buffer, 0, count, this.#position.bytes) : 0;
      const end = taken > 0 ? this.#buffer.lastIndexOf(NEWLINE, taken - 1) + 1 : 0;
      if (end > 0) return this.#take(end);
      if (taken > 0 && taken < available && this.#buffer.length < LEDGER_LIMITS.lineBytesMax) {
        this.#buffer = Buffer.allocUnsafe(this.#buffer.length * 2);
      } else if (closed) {
        this.#position = { segment: this.#position.segment + 1, bytes: 0, lines: 0 };
      } else {
        return null;
      }
    }
  }

  /** Deletes the segments before `position`. */
  deleteBefore(position: Position): void {
    for (const segment of listSegments(this.#directory)) {
      if (segment >= position.segment) break;
      rmSync(segmentPath(this.#directory, segment), { force: true });
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
    this.#openSegment = 0;
  }

  /** Bytes that may be read after the position. A segment that somebody deleted has none. */
  #available(): number {
    if (this.#openSegment !== this.#position.segment) {
      this.close();
      this.#fd = openOrNull(segmentPath(this.#directory, this.#position.segment));
      this.#openSegment = this.#fd === null ? 0 : this.#position.segment;
    }
    if (this.#fd === null) return 0;
    const size = fstatSync(this.#fd).size;
    const end = this.#position.segment < this.#end.segment ? size : Math.min(size, this.#end.bytes);
    return Math.max(0, end - this.#position.bytes);
  }

  #take(count: number): TailLines {
    const { segment, bytes, lines } = this.#position;
    const read = this.#buffer.subarray(0, count);
    const texts: string[] = [];
    const starts: number[] = [];
    if (isAscii(read)) splitAscii(read.toString("latin1"), bytes, texts, starts);
    else splitUtf8(read, bytes, texts, starts);
    this.#position = { segment, bytes: bytes + count, lines: lines + texts.length };
    // Room that a long line needed is not needed for the next.
    if (this.#buffer.length > LEDGER_LIMITS.batchBytes) this.#buffer = Buffer.allocUnsafe(LEDGER_LIMITS.batchBytes);
    return { segment, linesBefore: lines, texts, starts };
  }
}

/** Where a character is a byte, nearly always, text is made once for all lines. */
function splitAscii(text: string, bytesBefore: number, texts: string[], starts: number[]): void {
  for (let from = 0; from < text.length; ) {
    const at = text.indexOf("\n", from);
    texts.push(text.slice(from, at));
    starts.push(bytesBefore + from);
    from = at + 1;
  }
}

function splitUtf8(bytes: Buffer, bytesBefore: number, texts: string[], starts: number[]): void {
  for (let from = 0; from < bytes.length; ) {
    const at = bytes.indexOf(NEWLINE, from);
    texts.push(bytes.toString("utf8", from, at));
    starts.push(bytesBefore + from);
    from = at + 1;
  }
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
