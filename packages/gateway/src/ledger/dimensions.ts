import { SPEND_DIMENSIONS, type SpendDimension } from "@sluicegate/contract";
import { didYouMean } from "../config/nearest.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { SqlValue } from "./columns.ts";
import { invalid, shown } from "./filters.ts";

/** One thing to group by, as SQL over requests `r` and, where `perAttempt`, those attempts `a` that have rows of their own. */
export interface Dimension {
  /** As asked for: `tenant`, `tag:NAME`. */
  name: string;
  sql: string;
  /** Values for placeholders in `sql`. */
  values: SqlValue[];
  /** Told apart by attempt, so that a fallback is billed to the deployment that cost it. */
  perAttempt: boolean;
  /** The group's value as the report shows it. */
  show: (value: SqlValue) => string | number | null;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const ATTEMPT_SQL: Partial<Record<SpendDimension, string>> = {
  deployment: served("deployment"),
  provider: served("provider"),
  model: served("model"),
  region: served("region"),
  capacity: served("capacity", "attempt_capacity"),
  credential: served("credential_name", "attempt_credential_name"),
};

/** The dimensions asked for, without repeats. Throws GatewayError invalid_request for an unknown one, listing all. */
export function dimensionsOf(names: readonly string[]): Dimension[] {
  const unique = [...new Set(names)];
  if (unique.length > LEDGER_LIMITS.spendDimensionsMax) {
    throw invalid("by", `by can name ${LEDGER_LIMITS.spendDimensionsMax} dimensions at most`);
  }
  return unique.map(dimensionOf);
}

function dimensionOf(name: string): Dimension {
  const plain = { name, values: [], perAttempt: false, show: same };
  if (name.startsWith("tag:") && name.length > 4) {
    return { ...plain, sql: "(SELECT value FROM json_each(r.tags) WHERE key = ?)", values: [name.slice(4)] };
  }
  if (!isDimension(name)) throw unknown(name);
  const perAttempt = ATTEMPT_SQL[name];
  if (perAttempt !== undefined) return { ...plain, sql: perAttempt, perAttempt: true };
  if (name === "day")
    return { ...plain, sql: `r.started_at / ${DAY_MS}`, show: (value) => iso(value, DAY_MS).slice(0, 10) };
  if (name === "hour") {
    return { ...plain, sql: `r.started_at / ${HOUR_MS}`, show: (value) => `${iso(value, HOUR_MS).slice(0, 19)}Z` };
  }
  return { ...plain, sql: name === "key" ? "r.key_id" : `r.${name}` };
}

/** What a request's own row says where no other does: of its lone attempt, or of one that called nobody, as a cache hit. */
function served(column: string, own = column): string {
  return `CASE WHEN a.n IS NULL THEN r.${own} ELSE a.${column} END`;
}

function isDimension(name: string): name is SpendDimension {
  return (SPEND_DIMENSIONS as readonly string[]).includes(name);
}

function unknown(name: string) {
  const hint = didYouMean(name, [...SPEND_DIMENSIONS, "tag:NAME"]);
  return invalid(
    "by",
    `unknown spend dimension "${shown(name)}"${hint}; the dimensions are ${SPEND_DIMENSIONS.join(", ")}, tag:NAME`,
  );
}

function same(value: SqlValue): SqlValue {
  return value;
}

function iso(value: SqlValue, unitMs: number): string {
  return new Date(Number(value) * unitMs).toISOString();
}
