import { type Problem, ProblemError, problem } from "../models/problem.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { WireFormat } from "../wire.ts";
import { type Delivery, wholeBody } from "./delivery.ts";

/** HTTP headers by name. */
export type Headers = Readonly<Record<string, string>>;

/** What it takes to say an error in a wire format. */
export type Voice = Pick<WireFormat, "errorBody" | "manners">;

/** An error as a whole answer. */
export function errorDelivery(said: Problem, wire: Voice, headers: Headers): Delivery {
  const manners = wire.manners ?? OPENAI_MANNERS;
  const all = { ...headers, "content-type": manners.jsonType, ...said.headers };
  const head = manners.errorHead(said, all);
  return wholeBody(head.status, head.headers, wire.errorBody(said, all));
}

/** The answer to something thrown: its problem, else a 500 that blames the simulator. */
export function failureDelivery(error: unknown, wire: Voice, headers: Headers): Delivery {
  if (error instanceof ProblemError) return errorDelivery(error.problem, wire, headers);
  const text = `the simulator failed: ${error instanceof Error ? error.message : String(error)}`;
  return errorDelivery(problem("server", 500, text), wire, headers);
}
