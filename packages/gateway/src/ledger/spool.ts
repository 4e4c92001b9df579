import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import type { Clock, Timer } from "../core/clock.ts";
import { ownBytes } from "../core/own-bytes.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import { FileSync } from "./file-sync.ts";
import { type Position, SPOOL_START, segmentPath } from "./segments.ts";

/** What a spool needs. */
export interface SpoolOptions {
  directory: string;
  /** True: lines are on the disk, not only in the kernel, before `written()` resolves. */
  fsync: boolean;
  segmentBytes: number;
  clock: Clock;
  /** Called after lines have reached the file. */
  onWritten: () => void;
  /** Called at the first of a row of failures, and with null when they are over. */
  onFailing: (error: unknown) => void;
  /** Appends to a file; a test puts a full disk in its place. */
  write?: (fd: number, bytes: Buffer) => number;
}

/** A line with its newline, or what writes it: called when this tick's lines are, all of them in a row while the code is warm. */
export type Line = string | (() => string);

interface Chunk {
  bytes: Buffer;
  lines: number;
  /** Part of it is in a segment, and the rest belongs into the same one. */
  begun?: true;
}

interface Totals {
  bytes: number;
  lines: number;
}

/**
 * Append-only segment files. Lines that come together are one write: at the end of the callback that runs, where somebody waits
 * for one of them, else once a turn of the event loop. Never throws for what the disk does.
 */
