import { hash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { type FetchToken, TokenCache } from "./token-cache.ts";

/** A cache in somebody's hands; `release` gives it back. */
export interface Borrowed {
  tokens: TokenCache;
  release(): void;
}

/**
 * Token caches by what tokens are asked with, so that a reload that changes nothing of it keeps the token, its successor that
 * is on the way, and the back-off. A cache lives as long as somebody holds it.
 */
export class TokenShelf {
  readonly #clock: Clock;
  readonly #caches = new Map<string, { tokens: TokenCache; holders: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The cache for these settings, secrets among them; `fetch` is used when there is none yet. */
  borrow(settings: readonly (string | null)[], fetch: FetchToken): Borrowed {
    const key = hash("sha256", JSON.stringify(settings));
    let entry = this.#caches.get(key);
    if (!entry) {
      entry = { tokens: new TokenCache(this.#clock, fetch), holders: 0 };
      this.#caches.set(key, entry);
    }
    const held = entry;
    held.holders++;
    let released = false;
    return {
      tokens: held.tokens,
      release: () => {
        if (released) return;
        released = true;
        if (--held.holders > 0) return;
        held.tokens.close();
        this.#caches.delete(key);
      },
    };
  }
}
