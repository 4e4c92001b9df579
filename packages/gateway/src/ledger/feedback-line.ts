import type { FeedbackRow } from "@sluicegate/contract";
import type { SqlRow, SqlValue } from "./columns.ts";

/** Columns of `feedback` in the order of a line's values and of `feedbackParams`. Append only, as those of a request. */
export const FEEDBACK_COLUMNS = [
  "id",
  "at",
  "tenant",
  "target_kind",
  "target",
  "name",
  "value",
  "is_truth",
  "comment",
  "key_id",
] as const;

/** A line of a spool segment with its newline: `["f",[score]]`, values in the order of FEEDBACK_COLUMNS. */
export function feedbackLine(row: FeedbackRow): string {
  const { id, at, tenant, request_id, session_id, name, value, comment, key_id } = row;
  const target = request_id === null ? ["session", session_id] : ["request", request_id];
  const values = [id, Date.parse(at), tenant, ...target, name, Number(value), typeof value === "boolean" ? 1 : 0];
  return `${JSON.stringify(["f", [...values, comment, key_id]])}\n`;
}

/** A line as parameters for its columns. Throws SyntaxError or TypeError for a line that is broken. */
export function feedbackParams(line: string): SqlValue[] {
  const [, values] = JSON.parse(line);
  if (!Array.isArray(values)) throw new TypeError("not a line of a spool");
  return FEEDBACK_COLUMNS.map((_, index) => values[index] ?? null);
}

/** The score a row of `feedback` holds. */
export function feedbackFrom(row: SqlRow): FeedbackRow {
  const value = Number(row["value"]);
  const isRequest = row["target_kind"] === "request";
  return {
    id: String(row["id"]),
    at: new Date(Number(row["at"])).toISOString(),
    tenant: String(row["tenant"]),
    key_id: row["key_id"] as string | null,
    request_id: isRequest ? String(row["target"]) : null,
    session_id: isRequest ? null : String(row["target"]),
    name: String(row["name"]),
    value: row["is_truth"] === 1 ? value === 1 : value,
    comment: row["comment"] as string | null,
  };
}
