/** Parts the breaker's window is counted in: it slides by one of them at a time. */
const PARTS = 12;
/** A route may look further back than the breaker, up to so many parts. */
const PARTS_MAX = 240;

/** Calls that count, failures among them, and slow streams, over sliding windows. Memory is constant; times are monotonic ms. */
export class OutcomeWindow {
  readonly windowMs: number;
  readonly spanMs: number;
  readonly #partMs: number;
  readonly #parts: number;
  /** Which part of time a place holds; counts of other parts are old. */
  readonly #part: Float64Array;
  readonly #calls: Uint32Array;
  readonly #failures: Uint32Array;
  readonly #slow: Uint32Array;
  /** The part of time in which a call last went badly. */
  #badPart = Number.NEGATIVE_INFINITY;

  /** `spanMs`: the longest window that is asked for. */
  constructor(windowMs: number, spanMs: number) {
    this.windowMs = windowMs;
    this.spanMs = spanMs;
    this.#partMs = windowMs / PARTS;
    this.#parts = Math.min(PARTS_MAX, Math.max(PARTS, Math.ceil(spanMs / this.#partMs)));
    this.#part = new Float64Array(this.#parts).fill(-1);
    this.#calls = new Uint32Array(this.#parts);
    this.#failures = new Uint32Array(this.#parts);
    this.#slow = new Uint32Array(this.#parts);
  }

  /** Counts one call. A slow one is no failure of the breaker's, but one more that went badly. */
  add(now: number, failed: boolean, slow: boolean): void {
    const part = Math.floor(now / this.#partMs);
    const at = part % this.#parts;
    if (this.#part[at] !== part) {
      this.#part[at] = part;
      this.#calls[at] = 0;
      this.#failures[at] = 0;
      this.#slow[at] = 0;
    }
    this.#calls[at] = (this.#calls[at] ?? 0) + 1;
    if (!failed && !slow) return;
    this.#badPart = part;
    if (failed) this.#failures[at] = (this.#failures[at] ?? 0) + 1;
    else this.#slow[at] = (this.#slow[at] ?? 0) + 1;
  }

  /** By a look: true when no window that ends now, however long, holds a failure or a slow stream. */
  allWell(now: number): boolean {
    return Math.floor(now / this.#partMs) - this.#badPart >= this.#parts;
  }

  /** What the last `windowMs` saw, the part that is filling included. */
  counts(now: number, windowMs = this.windowMs): { calls: number; failures: number; slow: number } {
    const last = Math.floor(now / this.#partMs);
    const parts = Math.min(this.#parts, Math.max(1, Math.round(windowMs / this.#partMs)));
    let calls = 0;
    let failures = 0;
    let slow = 0;
    for (let at = 0; at < this.#parts; at++) {
      const part = this.#part[at] ?? -1;
      if (part < 0 || last - part >= parts) continue;
      calls += this.#calls[at] ?? 0;
      failures += this.#failures[at] ?? 0;
      slow += this.#slow[at] ?? 0;
    }
    return { calls, failures, slow };
  }

  /** Forgets everything. */
  clear(): void {
    this.#part.fill(-1);
    this.#badPart = Number.NEGATIVE_INFINITY;
  }

  /** The same counts in a window of another length. */
  resized(windowMs: number, spanMs: number): OutcomeWindow {
    const other = new OutcomeWindow(windowMs, spanMs);
    for (const part of [...this.#part].filter((each) => each >= 0).sort((a, b) => a - b)) {
      const at = part % this.#parts;
      other.#fold(part * this.#partMs, this.#calls[at] ?? 0, this.#failures[at] ?? 0, this.#slow[at] ?? 0);
    }
    return other;
  }

  #fold(time: number, calls: number, failures: number, slow: number): void {
    if (calls === 0) return;
    this.add(time, false, false);
    const part = Math.floor(time / this.#partMs);
    const at = part % this.#parts;
    if (failures + slow > 0) this.#badPart = part;
    this.#calls[at] = (this.#calls[at] ?? 0) + calls - 1;
    this.#failures[at] = (this.#failures[at] ?? 0) + failures;
    this.#slow[at] = (this.#slow[at] ?? 0) + slow;
  }
}
