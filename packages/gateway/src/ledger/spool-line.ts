import type { AttemptRow, RequestRow } from "@sluicegate/contract";
import { attemptValues, type LineValue, requestValues } from "./layout.ts";
import type { Admission } from "./ledger.ts";

/** A line as read: an admission has one attempt, the one to bill if it is never settled. */
export interface SpoolLine {
  request: LineValue[];
  attempts: LineValue[][];
}

/** What can be told of a line without parsing it. */
export interface LineHead {
  kind: "admission" | "settlement" | "feedback";
  /** Of a score its own id. */
  requestId: string;
}

/** A line of a spool segment with its newline: `["a", [request], [[attempt]]]`, values in the order of layout.ts. */
export function admissionLine({ row, attempt }: Admission): string {
  return `${JSON.stringify(["a", requestValues(row), [attemptValues(row, attempt)]])}\n`;
}

/** A line of a spool segment with its newline: `["s", [request], [[attempt], …]]`, values in the order of layout.ts. */
export function settlementLine(row: RequestRow, attempts: AttemptRow[]): string {
  return `${JSON.stringify(["s", requestValues(row), attempts.map((attempt) => attemptValues(row, attempt))])}\n`;
}

/** Kind and request id of a line; null when it is not one. Most admissions are settled soon and never need more. */
export function lineHead(line: string): LineHead | null {
  const kind = kindOf(line);
  const end = line.indexOf('"', 7);
  if (!kind || end < 0) return null;
  const requestId = line.slice(7, end);
  return requestId === "" || requestId.includes("\\") ? null : { kind, requestId };
}

/** What a line holds. Throws SyntaxError or TypeError for a line that is broken. */
export function parseLine(line: string): SpoolLine {
  const [, request, attempts] = JSON.parse(line);
  if (!Array.isArray(request) || !Array.isArray(attempts)) throw new TypeError("not a line of a spool");
  return { request, attempts };
}

function kindOf(line: string): LineHead["kind"] | null {
  if (line.startsWith('["a",["')) return "admission";
  if (line.startsWith('["s",["')) return "settlement";
  return line.startsWith('["f",["') ? "feedback" : null;
}
