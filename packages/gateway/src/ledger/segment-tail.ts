import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { LEDGER_LIMITS } from "./bounds.ts";
import { listSegments, type Position, SPOOL_START, segmentPath } from "./segments.ts";

const NEWLINE = 10;

/** A whole line without its newline, and where it begins. */
export interface TailLine {
  text: string;
  start: Position;
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

  /** The next lines, at most a batch of them; none when the end is reached. */
  read(): TailLine[] {
    for (;;) {
      const available = this.#available();
      const closed = this.#position.segment < this.#end.segment;
      const count = Math.min(available, this.#buffer.length);
      const taken =
        count > 0 && this.#fd !== null ? readSync(this.#fd, this.#buffer, 0, count, this.#position.bytes) : 0;
      const lines = this.#split(taken);
      if (lines.length > 0) return lines;
      if (taken > 0 && taken < available && this.#buffer.length < LEDGER_LIMITS.lineBytesMax) {
        this.#buffer = Buffer.allocUnsafe(this.#buffer.length * 2);
      } else if (closed) {
        this.#position = { segment: this.#position.segment + 1, bytes: 0, lines: 0 };
      } else {
        return [];
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

  #split(taken: number): TailLine[] {
    const lines: TailLine[] = [];
    let from = 0;
    for (;;) {
      const at = this.#buffer.subarray(0, taken).indexOf(NEWLINE, from);
      if (at < 0) return lines;
      const start = this.#position;
      lines.push({ text: this.#buffer.toString("utf8", from, at), start });
      this.#position = { segment: start.segment, bytes: start.bytes + at + 1 - from, lines: start.lines + 1 };
      from = at + 1;
    }
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
