import { TOKEN_LIMITS } from "./bounds.ts";
import { splitsPair } from "./surrogates.ts";

/**
 * The text in slices of at most `chars`, cut where a word begins behind a space, which changes no count; failing that (no
 * such place in the last quarter), anywhere but within a surrogate pair.
 */
export function slicesOf(text: string, chars: number = TOKEN_LIMITS.sliceChars): string[] {
  const slices: string[] = [];
  let from = 0;
  while (text.length - from > chars) {
    let end = from + chars;
    const lowest = end - Math.floor(chars / 4);
    let cut = end;
    while (cut > lowest && !beginsWord(text, cut)) cut--;
    if (cut > lowest) end = cut;
    else if (splitsPair(text, end)) end--;
    slices.push(text.slice(from, end));
    from = end;
  }
  slices.push(text.slice(from));
  return slices;
}

/** A single space between something and an ASCII letter: the tokenizer's words always begin there. */
function beginsWord(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1) | 32;
  return text[at] === " " && next >= 97 && next <= 122 && !/\s/.test(text[at - 1] ?? " ");
}
