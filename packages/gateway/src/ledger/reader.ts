import type { AttemptRow, FeedbackReport, FeedbackRow, Page, RequestRecord, SpendReport } from "@sluicegate/contract";
import { attemptFrom, requestFrom, type SqlRow } from "./columns.ts";
import { encodeCursor } from "./cursor.ts";
import {
  type FeedbackFilter,
  type FeedbackQuery,
  type FeedbackTarget,
  type FeedbackTargetFacts,
  feedbackReport,
  feedbackScores,
  feedbackTarget,
  keepsFeedback,
} from "./feedback-reads.ts";
import { checkLimit, requestConditions } from "./filters.ts";
import type { LedgerReader, RequestFilter } from "./ledger.ts";
import { type SpendQuery, spendReport } from "./spend.ts";
import { openSqliteReader, type Sqlite } from "./sqlite.ts";

/**
 * Opens a ledger's database for reading, also while a gateway writes. One that does not exist yet is an empty ledger,
 * and is looked for again at each call. Calls throw for a database of a newer build.
 */
export function openLedgerReader(path: string): LedgerReader {
  return new SqliteLedgerReader(path);
}

class SqliteLedgerReader implements LedgerReader {
  readonly #path: string;
  #db: Sqlite | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  requests(filter: RequestFilter): Page<RequestRecord> {
    const limit = checkLimit(filter.limit);
    const { terms, values } = requestConditions(filter);
    const db = this.#open();
    if (!db) return { data: [] };
    const where = terms.length > 0 ? `WHERE ${terms.join(" AND ")}` : "";
    const select = db.prepare(`SELECT * FROM requests ${where} ORDER BY started_at DESC, request_id DESC LIMIT ?`);
    const readPage = db.transaction(() => {
      const rows = select.all([...values, limit + 1]) as SqlRow[];
      return records(db, rows.slice(0, limit), rows.length > limit);
    });
    return readPage();
  }

  request(requestId: string): RequestRecord | null {
    const db = this.#open();
    if (!db) return null;
    const select = db.prepare("SELECT * FROM requests WHERE request_id = ?");
    const readOne = db.transaction(() => records(db, select.all(requestId) as SqlRow[], false).data[0] ?? null);
    return readOne();
  }

  spend(query: SpendQuery): SpendReport {
    return spendReport(this.#open(), query);
  }

  scores(filter: FeedbackFilter): Page<FeedbackRow> {
    const db = this.#openForFeedback();
    return db ? feedbackScores(db, filter) : { data: [] };
  }

  feedback(query: FeedbackQuery): FeedbackReport {
    return feedbackReport(this.#openForFeedback(), query);
  }

  feedbackTarget(target: FeedbackTarget): FeedbackTargetFacts {
    const db = this.#openForFeedback();
    return db ? feedbackTarget(db, target) : { found: false, names: 0 };
  }

  close(): void {
    this.#db?.close();
    this.#db = null;
  }

  #openForFeedback(): Sqlite | null {
    const db = this.#open();
    return db && keepsFeedback(db) ? db : null;
  }

  #open(): Sqlite | null {
    this.#db ??= openSqliteReader(this.#path);
    return this.#db;
  }
}

function records(db: Sqlite, rows: SqlRow[], more: boolean): Page<RequestRecord> {
  const ids = JSON.stringify(rows.map((row) => row["request_id"]));
  const select = "SELECT * FROM attempts WHERE request_id IN (SELECT value FROM json_each(?)) ORDER BY request_id, n";
  const attempts = new Map<string, AttemptRow[]>();
  for (const row of db.prepare(select).all(ids) as SqlRow[]) {
    const requestId = String(row["request_id"]);
    const known = attempts.get(requestId);
    if (known) known.push(attemptFrom(row));
    else attempts.set(requestId, [attemptFrom(row)]);
  }
  const data = rows.map((row) => requestFrom(row, attempts.get(String(row["request_id"])) ?? []));
  const last = rows.at(-1);
  if (!more || !last) return { data };
  const end = { startedAtMs: Number(last["started_at"]), requestId: String(last["request_id"]) };
  return { data, next_cursor: encodeCursor(end) };
}
