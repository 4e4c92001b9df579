import { type AttemptRow, noUsage, type RequestRow } from "@sluicegate/contract";
import type { Call } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import { costOf } from "../core/money.ts";
import { priceAt } from "../core/price.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import type { Caller } from "./authenticate.ts";
import type { DataPlane } from "./plane.ts";
import type { Hop, Plan } from "./route.ts";
import { isEstimable, requestRow } from "./rows.ts";
import type { Visit } from "./visit.ts";

/** What an admitted request holds. Settled once, in `finally`, however the request ends. */
export interface Lease {
  /** Its row, as it was admitted; settled in place. */
  row: RequestRow;
  attempts: AttemptRecord[];
  /** The one whose answer the client gets; absent while there is none. */
  served?: AttemptRecord;
}

/** A request that may start, once its trace is written. */
export interface Admitted {
  lease: Lease;
  written: Promise<void>;
}

/**
 * May it start? Refuses when the ledger cannot take another row (nothing runs that would not be recorded),
 * and leaves a trace in the spool before anything is sent, so that a kill cannot lose the request.
 */
export function admit(plane: DataPlane, visit: Visit, caller: Caller, call: Call, plan: Plan): Admitted {
  if (!plane.ledger.accepting()) {
    throw new GatewayError("overloaded", "the ledger's spool is full; come back in a while", { retryAfterMs: 5_000 });
  }
  const row = requestRow(visit, { caller, call, plan });
  const written = plane.ledger.admit({ row, attempt: abandonedAttempt(plan.hops[0], call, visit.startedAt) });
  return { lease: { row, attempts: [] }, written };
}

/** What an abandoned request is taken to have cost: the input estimate at the first deployment. */
export function abandonedAttempt(hop: Hop, call: Call, atMs: number): AttemptRow {
  const usage = noUsage();
  const free = call.operation === "count_tokens";
  if (!free && isEstimable(call)) usage.input_tokens = call.inputTokensEstimate;
  const price = isEstimable(call) ? priceAt(hop.deployment.prices, atMs) : null;
  return {
    n: 1,
    deployment: hop.deployment.name,
    provider: hop.deployment.provider,
    model: hop.deployment.model,
    status: "cancelled",
    error_class: null,
    http_status: null,
    usage,
    cost_micro_usd: price ? costOf(usage, price) : 0,
    cost_state: free ? "known" : price ? "estimated" : "unknown",
    latency_ms: 0,
    ttft_ms: null,
    hedge: false,
    retry: false,
    credential: hop.provider.authenticator.current,
    provider_request_id: null,
  };
}
