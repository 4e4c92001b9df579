/** Who waits for which key. Each is told once. */
export class Watchers {
  readonly #waiting = new Map<string, Set<() => void>>();

  add(key: string, fn: () => void): () => void {
    const once = (): void => fn();
    const waiting = this.#waiting.get(key) ?? new Set();
    waiting.add(once);
    this.#waiting.set(key, waiting);
    return () => {
      waiting.delete(once);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
  }

  fire(key: string): void {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    for (const fn of waiting ?? []) fn();
  }

  keys(): string[] {
    return [...this.#waiting.keys()];
  }
}
