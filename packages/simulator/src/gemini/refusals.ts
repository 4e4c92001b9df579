import { isObject, type JsonObject } from "../json.ts";
import { refuse } from "../models/problem.ts";

/** 400 without a field: Google's own words. */
export function wrong(words: string): never {
  return refuse(words, null);
}

/**
 * The members of an object under their camel-case names; Google takes snake case as well. A member that is not
 * known is refused, unless `known` is null.
 */
export function membersOf(value: unknown, known: readonly string[] | null, at: string): JsonObject {
  if (!isObject(value)) return badValue(value, at, "Object");
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const camel = name.replace(
      /([a-z0-9])_([a-z])/g,
      (_, before: string, after: string) => before + after.toUpperCase(),
    );
    if (known !== null && !known.includes(camel)) {
      const place = at === "" ? "" : ` at '${at}'`;
      refuse(
        `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`,
        at === "" ? name : at,
      );
    }
    if (member !== null) members[camel] = member;
  }
  return members;
}

/** 400: a value that is not of the type the field has. */
export function badValue(value: unknown, at: string, type: string): never {
  return refuse(`Invalid value at '${at}' (${type}), ${JSON.stringify(value)}`, at);
}

/** The list at a place; absent is empty. */
export function listAt(value: unknown, at: string): readonly unknown[] {
  if (value === undefined) return [];
  // A single value stands for a list of one, as protobuf's JSON has it in Google's servers.
  if (!Array.isArray(value)) return isObject(value) ? [value] : badValue(value, at, "repeated");
  return value;
}

/** The text at a place; absent is null. */
export function stringAt(value: unknown, at: string): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? value : badValue(value, at, "TYPE_STRING");
}

/** The number at a place, within what is documented; absent is null. */
export function numberAt(value: unknown, at: string, least: number, most: number, whole = false): number | null {
  if (value === undefined) return null;
  if (typeof value !== "number" || (whole && !Number.isInteger(value))) {
    return badValue(value, at, whole ? "TYPE_INT32" : "TYPE_FLOAT");
  }
  if (value >= least && value <= most) return value;
  const name = at.split(".").at(-1) ?? at;
  return wrong(`* GenerateContentRequest.${at}: ${name} must be in the range [${least}, ${most}].`);
}
