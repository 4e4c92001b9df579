import { isObject, type JsonObject } from "../json.ts";
import { refuse } from "../models/problem.ts";

/** 400: something at this place, in Anthropic's `place: words`. */
export function wrong(at: string, words: string): never {
  return refuse(at === "" ? words : `${at}: ${words}`, at === "" ? null : at);
}

/** The object at a place. */
export function objectAt(value: unknown, at: string): JsonObject {
  if (value === undefined) wrong(at, "Field required");
  return isObject(value) ? value : wrong(at, "Input should be a valid dictionary");
}

/** The string at a place. */
export function stringAt(value: unknown, at: string): string {
  if (value === undefined) wrong(at, "Field required");
  return typeof value === "string" ? value : wrong(at, "Input should be a valid string");
}

/** The list at a place. */
export function listAt(value: unknown, at: string): readonly unknown[] {
  if (value === undefined) wrong(at, "Field required");
  return Array.isArray(value) ? value : wrong(at, "Input should be a valid list");
}

/** Refuses members that are not known. */
export function checkMembers(value: JsonObject, known: readonly string[], at: string): void {
  const odd = Object.keys(value).find((name) => !known.includes(name));
  if (odd !== undefined) wrong(at === "" ? odd : `${at}.${odd}`, "Extra inputs are not permitted");
}
