import { entryOf, type Fields, isObject } from "../field-checks.ts";
import { camelCase } from "./fields.ts";

/** Members whose value is a schema, a list of schemas, or a map of them. */
const SCHEMA = new Set(["items", "additionalProperties"]);
const LIST = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const MAP = new Set(["properties", "defs", "$defs", "definitions"]);
/** Members JSON Schema calls otherwise. */
const RENAMED: Readonly<Record<string, string>> = { ref: "$ref", defs: "$defs" };
/** Numbers that proto JSON may write as strings (int64). */
const COUNTS = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);

/**
 * Google's OpenAPI subset (`parameters`, `responseSchema`) as JSON Schema: types in lower case, `nullable` as a second type,
 * counts as numbers. What stands in it besides stays. `propertyOrdering` is Google's own and only orders.
 */
export function jsonSchemaOf(schema: Fields): Fields {
  const found: Fields = {};
  let nullable = false;
  for (const [given, value] of Object.entries(schema)) {
    const key = camelCase(given);
    if (key === "propertyOrdering") continue;
    if (key === "nullable") nullable = value === true;
    else if (key === "type") found["type"] = typeOf(value);
    else if (SCHEMA.has(key)) found[key] = isObject(value) ? jsonSchemaOf(value) : value;
    else if (LIST.has(key)) found[key] = Array.isArray(value) ? value.map(nested) : value;
    else if (MAP.has(key)) found[entryOf(RENAMED, key) ?? key] = isObject(value) ? mapped(value) : value;
    else if (COUNTS.has(key)) found[key] = typeof value === "string" ? Number(value) : value;
    else found[entryOf(RENAMED, key) ?? key] = value;
  }
  return nullable ? withNull(found) : found;
}

function nested(value: unknown): unknown {
  return isObject(value) ? jsonSchemaOf(value) : value;
}

/** Names of properties are the client's own and keep their spelling. */
function mapped(schemas: Fields): Fields {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, nested(schema)]));
}

/** Type by number, as Google's Python libraries write it. */
const TYPES = ["", "string", "number", "integer", "boolean", "array", "object", "null"];

function typeOf(value: unknown): unknown {
  if (typeof value === "number") return TYPES[value] ?? value;
  if (Array.isArray(value)) return value.map(typeOf);
  return typeof value === "string" ? value.toLowerCase() : value;
}

function withNull(schema: Fields): Fields {
  const { type } = schema;
  if (typeof type === "string") {
    // An enum that does not list null would forbid what `nullable` allows.
    const values = schema["enum"];
    const listed = Array.isArray(values) ? { enum: [...values, null] } : {};
    return { ...schema, type: [type, "null"], ...listed };
  }
  const choices = schema["anyOf"];
  return Array.isArray(choices) ? { ...schema, anyOf: [...choices, { type: "null" }] } : schema;
}
