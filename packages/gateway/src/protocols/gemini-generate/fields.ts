import { type Fields, isAbsent, isObject } from "../field-checks.ts";

/** The name of this protocol, and of the maker of its signatures. */
export const DIALECT = "gemini-generate";

const UPPER_A = 65;
const UPPER_Z = 90;
/** From an upper-case letter to its lower-case one. */
const LOWER = 32;

/** `thinkingConfig` → `thinking_config`. */
function snakeCase(name: string): string {
  // Asked for every member that is not there: a regular expression would be most of what a large request costs.
  let snake = "";
  let copied = 0;
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code > UPPER_Z || code < UPPER_A) continue;
    snake += `${name.slice(copied, at)}_${String.fromCharCode(code + LOWER)}`;
    copied = at + 1;
  }
  return copied === 0 ? name : snake + name.slice(copied);
}

/** `thinking_config` → `thinkingConfig`; a name without underscores stays. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** A member under its camel-case name or, as proto JSON also accepts, its snake-case one. Null counts as absent. */
export function pick(from: Fields, name: string): unknown {
  const value = from[name];
  if (!isAbsent(value)) return value;
  const older = snakeCase(name);
  return older === name ? undefined : (from[older] ?? undefined);
}

/** A member that is an object; undefined for anything else. */
export function pickObject(from: Fields, name: string): Fields | undefined {
  const value = pick(from, name);
  return isObject(value) ? value : undefined;
}

/** A member that is a string; undefined for anything else. */
export function pickString(from: Fields, name: string): string | undefined {
  const value = pick(from, name);
  return typeof value === "string" ? value : undefined;
}

/** A repeated field. Where proto JSON is lenient (one message for a list of one), so are we. */
export function pickList(from: Fields, name: string): unknown[] {
  const value = pick(from, name);
  if (Array.isArray(value)) return value;
  return value === undefined ? [] : [value];
}

/** The spelling a client used for a field, for the path in an error. */
export function spelling(from: Fields, name: string): string {
  return isAbsent(from[name]) && !isAbsent(from[snakeCase(name)]) ? snakeCase(name) : name;
}

/** An enum's word in upper case; numbers (`enum-encoding=int`) by their place in `words`. Undefined: not said. */
export function enumWord(value: unknown, words: readonly string[]): string | undefined {
  if (typeof value === "number") return words[value];
  return typeof value === "string" && value !== "" ? value.toUpperCase() : undefined;
}
