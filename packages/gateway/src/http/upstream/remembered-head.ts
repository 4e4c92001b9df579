import type { UpstreamHeaders } from "../../core/transport.ts";
import type { ResponseHead } from "./response-head.ts";

/** Heads over either are read whole each time. */
const BYTES_MAX = 4 * 1024;
const LINES_MAX = 64;
/** Heads learned without one that came again. */
const TRIES = 4;
/** A header's name and what stands before its value, where it has one. */
const LEAD = /^([^\s:]+):[ \t]*(?=[^ \t])/;

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;

/** A header line of the head that is remembered: where in it the line, its value, and its line end begin. */
interface Line {
  from: number;
  valueFrom: number;
  to: number;
  name: string;
  value: string;
}

/**
 * The heads of a connection mostly have the same header lines, but for a date, a length and a name for the request. What
 * begins as the line in its place did has that line's name, and what is all of it has its value, too.
 */
export class RememberedHead {
  #bytes = Buffer.alloc(0);
  #statusTo = 0;
  #status = 0;
  #minorVersion = 0;
  #lines: Line[] = [];
  #triesLeft = TRIES;
  #end = 0;

  /** Where the head read last ended, behind its blank line. */
  get end(): number {
    return this.#end;
  }

  /** The head that begins at `from`, where it is whole and has the lines of the one remembered; null for any other. */
  read(bytes: Buffer, from: number): ResponseHead | null {
    const known = this.#bytes;
    const to = this.#statusTo;
    let at = from;
    for (let i = 0; i < to; i++) if (bytes[at++] !== known[i]) return null;
    if (to === 0) return null;
    const headers: UpstreamHeaders = Object.create(null);
    for (const line of this.#lines) {
      let i = line.from;
      const start = at - i;
      while (i < line.to && bytes[start + i] === known[i]) i++;
      if (i < line.valueFrom) return null;
      const valueAt = start + line.valueFrom;
      const end = i === line.to && bytes[start + i] === CR ? start + i : endOfValue(bytes, valueAt);
      if (end === -1 || bytes[end + 1] !== LF) return null;
      const same = i === line.to && end === start + i;
      headers[line.name] = same ? line.value : bytes.toString("latin1", valueAt, end);
      at = end + 2;
    }
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return null;
    this.#end = at + 2;
    this.#triesLeft = TRIES;
    return { status: this.#status, minorVersion: this.#minorVersion, headers };
  }

  /** Takes the place of the head that is remembered. `text`: what `head` was read from, each byte a character. */
  learn(text: string, { status, minorVersion, headers }: ResponseHead): void {
    if (this.#triesLeft === 0 || text.length > BYTES_MAX || !text.endsWith("\r\n\r\n")) return;
    this.#triesLeft--;
    this.#statusTo = 0;
    // The first line ends with the first LF, whichever way: what stands behind that is a header.
    const statusTo = text.indexOf("\n") + 1;
    const lines = linesOf(text, statusTo, headers);
    if (!lines) return;
    this.#bytes = Buffer.from(text, "latin1");
    this.#statusTo = statusTo;
    this.#status = status;
    this.#minorVersion = minorVersion;
    this.#lines = lines;
  }
}

/** Null where a line is not simply a name and a value that were read as they stand. */
function linesOf(text: string, statusTo: number, headers: UpstreamHeaders): Line[] | null {
  const lines: Line[] = [];
  let from = statusTo;
  while (from < text.length - 2) {
    const to = text.indexOf("\r\n", from);
    const lead = LEAD.exec(text.slice(from, to));
    if (!lead?.[1] || lines.length === LINES_MAX) return null;
    const name = lead[1].toLowerCase();
    const valueFrom = from + lead[0].length;
    const value = text.slice(valueFrom, to);
    // Another line of its name, a fold, a bare line end, blanks behind it: it was read as something else than it says here.
    if (headers[name] !== value) return null;
    lines.push({ from, valueFrom, to, name, value });
    from = to + 2;
  }
  return lines;
}

/** Where a value that begins at `from` ends, before its CR; -1 for one that is empty, or not as plain as most. */
function endOfValue(bytes: Buffer, from: number): number {
  if (isBlank(bytes[from])) return -1;
  let at = from;
  let byte = bytes[at];
  while (byte !== undefined && byte !== CR && byte !== LF && byte !== 0) byte = bytes[++at];
  return byte === CR && at > from && !isBlank(bytes[at - 1]) ? at : -1;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}
