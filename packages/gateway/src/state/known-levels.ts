import type { Ceiling } from "../core/ceiling.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import { capsOf, refilled } from "./bucket.ts";
import { fullness, type Levels, sizesOf } from "./judge.ts";
import type { Slot } from "./local-ceilings.ts";

/** A ceiling as the store had it when it was last heard of. Times are monotonic ms. */
export interface Known {
  ceiling: Ceiling;
  shared: Slot;
  floors: Map<string, Slot>;
  running: number;
  at: number;
}

/** How long the number of running calls is believed. */
const BELIEVED_MS = 60_000;

/** What this replica has last heard of each ceiling: where it goes on from when the store is lost. */
export class KnownLevels {
  readonly #known = new Map<string, Known>();

  /** A reservation was answered: the levels after it. */
  note(ceiling: Ceiling, tenant: string, levels: Levels, now: number): void {
    const known = this.#known.get(ceiling.key);
    const floors = known?.floors ?? new Map<string, Slot>();
    if (ceiling.floors.has(tenant)) {
      floors.set(tenant, { requests: levels.requests?.floor, tokens: levels.tokens?.floor, at: now });
    }
    const shared = { requests: levels.requests?.shared, tokens: levels.tokens?.shared, at: now };
    this.#known.delete(ceiling.key);
    this.#known.set(ceiling.key, { ceiling, shared, floors, running: levels.running, at: now });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= STATE_BOUNDS.ceilingsMax) break;
      this.#known.delete(oldest);
    }
  }

  /** A call of this replica's has ended. */
  ended(key: string): void {
    const known = this.#known.get(key);
    if (known) known.running = Math.max(0, known.running - 1);
  }

  get(key: string): Known | undefined {
    return this.#known.get(key);
  }

  all(): IterableIterator<Known> {
    return this.#known.values();
  }

  /** How full a ceiling is, 0 to 1, as far as is known. */
  used(ceiling: Ceiling, now: number): number {
    const known = this.#known.get(ceiling.key);
    if (!known) return 0;
    const level = (rate: "rpm" | "tpm", kind: "requests" | "tokens") => {
      const caps = capsOf(ceiling, rate, "");
      return caps && { floor: 0, shared: refilled(known.shared[kind], known.shared.at, caps.shared, now) };
    };
    return fullness(sizesOf(ceiling, "", 1), {
      requests: level("rpm", "requests"),
      tokens: level("tpm", "tokens"),
      running: now - known.at < BELIEVED_MS ? known.running : 0,
    });
  }
}
