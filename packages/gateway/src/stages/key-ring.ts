import type { KeyEntry } from "../config/snapshot.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { KeyStore } from "../ledger/ledger.ts";
import type { KeyRing } from "./plane.ts";

/** How soon a key made or revoked elsewhere is known here (ruling 22). */
const POLL_MS = 1_000;

/**
 * All client keys in memory: those of the config and those of the ledger's database, fed by a poll of its revision.
 * A database that cannot be asked changes nothing: the keys known last stay, an unknown key is refused without a query.
 */
export class MemoryKeyRing implements KeyRing {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #onTrouble: (message: string) => void;
  #fixed = new Map<string, KeyEntry>();
  #created = new Map<string, KeyEntry & { revokedAt: number | null }>();
  #revision = -1;
  #timer: Timer | null = null;
  #inTrouble = false;

  constructor(store: KeyStore, clock: Clock, onTrouble: (message: string) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
    this.#poll();
  }

  find(hash: string): KeyEntry | undefined {
    const fixed = this.#fixed.get(hash);
    if (fixed) return fixed;
    const created = this.#created.get(hash);
    if (!created || (created.revokedAt !== null && created.revokedAt <= this.#clock.now())) return undefined;
    return created;
  }

  /** A key by its id, also one that is no longer taken: its name stands on rows. */
  named(id: string): KeyEntry | null {
    for (const keys of [this.#fixed, this.#created]) for (const key of keys.values()) if (key.id === id) return key;
    return null;
  }

  /** Replaces the keys that come from the config. */
  setFixed(keys: readonly KeyEntry[]): void {
    this.#fixed = new Map(keys.map((key) => [key.hash, key]));
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#store.close();
  }

  #poll(): void {
    try {
      const revision = this.#store.revision();
      if (revision !== this.#revision) {
        this.#created = new Map(this.#store.list().map((key) => [key.hash, key]));
        this.#revision = revision;
      }
      this.#inTrouble = false;
    } catch (error) {
      if (!this.#inTrouble) this.#onTrouble(error instanceof Error ? error.message : String(error));
      this.#inTrouble = true;
    }
    this.#timer = this.#clock.after(POLL_MS, () => this.#poll());
  }
}
