import { isObject, type JsonObject } from "../json.ts";
import { ProblemError, problem } from "../models/problem.ts";

/** 422 in FastAPI's words: where, and what. */
export function invalid(loc: string, message: string, type = "value_error"): never {
  throw new ProblemError(problem("invalid_request", 422, message, { param: loc, type }));
}

/** 400 in Mistral's own words, for what the form alone does not show. */
export function misplaced(message: string): never {
  throw new ProblemError(
    problem("invalid_request", 400, message, { code: "3230", type: "invalid_request_message_order" }),
  );
}

/** Refuses members that are not among the known ones. */
export function checkMembers(object: JsonObject, known: readonly string[], at: string): void {
  const odd = Object.keys(object).find((key) => !known.includes(key));
  if (odd !== undefined) invalid(`${at}.${odd}`, "Extra inputs are not permitted", "extra_forbidden");
}

/** An object. */
export function objectAt(value: unknown, at: string): JsonObject {
  return isObject(value) ? value : invalid(at, "Input should be a valid dictionary", "dict_type");
}

/** A list; empty for none and for null. */
export function listAt(value: unknown, at: string): readonly unknown[] {
  if (value == null) return [];
  return Array.isArray(value) ? value : invalid(at, "Input should be a valid list", "list_type");
}

/** A text. */
export function textAt(value: unknown, at: string): string {
  return typeof value === "string" ? value : invalid(at, "Input should be a valid string", "string_type");
}

/** A number within bounds; null for none. */
export function numberAt(value: unknown, at: string, least: number, most: number): number | null {
  if (value == null) return null;
  if (typeof value !== "number") return invalid(at, "Input should be a valid number", "float_parsing");
  if (value > most) return invalid(at, `Input should be less than or equal to ${most}`, "less_than_equal");
  if (value < least) return invalid(at, `Input should be greater than or equal to ${least}`, "greater_than_equal");
  return value;
}
