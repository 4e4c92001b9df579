import type { HedgeConfig } from "../config/snapshot.ts";

/**
 * How long the first call has before a second one goes beside it, ms. Null: nothing is known that could say when it is late.
 * `p95Ms` is of what is waited for: the first output of a stream, the whole of an answer.
 */
export function hedgeDelayMs(
  config: Pick<HedgeConfig, "after">,
  known: { p95Ms: number | null; expectedMs: number | null },
): number | null {
  return config.after === "p95" ? (known.p95Ms ?? known.expectedMs) : config.after;
}

/** Hedges that may be saved up while none is needed. */
const SAVED_MAX = 10;
/** What sums of shares may be off by. */
const TOLERANCE = 1e-9;

/**
 * Keeps hedges to a share of the requests: of n requests to one deployment, at most the share of n, rounded up (so that the
 * first one may be hedged). Holds one number a deployment; `retain` forgets those that are gone.
 */
export class HedgeBudget {
  readonly #saved = new Map<string, number>();

  /** Counts one request to `deployment` of a route that hedges `share` of them. */
  request(deployment: string, share: number): void {
    this.#saved.set(deployment, Math.min(SAVED_MAX, (this.#saved.get(deployment) ?? 0) + share));
  }

  /** Takes one hedge; false when the share is used up. */
  take(deployment: string): boolean {
    const saved = this.#saved.get(deployment) ?? 0;
    if (saved <= TOLERANCE) return false;
    this.#saved.set(deployment, saved - 1);
    return true;
  }

  /** Takes a hedge back that was not made after all. */
  giveBack(deployment: string): void {
    const saved = this.#saved.get(deployment);
    if (saved !== undefined) this.#saved.set(deployment, Math.min(SAVED_MAX, saved + 1));
  }

  /** Forgets deployments that are not in `names`. */
  retain(names: ReadonlySet<string>): void {
    for (const name of this.#saved.keys()) if (!names.has(name)) this.#saved.delete(name);
  }
}
