import { isObject, type JsonObject } from "../json.ts";
import { refuse } from "../models/problem.ts";

/** 400 in Cohere's words. */
export function wrong(message: string): never {
  return refuse(`invalid request: ${message}`, null);
}

/** An object. */
export function objectAt(value: unknown, at: string): JsonObject {
  return isObject(value) ? value : wrong(`${at} must be an object`);
}

/** A list; empty where there is none. */
export function listAt(value: unknown, at: string): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : wrong(`${at} must be a list`);
}

/** A text. */
export function textAt(value: unknown, at: string): string {
  return typeof value === "string" ? value : wrong(`${at} must be a string`);
}

/** A number within bounds; null where there is none. */
export function numberAt(value: unknown, at: string, least: number, most: number): number | null {
  if (value === undefined) return null;
  if (typeof value !== "number" || Number.isNaN(value)) return wrong(`${at} must be a number`);
  if (value < least || value > most)
    return wrong(`${at} must be between ${least} and ${most}, inclusive; got ${value}`);
  return value;
}

/** Refuses members that are not among the known ones. */
export function checkMembers(object: JsonObject, known: readonly string[], at: string): void {
  const odd = Object.keys(object).find((key) => !known.includes(key));
  if (odd !== undefined) wrong(`unknown field: parameter '${at}${odd}' is not a valid field`);
}
