/** Answers of a model that are remembered, how many make a basis, and how often the figure is made anew. */
const SAMPLES = 256;
const BASIS = 50;
const EVERY = 16;
/** What an answer is taken for before there is a basis. */
const FIRST_GUESS = 1_024;
/** Models remembered at once; the one that answered longest ago goes. */
const MODELS_MAX = 1_000;

interface Seen {
  ring: Uint32Array;
  count: number;
  p95: number;
}

/** How long answers will be, learned from those that were (LIMIT-3, ruling 14). */
export class OutputEstimates {
  readonly #models = new Map<string, Seen>();

  /**
   * Output tokens to reserve for a call. `asked`: the cap the CLIENT gave (null: none; never one that the gateway filled in);
   * `modelMax`: what the model can write at most, null when nobody knows.
   */
  tokens(model: string, asked: number | null, modelMax: number | null): number {
    const most = modelMax ?? Number.POSITIVE_INFINITY;
    if (asked !== null) return Math.min(asked, most);
    const seen = this.#models.get(model);
    return Math.min(seen && seen.count >= BASIS ? seen.p95 : FIRST_GUESS, most);
  }

  /** An answer came to its end. Those that were cut short by a fault say nothing: leave them out. */
  observe(model: string, outputTokens: number): void {
    const seen = this.#models.get(model) ?? { ring: new Uint32Array(SAMPLES), count: 0, p95: FIRST_GUESS };
    this.#models.delete(model);
    this.#models.set(model, seen);
    if (this.#models.size > MODELS_MAX) {
      for (const oldest of this.#models.keys()) {
        this.#models.delete(oldest);
        break;
      }
    }
    seen.ring[seen.count++ % SAMPLES] = outputTokens;
    if (seen.count === BASIS || (seen.count > BASIS && seen.count % EVERY === 0)) seen.p95 = p95Of(seen);
  }
}

function p95Of({ ring, count }: Seen): number {
  const sorted = ring.slice(0, Math.min(count, SAMPLES)).sort();
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? FIRST_GUESS;
}
