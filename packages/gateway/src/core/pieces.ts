/** Bytes in several pieces that follow each other: what a client sent need not be copied to be sent on with a few bytes changed. */
interface Pieces {
  readonly pieces: readonly Buffer[];
  /** Bytes in all of them. */
  readonly length: number;
}

/** Bytes, copied together or not. */
export type Bytes = Buffer | Pieces;

/** The same bytes in one piece; copied only where they are in several. */
export function inOnePiece(bytes: Bytes): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.concat(bytes.pieces, bytes.length);
}
