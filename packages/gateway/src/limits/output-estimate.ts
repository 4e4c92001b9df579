/** Answers of a model that are remembered, how many make a basis, and how often the figure is made anew. */
const SAMPLES = 256;
const BASIS = 50;
const EVERY = 16;
/** What an answer is taken for before there is a basis. */
const FIRST_GUESS = 1_024;
/** Models remembered at once; the one that answered longest ago goes. */
const MODELS_MAX = 1_000;

/** Places for the samples of a figure, and for those that come until the next one is made. */
const PLACES = SAMPLES + EVERY;

interface Seen {
  ring: Uint32Array;
  count: number;
  /** The figure, and the number of answers it was made from: made when it is asked for, which is seldom. */
  p95: number;
  basis: number;
}

/** How long answers will be, learned from those that were (LIMIT-3, ruling 14). */
export class OutputEstimates {
  readonly #models = new Map<string, Seen>();
  /** The model that answered last. */
  #last: string | null = null;

  /**
   * Output tokens to reserve for a call. `asked`: the cap the CLIENT gave (null: none; never one that the gateway filled in);
   * `modelMax`: what the model can write at most, null when nobody knows.
   */
  tokens(model: string, asked: number | null, modelMax: number | null): number {
    const most = modelMax ?? Number.POSITIVE_INFINITY;
    if (asked !== null) return Math.min(asked, most);
    const seen = this.#models.get(model);
    return Math.min(seen && seen.count >= BASIS ? figureOf(seen) : FIRST_GUESS, most);
  }

  /** An answer came to its end. Those that were cut short by a fault say nothing: leave them out. */
  observe(model: string, outputTokens: number): void {
    const seen = this.#models.get(model) ?? { ring: new Uint32Array(PLACES), count: 0, p95: FIRST_GUESS, basis: 0 };
    if (model !== this.#last) this.#moveToEnd(model, seen);
    seen.ring[seen.count++ % PLACES] = outputTokens;
  }

  #moveToEnd(model: string, seen: Seen): void {
    this.#last = model;
    this.#models.delete(model);
    this.#models.set(model, seen);
    if (this.#models.size <= MODELS_MAX) return;
    for (const oldest of this.#models.keys()) {
      this.#models.delete(oldest);
      break;
    }
  }
}

/** The 95th of a hundred, by the answers there were when it last was time for a new figure. */
function figureOf(seen: Seen): number {
  const basis = Math.max(BASIS, seen.count - (seen.count % EVERY));
  if (seen.basis === basis) return seen.p95;
  const sorted = new Uint32Array(Math.min(basis, SAMPLES));
  for (let i = 0; i < sorted.length; i++) sorted[i] = seen.ring[(basis - 1 - i) % PLACES] ?? 0;
  sorted.sort();
  seen.basis = basis;
  seen.p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? FIRST_GUESS;
  return seen.p95;
}
