import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";

/** A JSON object whose members nobody has checked yet. */
export type Fields = Record<string, unknown>;

/** invalid_request for the field at `path`. */
export function wrongField(path: string, want: string): GatewayError {
  return new GatewayError("invalid_request", `${path} must be ${want}`, { param: path });
}

/** invalid_request for a field that has to be there. */
export function missingField(path: string, want: string): GatewayError {
  return new GatewayError("invalid_request", `${path} is missing; send ${want}`, { param: path });
}

/** True for a JSON object (no array, no null). */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Null and absent are the same to these APIs. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/**
 * A member as text: numbers as they are written, "" for what is none. (`String` calls an object's own `toString`, and in JSON
 * that may be anything.)
 */
export function wordOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** A table's entry for a word that somebody else chose: `toString` is in no table, though every object has one. */
export function entryOf<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** An optional finite number. */
export function checkNumber(body: Fields, key: string): number | null {
  return numberAt(key, body[key]);
}

/** An optional whole number. */
export function checkInteger(body: Fields, key: string): number | null {
  return integerAt(key, body[key]);
}

/** An optional boolean. */
export function checkBoolean(body: Fields, key: string): boolean {
  return booleanAt(key, body[key]);
}

/** The finite number at `path`; null for none. Who asks by a member's own name finds it faster than by one that varies. */
export function numberAt(path: string, value: unknown): number | null {
  if (isAbsent(value)) return null;
  if (typeof value !== "number" || !Number.isFinite(value)) throw wrongField(path, "a number");
  return value;
}

/** The whole number at `path`; null for none. */
export function integerAt(path: string, value: unknown): number | null {
  const found = numberAt(path, value);
  if (found !== null && !Number.isInteger(found)) throw wrongField(path, "a whole number");
  return found;
}

/** The boolean at `path`; false for none. */
export function booleanAt(path: string, value: unknown): boolean {
  if (isAbsent(value)) return false;
  if (typeof value !== "boolean") throw wrongField(path, "true or false");
  return value;
}

/** Refuses what is too long for a model's name, wherever it stands: names that clients make up are remembered. */
export function checkNameLength(model: string): void {
  if (model.length > LIMITS.modelCharsMax) throw wrongField("model", `at most ${LIMITS.modelCharsMax} characters`);
}

/** The `model` member: what the client asks for. */
export function checkModel(body: Fields): string {
  const model = body["model"];
  if (isAbsent(model)) throw missingField("model", "the alias to use, as GET /v1/models lists them");
  if (typeof model !== "string" || model.trim() === "") throw wrongField("model", "a non-empty string");
  checkNameLength(model);
  // Half a character can be written into no path and no header.
  if (/\p{Surrogate}/u.test(model)) throw wrongField("model", "valid Unicode");
  return model;
}
