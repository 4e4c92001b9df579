import type { AttemptRow, CredentialUse, RequestRecord, Usage } from "@sluicegate/contract";
import { ATTEMPT_FIELDS, type LineValue, REQUEST_FIELDS, USAGE_FIELDS } from "./layout.ts";
import { startedMs } from "./started-at.ts";

/** What SQLite takes and gives. */
export type SqlValue = string | number | null;

/** A row as SQLite gives it, by column name. */
export type SqlRow = Record<string, SqlValue>;

type Place<Names extends readonly string[]> = Record<Names[number], number>;

/** Where each field of a request stands in its values. */
export const REQUEST_AT = places(REQUEST_FIELDS);

/** Where each field of an attempt stands in its values. */
export const ATTEMPT_AT = places(ATTEMPT_FIELDS);

/** What the row of a request with a lone attempt has besides the request's own fields, as `attempt_` columns. */
const LONE_FIELDS = [
  "status",
  "error_class",
  "http_status",
  "latency_ms",
  "ttft_ms",
  "hedge",
  "retry",
  "credential_name",
  "credential_generation",
  "credential_owner",
  "provider_request_id",
  "capacity",
] as const;

/** What a lone attempt shares with its request: places in the request's values and in its own. */
const SHARED_AT = (
  ["cost_micro_usd", "deployment", "provider", "model", "region", "cost_state", ...USAGE_FIELDS] as const
).map((name) => [REQUEST_AT[name], ATTEMPT_AT[name]] as const);

const LONE_AT = LONE_FIELDS.map((name) => ATTEMPT_AT[name]);

/** What no attempt is without. */
const NEEDED_AT = (["deployment", "provider", "model", "status", "latency_ms", "hedge", "retry"] as const).map(
  (name) => ATTEMPT_AT[name],
);

/** Columns of `requests` in the order of `requestParams`. `pending`: the admission's line, on unfinished rows. */
export const REQUEST_COLUMNS = [
  ...REQUEST_FIELDS,
  "attempt_count",
  "last_attempt",
  "instance",
  "pending",
  ...LONE_FIELDS.map((name) => `attempt_${name}`),
];

/** Columns of `attempt_rows`: the request's id, then the values of `attemptParams`. */
export const ATTEMPT_COLUMNS = ["request_id", ...ATTEMPT_FIELDS];

/** What is kept of an unfinished request besides its values: who runs it (null: nobody any more), and its admission. */
export interface Unfinished {
  instance: string | null;
  line: string;
}

/**
 * A request as parameters for its columns, made of its own array; the table refuses what must not be missing.
 * `lone`: its only attempt, where that is one that `isLone`.
 */
export function requestParams(
  request: SqlValue[],
  attempts: SqlValue[][],
  lone: SqlValue[] | null,
  unfinished: Unfinished | null,
): SqlValue[] {
  let last = 0;
  for (const attempt of attempts) last = Math.max(last, Number(attempt[ATTEMPT_AT.n]));
  request.push(attempts.length, last, unfinished?.instance ?? null, unfinished?.line ?? null);
  for (const at of LONE_AT) request.push(lone?.[at] ?? null);
  return request;
}

/** A request's values as SQLite takes them, in their own array; objects there are only where JSON text is kept. */
export function requestScalars(request: LineValue[]): SqlValue[] {
  fit(request, REQUEST_FIELDS.length);
  request[REQUEST_AT.started_at] = startedMs(String(request[REQUEST_AT.started_at]));
  for (const at of [REQUEST_AT.tags, REQUEST_AT.facts]) {
    const value = request[at] ?? null;
    if (typeof value === "object" && value !== null) request[at] = JSON.stringify(value);
  }
  return request as SqlValue[];
}

/** An attempt's values as SQLite takes them, in their own array: parameters for its columns but the first. */
export function attemptScalars(attempt: LineValue[]): SqlValue[] {
  fit(attempt, ATTEMPT_FIELDS.length);
  return attempt as SqlValue[];
}

/** True when a request's only attempt can be kept in the request's own row: all that the row cannot say of it is shared. */
export function isLone(request: SqlValue[], attempt: SqlValue[]): boolean {
  if (attempt[ATTEMPT_AT.n] !== 1) return false;
  for (const at of NEEDED_AT) if (attempt[at] === null) return false;
  for (const [ofRequest, ofAttempt] of SHARED_AT) if (request[ofRequest] !== attempt[ofAttempt]) return false;
  return true;
}

/** The request a row of `requests` holds. */
export function requestFrom(row: SqlRow, attempts: AttemptRow[]): RequestRecord {
  const fields: SqlRow = {};
  for (const name of REQUEST_FIELDS) fields[name] = row[name] ?? null;
  const { usage, rest } = withUsage(fields);
  return {
    ...rest,
    started_at: new Date(Number(row["started_at"])).toISOString(),
    stream: row["stream"] === 1,
    hedged: row["hedged"] === 1,
    usage,
    tags: JSON.parse(String(row["tags"])),
    facts: row["facts"] === null ? null : JSON.parse(String(row["facts"])),
    attempts,
  } as unknown as RequestRecord;
}

/** The attempt a row of `attempts` holds. */
export function attemptFrom(row: SqlRow): AttemptRow {
  const { request_id, credential_name, credential_generation, credential_owner, region, capacity, ...fields } = row;
  const { usage, rest } = withUsage(fields);
  const credential = { name: credential_name, generation: credential_generation, owner: credential_owner };
  return {
    ...rest,
    usage,
    hedge: row["hedge"] === 1,
    retry: row["retry"] === 1,
    credential: credential_name === null ? null : (credential as CredentialUse),
  } as unknown as AttemptRow;
}

function withUsage(fields: SqlRow): { usage: Usage; rest: SqlRow } {
  const usage: SqlRow = {};
  const rest = { ...fields };
  for (const name of USAGE_FIELDS) {
    usage[name] = rest[name] ?? null;
    delete rest[name];
  }
  return { usage: usage as unknown as Usage, rest };
}

/** What the writer of the line did not know is null; what it knew more than this build is left out. */
function fit(values: LineValue[], count: number): void {
  while (values.length < count) values.push(null);
  if (values.length > count) values.length = count;
}

function places<const Names extends readonly string[]>(names: Names): Place<Names> {
  return Object.fromEntries(names.map((name, index) => [name, index])) as Place<Names>;
}
