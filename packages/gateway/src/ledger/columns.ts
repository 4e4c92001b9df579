import type { AttemptRow, CredentialUse, RequestRecord, Usage } from "@sluicegate/contract";
import { ATTEMPT_FIELDS, type LineValue, REQUEST_FIELDS, USAGE_FIELDS } from "./layout.ts";

/** What SQLite takes and gives. */
export type SqlValue = string | number | null;

/** A row as SQLite gives it, by column name. */
export type SqlRow = Record<string, SqlValue>;

type Place<Names extends readonly string[]> = Record<Names[number], number>;

/** Where each field of a request stands in its values. */
export const REQUEST_AT = places(REQUEST_FIELDS);

/** Where each field of an attempt stands in its values. */
export const ATTEMPT_AT = places(ATTEMPT_FIELDS);

/** Columns of `requests` in the order of `requestParams`. `pending`: the admission's line, on running rows. */
export const REQUEST_COLUMNS = [...REQUEST_FIELDS, "attempt_count", "last_attempt", "instance", "pending"];

/** Columns of `attempts` in the order of `attemptParams`. */
export const ATTEMPT_COLUMNS = ["request_id", ...ATTEMPT_FIELDS];

/** A request as parameters for its columns, made of its own array; the table refuses what must not be missing. */
export function requestParams(
  request: LineValue[],
  attempts: LineValue[][],
  running: { instance: string; line: string } | null,
): SqlValue[] {
  const params = scalars(request, REQUEST_FIELDS.length);
  params[REQUEST_AT.started_at] = Date.parse(String(request[REQUEST_AT.started_at]));
  let last = 0;
  for (const attempt of attempts) last = Math.max(last, Number(attempt[ATTEMPT_AT.n]));
  params.push(attempts.length, last, running?.instance ?? null, running?.line ?? null);
  return params;
}

/** An attempt as parameters for its columns but the first, which is the request's id; made of its own array. */
export function attemptParams(attempt: LineValue[]): SqlValue[] {
  return scalars(attempt, ATTEMPT_FIELDS.length);
}

/** The request a row of `requests` holds. */
export function requestFrom(row: SqlRow, attempts: AttemptRow[]): RequestRecord {
  const { attempt_count, last_attempt, instance, pending, ...fields } = row;
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
function scalars(values: LineValue[], count: number): SqlValue[] {
  for (let index = 0; index < count; index++) {
    const value = values[index];
    if (value === undefined) values[index] = null;
    else if (typeof value === "object" && value !== null) values[index] = JSON.stringify(value);
  }
  if (values.length > count) values.length = count;
  return values as SqlValue[];
}

function places<const Names extends readonly string[]>(names: Names): Place<Names> {
  return Object.fromEntries(names.map((name, index) => [name, index])) as Place<Names>;
}
