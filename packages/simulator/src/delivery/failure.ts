import { type Problem, ProblemError, problem } from "../models/problem.ts";
import type { WireFormat } from "../wire.ts";
import { type Delivery, wholeBody } from "./delivery.ts";

/** HTTP headers by name. */
export type Headers = Readonly<Record<string, string>>;

/** An error as a whole answer. */
export function errorDelivery(said: Problem, wire: Pick<WireFormat, "errorBody">, headers: Headers): Delivery {
  const all = { ...headers, "content-type": "application/json", ...said.headers };
  return wholeBody(said.status, all, wire.errorBody(said));
}

/** The answer to something thrown: its problem, else a 500 that blames the simulator. */
export function failureDelivery(error: unknown, wire: Pick<WireFormat, "errorBody">, headers: Headers): Delivery {
  if (error instanceof ProblemError) return errorDelivery(error.problem, wire, headers);
  const text = `the simulator failed: ${error instanceof Error ? error.message : String(error)}`;
  return errorDelivery(problem("server", 500, text), wire, headers);
}
