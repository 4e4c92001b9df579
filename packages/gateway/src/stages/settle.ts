import type { AttemptRow, RequestRow } from "@sluicegate/contract";
import type { Call } from "../core/call.ts";
import { CODES, type GatewayError, type ProviderFailure } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { clippedText } from "../core/own-text.ts";
import { priceAt } from "../core/price.ts";
import { hasDrifted } from "../routing/model-drift.ts";
import type { Lease } from "./admit.ts";
import { release } from "./attempt-record.ts";
import { finalError } from "./final-error.ts";
import type { DataPlane } from "./plane.ts";
import { attemptRows, fallbackDepth, type Known, requestRow, round, sumOf } from "./rows.ts";
import type { Visit } from "./visit.ts";

/** How a request ended, as far as it got. */
export interface Ending extends Known {
  lease?: Lease | undefined;
  /** What the client was told instead of an answer. */
  error?: GatewayError | undefined;
  /** What broke a stream off after it had begun. */
  broken?: ProviderFailure | null | undefined;
}

/** Meters the request and leaves its rows with the ledger and the access log. Called once, in `finally`, on every path. */
export function settle(plane: DataPlane, visit: Visit, ending: Ending): void {
  const row = ending.lease?.row ?? requestRow(visit, ending);
  const latency = plane.clock.monotonic() - visit.arrivedAt;
  row.latency_ms = round(latency);
  row.overhead_ms = round(Math.max(0, latency - visit.waitedMs));
  const attempts = describe(row, visit, ending);
  if (ending.call && ending.lease) letGo(plane, ending.call, ending.lease);
  plane.metrics.requestEnded(row, attempts);
  if (ending.lease) noteDrift(plane, ending.lease);
  if (ending.lease && row.cost_state === "unknown") noteUnpriced(plane, ending.lease, visit.startedAt);
  if (ending.lease) plane.ledger.settle(row, attempts);
  else if (ending.caller) plane.refusals.record(row);
  plane.log.access(row);
  const cause = ending.error?.details.cause;
  if (ending.error?.code === "internal") plane.log.fault(visit.requestId, cause ?? ending.error);
}

/** Whatever is still held at a deployment is given back: streams hold on until here. */
function letGo(plane: DataPlane, call: Call, { attempts, served }: Lease): void {
  for (const record of attempts) release(plane, record, call);
  const usage = served?.failure === null ? served.attempt.meter.usage : null;
  if (served && usage) plane.ceilings.observe(served.hop.deployment, usage.output_tokens);
}

/** A pinned name that another model answers for is told of once, and counted always (ROUTE-1). */
function noteDrift(plane: DataPlane, { attempts }: Lease): void {
  for (const { hop, attempt, failure } of attempts) {
    const { model } = attempt.meter;
    const { deployment, provider, pool } = hop;
    if (failure !== null || model === null || !hasDrifted(deployment.model, model, provider.config)) continue;
    const shown = clippedText(model, LIMITS.labelCharsMax);
    plane.alerts.onDrift(deployment, shown);
    if (plane.metrics.drifted(pool, shown))
      plane.log.warn("another model answers than the one that is pinned", {
        ...{ deployment: deployment.name, pinned: deployment.model, answered: shown },
      });
  }
}

/** What costs nobody knows what is told of until its deployment has a price (COST-1). */
function noteUnpriced(plane: DataPlane, { attempts }: Lease, atMs: number): void {
  for (const { hop, row } of attempts) {
    if (row?.cost_state === "unknown" && priceAt(hop.deployment.prices, atMs) === null)
      plane.alerts.onMissingPrice(hop.deployment);
  }
}

/** Fills in what the attempts and the ending say. */
function describe(row: RequestRow, visit: Visit, { call, lease, error, broken }: Ending): AttemptRow[] {
  const attempts = call && lease ? attemptRows(lease.attempts, call, visit.startedAt) : [];
  const sum = sumOf(attempts);
  row.usage = sum.usage;
  row.cost_micro_usd = sum.cost_micro_usd;
  row.cost_state = sum.cost_state;
  const last = lease?.served ?? lease?.attempts[lease.attempts.length - 1];
  if (last) {
    const { hop, attempt } = last;
    row.deployment = hop.deployment.name;
    row.provider = hop.deployment.provider;
    row.model = hop.deployment.model;
    row.region = hop.deployment.region;
    row.response_model = attempt.meter.model;
    row.finish_reason = attempt.meter.finishReason;
    row.ttft_ms = attempt.meter.firstOutputAt === null ? null : round(attempt.meter.firstOutputAt - visit.arrivedAt);
    row.fallback_depth = lease ? fallbackDepth(lease) : 0;
    row.hedged = lease?.attempts.some(({ hedge }) => hedge) ?? false;
  }
  if (broken) {
    row.status = broken.class === "cancelled" ? "cancelled" : "failed";
    // What the client was told in the stream.
    row.error_code = call && lease ? finalError(call, lease.attempts, false).code : "all_providers_failed";
  } else if (error) {
    row.error_code = error.code;
    const refused = CODES[error.code].blame !== "provider" && !lease;
    row.status = error.code === "cancelled" ? "cancelled" : refused ? "refused" : "failed";
  } else {
    row.status = "ok";
  }
  return attempts;
}
