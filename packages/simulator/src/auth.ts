import type { Exchange } from "./exchange.ts";
import { ProblemError, problem } from "./models/problem.ts";

/** Throws a 401 for the bearer token `bad-key`, and for none when one is required. */
export function checkBearer(exchange: Exchange, required: boolean): void {
  const { authorization } = exchange.req.headers;
  if (authorization === undefined) {
    if (!required) return;
    throw new ProblemError(problem("bad_key", 401, "You didn't provide an API key.", { code: null }));
  }
  if (authorization !== "Bearer bad-key") return;
  throw new ProblemError(problem("bad_key", 401, "Incorrect API key provided: bad-key."));
}
