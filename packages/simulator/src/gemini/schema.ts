import { isObject, type JsonObject } from "../json.ts";
import { badValue, listAt, membersOf, wrong } from "./refusals.ts";

/** What Google's subset of OpenAPI knows of a schema. */
const WORDS = `type format title description nullable enum items maxItems minItems properties required minProperties
  maxProperties minimum maximum minLength maxLength pattern example anyOf propertyOrdering default`.split(/\s+/);
/** In the order of Google's enumeration, whose numbers are taken as well. */
const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];
const DEPTH_MAX = 32;

/** Checks a schema of the subset and gives it as JSON Schema, its types in lower case. */
export function readSchema(value: unknown, at: string, depth = 0): JsonObject {
  if (depth > DEPTH_MAX) wrong(`${at}: the schema is nested too deep`);
  const schema = membersOf(value, WORDS, at);
  const type = readType(schema.type, at);
  const properties = schema.properties;
  const made: Record<string, unknown> = { ...schema, ...(type !== null && { type }) };
  if (schema.enum !== undefined) readEnum(schema.enum, type, at);
  if (type === "array") {
    if (schema.items === undefined) wrong(`* GenerateContentRequest.${at}.items: missing field.`);
    made.items = readSchema(schema.items, `${at}.items`, depth + 1);
  }
  if (isObject(properties)) {
    const read = Object.entries(properties).map(([name, inner]) => [
      name,
      readSchema(inner, `${at}.properties[${name}]`, depth + 1),
    ]);
    made.properties = Object.fromEntries(read);
  }
  for (const [i, name] of listAt(schema.required, `${at}.required`).entries()) {
    if (isObject(properties) && typeof name === "string" && Object.hasOwn(properties, name)) continue;
    wrong(`* GenerateContentRequest.${at}.required[${i}]: property is not defined`);
  }
  if (schema.anyOf !== undefined) {
    made.anyOf = listAt(schema.anyOf, `${at}.any_of`).map((inner, i) =>
      readSchema(inner, `${at}.any_of[${i}]`, depth + 1),
    );
  }
  return made;
}

function readType(value: unknown, at: string): string | null {
  if (value === undefined) return null;
  if (Array.isArray(value)) {
    return wrong(
      `Invalid JSON payload received. Unknown name "type" at '${at}': Proto field is not repeating, cannot start list.`,
    );
  }
  const type = typeof value === "number" ? TYPES[value - 1] : String(value).toLowerCase();
  return type !== undefined && TYPES.includes(type)
    ? type
    : badValue(value, `${at}.type`, "type.googleapis.com/google.ai.generativelanguage.v1beta.Type");
}

function readEnum(value: unknown, type: string | null, at: string): void {
  for (const [i, member] of listAt(value, `${at}.enum`).entries()) {
    if (typeof member !== "string") badValue(member, `${at}.enum[${i}]`, "TYPE_STRING");
    if (member === "") wrong(`* GenerateContentRequest.${at}.enum[${i}]: cannot be empty`);
  }
  if (type !== null && type !== "string") {
    wrong(`* GenerateContentRequest.${at}.enum: only allowed for STRING type`);
  }
}
