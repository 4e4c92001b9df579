const NOTHING = Buffer.alloc(0);
const BYTES_MIN = 256;

/** The beginning of something whose end has not come yet. Grows by doubling, so that bytes that come one by one cost little. */
export class HeldBytes {
  #bytes: Buffer = NOTHING;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What is held; a view, until the next call. */
  get view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Copies `bytes` from `from` to `to` behind what is held. */
  add(bytes: Buffer, from: number, to: number): void {
    const length = this.#length + to - from;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(BYTES_MIN, 2 * length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    bytes.copy(this.#bytes, this.#length, from, to);
    this.#length = length;
  }

  clear(): void {
    this.#bytes = NOTHING;
    this.#length = 0;
  }
}
