import type { ResponseFormat } from "../core/message.ts";
import type { Fields } from "./field-checks.ts";

/** The schema of an answer for a dialect that has no place beside it for what it is said to be: the schema says it itself. */
export function describedSchema({ schema, description }: Extract<ResponseFormat, { type: "json_schema" }>): Fields {
  return description === undefined || "description" in schema ? schema : { description, ...schema };
}
