import type { Call } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import type { Exchange } from "../http/exchange.ts";
import { countable } from "../tokens/countable.ts";
import type { Lease } from "./admit.ts";
import { servedHeaders } from "./answer-headers.ts";
import type { Caller } from "./authenticate.ts";
import type { DataPlane } from "./plane.ts";
import type { Plan } from "./route.ts";
import { requestRow, round } from "./rows.ts";
import type { Visit } from "./visit.ts";

/** A call for a token count that its deployment cannot make. */
export interface Counting {
  visit: Visit;
  caller: Caller;
  call: Call;
  plan: Plan;
  expose: "full" | "minimal";
}

/**
 * Counts the tokens of a call and answers in the client's dialect. Nobody is asked and nothing is spent: the lease that comes
 * back has a row and no attempts, and was not spooled before, because a kill would lose nothing.
 */
export async function countHere(plane: DataPlane, exchange: Exchange, counting: Counting): Promise<Lease> {
  const { visit, caller, call, plan, expose } = counting;
  const { deployment } = plan.hops[0];
  const { translation } = visit.protocol;
  if (translation?.family !== "count") throw new Error(`${visit.protocol.name} does not count`);
  if (!plane.ledger.accepting()) {
    throw new GatewayError("overloaded", "the ledger's spool is full; come back in a while", { retryAfterMs: 5_000 });
  }
  const { texts, flat } = countable(translation.toCanonical(call));
  const startedAt = plane.clock.monotonic();
  const tokens = flat + (await plane.tokens.count(texts, exchange.cancel));
  // The thread's time is the work that was asked for, and no overhead of ours.
  visit.waitedMs += plane.clock.monotonic() - startedAt;
  const row = requestRow(visit, { caller, call, plan });
  row.deployment = deployment.name;
  row.provider = deployment.provider;
  row.model = deployment.model;
  row.region = deployment.region;
  const latency = plane.clock.monotonic() - visit.arrivedAt;
  const headers = servedHeaders({
    ...{ visit, deployment, expose },
    alias: call.alias,
    model: deployment.model,
    dropped: [],
    attempts: 0,
    fallbackDepth: 0,
    hedged: false,
    variant: null,
    circuit: plane.health.circuit(plan.hops[0].health),
    costMicroUsd: 0,
    overheadMs: round(Math.max(0, latency - visit.waitedMs)),
    latencyMs: round(latency),
  });
  const shown = {
    call,
    requestId: visit.requestId,
    createdS: Math.floor(visit.startedAt / 1_000),
    model: deployment.model,
  };
  exchange.respond(200, ["content-type", "application/json", ...headers], translation.encodeCount(tokens, shown));
  return { row, attempts: [] };
}
