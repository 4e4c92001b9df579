import { type Bill, charge } from "./invoice.ts";
import type { Hit } from "./requests.ts";

/** Keeps the record of one call true while it is answered: its hit and, when it is billed, its invoice line. */
export class Account {
  readonly #hit: Hit;
  readonly #bill: Bill | null;

  constructor(hit: Hit, bill: Bill | null) {
    this.#hit = hit;
    this.#bill = bill;
  }

  /** The status line was written. */
  answered(status: number): void {
    this.#hit.status = status;
    if (this.#bill !== null) this.#bill.line.status = status;
  }

  /** This much output exists so far, reasoning included in it. */
  generated(output: number, reasoning: number): void {
    if (this.#bill !== null) charge(this.#bill, output, reasoning);
  }

  /** The usage of the whole call went out. Believed until `lost` says otherwise. */
  usageSent(): void {
    if (this.#bill !== null) this.#bill.line.reported = true;
  }

  /** The answer went out whole. Believed until `lost` says otherwise. */
  finished(): void {
    if (this.#bill !== null) this.#bill.line.finished = true;
  }

  /** The connection closed before everything written had left. */
  lost(byPeer: boolean, usageArrived: boolean): void {
    if (this.#bill === null) return;
    const { line } = this.#bill;
    line.finished = false;
    line.client_closed = byPeer;
    line.reported &&= usageArrived;
  }
}
