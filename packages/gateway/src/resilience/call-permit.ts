import type { KeyHealth, ProbePlace } from "./key-health.ts";
import type { CallOutcome, Permit } from "./permit.ts";

/** A permit of the board: what it has to remember of the moment the call began. */
export class CallPermit implements Permit {
  readonly ok = true;
  readonly health: KeyHealth;
  /** The probe's place it fills; null: an ordinary call. */
  readonly place: ProbePlace | null;
  readonly generation: number;
  readonly coolings: number;
  readonly credentials: number;
  readonly #settled: (call: CallPermit, outcome: CallOutcome) => void;
  #over = false;

  constructor(settled: (call: CallPermit, outcome: CallOutcome) => void, health: KeyHealth, place: ProbePlace | null) {
    this.#settled = settled;
    this.health = health;
    this.place = place;
    this.generation = health.generation;
    this.coolings = health.coolings;
    this.credentials = health.credentials;
    health.inFlight++;
  }

  get probe(): boolean {
    return this.place !== null;
  }

  done(outcome: CallOutcome): void {
    if (this.#over) return;
    this.#over = true;
    this.#settled(this, outcome);
  }
}

/** For a key that is one too many to be counted. */
export const UNCOUNTED: Permit = Object.freeze({ ok: true, probe: false, done: () => {} });
