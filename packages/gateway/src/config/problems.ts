import type { ConfigProblem } from "./snapshot.ts";

/** Where something is written; lines and columns count from 1. All null: it comes from no file. */
export interface Place {
  file: string | null;
  line: number | null;
  column: number | null;
}

/** The place of what stands in no file: defaults, variables, zero config. */
export const NOWHERE: Place = Object.freeze({ file: null, line: null, column: null });

/** Keys and list positions from the root of the config. */
export type Path = readonly (string | number)[];

/** Collects what is wrong, so that all of it is told at once. The same thing at the same place is told once. */
export interface Problems {
  readonly all: ConfigProblem[];
  add(problem: ConfigProblem): void;
  error(at: Place, path: Path | string, message: string): void;
  warn(at: Place, path: Path | string, message: string): void;
  hasErrors(): boolean;
}

/** An empty collection. */
export function newProblems(): Problems {
  const all: ConfigProblem[] = [];
  const seen = new Set<string>();
  const add = (problem: ConfigProblem): void => {
    const identity = JSON.stringify(problem);
    if (seen.has(identity)) return;
    seen.add(identity);
    all.push(problem);
  };
  const at = (severity: ConfigProblem["severity"]) => (place: Place, path: Path | string, message: string) =>
    add({ severity, ...place, path: typeof path === "string" ? path : formatPath(path), message });
  return {
    all,
    add,
    error: at("error"),
    warn: at("warning"),
    hasErrors: () => all.some((problem) => problem.severity === "error"),
  };
}

/** A path as users write it: `routes.default.chain[1]`, names with odd characters in quotes: `routes["gpt-4.1"].chain`. */
export function formatPath(path: Path): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (!/^[A-Za-z0-9_-]+$/.test(part)) text += `[${JSON.stringify(part)}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

/** Files in the order they were met, then lines: the order in which a reader wants problems. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const files = [...new Set(problems.map((problem) => problem.file))];
  const rank = (problem: ConfigProblem): number => files.indexOf(problem.file);
  return problems.toSorted(
    (a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}
