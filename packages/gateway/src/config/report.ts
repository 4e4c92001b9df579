import type { SourceFrame } from "./load.ts";
import type { ConfigProblem } from "./snapshot.ts";

/** Characters of a line that are shown; longer ones are cut around the place. */
const FRAME_CHARS_MAX = 120;

/**
 * Problems for people, one after the other: `file:line:column severity path: message`, the line itself and a caret.
 * Ends with a count; empty when there are no problems.
 */
export function formatProblems(problems: readonly ConfigProblem[], frame?: SourceFrame): string {
  if (problems.length === 0) return "";
  const lines = problems.flatMap((problem) => [headline(problem), ...frameLines(problem, frame)]);
  return [...lines, counts(problems)].join("\n");
}

/** The same for programs. */
export function problemsJson(problems: readonly ConfigProblem[]): string {
  return JSON.stringify({ ok: !problems.some(({ severity }) => severity === "error"), problems }, null, 2);
}

function headline({ severity, file, line, column, path, message }: ConfigProblem): string {
  const place = [file, line, column].filter((part) => part !== null).join(":");
  return `${place === "" ? "" : `${place} `}${severity}${path === "" ? "" : ` ${path}`}: ${message}`;
}

function frameLines({ file, line, column }: ConfigProblem, frame: SourceFrame | undefined): string[] {
  if (!frame || file === null || line === null || column === null) return [];
  const found = frame(file, line, column);
  if (!found) return [];
  const start = found.text.length > FRAME_CHARS_MAX ? Math.max(0, found.column - FRAME_CHARS_MAX / 2) : 0;
  const text = found.text.slice(start, start + FRAME_CHARS_MAX);
  const indent = text.slice(0, found.column - 1 - start).replace(/[^\t]/g, " ");
  const gutter = String(line).padStart(5);
  return [`${gutter} | ${text}`, `${" ".repeat(gutter.length)} | ${indent.padEnd(found.column - 1 - start)}^`];
}

function counts(problems: readonly ConfigProblem[]): string {
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const warnings = problems.length - errors;
  const parts = [counted(errors, "error"), counted(warnings, "warning")].filter((part) => part !== null);
  return parts.join(", ");
}

function counted(count: number, noun: string): string | null {
  if (count === 0) return null;
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
