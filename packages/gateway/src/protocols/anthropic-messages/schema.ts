import { type Fields, isObject } from "../field-checks.ts";

/** Constraints that Anthropic's structured output refuses: told to the model in the description instead, as Anthropic's SDKs do. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"],
  ...["maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties"],
]);
/** Members that hold one schema, a list of them, or a map of them. */
const ONE: ReadonlySet<string> = new Set(["items", "not"]);
const LISTS: ReadonlySet<string> = new Set(["anyOf", "allOf", "oneOf", "prefixItems"]);
const MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
/** Combinations that a tool's schema may not have at its top. */
const COMBINED = ["anyOf", "oneOf", "allOf"] as const;

/**
 * An answer's JSON schema in the part that Anthropic takes (every object closed, no number or length constraints). Null when
 * it says something that this part cannot: objects with members it does not name.
 */
export function answerSchema(schema: Fields): Fields | null {
  return adapt(schema) ?? null;
}

/** Undefined, which no JSON value is, for what cannot be said. */
function adapt(schema: Fields): Fields | undefined {
  const wire: Fields = {};
  const told: string[] = [];
  for (const key in schema) {
    const value = schema[key];
    if (UNSUPPORTED.has(key) || (key === "minItems" && typeof value === "number" && value > 1)) {
      told.push(`${key}: ${JSON.stringify(value)}`);
      continue;
    }
    const adapted = adaptMember(key, value);
    if (adapted === undefined) return undefined;
    wire[key === "oneOf" ? "anyOf" : key] = adapted;
  }
  if (isObjectType(schema)) {
    const open = schema["additionalProperties"];
    if (open !== undefined && open !== false) return undefined;
    wire["additionalProperties"] = false;
  }
  if (told.length > 0) {
    const words = typeof schema["description"] === "string" ? `${schema["description"]}\n` : "";
    wire["description"] = `${words}{${told.join(", ")}}`;
  }
  return wire;
}

/** True for a schema that Anthropic takes as it is, so that a tool can be strict about it. */
export function isStrict(schema: Fields): boolean {
  const adapted = answerSchema(schema);
  return adapted !== null && JSON.stringify(adapted) === JSON.stringify(schema);
}

/**
 * A tool's parameters as Anthropic takes them: an object at the top, and no combination there: its alternatives become
 * members of one object. Null for parameters that are no object.
 */
export function toolSchema(parameters: Fields | null): Fields | null {
  if (parameters === null) return { type: "object", properties: {} };
  const { type } = parameters;
  if (type !== undefined && type !== "object" && !(Array.isArray(type) && type.includes("object"))) return null;
  if (type === "object" && !COMBINED.some((key) => Array.isArray(parameters[key]))) return parameters;
  const { anyOf, oneOf, allOf, ...wire } = parameters;
  wire["type"] = "object";
  const properties: Fields = isObject(wire["properties"]) ? { ...wire["properties"] } : {};
  const required = new Set(namesIn(wire["required"]));
  for (const part of objectsIn(allOf)) {
    if (isObject(part["properties"])) Object.assign(properties, part["properties"]);
    for (const name of namesIn(part["required"])) required.add(name);
  }
  for (const alternatives of [objectsIn(anyOf), objectsIn(oneOf)]) {
    for (const { properties: more } of alternatives) if (isObject(more)) Object.assign(properties, more);
    for (const name of requiredByAll(alternatives)) required.add(name);
  }
  wire["properties"] = properties;
  if (required.size > 0) wire["required"] = [...required];
  return wire;
}

/** What each of them requires. */
function requiredByAll([first, ...rest]: readonly Fields[]): Set<string> {
  let names = new Set(namesIn(first?.["required"]));
  for (const part of rest) {
    if (names.size === 0) break;
    // As many as this one names are looked at, not as many as are left.
    names = new Set(namesIn(part["required"]).filter((name) => names.has(name)));
  }
  return names;
}

/** A member, its schemas adapted; undefined where one of them cannot be. */
function adaptMember(key: string, value: unknown): unknown {
  if (LISTS.has(key) && Array.isArray(value)) {
    const list = value.map((entry: unknown) => (isObject(entry) ? adapt(entry) : entry));
    return list.includes(undefined) ? undefined : list;
  }
  if (MAPS.has(key) && isObject(value)) {
    const entries = Object.entries(value).map(([name, entry]) => [name, isObject(entry) ? adapt(entry) : entry]);
    return entries.some(([, entry]) => entry === undefined) ? undefined : Object.fromEntries(entries);
  }
  return ONE.has(key) && isObject(value) ? adapt(value) : value;
}

function isObjectType({ type, properties }: Fields): boolean {
  return (
    type === "object" ||
    (Array.isArray(type) && type.includes("object")) ||
    (type === undefined && isObject(properties))
  );
}

function objectsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
