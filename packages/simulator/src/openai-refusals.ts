import { typeName } from "./json.ts";
import { refuse } from "./models/problem.ts";

/** 400: the parameter has another type than `wanted`. */
export function wrongType(field: string, wanted: string, value: unknown): never {
  const message = `Invalid type for '${field}': expected ${wanted}, but got ${article(typeName(value))} instead.`;
  return refuse(message, field, "invalid_type");
}

/** 400: a parameter that must be there is not. */
export function missing(field: string): never {
  return refuse(`Missing required parameter: '${field}'.`, field, "missing_required_parameter");
}

/** Values as OpenAI lists them: 'a', 'b', and 'c'. */
export function quoted(values: readonly string[]): string {
  const all = values.map((value) => `'${value}'`);
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")}, and ${all.at(-1)}`;
}

/** The name of a type with its article. */
export function article(name: string): string {
  if (name === "null") return "null";
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}
