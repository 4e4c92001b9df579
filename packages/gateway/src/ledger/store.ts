import type { Statement } from "better-sqlite3";
import { LEDGER_LIMITS } from "./bounds.ts";
import {
  ATTEMPT_AT,
  ATTEMPT_COLUMNS,
  attemptParams,
  REQUEST_AT,
  REQUEST_COLUMNS,
  requestParams,
  type SqlValue,
} from "./columns.ts";
import { FEEDBACK_COLUMNS, feedbackParams } from "./feedback-line.ts";
import { type LineValue, USAGE_FIELDS } from "./layout.ts";
import { parseLine, type SpoolLine } from "./spool-line.ts";
import { isRowFault, openSqlite, type Sqlite } from "./sqlite.ts";

/** Lines to put into the database together; `running` are admissions that are still unsettled, `feedback` scores. */
export interface Batch {
  instance: string;
  running: string[];
  settled: string[];
  feedback?: string[];
}

/** A line that cannot be put into the database, and why. */
export interface Rejected {
  line: string;
  reason: string;
}

const UNFINISHED = "requests.status IN ('running', 'abandoned')";

/**
 * The writing side of the database. Applying a line twice changes nothing: a settled row is never written again,
 * so a spool may be replayed from any earlier place.
 */
export class LedgerStore {
  readonly #db: Sqlite;
  readonly #add: Statement;
  readonly #settle: Statement;
  readonly #abandon: Statement;
  readonly #dropAttempts: Statement;
  readonly #addAttempt: Statement;
  readonly #running: Statement;
  readonly #giveUp: Statement;
  readonly #score: Statement;

  constructor(path: string, durable: boolean) {
    this.#db = openSqlite(path, { busyTimeoutMs: LEDGER_LIMITS.busyTimeoutMs, durable });
    const insert = insertInto("requests", REQUEST_COLUMNS);
    const columns = REQUEST_COLUMNS.slice(1).map((name) => `${name} = excluded.${name}`);
    const replace = `${insert} ON CONFLICT (request_id) DO UPDATE SET ${columns.join(", ")}`;
    this.#add = this.#db.prepare(`${insert} ON CONFLICT (request_id) DO NOTHING`);
    this.#settle = this.#db.prepare(`${replace} WHERE ${UNFINISHED}`);
    this.#abandon = this.#db.prepare(`${replace} WHERE requests.status = 'running'`);
    this.#dropAttempts = this.#db.prepare("DELETE FROM attempts WHERE request_id = ?");
    this.#addAttempt = this.#db.prepare(insertInto("attempts", ATTEMPT_COLUMNS));
    this.#running = this.#db.prepare(
      "SELECT request_id, pending FROM requests WHERE status = 'running' AND instance = ? LIMIT 1000",
    );
    this.#giveUp = this.#db.prepare(
      "UPDATE requests SET status = 'abandoned', cost_state = 'unknown', instance = NULL, pending = NULL WHERE request_id = ?",
    );
    this.#score = this.#db.prepare(
      `${insertInto("feedback", FEEDBACK_COLUMNS)} ON CONFLICT (tenant, target_kind, target, name) DO UPDATE SET
        ${FEEDBACK_COLUMNS.map((name) => `${name} = excluded.${name}`).join(", ")} WHERE excluded.id > feedback.id`,
    );
  }

  /** Puts a batch in as one transaction. Throws when the database cannot take it; single bad lines are returned. */
  apply(batch: Batch): Rejected[] {
    return this.#each([
      ...batch.running.map((line) => ({ line, write: () => this.#writeRunning(line, batch.instance) })),
      ...batch.settled.map((line) => ({ line, write: () => this.#writeFinal(this.#settle, parseLine(line)) })),
      ...(batch.feedback ?? []).map((line) => ({ line, write: () => void this.#score.run(feedbackParams(line)) })),
    ]);
  }

  /** Writes admissions that will never be settled as abandoned requests that cost what was estimated. */
  abandon(admissions: string[]): Rejected[] {
    return this.#each(admissions.map((line) => ({ line, write: () => this.#writeAbandoned(line) })));
  }

  /** The same for what an instance has left running in the database. Returns how many there were. */
  abandonRunning(instance: string): number {
    for (let count = 0; ; ) {
      const rows = this.#running.all(instance) as { request_id: string; pending: string }[];
      if (rows.length === 0) return count;
      count += rows.length;
      const rejected = this.#each(
        rows.map(({ request_id, pending }) => ({ line: request_id, write: () => this.#writeAbandoned(pending) })),
      );
      for (const { line } of rejected) this.#giveUp.run(line);
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

  #each(writes: { line: string; write: () => void }[]): Rejected[] {
    const all = this.#db.transaction(() => {
      for (const { write } of writes) write();
    });
    try {
      all.immediate();
      return [];
    } catch (error) {
      if (!isRowFault(error) || !this.#db.open) throw error;
      return this.#eachAlone(writes);
    }
  }

  #eachAlone(writes: { line: string; write: () => void }[]): Rejected[] {
    const rejected: Rejected[] = [];
    for (const { line, write } of writes) {
      try {
        this.#db.transaction(write).immediate();
      } catch (error) {
        if (!isRowFault(error) || !this.#db.open) throw error;
        rejected.push({ line, reason: error instanceof Error ? error.message : String(error) });
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
    this.#add.run(...requestParams(request, [], { instance, line }));
  }

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
    this.#writeFinal(this.#abandon, { request, attempts: [attempt] });
  }

  /** Attempts are there exactly if the row is final: a row that is not written again keeps those it has. */
  #writeFinal(overUnfinished: Statement, { request, attempts }: SpoolLine): void {
    const params = requestParams(request, attempts, null);
    const requestId: SqlValue = params[REQUEST_AT.request_id] ?? null;
    // Most rows are new, and a plain insert is the cheaper way to find out. Parameters one by one are bound for half of what
    // an array of them costs.
    if (this.#add.run(...params).changes === 0) {
      if (overUnfinished.run(...params).changes === 0) return;
      this.#dropAttempts.run(requestId);
    }
    for (const attempt of attempts) this.#addAttempt.run(requestId, ...attemptParams(attempt));
  }
}

function at(attempt: LineValue[], name: keyof typeof ATTEMPT_AT): LineValue {
  return attempt[ATTEMPT_AT[name]] ?? null;
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
}
