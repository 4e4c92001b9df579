import { LIMITS } from "./limits.ts";

const NONE: readonly never[] = [];

/** Keeps texts, with what they were made of, by key: the latest few of each of the latest keys. */
export class Remembered<T extends { text: string }> {
  readonly #byKey = new Map<string | null, T[]>();
  #unwanted = 0;

  /** What is kept under a key, oldest first. */
  under(key: string | null): readonly T[] {
    return this.#byKey.get(key) ?? NONE;
  }

  /**
   * Whether to keep this one. Always, while there is room; then one in a number, in the place of the oldest: where nothing
   * comes again, keeping costs more than it saves. Never a long text.
   */
  wants({ text }: T, key: string | null): boolean {
    if (text.length > LIMITS.rememberedCharsMax) return false;
    const kept = this.#byKey.get(key);
    const room = kept ? kept.length < LIMITS.rememberedPerKey : this.#byKey.size < LIMITS.rememberedKeysMax;
    if (room) return true;
    this.#unwanted = (this.#unwanted + 1) % LIMITS.rememberedUnwanted;
    return this.#unwanted === 0;
  }

  /** Keeps it, and gives it back. */
  add(key: string | null, one: T): T {
    const kept = this.#byKey.get(key);
    if (kept) {
      if (kept.length >= LIMITS.rememberedPerKey) kept.shift();
      kept.push(one);
      return one;
    }
    if (this.#byKey.size >= LIMITS.rememberedKeysMax) {
      for (const oldest of this.#byKey.keys()) {
        this.#byKey.delete(oldest);
        break;
      }
    }
    this.#byKey.set(key, [one]);
    return one;
  }
}
