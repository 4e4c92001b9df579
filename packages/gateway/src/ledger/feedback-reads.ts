import {
  FEEDBACK_DIMENSIONS,
  type FeedbackDimension,
  type FeedbackReport,
  type FeedbackRow,
  type Page,
} from "@sluicegate/contract";
import { didYouMean } from "../config/nearest.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { SqlRow, SqlValue } from "./columns.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { feedbackFrom } from "./feedback-line.ts";
import { checkLimit, invalid, parseTime, shown } from "./filters.ts";
import { type Sqlite, schemaVersion } from "./sqlite.ts";

/** What a score is of. */
export type FeedbackTarget = { tenant: string; name: string } & (
  | { kind: "request"; id: string }
  | { kind: "session"; id: string }
);

/** What is known of it. `names`: scores of other names that it has. */
export interface FeedbackTargetFacts {
  found: boolean;
  names: number;
}

/** A list of scores; times are ISO 8601, `to` exclusive. Newest first. */
export interface FeedbackFilter {
  tenant?: string;
  from?: string;
  to?: string;
  /** 1 to 1,000. */
  limit: number;
  cursor?: string;
}

/** What is asked of a report. */
export interface FeedbackQuery {
  by: string[];
  from: string;
  to: string;
  tenant?: string;
}

/** The schema that has scores: a reader may come before the writer that brings the database up to it. */
const SCHEMA_WITH_FEEDBACK = 2;

/** True when a database has a place for scores. */
export function keepsFeedback(db: Sqlite): boolean {
  return schemaVersion(db) >= SCHEMA_WITH_FEEDBACK;
}

/** Looks a target up inside its tenant. */
export function feedbackTarget(db: Sqlite, { tenant, kind, id, name }: FeedbackTarget): FeedbackTargetFacts {
  const column = kind === "request" ? "request_id" : "session";
  const found = db.prepare(`SELECT 1 FROM requests WHERE tenant = ? AND ${column} = ? LIMIT 1`).get(tenant, id);
  const names = db
    .prepare("SELECT COUNT(*) FROM feedback WHERE tenant = ? AND target_kind = ? AND target = ? AND name <> ?")
    .pluck()
    .get(tenant, kind, id, name);
  return { found: found !== undefined, names: Number(names) };
}

/** A page of scores. Throws GatewayError invalid_request, naming the parameter. */
export function feedbackScores(db: Sqlite, filter: FeedbackFilter): Page<FeedbackRow> {
  const limit = checkLimit(filter.limit);
  const terms: string[] = [];
  const values: SqlValue[] = [];
  const add = (term: string, ...more: SqlValue[]): void => {
    terms.push(term);
    values.push(...more);
  };
  if (filter.tenant !== undefined) add("tenant = ?", filter.tenant);
  if (filter.from !== undefined) add("at >= ?", parseTime(filter.from, "from"));
  if (filter.to !== undefined) add("at < ?", parseTime(filter.to, "to"));
  if (filter.cursor !== undefined) {
    const { startedAtMs, requestId } = decodeCursor(filter.cursor);
    add("(at, id) < (?, ?)", startedAtMs, requestId);
  }
  const where = terms.length > 0 ? `WHERE ${terms.join(" AND ")}` : "";
  const select = db.prepare(`SELECT * FROM feedback ${where} ORDER BY at DESC, id DESC LIMIT ?`);
  const rows = select.all([...values, limit + 1]) as SqlRow[];
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const data = page.map(feedbackFrom);
  if (rows.length <= limit || !last) return { data };
  return { data, next_cursor: encodeCursor({ startedAtMs: Number(last["at"]), requestId: String(last["id"]) }) };
}

/**
 * Scores by what served what they are of; `db` null: of none. A request is joined inside the tenant of its score, so that
 * nobody scores what is another's. A session's score counts once in each group that its requests are in.
 */
export function feedbackReport(db: Sqlite | null, query: FeedbackQuery): FeedbackReport {
  const by = dimensionsOf(query.by);
  const range = [parseTime(query.from, "from"), parseTime(query.to, "to")] as const;
  if (range[0] > range[1]) throw invalid("from", "from must not be later than to");
  const report = { from: new Date(range[0]).toISOString(), to: new Date(range[1]).toISOString(), by };
  if (!db) return { ...report, data: [] };
  const tenant = query.tenant === undefined ? [] : [query.tenant];
  const groups = by.map((name, index) => `r.${name} AS g${index}, `).join("");
  const given = `f.at >= ? AND f.at < ?${tenant.length > 0 ? " AND f.tenant = ?" : ""}`;
  const names = by.map((_, index) => `g${index}`);
  const sql = `
    SELECT ${names.map((name) => `${name}, `).join("")}name, COUNT(*) AS count, AVG(value) AS mean,
      MIN(value) AS min, MAX(value) AS max
    FROM (
      SELECT ${groups}f.id, f.name, f.value FROM feedback f
        JOIN requests r ON r.request_id = f.target AND r.tenant = f.tenant
        WHERE f.target_kind = 'request' AND ${given}
      UNION ALL
      SELECT DISTINCT ${groups}f.id, f.name, f.value FROM feedback f
        JOIN requests r ON r.tenant = f.tenant AND r.session = f.target AND r.started_at <= f.at
        WHERE f.target_kind = 'session' AND r.purpose = 'client' AND r.status <> 'refused' AND ${given}
    )
    GROUP BY ${[...names, "name"].join(", ")} ORDER BY ${[...names, "name"].join(", ")}
    LIMIT ${LEDGER_LIMITS.spendRowsMax + 1}`;
  const rows = db.prepare(sql).all([...range, ...tenant, ...range, ...tenant]) as SqlRow[];
  if (rows.length > LEDGER_LIMITS.spendRowsMax)
    throw invalid("by", `more than ${LEDGER_LIMITS.spendRowsMax} rows: ask for a shorter time or fewer dimensions`);
  return { ...report, data: rows.map((row) => figures(row, by)) };
}

function figures(row: SqlRow, by: readonly FeedbackDimension[]): FeedbackReport["data"][number] {
  const groups = Object.fromEntries(by.map((name, index) => [name, row[`g${index}`] ?? null]));
  const number = (name: string): number => Number(row[name]);
  return {
    ...groups,
    name: String(row["name"]),
    ...{ count: number("count"), mean: number("mean"), min: number("min"), max: number("max") },
  };
}

function dimensionsOf(names: readonly string[]): FeedbackDimension[] {
  return [...new Set(names)].map((name) => {
    const known = FEEDBACK_DIMENSIONS.find((dimension) => dimension === name);
    if (known) return known;
    const hint = didYouMean(name, FEEDBACK_DIMENSIONS);
    throw invalid(
      "by",
      `unknown feedback dimension "${shown(name)}"${hint}; the dimensions are ${FEEDBACK_DIMENSIONS.join(", ")}`,
    );
  });
}
