import type { Fields } from "./field-checks.ts";

/** Members that say on their own what a schema is. */
const TYPED = ["type", "$ref", "anyOf", "oneOf", "allOf"] as const;

/** A function's parameters as OpenAI takes them: an object, whose members are named even where there are none. */
export function objectParameters(parameters: Fields): Fields {
  const untyped = TYPED.every((key) => parameters[key] === undefined);
  if (!untyped && parameters["type"] !== "object") return parameters;
  if (!untyped && parameters["properties"] !== undefined) return parameters;
  return { type: "object", properties: {}, ...parameters };
}
