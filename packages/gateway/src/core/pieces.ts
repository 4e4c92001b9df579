/** Bytes in several pieces that follow each other: what a client sent need not be copied to be sent on with a few bytes changed. */
interface Pieces {
  readonly pieces: readonly Buffer[];
  /** Bytes in all of them. */
  readonly length: number;
}

/** Bytes, copied together or not, or as text of Latin-1, one a character: what is short costs a socket least as text. */
export type Bytes = Buffer | Pieces | string;

/** The same bytes in one piece; copied only where they are not. */
export function inOnePiece(bytes: Bytes): Buffer {
  if (typeof bytes === "string") return Buffer.from(bytes, "latin1");
  return Buffer.isBuffer(bytes) ? bytes : Buffer.concat(bytes.pieces, bytes.length);
}
