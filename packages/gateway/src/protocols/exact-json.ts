import type { Block } from "../core/message.ts";
import { type Fields, isObject } from "./field-checks.ts";
import { elementsOf, membersOf } from "./json-members.ts";

/*
 * A number of JavaScript's holds 53 bits, and tools have ids that are longer. Arguments that would lose digits go out as the
 * text they came in: the parsed object carries it, where nothing but this file looks.
 */

const TEXT = Symbol("the JSON text an object was read from");
/** A fraction that is written in no more characters has all of its digits. */
const CHARS_MAX = 16;

/** Where arguments stand in a body: members by their names (`a|b`: either), `*` for each element of an array. */
export type ArgumentsPath = readonly string[];

/** `value`, which `text` was parsed to, with the text where the value alone would lose some of its digits. */
export function keepText<Value extends Fields>(value: Value, text: string): Value {
  if (!losesDigits(value)) return value;
  // No line ends: it may have to stand in one line of an event stream. In JSON they are never within a string.
  return Object.defineProperty(value, TEXT, { value: text.replace(/[\r\n]+/g, " ") });
}

/**
 * Keeps the text of all arguments at `path` in a body that was parsed from `raw`; true where one had to be kept. Costs a look
 * at their numbers where none is long.
 */
export function keepTexts(body: unknown, raw: () => Buffer, path: ArgumentsPath): boolean {
  if (!anyAt(body, path, losesDigits)) return false;
  keepAt(body, raw(), path);
  return true;
}

/** JSON of arguments: the text they came in, where that was kept. */
export function argumentsJson(value: unknown): string {
  return textOf(value) ?? JSON.stringify(value);
}

/** Do calls among these blocks carry their text? */
export function holdsTexts(of: readonly { readonly blocks: readonly Block[] }[]): boolean {
  return of.some(({ blocks }) => blocks.some((block) => block.type === "tool_call" && carriesText(block.arguments)));
}

/** Was the text of these arguments kept? */
export function carriesText(value: unknown): boolean {
  return textOf(value) !== undefined;
}

/** JSON of a body. `texts`: arguments within it carry their text, and it is put in as it came. */
export function bodyJson(body: unknown, texts: boolean): string {
  return texts ? written(body) : JSON.stringify(body);
}

function textOf(value: unknown): string | undefined {
  return isObject(value) ? (value as { [TEXT]?: string })[TEXT] : undefined;
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => (each === undefined ? "null" : written(each))).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return textOf(value) ?? `{${members.map(([key, member]) => `${JSON.stringify(key)}:${written(member)}`).join(",")}}`;
}

function losesDigits(value: unknown): boolean {
  if (typeof value === "number") {
    // What is over all numbers is read as infinity, and would be written as null.
    if (Number.isInteger(value) || !Number.isFinite(value)) return !Number.isSafeInteger(value);
    return String(value).length > CHARS_MAX;
  }
  if (typeof value !== "object" || value === null) return false;
  return (Array.isArray(value) ? value : Object.values(value)).some(losesDigits);
}

function anyAt(value: unknown, [step, ...rest]: ArgumentsPath, test: (value: unknown) => boolean): boolean {
  if (step === undefined) return isObject(value) && test(value);
  if (step === "*") return Array.isArray(value) && value.some((each) => anyAt(each, rest, test));
  return isObject(value) && step.split("|").some((key) => Object.hasOwn(value, key) && anyAt(value[key], rest, test));
}

function keepAt(value: unknown, raw: Buffer, [step, ...rest]: ArgumentsPath): void {
  if (step === "*") {
    if (!Array.isArray(value)) return;
    for (const [index, { start, end }] of elementsOf(raw).entries())
      keepAt(value[index], raw.subarray(start, end), rest);
  } else if (isObject(value)) {
    if (step === undefined) return void keepText(value, raw.toString("utf8"));
    const keys = step.split("|");
    // Of a member that comes twice, the last counts.
    const members = new Map(membersOf(raw, Number.POSITIVE_INFINITY).map((member) => [member.key, member]));
    for (const { key, valueStart, valueEnd } of members.values()) {
      if (keys.includes(key)) keepAt(value[key], raw.subarray(valueStart, valueEnd), rest);
    }
  }
}
