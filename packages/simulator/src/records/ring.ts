/** Keeps the last `size` items put in. */
export class Ring<T> {
  readonly #size: number;
  #items: T[] = [];
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  push(item: T): void {
    if (this.#size === 0) return;
    if (this.#items.length < this.#size) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#next] = item;
    this.#next = (this.#next + 1) % this.#size;
  }

  /** Oldest first. */
  toArray(): T[] {
    return [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)];
  }

  clear(): void {
    this.#items = [];
    this.#next = 0;
  }
}
