import { hash } from "node:crypto";

/** What happened in a run, line by line, in virtual time. Two runs of a seed write the same lines. */
export class Journal {
  readonly #elapsedMs: () => number;
  readonly #lines: string[] = [];

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  say(who: string, what: string): void {
    this.#lines.push(`${this.#elapsedMs().toFixed(3)} ${who} ${what}`);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Names the whole of what happened. */
  fingerprint(): string {
    return hash("sha256", this.#lines.join("\n")).slice(0, 16);
  }
}

/** What a run found wrong. */
export interface Violation {
  /** Which promise was broken. */
  rule: string;
  /** Who, what, and when. */
  facts: string;
}

/** Collects what is found wrong; the first ones are enough. */
export class Findings {
  readonly #found: Violation[] = [];

  add(rule: string, facts: string): void {
    if (this.#found.length < FINDINGS_MAX) this.#found.push({ rule, facts });
  }

  get all(): readonly Violation[] {
    return this.#found;
  }
}

const FINDINGS_MAX = 50;
