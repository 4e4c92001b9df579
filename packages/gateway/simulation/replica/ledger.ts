import type { AttemptRow, RequestRow } from "@sluicegate/contract";
import type { Admission, LedgerWriter } from "../../src/ledger/ledger.ts";
import type { Findings } from "../core/journal.ts";

/** A request as the books have it. */
export interface Booked {
  row: RequestRow;
  attempts: readonly AttemptRow[];
}

type Entry =
  | { kind: "admit"; admission: Admission }
  | { kind: "settle"; row: RequestRow; attempts: readonly AttemptRow[] }
  | { kind: "record"; row: RequestRow };

/** The installation's database: what every replica's spool comes to in the end. */
export class Books {
  readonly rows = new Map<string, Booked>();
  /** Admissions by request; taken out when settled. */
  readonly #open = new Map<string, Admission>();
  /** Refusals and other rows that were never admitted. */
  readonly recorded: RequestRow[] = [];
  readonly #findings: Findings;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** Admitted, and neither settled nor abandoned. */
  get open(): ReadonlyMap<string, Admission> {
    return this.#open;
  }

  take(entry: Entry): void {
    if (entry.kind === "record") return void this.recorded.push({ ...entry.row });
    if (entry.kind === "admit") {
      const { row } = entry.admission;
      if (this.#open.has(row.request_id) || this.rows.has(row.request_id))
        this.#findings.add("ledger: admitted once", row.request_id);
      // The row is settled in place later on: what was spooled is what it was then.
      this.#open.set(row.request_id, { ...entry.admission, row: { ...row } });
      return;
    }
    const { row, attempts } = entry;
    if (this.rows.has(row.request_id)) this.#findings.add("ledger: settled once", row.request_id);
    else if (!this.#open.delete(row.request_id) && attempts.length > 0)
      this.#findings.add("ledger: settled after its admission", row.request_id);
    this.rows.set(row.request_id, { row: { ...row }, attempts });
  }

  /** What a dead replica left unsettled is abandoned, at its estimate: the ledger's own promise for a killed process. */
  abandon(requestIds: Iterable<string>): void {
    for (const id of requestIds) {
      const admission = this.#open.get(id);
      if (!admission) continue;
      this.#open.delete(id);
      const { attempt, row } = admission;
      this.rows.set(id, {
        row: {
          ...row,
          status: "abandoned",
          usage: attempt.usage,
          cost_micro_usd: attempt.cost_micro_usd,
          cost_state: attempt.cost_state,
        },
        attempts: [attempt],
      });
    }
  }
}

/**
 * A ledger in memory with the promises of the real one, which has tests of its own with a real spool and real kills: what was
 * put into a tick is on disk after the tick's one write, an admission resolves then, and a kill loses what was not written.
 */
export class VirtualLedger implements LedgerWriter {
  readonly #books: Books;
  #queue: Entry[] = [];
  #waiting: (() => void)[] = [];
  #dead = false;
  /** Admissions of this process that are on disk and not settled there. */
  readonly #mine = new Set<string>();
  full = false;

  constructor(books: Books) {
    this.#books = books;
  }

  accepting(): boolean {
    return !this.full;
  }

  admit(admission: Admission): Promise<void> {
    this.#queue.push({ kind: "admit", admission });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  settle(row: RequestRow, attempts: AttemptRow[]): void {
    this.#queue.push({ kind: "settle", row, attempts });
  }

  record(row: RequestRow): void {
    this.#queue.push({ kind: "record", row });
  }

  score(): void {}

  /** Something is to be written. */
  get pending(): number {
    return this.#queue.length;
  }

  /** The tick's one write; false when there is nothing to write. */
  write(): boolean {
    if (this.#dead || this.#queue.length === 0) return false;
    const queue = this.#queue;
    const waiting = this.#waiting;
    this.#queue = [];
    this.#waiting = [];
    for (const entry of queue) {
      this.#books.take(entry);
      if (entry.kind === "admit") this.#mine.add(entry.admission.row.request_id);
      if (entry.kind === "settle") this.#mine.delete(entry.row.request_id);
    }
    for (const resolve of waiting) resolve();
    return true;
  }

  /** The process is killed: what it has not written is gone. */
  kill(): void {
    this.#dead = true;
    this.#queue = [];
    this.#waiting = [];
  }

  /** Somebody finds the spool of the dead process. */
  adopt(): void {
    this.#books.abandon(this.#mine);
    this.#mine.clear();
  }

  spooledRows(): number {
    return 0;
  }

  state(): "ok" {
    return "ok";
  }

  async drain(): Promise<void> {}

  async close(): Promise<void> {}
}
