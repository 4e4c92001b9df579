import type { Clock } from "../core/clock.ts";

const WINDOW_SECONDS = 10;
const FREE_RETRIES = 3;

interface Window {
  /** The one of the current second, when it was last looked at. */
  slot: number;
  /** Counts by second, index = second mod WINDOW_SECONDS; `second` says which one a slot holds. */
  second: number[];
  requests: number[];
  retries: number[];
}

/**
 * Keeps retries of one deployment to a share of its recent requests (10 s) plus 3, so that a fault does not become a storm.
 * Holds one small window a deployment ever asked for; `retain` forgets the ones that are gone.
 */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one request to `deployment` (its first attempt there), `now`, monotonic ms. */
  request(deployment: string, now = this.#clock.monotonic()): void {
    const window = this.#window(deployment, now);
    const { slot } = window;
    window.requests[slot] = (window.requests[slot] ?? 0) + 1;
  }

  /** Takes one retry out of the budget; false when `share` of the recent requests plus 3 is used up. */
  take(deployment: string, share: number): boolean {
    const window = this.#window(deployment, this.#clock.monotonic());
    const { slot } = window;
    const now = window.second[slot] ?? 0;
    let requests = 0;
    let retries = 0;
    for (let i = 0; i < WINDOW_SECONDS; i++) {
      if (now - (window.second[i] ?? 0) >= WINDOW_SECONDS) continue;
      requests += window.requests[i] ?? 0;
      retries += window.retries[i] ?? 0;
    }
    if (retries >= Math.floor(requests * share) + FREE_RETRIES) return false;
    window.retries[slot] = (window.retries[slot] ?? 0) + 1;
    return true;
  }

  /** Forgets deployments that are not in `names`. */
  retain(names: ReadonlySet<string>): void {
    for (const name of this.#windows.keys()) if (!names.has(name)) this.#windows.delete(name);
  }

  #window(deployment: string, now: number): Window {
    let window = this.#windows.get(deployment);
    if (!window) {
      const zeros = (): number[] => new Array<number>(WINDOW_SECONDS).fill(0);
      window = { slot: 0, second: zeros(), requests: zeros(), retries: zeros() };
      this.#windows.set(deployment, window);
    }
    const second = Math.floor(now / 1_000) + WINDOW_SECONDS;
    const slot = second % WINDOW_SECONDS;
    window.slot = slot;
    if (window.second[slot] !== second) {
      window.second[slot] = second;
      window.requests[slot] = 0;
      window.retries[slot] = 0;
    }
    return window;
  }
}
