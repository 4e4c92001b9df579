/** Pieces that are made into one: a piece that waits by itself costs more memory than most of them hold. */
const LOOSE_MAX = 32;

/** Output that waits for its client: the bytes of it, in few pieces however many it came in. */
export class HeldOutput {
  #pieces: Buffer[] = [];
  /** Those of `#pieces` that were many; the others stand behind them as they came. */
  #joined = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps `piece` behind the others. */
  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#pieces.length - this.#joined < LOOSE_MAX) return;
    this.#pieces.push(Buffer.concat(this.#pieces.splice(this.#joined)));
    this.#joined++;
  }

  /** All of it in one piece; nothing is held any more. */
  take(): Buffer {
    const all = Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#joined = 0;
    this.#bytes = 0;
    return all;
  }
}
