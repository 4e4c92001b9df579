/**
 * Gives every name once: one that is taken gets a number, from 2 on. What it costs does not grow with how often a name comes
 * again: a client can send the same one a million times.
 */
export class UniqueNames {
  readonly #taken = new Set<string>();
  /** The number a repeated name tries next. */
  readonly #next = new Map<string, number>();

  /** `numbered` writes a name with its number. */
  take(name: string, numbered: (name: string, n: number) => string): string {
    let given = name;
    if (this.#taken.has(name)) {
      let n = this.#next.get(name) ?? 2;
      do given = numbered(name, n++);
      while (this.#taken.has(given));
      this.#next.set(name, n);
    }
    this.#taken.add(given);
    return given;
  }
}
