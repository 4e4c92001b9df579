import type { LineCounter } from "yaml";
import type { Place } from "../problems.ts";

/** The place of an offset into a file. */
export function placeOf(offset: number, lines: LineCounter, file: string): Place {
  const { line, col } = lines.linePos(offset);
  return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
}
