import { constants, fstatSync, openSync, write, writeSync } from "node:fs";

/** Text that waits for a reader, in characters; with so much waiting, newer text is lost. */
const WAITING_CHARS_MAX = 8 * 1024 * 1024;
/** Texts that wait are put together until they are this long, and become bytes then. */
const PIECE_CHARS = 64 * 1024;
/** A pipe and a local socket take so many bytes whole or not at all (PIPE_BUF). */
const WHOLE_BYTES = 4_096;
/** A reader that is slow is given these pauses, each twice the last, until it has read something. */
const PAUSE_MS_MIN = 1;
const PAUSE_MS_MAX = 128;
/** And at the end so many short ones, together: half a second. */
const FLUSH_PAUSES = 100;
const FLUSH_PAUSE_MS = 5;

const BUSY: ReadonlySet<unknown> = new Set(["EAGAIN", "EWOULDBLOCK", "EBUSY"]);
const GONE: ReadonlySet<unknown> = new Set(["EPIPE", "EBADF", "ECONNRESET", "ENOTCONN"]);
const NOTHING = Buffer.alloc(0);
const NEWLINE = 10;

/** The calls that write, for tests to put others in their place. */
interface Writers {
  write: typeof write;
  writeSync: typeof writeSync;
}

/**
 * Writes lines to a pipe, a socket, a terminal or another device, in order, and keeps them while nobody reads. Never throws,
 * never blocks the event loop: what cannot be written is lost without a word, as is all that follows once the reader has gone.
 *
 * Pipes and devices are opened again, so that writing to them never waits, and are written to at once. What cannot be opened
 * again, a socket, may make a write wait, which is left to a thread, in whole lines and one write at a time.
 */
export class PipeOutput {
  readonly #fd: number;
  readonly #own: number | null;
  readonly #by: Writers;
  readonly #texts: string[] = [];
  /** Characters in `#texts`. */
  #chars = 0;
  /** The oldest text that is not written, as bytes; a thread may be writing its first `#flying` bytes. */
  #next: Buffer = NOTHING;
  #flying = 0;
  /** True when a part of it has been written. */
  #begun = false;
  #pause: NodeJS.Timeout | null = null;
  #pauseMs = PAUSE_MS_MIN;
  #gone = false;

  constructor(fd: number, by: Writers = { write, writeSync }) {
    this.#own = openAgain(fd);
    this.#fd = this.#own ?? fd;
    this.#by = by;
  }

  /** Takes whole lines. */
  write(text: string): void {
    if (this.#gone || this.#chars + text.length > WAITING_CHARS_MAX) return;
    const last = this.#texts.at(-1);
    if (last !== undefined && last.length < PIECE_CHARS) this.#texts[this.#texts.length - 1] = last + text;
    else this.#texts.push(text);
    this.#chars += text.length;
    if (this.#pause === null && this.#flying === 0) this.#go();
  }

  /**
   * Writes what waits before it returns, for a process that ends now. A reader that does not read is waited for half a second.
   * A thread's write goes on by itself; the lines after it may come before it.
   */
  flushNow(): void {
    // What is written in parts must not get other lines between them.
    if (this.#flying > 0 && (this.#begun || this.#flying > WHOLE_BYTES)) return;
    const flying = this.#next.subarray(0, this.#flying);
    this.#next = this.#next.subarray(this.#flying);
    for (let pauses = 0; this.#load(); ) {
      if (flying.length > 0 && this.#piece().length > WHOLE_BYTES) break;
      if (this.#attempt()) continue;
      if (pauses === FLUSH_PAUSES) break;
      pauses += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_PAUSE_MS);
    }
    if (flying.length > 0 && !this.#gone) this.#next = Buffer.concat([flying, this.#next]);
  }

  #go(): void {
    while (this.#load()) {
      if (this.#own === null) return this.#fly();
      if (!this.#attempt()) return this.#rest();
    }
  }

  /** True when there is something to write. */
  #load(): boolean {
    if (this.#next.length === 0) {
      const text = this.#texts.shift() ?? "";
      this.#chars -= text.length;
      this.#next = Buffer.from(text);
    }
    return this.#next.length > 0;
  }

  /** What is written at once: where another write may come between, whole lines that are taken whole, or one that is longer. */
  #piece(): Buffer {
    const next = this.#next;
    if (this.#own !== null || next.length <= WHOLE_BYTES) return next;
    return next.subarray(0, next.lastIndexOf(NEWLINE, WHOLE_BYTES - 1) + 1 || next.length);
  }

  #attempt(): boolean {
    const piece = this.#piece();
    try {
      return this.#settle(null, this.#by.writeSync(this.#fd, piece, 0, piece.length), piece.length);
    } catch (error) {
      return this.#settle(error as NodeJS.ErrnoException, 0, piece.length);
    }
  }

  #fly(): void {
    const piece = this.#piece();
    this.#flying = piece.length;
    this.#by.write(this.#fd, piece, 0, piece.length, null, (error, taken) => {
      this.#flying = 0;
      if (this.#settle(error, taken, piece.length)) this.#go();
      else this.#rest();
    });
  }

  /** True when writing can go on at once. */
  #settle(error: NodeJS.ErrnoException | null, taken: number, offered: number): boolean {
    if (error ? BUSY.has(error.code) : taken === 0) return false;
    if (GONE.has(error?.code)) this.#giveUp();
    else this.#next = this.#next.subarray(error ? offered : taken);
    this.#begun = !error && taken < offered;
    this.#pauseMs = PAUSE_MS_MIN;
    return true;
  }

  #rest(): void {
    this.#pause ??= setTimeout(() => {
      this.#pause = null;
      this.#go();
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
  }

  /** The number of a descriptor that is gone may soon stand for another file: nothing is written to it any more. */
  #giveUp(): void {
    this.#gone = true;
    this.#texts.length = 0;
    this.#chars = 0;
    this.#next = NOTHING;
  }
}

/** A descriptor of our own for the same pipe or device, on which no write waits; null where there is none to be had. */
function openAgain(fd: number): number | null {
  try {
    const kind = fstatSync(fd);
    if (!kind.isFIFO() && !kind.isCharacterDevice()) return null;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
}
