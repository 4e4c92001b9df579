import type { ConfigProblem } from "./snapshot.ts";

const ASSIGNMENT = /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/y;
const DOUBLE_QUOTED = /"((?:\\[\s\S]|[^"\\])*)"[ \t]*(?:#[^\n]*)?(?:\n|$)/y;
const SINGLE_QUOTED = /'([^']*)'[ \t]*(?:#[^\n]*)?(?:\n|$)/y;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/**
 * The variables of a `.env` file: `NAME=value`, an optional `export`, comments, 'as it is', "with \n" over several lines.
 * A line that is none of these is a warning with its number and is skipped.
 */
export function parseDotenv(source: string, file: string): { values: Map<string, string>; problems: ConfigProblem[] } {
  const text = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const values = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  let at = 0;
  while (at < text.length) {
    const lineEnd = endOfLine(text, at);
    const line = text.slice(at, lineEnd).trim();
    if (line === "" || line.startsWith("#")) {
      at = lineEnd + 1;
      continue;
    }
    const head = matchAt(ASSIGNMENT, text, at);
    if (!head) {
      const message = "not a `NAME=value` line, so it is skipped";
      problems.push({ severity: "warning", file, line: lineNumber(text, at), column: 1, path: "", message });
      at = lineEnd + 1;
      continue;
    }
    const value = readValue(text, at + head[0].length);
    values.set(head[1] ?? "", value.text);
    at = value.end;
  }
  return { values, problems };
}

function readValue(text: string, at: number): { text: string; end: number } {
  const double = matchAt(DOUBLE_QUOTED, text, at);
  if (double) {
    const value = (double[1] ?? "").replace(/\\([\s\S])/g, (_, char: string) => ESCAPES[char] ?? char);
    return { text: value, end: at + double[0].length };
  }
  const single = matchAt(SINGLE_QUOTED, text, at);
  if (single) return { text: single[1] ?? "", end: at + single[0].length };
  const end = endOfLine(text, at);
  const value = text.slice(at, end).replace(/(^|[ \t])#.*$/, "");
  return { text: value.trim(), end: end + 1 };
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at === -1 ? text.length : at;
}

function lineNumber(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
