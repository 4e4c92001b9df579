import type { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { errorShape } from "./shapes.ts";

const ERRORS = {
  "400": "A parameter is wrong: `param` names it.",
  "401": "No admin key, or not one of this gateway.",
  "403": "The key may not do or see this.",
  "404": "There is no such thing, or not for this key.",
} as const;

/** Error answers by their status. */
export function errors(...statuses: (keyof typeof ERRORS)[]): ZodOpenApiOperationObject["responses"] {
  return Object.fromEntries(statuses.map((status) => [status, json(ERRORS[status], errorShape)]));
}

/** An answer in JSON. */
export function json(description: string, schema: z.ZodType) {
  return { description, content: { "application/json": { schema } } };
}
