import type { SlowStreamConfig } from "../config/snapshot.ts";

/** Parts the window is counted in. */
const SLOTS = 10;

/**
 * Measures one stream's tokens a second over a sliding window (RES-14). Time in which the client did not read is left out:
 * its slowness is not the provider's. All times monotonic ms, not going back.
 */
export class SlowStreamMeter {
  readonly #slotMs: number;
  readonly #tokensMin: number;
  readonly #counts = new Float64Array(SLOTS + 1);
  #sum = 0;
  #slot = 0;
  #startedAt: number;
  #pausedAt: number | null = null;

  /** Begins at the first output. */
  constructor(config: Pick<SlowStreamConfig, "tokensPerSecond" | "windowMs">, startedAt: number) {
    this.#slotMs = config.windowMs / SLOTS;
    this.#tokensMin = (config.tokensPerSecond * config.windowMs) / 1_000;
    this.#startedAt = startedAt;
  }

  /** Counts output that came. */
  add(tokens: number, now: number): void {
    this.#moveTo(now);
    const at = this.#slot % (SLOTS + 1);
    this.#counts[at] = (this.#counts[at] ?? 0) + tokens;
    this.#sum += tokens;
  }

  /** The client stopped reading. */
  pause(now: number): void {
    this.#pausedAt ??= now;
  }

  /** The client reads on. */
  resume(now: number): void {
    if (this.#pausedAt === null) return;
    this.#startedAt += now - this.#pausedAt;
    this.#pausedAt = null;
  }

  /** Whether the last whole window brought fewer tokens than it has to; false before there was one, and while paused. */
  isSlow(now: number): boolean {
    if (this.#pausedAt !== null) return false;
    this.#moveTo(now);
    return this.#slot >= SLOTS && this.#sum < this.#tokensMin;
  }

  /** When to look again, ms from now: at the end of the first window, then every part of one. */
  nextLookMs(now: number): number {
    const slot = Math.floor((now - this.#startedAt) / this.#slotMs);
    return this.#startedAt + Math.max(SLOTS, slot + 1) * this.#slotMs - now;
  }

  /** Empties the parts that time has passed over. The part that is filling counts beside the whole ones of the window. */
  #moveTo(now: number): void {
    const slot = Math.floor(((this.#pausedAt ?? now) - this.#startedAt) / this.#slotMs);
    const steps = Math.min(slot - this.#slot, SLOTS + 1);
    for (let i = 1; i <= steps; i++) {
      const at = (this.#slot + i) % (SLOTS + 1);
      this.#sum -= this.#counts[at] ?? 0;
      this.#counts[at] = 0;
    }
    if (steps > 0) this.#slot = slot;
  }
}
