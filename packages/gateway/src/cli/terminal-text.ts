import type { CliContext } from "./context.ts";

/** Colours by what they mean. */
const CODES = { bold: "1", dim: "2", good: "32", bad: "31", warn: "33" } as const;

/** A way to stress a text in a terminal. */
export type Stress = keyof typeof CODES;

/** The text in a colour, or as it is where there are none. */
export function stressed(context: Pick<CliContext, "colour">, stress: Stress | null, text: string): string {
  return context.colour && stress !== null ? `\u001b[${CODES[stress]}m${text}\u001b[0m` : text;
}

/** How a request's or an attempt's status is stressed. */
export function statusStress(status: string): Stress | null {
  if (status === "ok") return "good";
  if (status === "failed" || status === "abandoned") return "bad";
  return status === "refused" ? "warn" : null;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;

/** Columns a text takes in a terminal: wide characters two, combining ones none. */
export function textWidth(text: string): number {
  let width = 0;
  for (const char of text) if (!/\p{Mark}/u.test(char)) width += WIDE.test(char) ? 2 : 1;
  return width;
}

/** Users, tags and models are other people's words: control characters in them could drive the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");
}

/** The beginning of a text that takes at most `width` columns, with an ellipsis where something was left out. */
export function fitted(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const char of text) {
    used += textWidth(char);
    if (used > width - 1) break;
    kept += char;
  }
  return `${kept}…`;
}
