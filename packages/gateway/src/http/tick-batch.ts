/**
 * Puts off small acts to the end of the tick and does them in one go. Answers that become ready in one tick then leave
 * together: the first write wakes whoever waits at the other end, the others find them awake, which is most of a write's cost.
 */
export class TickBatch {
  #acts: (() => void)[] = [];
  #scheduled = false;
  readonly #flush = (): void => {
    this.#scheduled = false;
    const acts = this.#acts;
    this.#acts = [];
    for (const act of acts) act();
  };

  /** Does `act`, which must not throw, before the event loop looks for new input. */
  add(act: () => void): void {
    this.#acts.push(act);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }
}
