import type { RequestStatus } from "@sluicegate/contract";
import { didYouMean } from "../config/nearest.ts";
import { GatewayError } from "../core/errors.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { SqlValue } from "./columns.ts";
import { decodeCursor } from "./cursor.ts";
import type { RequestFilter } from "./ledger.ts";

/** Conditions of a query on `requests`, to be joined by AND, and the values for their placeholders. */
export interface Conditions {
  terms: string[];
  values: SqlValue[];
}

const STATUSES: readonly RequestStatus[] = ["running", "ok", "failed", "refused", "cancelled", "abandoned"];

/** A list's filters as SQL. Throws GatewayError invalid_request, naming the parameter. */
export function requestConditions(filter: RequestFilter): Conditions {
  const found: Conditions = { terms: [], values: [] };
  const add = (term: string, ...values: SqlValue[]) => {
    found.terms.push(term);
    found.values.push(...values);
  };
  if (filter.tenant !== undefined) add("tenant = ?", filter.tenant);
  if (filter.alias !== undefined) add("alias = ?", filter.alias);
  if (filter.deployment !== undefined) add("deployment = ?", filter.deployment);
  if (filter.status !== undefined) {
    // Said twice: an index of its own holds what is not ok, and SQLite uses it only if it reads so here.
    add(checkStatus(filter.status) === "ok" ? "status = ?" : "status <> 'ok' AND status = ?", filter.status);
  }
  if (filter.from !== undefined) add("started_at >= ?", parseTime(filter.from, "from"));
  if (filter.to !== undefined) add("started_at < ?", parseTime(filter.to, "to"));
  if (filter.cursor !== undefined) {
    const { startedAtMs, requestId } = decodeCursor(filter.cursor);
    add("(started_at, request_id) < (?, ?)", startedAtMs, requestId);
  }
  return found;
}

/** A page's size. Throws GatewayError invalid_request. */
export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LEDGER_LIMITS.pageRowsMax) return limit;
  throw invalid("limit", `limit must be a whole number from 1 to ${LEDGER_LIMITS.pageRowsMax}`);
}

/** An ISO 8601 date or time as epoch ms; without a zone it is UTC. Throws GatewayError invalid_request. */
export function parseTime(text: string, param: string): number {
  const shape = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(Z|[+-]\d{2}:\d{2})?$/.exec(text);
  const ms = shape ? Date.parse(`${shape[1]}${shape[2] ?? "T00:00"}${shape[3] ?? "Z"}`) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw invalid(param, `${param} must be an ISO 8601 date or time, such as 2026-11-01 or 2026-11-01T12:00:00Z`);
  }
  return ms;
}

function checkStatus(status: string): string {
  if ((STATUSES as readonly string[]).includes(status)) return status;
  throw invalid(
    "status",
    `unknown status "${shown(status)}"${didYouMean(status, STATUSES)}; one of ${STATUSES.join(", ")}`,
  );
}

/** What a caller wrote, cut to what a message can hold. */
export function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** GatewayError invalid_request for one parameter. */
export function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
