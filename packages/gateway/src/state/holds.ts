import { STATE_BOUNDS } from "./bounds.ts";
import type { ReserveRequest } from "./state.ts";

/** Reservations of this replica that are not settled, by holder. At the bound the oldest is taken for lost. */
export class Holds<Hold extends { request: ReserveRequest }> {
  readonly #byHolder = new Map<string, Hold>();

  has(holder: string): boolean {
    return this.#byHolder.has(holder);
  }

  add(holder: string, hold: Hold): void {
    this.#byHolder.set(holder, hold);
    if (this.#byHolder.size <= STATE_BOUNDS.holdsMax) return;
    for (const oldest of this.#byHolder.keys()) {
      this.#byHolder.delete(oldest);
      return;
    }
  }

  /** Hands a reservation out, once. */
  take(holder: string): Hold | undefined {
    const hold = this.#byHolder.get(holder);
    this.#byHolder.delete(holder);
    return hold;
  }

  all(): IterableIterator<Hold> {
    return this.#byHolder.values();
  }

  /** Tokens reserved by all of them together; a call under ceilings that count no tokens reserves none. */
  tokens(): number {
    let sum = 0;
    for (const { request } of this.#byHolder.values()) {
      if (request.ceilings.some(({ tpm }) => tpm !== null)) sum += request.tokens;
    }
    return sum;
  }
}
