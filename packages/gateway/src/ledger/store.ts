import type { Statement } from "better-sqlite3";
import { LEDGER_LIMITS } from "./bounds.ts";
import {
  ATTEMPT_AT,
  ATTEMPT_COLUMNS,
  attemptScalars,
  isLone,
  REQUEST_AT,
  REQUEST_COLUMNS,
  requestParams,
  requestScalars,
  type SqlValue,
  type Unfinished,
} from "./columns.ts";
import { FEEDBACK_COLUMNS, feedbackParams } from "./feedback-line.ts";
import { type LineValue, USAGE_FIELDS } from "./layout.ts";
import { RowShapes } from "./row-shapes.ts";
import { lineHead, needsAdmission, parseLine, parseSettlement, type Settled, type SpoolLine } from "./spool-line.ts";
import { isRowFault, openSqlite, type Sqlite } from "./sqlite.ts";

/** Lines to put into the database together; `running` are admissions that are still unsettled, `feedback` scores. */
export interface Batch {
  instance: string;
  running: string[];
  settled: Settled[];
  feedback?: string[];
}

/** A line that cannot be put into the database, and why. */
export interface Rejected {
  line: string;
  /** Of a settlement, where it is not itself in the database: what the line leaves out. */
  admission?: string;
  reason: string;
}

const UNFINISHED = "requests.status IN ('running', 'abandoned')";

/**
 * The writing side of the database. Applying a line twice changes nothing: a settled row is never written again,
 * so a spool may be replayed from any earlier place.
 */
export class LedgerStore {
  readonly #db: Sqlite;
  readonly #inTransaction: (work: () => void) => void;
  readonly #shapes: RowShapes;
  readonly #settle: Statement;
  readonly #abandon: Statement;
  readonly #dropAttempts: Statement;
  readonly #addAttempt: Statement;
  readonly #known: Statement;
  readonly #running: Statement;
  readonly #giveUp: Statement;
  readonly #score: Statement;

