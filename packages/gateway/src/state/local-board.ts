import type { Clock } from "../core/clock.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import type { BoardRecord } from "./state.ts";

type Listener = (key: string, record: BoardRecord | null) => void;

/** A board within one process. Also what a replica remembers of the shared one. */
export class LocalBoard {
  readonly #clock: Clock;
  readonly #records = new Map<string, BoardRecord>();
  readonly #listeners = new Set<Listener>();
  readonly #leases = new Map<string, { holder: object; until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a record up unless a later version is known, and tells it. Says whether it did. */
  accept(key: string, record: BoardRecord): boolean {
    const known = this.#records.get(key);
    if (known && known.version > record.version) return false;
    // The one written last is the youngest: at the bound, what has not changed for the longest goes.
    this.#records.delete(key);
    this.#records.set(key, record);
    for (const oldest of this.#records.keys()) {
      if (this.#records.size <= STATE_BOUNDS.recordsMax) break;
      this.#records.delete(oldest);
    }
    for (const listener of this.#listeners) this.#tell(listener, key, record);
    return true;
  }

  listen(fn: Listener): () => void {
    this.#listeners.add(fn);
    for (const [key, record] of this.#records) this.#tell(fn, key, record);
    return () => this.#listeners.delete(fn);
  }

  /** Everything known, oldest change first. */
  records(): ReadonlyMap<string, BoardRecord> {
    return this.#records;
  }

  /** Takes a name for a while; its holder may take it again. False: somebody else has it. */
  lease(holder: object, name: string, ttlMs: number): boolean {
    const now = this.#clock.monotonic();
    const held = this.#leases.get(name);
    if (held && held.holder !== holder && held.until > now) return false;
    if (!held && this.#leases.size >= STATE_BOUNDS.leasesMax) {
      for (const [other, { until }] of this.#leases) if (until <= now) this.#leases.delete(other);
      if (this.#leases.size >= STATE_BOUNDS.leasesMax) return false;
    }
    this.#leases.set(name, { holder, until: now + ttlMs });
    return true;
  }

  /** Gives a name free that this holder has. */
  release(holder: object, name: string): void {
    if (this.#leases.get(name)?.holder === holder) this.#leases.delete(name);
  }

  /** In a microtask: whoever publishes is not called back in the middle of its own change. */
  #tell(listener: Listener, key: string, record: BoardRecord): void {
    queueMicrotask(() => {
      if (this.#listeners.has(listener)) listener(key, record);
    });
  }
}
