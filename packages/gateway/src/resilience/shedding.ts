/** How urgent a request is. */
export type Priority = "high" | "normal" | "low";

/** Smoothed event-loop delay, ms, from which each priority is refused. */
export interface SheddingThresholds {
  low: number;
  normal: number;
  high: number;
}

/** Far over what a healthy process shows (a pause for a reload, a large body), and under what clients take for dead. */
export const SHEDDING_THRESHOLDS: SheddingThresholds = Object.freeze({ low: 150, normal: 400, high: 1_500 });

/** How much one sample says: a single late tick is no overload, three in a row are. */
const WEIGHT = 0.35;
/** A priority is let in again under this part of its threshold. */
const RELEASE = 0.5;
/** Calm samples in a row before anybody is let in again. */
const CALM_SAMPLES = 4;
const RETRY_AFTER_MS: Readonly<Record<Priority, number>> = { high: 1_000, normal: 2_000, low: 5_000 };
/** In the order in which they are refused. */
const ORDER = ["low", "normal", "high"] as const;

/**
 * Refuses work before latency collapses (RES-9): low priority first, then normal, in the end everybody. Driven by samples of
 * how late the event loop is; up at once, down one step at a time after a calm while, so that it does not flap.
 */
export class Shedder {
  readonly #thresholds: SheddingThresholds;
  #delayMs = 0;
  #calm = 0;
  /** How many priorities of ORDER are refused. */
  #level = 0;

  constructor(thresholds: SheddingThresholds = SHEDDING_THRESHOLDS) {
    this.#thresholds = thresholds;
  }

  /** Takes the delay of the time since the last sample, ms. To be called a few times a second. */
  sample(delayMs: number): void {
    this.#delayMs += WEIGHT * (delayMs - this.#delayMs);
    const asked = ORDER.filter((priority) => this.#delayMs >= this.#thresholds[priority]).length;
    const last = ORDER[this.#level - 1];
    if (asked > this.#level) this.#level = asked;
    this.#calm = last && this.#delayMs < this.#thresholds[last] * RELEASE ? this.#calm + 1 : 0;
    if (this.#calm < CALM_SAMPLES) return;
    this.#level--;
    this.#calm = 0;
  }

  /** Null: let in. Else how long a client of this priority is asked to stay away, ms. */
  refuses(priority: Priority): number | null {
    return this.#level > 0 && ORDER.indexOf(priority) < this.#level ? RETRY_AFTER_MS[priority] : null;
  }

  /** What is refused now, for health and metrics. */
  get refused(): readonly Priority[] {
    return ORDER.slice(0, this.#level);
  }
}
