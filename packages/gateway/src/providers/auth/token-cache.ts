import type { Clock, Timer } from "../../core/clock.ts";
import { TOKEN_BOUNDS } from "./bounds.ts";

/** A token as it was given. */
export interface IssuedToken {
  value: string;
  /** For how long it holds, ms. */
  lifeMs: number;
}

/** Gets a new token. Rejects with words that hold no secret. */
export type FetchToken = () => Promise<IssuedToken>;

/** A token in use. */
export interface HeldToken {
  value: string;
  /** Which of the tokens that were ever fetched here: 1 is the first. */
  serial: number;
}

interface Kept extends HeldToken {
  /** Monotonic ms. */
  refreshAt: number;
  endsAt: number;
}

/**
 * One short-lived token and its successors. A token in use is replaced before its end by a timer, and by one call at a time
 * however many wait for it; one that nobody uses is left to lapse. While none can be had, who gives them is asked again after
 * a back-off, and the one at hand is used to its end. Times are monotonic: a clock that is set back ages nothing.
 */
export class TokenCache {
  readonly #clock: Clock;
  readonly #fetch: FetchToken;
  #token: Kept | null = null;
  #serial = 0;
  #fetching: Promise<Kept> | null = null;
  #timer: Timer | null = null;
  /** The token at hand was asked for since it came. */
  #used = false;
  #closed = false;

  #failures = 0;
  #failure: unknown = null;
  /** Nobody is asked before. */
  #retryAt = 0;

  /** The provider would not have this one. */
  #refusedSerial = 0;
  #refusals = 0;
  #refusedAt = 0;
  #replaceAt = 0;

  constructor(clock: Clock, fetch: FetchToken) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /** The token at hand; null before the first. */
  get current(): HeldToken | null {
    return this.#token;
  }

  /** A token that holds: at once where one is at hand, else when it comes. Rejects when none is to be had. */
  take(): HeldToken | Promise<HeldToken> {
    const now = this.#clock.monotonic();
    const token = this.#token;
    if (!token || now >= token.endsAt) return this.#ask(now);
    this.#used = true;
    if (token.serial === this.#refusedSerial && this.#fetching) {
      // Without another, the provider may be asked once more with this one: a refusal need not have been the token's fault.
      return this.#fetching.catch(() => token);
    }
    if (now >= token.refreshAt) this.#refresh(now);
    return token;
  }

  /**
   * The provider has refused the token of this number. It is replaced at once; where its successors are refused too, after a
   * back-off, since then it is not the token that is wrong. Resolves with whether there is a newer one.
   */
  async refused(serial: number): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (this.#token?.serial === serial && now >= this.#replaceAt) {
      if (now - this.#refusedAt > TOKEN_BOUNDS.calmMs) this.#refusals = 0;
      this.#refusedAt = now;
      this.#replaceAt = now + backOffMs(++this.#refusals);
      this.#refusedSerial = serial;
      this.#refresh(now);
    }
    if (this.#refusedSerial === serial) await this.#fetching?.catch(() => {});
    return (this.#token?.serial ?? 0) > serial;
  }

  /** No more timers. Who still holds the cache is served as before, on demand. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #ask(now: number): Promise<Kept> {
    if (this.#fetching) return this.#fetching;
    return now < this.#retryAt ? Promise.reject(this.#failure) : this.#begin();
  }

  /** In the background: what goes wrong is remembered, and tried again later. */
  #refresh(now: number): void {
    if (!this.#fetching && now >= this.#retryAt) this.#begin().catch(() => {});
  }

  #begin(): Promise<Kept> {
    const fetching = this.#fetch().then(
      (issued) => this.#keep(issued),
      (error: unknown) => this.#fail(error),
    );
    this.#fetching = fetching;
    return fetching;
  }

  #keep({ value, lifeMs }: IssuedToken): Kept {
    const now = this.#clock.monotonic();
    const life = Math.min(lifeMs, TOKEN_BOUNDS.lifeMsMax);
    const kept: Kept = {
      value,
      serial: ++this.#serial,
      refreshAt: now + life - Math.min(TOKEN_BOUNDS.aheadMs, life / TOKEN_BOUNDS.aheadPart),
      endsAt: now + life - Math.min(TOKEN_BOUNDS.lateMs, life / 10),
    };
    this.#token = kept;
    this.#fetching = null;
    this.#failures = 0;
    this.#failure = null;
    this.#retryAt = 0;
    this.#used = false;
    this.#arm(kept.refreshAt - now);
    return kept;
  }

  #fail(error: unknown): never {
    this.#fetching = null;
    this.#failure = error;
    const waitMs = backOffMs(++this.#failures);
    this.#retryAt = this.#clock.monotonic() + waitMs;
    if (this.#token) this.#arm(waitMs);
    throw error;
  }

  #arm(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#closed ? null : this.#clock.after(ms, () => this.#onTimer());
  }

  #onTimer(): void {
    const now = this.#clock.monotonic();
    this.#timer = null;
    if (this.#used && this.#token && now < this.#token.endsAt) this.#refresh(now);
  }
}

function backOffMs(times: number): number {
  return Math.min(TOKEN_BOUNDS.backOffLastMs, TOKEN_BOUNDS.backOffFirstMs * 2 ** Math.min(times - 1, 10));
}
