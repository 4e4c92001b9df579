import { isObject, type JsonObject } from "../json.ts";
import { refuse } from "../models/problem.ts";

/** 400: what is wrong, in Bedrock's words. */
export function wrong(words: string, param: string | null = null): never {
  return refuse(words, param);
}

/** The object at a place. */
export function objectAt(value: unknown, at: string): JsonObject {
  return isObject(value) ? value : unfit(at, "must be an object");
}

/** The list at a place; absent is empty. */
export function listAt(value: unknown, at: string): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : unfit(at, "must be a list");
}

/** The text at a place, which must fit a form. */
export function textAt(value: unknown, at: string, form: RegExp = /^/): string {
  if (typeof value !== "string") return unfit(at, "must not be null");
  return form.test(value) ? value : unfit(at, `must satisfy regular expression pattern: ${form.source}`);
}

/** The number at a place, within its bounds; absent is null. */
export function numberAt(value: unknown, at: string, least: number, most: number): number | null {
  if (value === undefined) return null;
  if (typeof value !== "number") return unfit(at, "must be a number");
  if (value < least) unfit(at, `must have value greater than or equal to ${least}`);
  if (value > most) unfit(at, `must have value less than or equal to ${most}`);
  return value;
}

/** The one member of a union. */
export function memberOf(
  value: unknown,
  known: readonly string[],
  at: string,
): readonly [name: string, value: unknown] {
  const members = Object.entries(objectAt(value, at));
  const [only] = members;
  if (only === undefined || members.length > 1 || !known.includes(only[0])) {
    return wrong(`The content at ${at} must hold exactly one of ${known.join(", ")}.`, at);
  }
  return only;
}

/** Refuses members that are not known. */
export function checkMembers(value: JsonObject, known: readonly string[], at: string): void {
  const odd = Object.keys(value).find((name) => !known.includes(name));
  if (odd !== undefined) wrong(`Malformed input request: #/${at}: extraneous key [${odd}] is not permitted`, odd);
}

function unfit(at: string, rule: string): never {
  return wrong(`1 validation error detected: Value at '${at}' failed to satisfy constraint: Member ${rule}`, at);
}
