import { TOKEN_LIMITS } from "./bounds.ts";
import { splitsPair } from "./surrogates.ts";

const LETTER = 1;
const OTHER = 2;
const SPACE = 4;
const SURROGATES = [0xd800, 0xe000] as const;

/** For every UTF-16 unit the kinds of run it can be part of; a mark goes with letters and with signs. */
const KINDS: Uint8Array = kinds();

/**
 * The text in pieces in which no run of one kind (letters, signs, white space) is over `runCharsMax`: the tokenizer takes such
 * a run for one word, and its work grows with the square of it. Texts that people and programs write come back whole; where
 * one is cut, the count can be off by a token. Surrogate pairs stay together.
 */
export function cutRuns(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let letters = 0;
  let others = 0;
  let spaces = 0;
  for (let at = 0; at < text.length; at++) {
    const kind = KINDS[text.charCodeAt(at)] ?? OTHER;
    letters = kind & LETTER ? letters + 1 : 0;
    others = kind & OTHER ? others + 1 : 0;
    spaces = kind & SPACE ? spaces + 1 : 0;
    if (
      letters <= TOKEN_LIMITS.runCharsMax &&
      others <= TOKEN_LIMITS.runCharsMax &&
      spaces <= TOKEN_LIMITS.runCharsMax
    ) {
      continue;
    }
    const end = splitsPair(text, at) ? at - 1 : at;
    pieces.push(text.slice(from, end));
    from = end;
    letters = kind & LETTER ? 1 + at - end : 0;
    others = kind & OTHER ? 1 + at - end : 0;
    spaces = kind & SPACE ? 1 + at - end : 0;
  }
  pieces.push(text.slice(from));
  return pieces;
}

function kinds(): Uint8Array {
  const table = new Uint8Array(0x10000);
  for (let unit = 0; unit < table.length; unit++) table[unit] = kindOf(String.fromCharCode(unit));
  // A pair may be anything.
  table.fill(LETTER | OTHER, ...SURROGATES);
  return table;
}

function kindOf(character: string): number {
  if (/\s/.test(character)) return SPACE;
  if (/\p{M}/u.test(character)) return LETTER | OTHER;
  if (/\p{L}/u.test(character)) return LETTER;
  // Digits come in words of three.
  return /\p{N}/u.test(character) ? 0 : OTHER;
}
