import type { SpendFigures, SpendReport } from "@sluicegate/contract";

const FIGURES = [
  "requests",
  "attempts",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "cost_micro_usd",
  "cost_usd",
  "saved_micro_usd",
  "unknown_cost_requests",
  "active_users",
  "cost_per_active_user_micro_usd",
] as const satisfies readonly (keyof SpendFigures)[];

/** A spend report as CSV (RFC 4180): a head, then one line a row; the total is left to the reader's sum. */
export function spendCsv(report: SpendReport): string {
  const columns = [...report.by, ...FIGURES];
  const lines = report.data.map((row) => columns.map((column) => cell(row[column] ?? null)));
  return [columns.map(cell), ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

/** Users and tags are the clients' own words: a spreadsheet would run those that begin as a formula does. */
function cell(value: string | number | null): string {
  if (value === null) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
