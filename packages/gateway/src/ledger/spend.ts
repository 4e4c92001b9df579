import type { SpendFigures, SpendReport, SpendRow } from "@sluicegate/contract";
import { usdString } from "../core/money.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { SqlRow, SqlValue } from "./columns.ts";
import { type Dimension, dimensionsOf } from "./dimensions.ts";
import { invalid, parseTime } from "./filters.ts";
import { type Sqlite, schemaVersion } from "./sqlite.ts";

/** What is asked: dimensions, from (inclusive) and to (exclusive) in ISO 8601, and a tenant to stay inside of. */
export interface SpendQuery {
  by: string[];
  from: string;
  to: string;
  tenant?: string;
}

/** Users are told apart inside their tenant only. */
const USER = "CASE WHEN r.user IS NOT NULL THEN r.tenant || char(31) || r.user END";

/** A row of refusals stands for `repeated` requests. */
const PER_REQUEST = `
  SUM(MAX(1, r.repeated)) AS requests, SUM(r.attempt_count) AS attempts,
  SUM(r.input_tokens) AS input_tokens, SUM(r.cached_input_tokens) AS cached_input_tokens,
  SUM(r.output_tokens) AS output_tokens, SUM(r.cost_micro_usd) AS cost_micro_usd,
  SUM(r.saved_micro_usd) AS saved_micro_usd, SUM(r.cost_state = 'unknown') AS unknown_cost_requests,
  COUNT(DISTINCT ${USER}) AS active_users FROM requests r`;

/**
 * The same from attempts: where none has a row of its own, the request's row speaks for its lone attempt. A request
 * without any still counts; a saving counts once, with the last attempt.
 */
const PER_ATTEMPT = `
  COUNT(DISTINCT r.request_id) + SUM(CASE WHEN r.attempt_count = 0 THEN MAX(1, r.repeated) - 1 ELSE 0 END) AS requests,
  SUM(CASE WHEN a.n IS NULL THEN r.attempt_count ELSE 1 END) AS attempts,
  SUM(CASE WHEN a.n IS NULL THEN r.input_tokens ELSE a.input_tokens END) AS input_tokens,
  SUM(CASE WHEN a.n IS NULL THEN r.cached_input_tokens ELSE a.cached_input_tokens END) AS cached_input_tokens,
  SUM(CASE WHEN a.n IS NULL THEN r.output_tokens ELSE a.output_tokens END) AS output_tokens,
  SUM(CASE WHEN a.n IS NULL THEN r.cost_micro_usd ELSE a.cost_micro_usd END) AS cost_micro_usd,
  SUM(CASE WHEN a.n IS NULL OR a.n = r.last_attempt THEN r.saved_micro_usd ELSE 0 END) AS saved_micro_usd,
  COUNT(DISTINCT CASE WHEN COALESCE(a.cost_state, r.cost_state) = 'unknown' THEN r.request_id END) AS unknown_cost_requests,
  COUNT(DISTINCT ${USER}) AS active_users`;

/** A key of NULL is not looked for at all, so that most requests cost no search. */
const WITH_ATTEMPTS =
  "FROM requests r LEFT JOIN attempt_rows a ON a.request_id = CASE WHEN r.attempt_status IS NULL THEN r.request_id END";

/** Before lone attempts had no rows of their own: a reader may come before the writer that brings the database up to it. */
const SCHEMA_WITH_LONE_ATTEMPTS = 3;
const WITH_ALL_ATTEMPTS = `FROM (SELECT *, NULL AS attempt_capacity, NULL AS attempt_credential_name FROM requests) r
  LEFT JOIN attempts a ON a.request_id = r.request_id`;

/**
 * The spend report, of the rows as they stand at one moment; `db` null: of no rows. In a report by something that
 * attempts differ in, a request that was tried twice is in two rows, and the total counts it once.
 */
export function spendReport(db: Sqlite | null, query: SpendQuery): SpendReport {
  const dimensions = dimensionsOf(query.by);
  const range = [parseTime(query.from, "from"), parseTime(query.to, "to")] as const;
  if (range[0] > range[1]) throw invalid("from", "from must not be later than to");
  const report = {
    from: new Date(range[0]).toISOString(),
    to: new Date(range[1]).toISOString(),
    by: dimensions.map(({ name }) => name),
  };
  if (!db) return { ...report, data: [], total: figures({}) };
  const rowsAndTotal = db.transaction(() => ({
    rows: select(db, dimensions, dimensions, range, query.tenant),
    total: select(db, dimensions, [], range, query.tenant)[0] ?? {},
  }));
  const { rows, total } = rowsAndTotal();
  if (rows.length > LEDGER_LIMITS.spendRowsMax) {
    throw invalid("by", `more than ${LEDGER_LIMITS.spendRowsMax} rows: ask for a shorter time or fewer dimensions`);
  }
  const data = rows.map((row) => ({ ...groupOf(row, dimensions), ...figures(row) }) as SpendRow);
  return {
    ...report,
    data: dimensions.length > 0 ? data : data.filter((row) => row.requests > 0),
    total: figures(total),
  };
}

function select(
  db: Sqlite,
  asked: Dimension[],
  grouped: Dimension[],
  range: readonly [number, number],
  tenant: string | undefined,
): SqlRow[] {
  const groups = grouped.map(({ sql }, index) => `${sql} AS g${index}, `).join("");
  const figuresSql = asked.some(({ perAttempt }) => perAttempt) ? `${PER_ATTEMPT} ${attemptsOf(db)}` : PER_REQUEST;
  const names = grouped.map((_, index) => `g${index}`);
  const sql = [
    `SELECT ${groups}${figuresSql}`,
    `WHERE r.started_at >= ? AND r.started_at < ?${tenant === undefined ? "" : " AND r.tenant = ?"}`,
    names.length > 0 ? `GROUP BY ${names.join(", ")}` : "",
    `ORDER BY ${["cost_micro_usd DESC", "requests DESC", ...names].join(", ")}`,
    `LIMIT ${LEDGER_LIMITS.spendRowsMax + 1}`,
  ].join("\n");
  const values: SqlValue[] = [...grouped.flatMap((dimension) => dimension.values), ...range];
  if (tenant !== undefined) values.push(tenant);
  return db.prepare(sql).all(values) as SqlRow[];
}

function attemptsOf(db: Sqlite): string {
  return schemaVersion(db) >= SCHEMA_WITH_LONE_ATTEMPTS ? WITH_ATTEMPTS : WITH_ALL_ATTEMPTS;
}

function groupOf(row: SqlRow, dimensions: Dimension[]): Record<string, string | number | null> {
  return Object.fromEntries(dimensions.map(({ name, show }, index) => [name, show(row[`g${index}`] ?? null)]));
}

function figures(row: SqlRow): SpendFigures {
  const count = (name: string) => Number(row[name] ?? 0);
  const cost = count("cost_micro_usd");
  const users = count("active_users");
  return {
    requests: count("requests"),
    attempts: count("attempts"),
    input_tokens: count("input_tokens"),
    cached_input_tokens: count("cached_input_tokens"),
    output_tokens: count("output_tokens"),
    cost_micro_usd: cost,
    cost_usd: usdString(cost),
    saved_micro_usd: count("saved_micro_usd"),
    unknown_cost_requests: count("unknown_cost_requests"),
    active_users: users,
    cost_per_active_user_micro_usd: users === 0 ? null : Math.floor((2 * cost + users) / (2 * users)),
  };
}
