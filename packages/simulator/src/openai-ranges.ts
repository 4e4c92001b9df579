import type { JsonObject } from "./json.ts";
import { refuse } from "./models/problem.ts";
import { article, wrongType } from "./openai-refusals.ts";

/** Between which values a numeric parameter lies. */
export type Range = readonly [field: string, kind: "decimal" | "integer", least: number, most: number];

/** Checks numeric parameters; null counts as absent. */
export function checkRanges(body: JsonObject, ranges: readonly Range[]): void {
  for (const range of ranges) checkRange(body, range);
}

/** Checks that these parameters, where they are given, are true or false. */
export function checkBooleans(body: JsonObject, fields: readonly string[]): void {
  for (const field of fields) {
    const value = body[field] ?? undefined;
    if (value !== undefined && typeof value !== "boolean") wrongType(field, "a boolean", value);
  }
}

/** Refuses the first field that is not among the known ones. */
export function checkKnown(body: JsonObject, known: ReadonlySet<string>): void {
  const odd = Object.keys(body).find((field) => !known.has(field));
  if (odd !== undefined) refuse(`Unknown parameter: '${odd}'.`, odd, "unknown_parameter");
}

function checkRange(body: JsonObject, [field, kind, least, most]: Range): void {
  const value = body[field];
  if (value == null) return;
  if (typeof value !== "number" || (kind === "integer" && !Number.isInteger(value))) {
    wrongType(field, article(kind), value);
  }
  if (value > most) {
    const message = `Invalid '${field}': ${kind} above maximum value. Expected a value <= ${most}, but got ${value} instead.`;
    refuse(message, field, `${kind}_above_max_value`);
  }
  if (value < least) {
    const message = `Invalid '${field}': ${kind} below minimum value. Expected a value >= ${least}, but got ${value} instead.`;
    refuse(message, field, `${kind}_below_min_value`);
  }
}