  constructor(path: string, durable: boolean) {
    this.#db = openSqlite(path, { busyTimeoutMs: LEDGER_LIMITS.busyTimeoutMs, durable });
    this.#inTransaction = this.#db.transaction((work: () => void) => work()).immediate;
    this.#shapes = new RowShapes(this.#db);
    const columns = REQUEST_COLUMNS.slice(1).map((name) => `${name} = excluded.${name}`);
    const replace = `${insertInto("requests", REQUEST_COLUMNS)} ON CONFLICT (request_id) DO UPDATE SET ${columns.join(", ")}`;
    this.#settle = this.#db.prepare(`${replace} WHERE ${UNFINISHED}`);
    this.#abandon = this.#db.prepare(`${replace} WHERE requests.status = 'running'`);
    this.#dropAttempts = this.#db.prepare("DELETE FROM attempt_rows WHERE request_id = ?");
    this.#addAttempt = this.#db.prepare(insertInto("attempt_rows", ATTEMPT_COLUMNS));
    this.#known = this.#db.prepare(`SELECT pending, ${UNFINISHED} AS open FROM requests WHERE request_id = ?`);
    this.#running = this.#db.prepare(
      "SELECT request_id, pending FROM requests WHERE status = 'running' AND instance = ? LIMIT 1000",
    );
    this.#giveUp = this.#db.prepare(
      "UPDATE requests SET status = 'abandoned', cost_state = 'unknown', instance = NULL WHERE request_id = ?",
    );
    this.#score = this.#db.prepare(
      `${insertInto("feedback", FEEDBACK_COLUMNS)} ON CONFLICT (tenant, target_kind, target, name) DO UPDATE SET
        ${FEEDBACK_COLUMNS.map((name) => `${name} = excluded.${name}`).join(", ")} WHERE excluded.id > feedback.id`,
    );
  }

  /** Puts a batch in as one transaction. Throws when the database cannot take it; single bad lines are returned. */
  apply({ instance, running, settled, feedback = [] }: Batch): Rejected[] {
    const admit = (line: string) => this.#writeRunning(line, instance);
    const settle = (one: Settled) => this.#writeSettled(one);
    const score = (line: string) => void this.#score.run(feedbackParams(line));
    const together = this.#together(() => {
      for (const line of running) admit(line);
      for (const one of settled) settle(one);
      for (const line of feedback) score(line);
    });
    if (together) return [];
    return [
      ...this.#eachAlone(running, admit, lineAlone),
      ...this.#eachAlone(settled, settle, ({ line, admission }) =>
        admission === null ? { line } : { line, admission },
      ),
      ...this.#eachAlone(feedback, score, lineAlone),
    ];
  }

  /** Writes admissions that will never be settled as abandoned requests that cost what was estimated. */
  abandon(admissions: string[]): Rejected[] {
    const abandon = (line: string) => this.#writeAbandoned(line);
    return this.#together(() => admissions.forEach(abandon)) ? [] : this.#eachAlone(admissions, abandon, lineAlone);
  }

  /** The same for what an instance has left running in the database. Returns how many there were. */
  abandonRunning(instance: string): number {
    for (let count = 0; ; ) {
      const rows = this.#running.all(instance) as { request_id: string; pending: string }[];
      if (rows.length === 0) return count;
      count += rows.length;
      const abandon = ({ pending }: (typeof rows)[number]) => this.#writeAbandoned(pending);
      if (this.#together(() => rows.forEach(abandon))) continue;
      for (const { line } of this.#eachAlone(rows, abandon, (row) => ({ line: row.request_id })))
        this.#giveUp.run(line);
    }
  }

  /** Instances that have rows running. */
  runningInstances(): string[] {
    const select = this.#db.prepare("SELECT DISTINCT instance FROM requests WHERE status = 'running'").pluck();
    return select.all() as string[];
  }

  close(): void {
    this.#db.close();
  }

  /** False, and nothing written, when a row is at fault. Throws when it is the database. */
  #together(work: () => void): boolean {
    try {
      this.#inTransaction(work);
      return true;
    } catch (error) {
      if (!isRowFault(error) || !this.#db.open) throw error;
      return false;
    }
  }

  #eachAlone<Item>(
    items: Item[],
    write: (item: Item) => void,
    whatOf: (item: Item) => Omit<Rejected, "reason">,
  ): Rejected[] {
    const rejected: Rejected[] = [];
    for (const item of items) {
      try {
        this.#inTransaction(() => write(item));
      } catch (error) {
        if (!isRowFault(error) || !this.#db.open) throw error;
        rejected.push({ ...whatOf(item), reason: error instanceof Error ? error.message : String(error) });
      }
    }
    return rejected;
  }

  /** What a running request costs is not known before it ends: its row counts nothing. */
  #writeRunning(line: string, instance: string): void {
    const { request } = parseLine(line);
    request[REQUEST_AT.status] = "running";
    request[REQUEST_AT.cost_micro_usd] = 0;
    for (const name of USAGE_FIELDS) request[REQUEST_AT[name]] = 0;
    this.#shapes.addSingle(requestParams(requestScalars(request), [], null, { instance, line }));
  }

  #writeSettled({ line, admission }: Settled): void {
    if (admission !== null || !needsAdmission(line)) {
      this.#writeFinal(this.#settle, parseSettlement(line, admission), null);
      return;
    }
    const known = this.#known.get(lineHead(line)?.requestId ?? null) as
      | { pending: string | null; open: number }
      | undefined;
    // A row that has ended is not written again. Where there is none, the line is at fault, which parsing it says.
    if (known && !known.open) return;
    this.#writeFinal(this.#settle, parseSettlement(line, known?.pending ?? null), null);
  }

  /** The admission stays with the row: its settlement may still come, and say only what has changed since. */
  #writeAbandoned(line: string): void {
    const { request, attempts } = parseLine(line);
    const [attempt] = attempts;
    if (!attempt) throw new TypeError("an admission without an attempt");
    if (attempt[ATTEMPT_AT.cost_state] !== "unknown") attempt[ATTEMPT_AT.cost_state] = "estimated";
    request[REQUEST_AT.status] = "abandoned";
    for (const name of ["deployment", "provider", "model"] as const) request[REQUEST_AT[name]] ??= at(attempt, name);
    for (const name of [...USAGE_FIELDS, "cost_micro_usd", "cost_state"] as const) {
      request[REQUEST_AT[name]] = at(attempt, name);
    }
    this.#writeFinal(this.#abandon, { request, attempts: [attempt] }, { instance: null, line });
  }

  /** Attempts are there exactly if the row is final: a row that is not written again keeps those it has. */
  #writeFinal(overUnfinished: Statement, line: SpoolLine, unfinished: Unfinished | null): void {
    const request = requestScalars(line.request);
    const attempts = line.attempts.map(attemptScalars);
    const lone = attempts.length === 1 && attempts[0] && isLone(request, attempts[0]) ? attempts[0] : null;
    const params = requestParams(request, attempts, lone, unfinished);
    const requestId: SqlValue = params[REQUEST_AT.request_id] ?? null;
    // Most rows are new, and a plain insert is the cheaper way to find out.
    const added = unfinished ? this.#shapes.addSingle(params) : this.#shapes.add(params);
    if (!added) {
      if (overUnfinished.run(...params).changes === 0) return;
      this.#dropAttempts.run(requestId);
    }
    if (lone) return;
    for (const attempt of attempts) this.#addAttempt.run(requestId, ...attempt);
  }
}

function lineAlone(line: string): { line: string } {
  return { line };
}

function at(attempt: LineValue[], name: keyof typeof ATTEMPT_AT): LineValue {
  return attempt[ATTEMPT_AT[name]] ?? null;
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
}
