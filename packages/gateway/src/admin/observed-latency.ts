import type { RequestRecord } from "@sluicegate/contract";
import { LIMITS } from "../core/limits.ts";

/** What calls to deployments took, by the ledger. */
export interface Latencies {
  /** Ms; null: none was seen. */
  median(deployment: string): number | null;
}

/** Collects what calls took, of each deployment so many as are kept. */
export class ObservedLatencies implements Latencies {
  readonly #seen = new Map<string, number[]>();
  readonly #medians = new Map<string, number>();

  /** Looks at the attempts of a request that went well. */
  add({ attempts }: RequestRecord): void {
    for (const { deployment, status, latency_ms } of attempts) {
      if (status !== "ok") continue;
      const known = this.#seen.get(deployment);
      if (!known) {
        if (this.#seen.size < LIMITS.whatIfGroupsMax) this.#seen.set(deployment, [latency_ms]);
      } else if (known.length < LIMITS.whatIfSamplesMax) known.push(latency_ms);
      this.#medians.delete(deployment);
    }
  }

  median(deployment: string): number | null {
    const known = this.#medians.get(deployment);
    if (known !== undefined) return known;
    const sorted = this.#seen.get(deployment)?.toSorted((a, b) => a - b);
    const median = sorted?.[Math.floor((sorted.length - 1) / 2)];
    if (median === undefined) return null;
    this.#medians.set(deployment, median);
    return median;
  }
}
