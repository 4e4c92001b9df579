import { type Fields, isObject } from "../field-checks.ts";
import type { EventReading, RepeatedEvents } from "../protocol.ts";

const KEY = '"content":"';
const QUOTE = 34;
const BACKSLASH = 92;
const SPACE = 32;
/** What a byte of a character beyond ASCII has. */
const HIGH_BIT = 128;
/** Stand for the text of a chunk that is taken for a pattern. Two, since one may be what stands elsewhere in the chunk. */
const PROBES = ["one", "two"];
/** Patterns tried without one that came again: some providers put another number, or padding, into every chunk. */
const TRIES = 4;
const NOTHING = Buffer.alloc(0);

/** A chunk that may be a pattern: its data, and the choice its text is of. */
interface Candidate {
  data: string;
  choice: number;
}

/**
 * Most chunks of a stream are those before them but for their text. What is the same, byte for byte, before and behind the
 * text of one choice does not have to be parsed again: with a plain string between, it says the same of another text.
 */
export class RepeatedChunk implements RepeatedEvents {
  /** The bytes of a whole event up to its text, and behind it. Empty: there is no pattern. */
  #before = NOTHING;
  #behind = NOTHING;
  #choice = 0;
  #candidate: Candidate | null = null;
  #triesLeft = TRIES;
  /** Where the text of the event found last stands, and what all its bytes have in them. */
  #from = 0;
  #to = 0;
  #bits = 0;

  endOf(bytes: Buffer, at: number): number {
    const before = this.#before;
    const behind = this.#behind;
    const from = at + before.length;
    if (before.length === 0 || bytes.length <= from || before.compare(bytes, at, from) !== 0) return -1;
    let bits = 0;
    let to = from;
    for (; to < bytes.length; to++) {
      const byte = bytes[to] as number;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH || byte < SPACE) return -1;
      bits |= byte;
    }
    const end = to + behind.length;
    if (to === from || end > bytes.length) return -1;
    // It is short: a call into native code costs more, and what stands before the text is not.
    for (let i = 0; i < behind.length; i++) if (behind[i] !== bytes[to + i]) return -1;
    this.#from = from;
    this.#to = to;
    this.#bits = bits;
    this.#triesLeft = TRIES;
    return end;
  }

  charsIn(bytes: Buffer): number {
    return this.#bits < HIGH_BIT ? this.#to - this.#from : this.#textIn(bytes).length;
  }

  readingOf(bytes: Buffer): EventReading {
    return {
      parts: [{ type: "text", choice: this.#choice, text: this.#textIn(bytes) }],
      usageOnly: false,
      terminator: false,
    };
  }

  /** The chunk read last said nothing but one text of `choice`, its only one. */
  propose(data: string, choice: number): void {
    if (this.#triesLeft > 0) this.#candidate = { data, choice };
  }

  learn(raw: Buffer): void {
    if (!this.#candidate) return;
    const { data, choice } = this.#candidate;
    this.#candidate = null;
    this.#triesLeft--;
    const key = data.indexOf(KEY);
    const framing = framingOf(raw, data);
    if (key === -1 || !framing) return;
    const from = key + KEY.length;
    const before = data.slice(0, from);
    const behind = data.slice(endOfString(data, from));
    if (PROBES.some((probe) => contentOf(before + probe + behind) !== probe)) return;
    this.#before = Buffer.from(framing.lead + before);
    this.#behind = Buffer.from(behind + framing.tail);
    this.#choice = choice;
  }

  /** A chunk has said something else: what the pattern says may no longer hold. */
  forget(): void {
    this.#before = NOTHING;
    this.#candidate = null;
  }

  #textIn(bytes: Buffer): string {
    return bytes.toString("utf8", this.#from, this.#to);
  }
}

/** What stands around the data of an event that is one line and a blank line; null for another, and for one that ends with CR. */
function framingOf(raw: Buffer, data: string): { lead: string; tail: string } | null {
  const text = raw.toString("utf8");
  const lead = text.startsWith("data: ") ? "data: " : "data:";
  if (!text.startsWith(lead + data)) return null;
  const tail = text.slice(lead.length + data.length);
  return tail === "\n\n" || tail === "\r\n\r\n" ? { lead, tail } : null;
}

/** The offset of the quote that ends the string whose text begins at `from`. */
function endOfString(data: string, from: number): number {
  let at = from;
  while (at < data.length && data.charCodeAt(at) !== QUOTE) at += data.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** What the only choice of a chunk says; undefined for a chunk that has another shape, or is none. */
function contentOf(data: string): unknown {
  let chunk: unknown;
  try {
    chunk = JSON.parse(data);
  } catch {
    return undefined;
  }
  const choices: unknown = isObject(chunk) ? chunk["choices"] : null;
  const [choice]: unknown[] = Array.isArray(choices) && choices.length === 1 ? choices : [];
  const delta: Fields[string] = isObject(choice) ? choice["delta"] : null;
  return isObject(delta) ? delta["content"] : undefined;
}
