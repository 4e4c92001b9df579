import type { CliContext } from "./context.ts";
import { fitted, printable, type Stress, stressed, textWidth } from "./terminal-text.ts";

/** One column. `keep`: never cut, however narrow the terminal is. */
export interface Column {
  title: string;
  align?: "left" | "right";
  keep?: boolean;
}

/** What stands in a cell; null and absent are shown as `-`. */
export type Cell = string | null | { text: string; stress: Stress | null };

/** Rows under a head; the foot stands apart, under a line. */
export interface Table {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  foot?: readonly Cell[];
}

const GAP = "  ";
const WIDTH_MIN = 6;

/** The table as text, its columns aligned. In a terminal the widest columns are cut until it fits; elsewhere none is. */
export function tableText({ columns, rows, foot }: Table, context: Pick<CliContext, "columns" | "colour">): string {
  const head = columns.map(({ title }): Cell => ({ text: title, stress: "bold" }));
  const all = [head, ...rows, ...(foot ? [foot] : [])];
  const natural = columns.map((_, i) => Math.max(...all.map((cells) => textWidth(textOf(cells[i])))));
  const widths = context.columns === null ? natural : narrowed(natural, columns, context.columns);
  const line = (cells: readonly Cell[]): string =>
    columns
      .map((column, i) => cellText(cells[i], widths[i] ?? 0, column.align === "right", context))
      .join(GAP)
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join(GAP);
  const lines = [line(head), ...rows.map(line), ...(foot ? [stressed(context, "dim", rule), line(foot)] : [])];
  return lines.map((text) => `${text}\n`).join("");
}

function narrowed(natural: readonly number[], columns: readonly Column[], total: number): number[] {
  const widths = [...natural];
  const sum = () => widths.reduce((all, width) => all + width, 0) + GAP.length * (widths.length - 1);
  while (sum() > total) {
    let widest = -1;
    for (const [i, width] of widths.entries()) {
      if (!columns[i]?.keep && width > WIDTH_MIN && width > (widths[widest] ?? 0)) widest = i;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function cellText(cell: Cell | undefined, width: number, right: boolean, context: Pick<CliContext, "colour">): string {
  const text = fitted(textOf(cell), width);
  const space = " ".repeat(Math.max(0, width - textWidth(text)));
  const shown = stressed(context, typeof cell === "object" && cell !== null ? cell.stress : null, text);
  return right ? space + shown : shown + space;
}

function textOf(cell: Cell | undefined): string {
  if (cell === null || cell === undefined || cell === "") return "-";
  return printable(typeof cell === "string" ? cell : cell.text);
}
