import type { Exchange } from "../exchange.ts";
import { ProblemError, problem } from "../models/problem.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { State } from "../state.ts";
import type { WireFormat } from "../wire.ts";

const OVER = "The access token has expired or has been revoked.";

/** The format, refusing a token of this simulator's that is over, in the vendor's own way. */
export function expiring(state: State, { req }: Exchange, wire: WireFormat): WireFormat {
  if (!state.tokens.isOver(req.headers.authorization)) return wire;
  const checkKey = (): never => {
    throw new ProblemError(problem("bad_key", 401, OVER));
  };
  return { ...wire, manners: { ...(wire.manners ?? OPENAI_MANNERS), checkKey } };
}