export class Spool {
  readonly #options: SpoolOptions;
  #lines: Line[] = [];
  #tick: Promise<void> | null = null;
  #endTick: () => void = () => {};
  #immediate: NodeJS.Immediate | null = null;
  readonly #flushTick = () => this.flush();
  /** Where the text of a tick becomes bytes: they are written before the next one's. */
  readonly #scratch = Buffer.allocUnsafeSlow(LEDGER_LIMITS.tickBytes);
  #unwritten: Chunk[] = [];
  #unwrittenBytes = 0;
  #fd: number | null = null;
  #end: Position = { ...SPOOL_START, segment: 0 };
  /** Totals at the start of each segment that is not yet consumed. */
  readonly #bases = new Map<number, Totals>();
  #written: Totals = { bytes: 0, lines: 0 };
  #consumed: Totals = { bytes: 0, lines: 0 };
  #closed = false;
  #retry: Timer | null = null;
  #retryMs = 0;
  #dropped = 0;
  readonly #sync: FileSync;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#sync = new FileSync({ fd: () => this.#fd, clock: options.clock, onFailing: options.onFailing });
    this.#rotate();
  }

  /** Queues a line for the next write. */
  append(line: Line): void {
    if (this.#closed) {
      this.#dropped++;
      return;
    }
    this.#lines.push(line);
    this.#immediate ??= setImmediate(this.#flushTick);
  }

  /** Resolves when what was appended so far has been written, or is kept in memory because it could not be. */
  written(): Promise<void> {
    if (!this.#tick) {
      this.#tick = new Promise((resolve) => {
        this.#endTick = resolve;
      });
      // Somebody waits: as soon as all that run now have come as far, and not a turn of the event loop later.
      process.nextTick(this.#flushTick);
    }
    return this.#tick;
  }

  /** Writes what is queued now. */
  flush(): void {
    if (this.#immediate) clearImmediate(this.#immediate);
    this.#immediate = null;
    if (this.#lines.length === 0) return;
    const lines = this.#lines;
    this.#lines = [];
    let text = "";
    for (const line of lines) text += typeof line === "string" ? line : line();
    this.#keep({ bytes: this.#bytesOf(text), lines: lines.length });
    const endTick = this.#endTick;
    this.#tick = null;
    this.#endTick = () => {};
    if (!this.#retry) this.#writeOut();
    if (this.#options.fsync && !this.#retry) this.#sync.sync(endTick);
    else endTick();
  }

  /** True while lines cannot be written (they pile up in memory) or cannot be made durable. */
  get failing(): boolean {
    return this.#retry !== null || this.#sync.failing;
  }

  /** Lines lost because neither disk nor memory could take them. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The end of what has been written. */
  get end(): Position {
    return this.#end;
  }

  /** True when nothing waits to be written. */
  get settled(): boolean {
    return this.#lines.length === 0 && this.#unwritten.length === 0;
  }

  /** Tells how far the lines are in the database. */
  consume(position: Position): void {
    const base = this.#bases.get(position.segment);
    if (!base) return;
    this.#consumed = { bytes: base.bytes + position.bytes, lines: base.lines + position.lines };
    for (const segment of this.#bases.keys()) {
      if (segment >= position.segment) break;
      this.#bases.delete(segment);
    }
  }

  /** Bytes, in files and in memory, that are not in the database yet; less what this tick has queued. */
  get unconsumedBytes(): number {
    return this.#written.bytes - this.#consumed.bytes + this.#unwrittenBytes;
  }

  /** Lines that are not in the database yet. */
  get unconsumedLines(): number {
    let lines = this.#written.lines - this.#consumed.lines + this.#lines.length;
    for (const chunk of this.#unwritten) lines += chunk.lines;
    return Math.max(0, lines);
  }

  /** Writes the rest if the disk lets it, and closes the file. */
  close(): void {
    this.flush();
    this.#closed = true;
    this.#retry?.cancel();
    this.#sync.close();
    if (this.#unwritten.length > 0) this.#writeOut();
    this.#retry?.cancel();
    const fd = this.#fd;
    this.#fd = null;
    if (fd !== null) closeSync(fd);
  }

  /** While anything waits to be written the scratch memory, where that may lie, is left alone. No character takes over three bytes. */
  #bytesOf(text: string): Buffer {
    if (this.#retry) return ownBytes(Buffer.from(text));
    if (text.length * 3 > this.#scratch.length) return Buffer.from(text);
    return this.#scratch.subarray(0, this.#scratch.write(text));
  }

  #keep(chunk: Chunk): void {
    if (this.#retry && this.#unwrittenBytes + chunk.bytes.length > LEDGER_LIMITS.unwrittenBytesMax) {
      this.#dropped += chunk.lines;
      return;
    }
    this.#unwritten.push(chunk);
    this.#unwrittenBytes += chunk.bytes.length;
  }

  #writeOut(): void {
    const failedBefore = this.#retryMs > 0;
    this.#retry = null;
    try {
      for (let chunk = this.#unwritten[0]; chunk; chunk = this.#unwritten[0]) this.#writeChunk(chunk);
      this.#retryMs = 0;
      if (failedBefore) this.#options.onFailing(null);
      this.#options.onWritten();
    } catch (error) {
      const { first, max } = LEDGER_LIMITS.retryMs;
      this.#retryMs = Math.min(max, Math.max(first, this.#retryMs * 2));
      this.#retry = this.#options.clock.after(this.#retryMs, () => this.#writeOut());
      if (!failedBefore) this.#options.onFailing(error);
    }
  }

  /** What a full disk took of a chunk stays taken: the rest follows in the same segment. */
  #writeChunk(chunk: Chunk): void {
    if (this.#fd === null || (!chunk.begun && this.#end.bytes >= this.#options.segmentBytes)) this.#rotate();
    const write = this.#options.write ?? ((fd: number, bytes: Buffer) => writeSync(fd, bytes));
    while (chunk.bytes.length > 0 && this.#fd !== null) {
      const count = write(this.#fd, chunk.bytes);
      if (count <= 0) throw new Error("the spool file takes no more bytes");
      chunk.bytes = chunk.bytes.subarray(count);
      chunk.begun = true;
      this.#unwrittenBytes -= count;
      const { segment, bytes, lines } = this.#end;
      this.#end = { segment, bytes: bytes + count, lines };
      this.#written.bytes += count;
    }
    const { segment, bytes, lines } = this.#end;
    this.#end = { segment, bytes, lines: lines + chunk.lines };
    this.#written.lines += chunk.lines;
    this.#unwritten.shift();
  }

  #rotate(): void {
    const { directory, fsync } = this.#options;
    if (this.#fd !== null && fsync) fdatasyncSync(this.#fd);
    const next = openSync(segmentPath(directory, this.#end.segment + 1), "a", 0o600);
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = next;
    this.#end = { segment: this.#end.segment + 1, bytes: 0, lines: 0 };
    this.#bases.set(this.#end.segment, { ...this.#written });
    if (fsync) syncDirectory(directory);
  }
}

function syncDirectory(path: string): void {
  const fd = openSync(path, "r");
  fsyncSync(fd);
  closeSync(fd);
}
