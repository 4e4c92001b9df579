/** Pieces that are made into one: a word that is kept by itself takes several times the memory of its characters. */
const LOOSE_MAX = 256;

/** A text that comes in pieces and is wanted whole at its end: few strings, however many pieces it comes in. */
export class GatheredText {
  #pieces: string[] = [];
  /** Those of `#pieces` that were many; the others stand behind them as they came. */
  #joined = 0;

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Puts `piece` behind the others. */
  add(piece: string): void {
    this.#pieces.push(piece);
    if (this.#pieces.length - this.#joined < LOOSE_MAX) return;
    this.#pieces.push(this.#pieces.splice(this.#joined).join(""));
    this.#joined++;
  }

  /** All of it. */
  whole(): string {
    return this.#pieces.join("");
  }
}
