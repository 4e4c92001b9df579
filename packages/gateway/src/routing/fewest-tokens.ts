/** Characters a token holds at most, on average over a long text: 4 to 5 is usual, 7 what officialese in French comes to. */
const CHARS_PER_TOKEN_MAX = 8;
/** What one more of a repeated character adds: tokenizers know runs of up to 16 letters, and of 100 spaces or dashes. */
const LETTER_AGAIN = 0.25;
const OTHER_AGAIN = 0.05;

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
/** Marks an escape, so that no escaped character is taken for the letter it is written with. */
const ESCAPED = 0x1000000;

/**
 * The fewest tokens that a JSON request body can be, by any tokenizer: characters are counted as they are read, not as they
 * are written (six bytes of escape and three of UTF-8 are one each), and runs hardly at all. `dataChars` of it are base64
 * that is no text. A body is refused for its length only by this number: nothing is refused that would have fitted.
 */
export function fewestTokens(body: Buffer, dataChars: number): number {
  let chars = 0;
  let previous = -1;
  for (let i = 0; i < body.length; i++) {
    let code = body[i] ?? 0;
    if (code === BACKSLASH) {
      code = ESCAPED | (body[++i] ?? 0);
      if (code === (ESCAPED | LOWER_U)) {
        // The last three digits tell neighbours apart; the first is that of the script.
        code |= ((body[i + 2] ?? 0) << 16) | ((body[i + 3] ?? 0) << 8) | (body[i + 4] ?? 0);
        i += 4;
      }
    } else if (code >= 0xc0) {
      // Every byte of a character but its first.
      while (((body[i + 1] ?? 0) & 0xc0) === 0x80) code = (code << 6) | ((body[++i] ?? 0) & 0x3f);
    }
    if (code === previous) chars += isLetter(code) ? LETTER_AGAIN : OTHER_AGAIN;
    else chars++;
    previous = code;
  }
  return Math.max(0, Math.floor((chars - dataChars) / CHARS_PER_TOKEN_MAX));
}

function isLetter(code: number): boolean {
  const lower = code | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || (code >= 0x80 && code < ESCAPED);
}
