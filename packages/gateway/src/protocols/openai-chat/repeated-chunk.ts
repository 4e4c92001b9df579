import { type Fields, isObject } from "../field-checks.ts";

const KEY = '"content":"';
const QUOTE = 34;
const BACKSLASH = 92;
const SPACE = 32;
/** Stands for the text of a chunk that is taken for a pattern. */
const PROBE = "text";
/** Patterns tried without one that came again: some providers put another number, or padding, into every chunk. */
const TRIES = 4;

/**
 * Most chunks of a stream are those before them but for their text. What is the same, byte for byte, before and behind the
 * text of one choice does not have to be parsed again: with a plain string between, it says the same of another text.
 */
export class RepeatedChunk {
  #before = "";
  #behind = "";
  #triesLeft = TRIES;

  /** The text of a chunk that is the last one learned but for it; null for any other chunk, and for an empty text. */
  textOf(data: string): string | null {
    const from = this.#before.length;
    const to = data.length - this.#behind.length;
    if (from === 0 || to <= from || !data.startsWith(this.#before) || !data.endsWith(this.#behind)) return null;
    for (let at = from; at < to; at++) {
      const code = data.charCodeAt(at);
      if (code === QUOTE || code === BACKSLASH || code < SPACE) return null;
    }
    this.#triesLeft = TRIES;
    return data.slice(from, to);
  }

  /** Takes the place of the pattern: a chunk that said nothing but one text of its only choice. */
  learn(data: string): void {
    this.forget();
    if (this.#triesLeft === 0) return;
    this.#triesLeft--;
    const key = data.indexOf(KEY);
    if (key === -1) return;
    const from = key + KEY.length;
    const before = data.slice(0, from);
    const behind = data.slice(endOfString(data, from));
    if (contentOf(before + PROBE + behind) !== PROBE) return;
    this.#before = before;
    this.#behind = behind;
  }

  /** A chunk has said something else: what the pattern says may no longer hold. */
  forget(): void {
    this.#before = "";
  }
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
