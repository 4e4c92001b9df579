import type { z } from "zod";
import { didYouMean } from "../config/nearest.ts";
import { GatewayError } from "../core/errors.ts";

/** A query held against its schema, whose messages are predicates of the parameter. Throws GatewayError invalid_request, naming the parameter. */
export function readQuery<T extends z.ZodObject>(schema: T, query: unknown): z.output<T> {
  return readMembers(schema, query, "parameter");
}

/** A JSON body, the same; none is an empty one. */
export function readBody<T extends z.ZodObject>(schema: T, body: unknown): z.output<T> {
  const given = body ?? {};
  // What curl says of a body that it is not told the type of.
  if (given instanceof URLSearchParams) {
    throw new GatewayError("invalid_request", "the body must be JSON: send it with content-type: application/json");
  }
  if (typeof given === "object" && !Array.isArray(given)) return readMembers(schema, given, "field");
  throw new GatewayError("invalid_request", "the body must be a JSON object");
}

function readMembers<T extends z.ZodObject>(schema: T, query: unknown, what: "parameter" | "field"): z.output<T> {
  const read = schema.safeParse(query);
  if (read.success) return read.data;
  const issue = read.error.issues[0];
  if (issue?.code === "unrecognized_keys") {
    const name = issue.keys[0] ?? "";
    const known = Object.keys(schema.shape);
    const hint = didYouMean(name, known) || `; known are ${known.join(", ")}`;
    throw new GatewayError("invalid_request", `unknown ${what} ${name.slice(0, 80)}${hint}`, {
      param: name.slice(0, 80),
    });
  }
  const param = String(issue?.path[0] ?? "query");
  const repeated = Array.isArray((query as Record<string, unknown>)[param]);
  const words = repeated ? "stands in the query more than once" : (issue?.message ?? "is wrong");
  throw new GatewayError("invalid_request", `${param} ${words}`, { param });
}
