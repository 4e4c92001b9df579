import type { Purpose, RequestRow } from "@sluicegate/contract";
import type { Deployment } from "../config/snapshot.ts";
import type { Cancel } from "../core/cancel.ts";
import type { ProviderFailure } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import type { Provider } from "../providers/provider.ts";
import { abandonedAttempt } from "./admit.ts";
import { Attempt } from "./attempt.ts";
import { WHOLE_ANSWER } from "./attempt-outcome.ts";
import { type AttemptRecord, unheld } from "./attempt-record.ts";
import { finalError } from "./final-error.ts";
import type { DataPlane } from "./plane.ts";
import type { Hop } from "./route.ts";
import { attemptRows, requestRow, round, sumOf } from "./rows.ts";
import type { SmallGeneration } from "./small-generation.ts";
import type { Visit } from "./visit.ts";

/** One call that the gateway makes for itself. */
export interface OwnCall {
  purpose: Purpose;
  /** Who caused it, and pays; null: nobody did. */
  tenant: string | null;
  /** The request it is made for; absent: none. */
  parent?: string;
  deployment: Deployment;
  provider: Provider;
  small: SmallGeneration;
  /** Key of the connection pool. */
  pool: string;
  /** For all of it, ms. */
  timeoutMs: number;
  cancel: Cancel;
}

/** What it came to. */
export interface OwnAnswer {
  /** Null: a whole answer came. */
  failure: ProviderFailure | null;
  /** The answer as the provider sent it; null: none came. */
  body: Buffer | null;
  latencyMs: number;
  /** How it was made. */
  record: AttemptRecord;
}

/**
 * Makes one call, once, the way a client's is made, and leaves a row of its own in the ledger, so that what it cost is in the
 * sums; it is in none of the counts of clients' requests. Null: called off before it began, or no row would have been kept.
 */
export async function callForSelf(plane: DataPlane, own: OwnCall): Promise<OwnAnswer | null> {
  const { deployment, provider, small, pool, cancel } = own;
  if (!plane.ledger.accepting()) return null;
  const visit = visitOf(plane, own);
  const { call, protocol, crossing } = small;
  const hop: Hop = { deployment, provider, protocol, crossing, pool, health: pool, ceilings: [] };
  const row = rowOf(visit, own);
  await plane.ledger.admit({ row, attempt: abandonedAttempt(hop, call, visit.startedAt) });
  const records: AttemptRecord[] = [];
  try {
    if (cancel.cancelled) return null;
    const record = startAttempt(plane, own, hop);
    records.push(record);
    const outcome = await record.attempt.outcome;
    const { startedAt, endedAt } = record.attempt.meter;
    if (outcome.kind === "failed") record.failure = outcome.failure;
    const latencyMs = round((endedAt ?? startedAt) - startedAt);
    return { failure: record.failure, body: outcome.kind === "reply" ? outcome.body : null, latencyMs, record };
  } finally {
    settleOwn(plane, visit, row, own, records);
  }
}

function startAttempt(plane: DataPlane, own: OwnCall, hop: Hop): AttemptRecord {
  const { deployment, provider, small, pool, timeoutMs, cancel } = own;
  const { call, protocol, crossing } = small;
  const { request, credential, dropped, over } = provider.request({
    ...{ call, protocol, deployment, crossing, pool },
    header: () => undefined,
  });
  const timeouts = {
    connectMs: Math.min(deployment.timeouts.connectMs, timeoutMs),
    firstTokenMs: null,
    ...{ hopMs: timeoutMs, idleMs: timeoutMs, streamMaxMs: timeoutMs },
  };
  const spec = { ...WHOLE_ANSWER, request, over, protocol, quirks: provider.quirks, timeouts };
  const attempt = new Attempt(spec, plane.transport, plane.clock, cancel);
  return { ...unheld(hop, attempt), credential, dropped };
}

function visitOf({ clock, random }: DataPlane, { small }: OwnCall): Visit {
  return {
    requestId: newId("req", clock, random),
    clientRequestId: null,
    protocol: small.client,
    startedAt: clock.now(),
    arrivedAt: clock.monotonic(),
    waitedMs: 0,
  };
}

/** Nobody has asked for an alias, and no routing looked at it. */
function rowOf(visit: Visit, { purpose, tenant, parent, deployment, small }: OwnCall): RequestRow {
  return {
    ...requestRow(visit, { call: small.call }),
    ...{ purpose, tenant: tenant ?? "", parent_request_id: parent ?? null, alias: null, facts: null },
    deployment: deployment.name,
    provider: deployment.provider,
    model: deployment.model,
    region: deployment.region,
  };
}

function settleOwn(
  plane: DataPlane,
  visit: Visit,
  row: RequestRow,
  { small: { call }, cancel }: OwnCall,
  records: readonly AttemptRecord[],
): void {
  const attempts = attemptRows(records, call, visit.startedAt);
  Object.assign(row, sumOf(attempts), { latency_ms: round(plane.clock.monotonic() - visit.arrivedAt) });
  const [record] = records;
  if (record?.failure === null) {
    const { model, finishReason } = record.attempt.meter;
    Object.assign(row, { status: "ok", response_model: model, finish_reason: finishReason });
  } else {
    // One that could not even be made is a fault of ours, which its caller tells.
    const unmade = cancel.cancelled ? "cancelled" : "internal";
    const code = record ? finalError(call, records, false).code : unmade;
    Object.assign(row, { status: code === "cancelled" ? "cancelled" : "failed", error_code: code });
  }
  plane.metrics.ownCallEnded(row);
  plane.ledger.settle(row, attempts);
}
