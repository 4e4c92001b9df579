import { ProtocolError } from "./response-head.ts";

/** 2^48 - 1 bytes: more is a mistake, and still a safe integer. */
const DIGITS_MAX = 12;

const TAB = 9;
const CR = 13;
const SPACE = 32;
const SEMICOLON = 59;

/** The size that a chunk's first line says, from `from` to its line end at `to`. Extensions mean nothing to us. */
export function readChunkSize(bytes: Buffer, from: number, to: number): number {
  let size = 0;
  let at = from;
  for (; at < to; at++) {
    const digit = hexDigit(bytes[at] as number);
    if (digit === -1) break;
    size = size * 16 + digit;
  }
  if (at === from || at - from > DIGITS_MAX) throw new ProtocolError("a chunk size that is no number");
  while (at < to && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  if (at === to) return size;
  if (bytes[at] !== SEMICOLON) throw new ProtocolError("a chunk size that is no number");
  // Others may take a CR alone for the end of the line, and see chunks where we see an extension.
  for (; at < to; at++) if (bytes[at] === CR) throw new ProtocolError("a bare CR in a chunk header");
  return size;
}

/** -1 for what is none. */
export function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  // Sets the bit that makes a letter lower case.
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
