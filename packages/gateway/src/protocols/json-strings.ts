const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

/** Which strings of a JSON text are wanted, each under a label: itself, those of an object's members, of every element of an array. */
export type Wanted = string | { readonly [key: string]: Wanted } | readonly [Wanted];

/** A range of characters. */
export interface Span {
  start: number;
  end: number;
}

/** Where a wanted string stands, quotes not included. */
export interface FoundString extends Span {
  label: string;
}

/**
 * Where the wanted strings of a JSON text stand, in order. `text` is Latin-1 (one character a byte), so that spans are byte
 * offsets; it must be JSON, from `at` on. Members that are not wanted are skipped without looking into them. Keys that are
 * written with escapes are not recognised.
 */
export function stringsAt(text: string, wanted: Wanted, at = 0): FoundString[] {
  const found: FoundString[] = [];
  walk(text, skipSpace(text, at), wanted, found);
  return found;
}

/** The elements of a JSON array that begins at `at`, brackets and commas not included. */
export function elementsAt(text: string, at: number): Span[] {
  const elements: Span[] = [];
  let next = skipSpace(text, at + 1);
  while (next < text.length && text.charCodeAt(next) !== CLOSE_BRACKET) {
    const end = endOf(text, next);
    elements.push({ start: next, end });
    next = skipSpace(text, end);
    if (text.charCodeAt(next) === COMMA) next = skipSpace(text, next + 1);
  }
  return elements;
}

/** `text` with each string found replaced by what `change` makes of it. They are in order and do not overlap. */
export function replaceStrings(
  text: string,
  found: readonly FoundString[],
  change: (value: string, label: string) => string,
): string {
  let result = "";
  let copied = 0;
  for (const { start, end, label } of found) {
    result += text.slice(copied, start) + change(text.slice(start, end), label);
    copied = end;
  }
  return result + text.slice(copied);
}

function walk(text: string, at: number, wanted: Wanted, found: FoundString[]): number {
  const code = text.charCodeAt(at);
  if (typeof wanted === "string") {
    const end = endOf(text, at);
    if (code === QUOTE) found.push({ start: at + 1, end: end - 1, label: wanted });
    return end;
  }
  if (isList(wanted)) return code === OPEN_BRACKET ? walkArray(text, at, wanted[0], found) : endOf(text, at);
  return code === OPEN_BRACE ? walkObject(text, at, wanted, found) : endOf(text, at);
}

function walkArray(text: string, start: number, wanted: Wanted, found: FoundString[]): number {
  let at = skipSpace(text, start + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    at = skipSpace(text, walk(text, at, wanted, found));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return at + 1;
}

function walkObject(
  text: string,
  start: number,
  wanted: Readonly<Record<string, Wanted>>,
  found: FoundString[],
): number {
  let at = skipSpace(text, start + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACE) {
    const keyEnd = endOfString(text, at);
    const key = text.slice(at + 1, keyEnd - 1);
    at = skipSpace(text, keyEnd);
    if (text.charCodeAt(at) === COLON) at = skipSpace(text, at + 1);
    const below = Object.hasOwn(wanted, key) ? wanted[key] : undefined;
    at = skipSpace(text, below === undefined ? endOf(text, at) : walk(text, at, below, found));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return at + 1;
}

/** The offset after the value that begins at `start`. */
function endOf(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  let at = start;
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code <= 32) break;
    }
    // Something must be taken, or a text that is no JSON would hold us for ever.
    return Math.max(at, start + 1);
  }
  let depth = 0;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
  return text.length;
}

/** The offset after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let close = text.indexOf('"', start + 1);
  while (close !== -1) {
    let slashes = 0;
    while (text.charCodeAt(close - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
  return text.length;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 32) at++;
  return at;
}

function isList(wanted: Wanted): wanted is readonly [Wanted] {
  return Array.isArray(wanted);
}
