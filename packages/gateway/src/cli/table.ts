import type { CliContext } from "./context.ts";
import { fitted, printable, type Stress, stressed, textWidth } from "./terminal-text.ts";

/** One column. */
export interface Column {
  title: string;
  align?: "left" | "right";
  /** Never cut, however narrow the terminal is. */
  keep?: boolean;
  /** Left out where the terminal is too narrow for all; the lowest number first. */
  leaves?: number;
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

/** The table as text, its columns aligned. It is made to fit a terminal; elsewhere nothing is cut or left out. */
export function tableText(table: Table, context: Pick<CliContext, "columns" | "colour">): string {
  const head = table.columns.map(({ title }): Cell => ({ text: title, stress: "bold" }));
  const all = [head, ...table.rows, ...(table.foot ? [table.foot] : [])];
  const natural = table.columns.map((_, i) =>
    all.reduce((widest, cells) => Math.max(widest, textWidth(textOf(cells[i]))), 0),
  );
  const shown = context.columns === null ? natural.map((_, i) => i) : fitting(table.columns, natural, context.columns);
  const columns = shown.flatMap((i) => table.columns[i] ?? []);
  const wanted = shown.map((i) => natural[i] ?? 0);
  const widths = context.columns === null ? wanted : narrowed(wanted, columns, context.columns);
  const line = (cells: readonly Cell[]): string =>
    columns
      .map(({ align }, at) => cellText(cells[shown[at] ?? 0], widths[at] ?? 0, align === "right", context))
      .join(GAP)
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join(GAP);
  const foot = table.foot ? [stressed(context, "dim", rule), line(table.foot)] : [];
  return [line(head), ...table.rows.map(line), ...foot].map((text) => `${text}\n`).join("");
}

/** Positions of the columns that have room, were each cut as far as it can be. */
function fitting(columns: readonly Column[], natural: readonly number[], total: number): number[] {
  let shown = columns.map((_, i) => i);
  const least = (i: number): number => (columns[i]?.keep ? (natural[i] ?? 0) : Math.min(natural[i] ?? 0, WIDTH_MIN));
  const room = (): number => shown.reduce((sum, i) => sum + least(i) + GAP.length, -GAP.length);
  for (;;) {
    const next = shown
      .filter((i) => columns[i]?.leaves !== undefined)
      .sort((a, b) => (columns[a]?.leaves ?? 0) - (columns[b]?.leaves ?? 0))[0];
    if (next === undefined || room() <= total) return shown;
    shown = shown.filter((i) => i !== next);
  }
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
