const HEX_LETTERS = 87;
/** Room for a framed chunk: most events of a stream are shorter. Each length has a view of its own, so that it is made once. */
const ROOM_BYTES = 1_024;
/** A size line of eight digits, and the line end behind the chunk. */
export const FRAMING_BYTES_MAX = 12;

/**
 * Frames chunks of a body in chunks (RFC 9112, 7.1), all in the same place: memory that stays in the processor's cache, and
 * nothing to collect. Who is not done with a framed chunk before the next is made has to `leave` the place to it.
 */
export class ChunkFrames {
  #room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  #views: Buffer[] = [];

  /** What stands in `bytes` from `from` to `to`, framed. Not for nothing: it would end the body. */
  frame(bytes: Buffer, from: number, to: number): Buffer {
    const size = to - from;
    const digits = digitsOf(size);
    const length = digits + size + 4;
    const fits = length <= ROOM_BYTES;
    const chunk = fits ? this.#room : Buffer.allocUnsafe(length);
    for (let left = size, at = digits - 1; at >= 0; at--, left >>>= 4) {
      const digit = left & 15;
      chunk[at] = digit < 10 ? digit + 48 : digit + HEX_LETTERS;
    }
    chunk[digits] = 13;
    chunk[digits + 1] = 10;
    bytes.copy(chunk, digits + 2, from, to);
    chunk[length - 2] = 13;
    chunk[length - 1] = 10;
    if (!fits) return chunk;
    let view = this.#views[length];
    if (!view) {
      view = chunk.subarray(0, length);
      this.#views[length] = view;
    }
    return view;
  }

  /** Whoever has a framed chunk keeps it: the next one is made elsewhere. */
  leave(): void {
    this.#room = Buffer.allocUnsafeSlow(ROOM_BYTES);
    this.#views = [];
  }
}

function digitsOf(size: number): number {
  let digits = 1;
  for (let left = size >>> 4; left > 0; left >>>= 4) digits++;
  return digits;
}
