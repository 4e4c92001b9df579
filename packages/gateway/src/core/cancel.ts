/** Why work was called off. */
export type CancelReason = "client_left" | "shutdown" | "timeout" | "superseded";

type Listener = (reason: CancelReason) => void;

/** A listener among the others. Null: removed. A request adds and removes a few: links are cheaper than a set for them. */
interface Link {
  listener: Listener | null;
  before: Link | null;
  after: Link | null;
}

/**
 * A cancellation that costs a small object instead of an AbortController (3.7 µs) a request.
 * Listeners run once, in the order they were added, synchronously.
 */
export class Cancel {
  #reason: CancelReason | undefined = undefined;
  #first: Link | null = null;
  #last: Link | null = null;

  get reason(): CancelReason | undefined {
    return this.#reason;
  }

  get cancelled(): boolean {
    return this.#reason !== undefined;
  }

  /** Calls everything off; later calls do nothing. */
  cancel(reason: CancelReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    // What is removed on the way keeps its own link to the next: nobody is lost, and it is not told.
    for (let link = this.#first; link; link = link.after) {
      const { listener } = link;
      link.listener = null;
      listener?.(reason);
    }
    this.#first = null;
    this.#last = null;
  }

  /**
   * Runs `listener` at the cancellation, at once (before this returns) if it has happened. The returned function removes it,
   * also while the others are being told.
   */
  onCancel(listener: Listener): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason);
      return () => {};
    }
    const link: Link = { listener, before: this.#last, after: null };
    if (link.before) link.before.after = link;
    else this.#first = link;
    this.#last = link;
    return () => this.#remove(link);
  }

  #remove(link: Link): void {
    if (link.listener === null) return;
    link.listener = null;
    const { before, after } = link;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
  }
}
