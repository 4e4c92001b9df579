import type { AttemptRow, RequestRow } from "@sluicegate/contract";
import { attemptValues, type LineValue, requestValues } from "./layout.ts";
import { readAdmission, readAdmitted, readSettlement } from "./lean-read.ts";
import type { Admission } from "./ledger.ts";

const TAB = 9;

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

/** A settlement to put into the database, with its admission's line where that is at hand. */
export interface Settled {
  line: string;
  /**
   * Null with a line that `needsAdmission`: it is in `pending` of the request's row, be that running or given up as
   * abandoned (which keeps it). A row of any other status was settled before. Where there is no row at all the line is
   * rejected: nothing may be lost without a word.
   */
  admission: string | null;
}

/** A line of a spool segment with its newline: `["a", [request], [[attempt]]]`, values in the order of layout.ts. */
export function admissionLine({ row, attempt }: Admission): string {
  return `${JSON.stringify(["a", requestValues(row), [attemptValues(row, attempt)]])}\n`;
}

/** A line of a spool segment with its newline: `["s", [request], [[attempt], …]]`, values in the order of layout.ts. */
export function settlementLine(row: RequestRow, attempts: AttemptRow[]): string {
  return `${JSON.stringify(["s", requestValues(row), attempts.map((attempt) => attemptValues(row, attempt))])}\n`;
}

/** Kind and request id of a line; null when it is not one. */
export function lineHead(line: string): LineHead | null {
  const kind = kindOf(line);
  if (!kind) return null;
  const lean = isLean(line);
  const from = lean ? 2 : 7;
  const end = line.indexOf(lean ? "\t" : '"', from);
  if (end <= from) return null;
  const requestId = line.slice(from, end);
  return requestId.includes("\\") ? null : { kind, requestId };
}

/** What a line that says all there is holds. Throws SyntaxError or TypeError for a line that is broken, or a lean settlement. */
export function parseLine(line: string): SpoolLine {
  if (line.startsWith("A\t")) return readAdmission(line);
  const [, request, attempts] = JSON.parse(line);
  if (!Array.isArray(request) || !Array.isArray(attempts)) throw new TypeError("not a line of a spool");
  return { request, attempts };
}

/** True for a settlement that does not repeat what its admission has said. */
export function needsAdmission(line: string): boolean {
  return line.startsWith("S\t");
}

/**
 * The whole request that a settlement ends, whatever it says by itself. Throws TypeError for one that needs an admission
 * and got none, SyntaxError or TypeError where either is broken.
 */
export function parseSettlement(line: string, admission: string | null): SpoolLine {
  if (!needsAdmission(line)) return parseLine(line);
  if (admission === null) throw new TypeError("a settlement without its admission");
  const request = admission.startsWith("A\t") ? readAdmitted(admission) : parseLine(admission).request;
  return { request, attempts: readSettlement(line, request) };
}

function isLean(line: string): boolean {
  return line.charCodeAt(1) === TAB;
}

function kindOf(line: string): LineHead["kind"] | null {
  if (line.startsWith("A\t") || line.startsWith('["a",["')) return "admission";
  if (line.startsWith("S\t") || line.startsWith('["s",["')) return "settlement";
  return line.startsWith('["f",["') ? "feedback" : null;
}
