/** A JSON object whose members are not known yet. */
export type JsonObject = { [member: string]: unknown };

/** The value as an object; undefined for null, arrays and everything else. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** The objects of a list, in order; empty for what is not a list. */
export function asObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(asObject).filter((item) => item !== undefined) : [];
}

/** The value as a string that says something; undefined for the empty string and everything else. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** JSON text as an object; undefined when it is not JSON or not an object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}
