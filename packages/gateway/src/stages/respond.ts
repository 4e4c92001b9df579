import type { CostState } from "@sluicegate/contract";
import type { Call } from "../core/call.ts";
import type { ProviderFailure } from "../core/errors.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Lease } from "./admit.ts";
import { metadataOf, type Served, servedHeaders } from "./answer-headers.ts";
import type { ClientStream } from "./client-stream.ts";
import type { Executed } from "./execute.ts";
import { finalError } from "./final-error.ts";
import type { DataPlane } from "./plane.ts";
import { attemptRows, fallbackDepth, round, sumOf } from "./rows.ts";
import type { Visit } from "./visit.ts";

/** What responding needs besides the answer itself. */
export interface Answering {
  visit: Visit;
  call: Call;
  lease: Lease;
  expose: "full" | "minimal";
  /** Put `gateway_metadata` into the answer. */
  metadata: boolean;
}

/** Sends the answer: whole, or as a stream until it is over. Returns what broke a stream off, null when nothing did. */
export async function respond(
  plane: DataPlane,
  exchange: Exchange,
  client: ClientStream | null,
  executed: Executed,
  answering: Answering,
): Promise<ProviderFailure | null> {
  if (executed.kind === "reply") {
    const served = servedOf(plane, executed, answering, true);
    const { protocol } = executed.record.hop;
    const body = answering.metadata ? protocol.decorateReply(executed.body, metadataOf(served)) : executed.body;
    exchange.respond(200, ["content-type", "application/json", ...servedHeaders(served)], body);
    return null;
  }
  if (!client) throw new Error("a stream came back for a call that asked for none");
  return stream(plane, exchange, client, executed, answering);
}

async function stream(
  plane: DataPlane,
  exchange: Exchange,
  client: ClientStream,
  executed: Executed,
  answering: Answering,
): Promise<ProviderFailure | null> {
  const { record } = executed;
  const { attempt } = record;
  const { protocol } = record.hop;
  client.begin(servedHeaders(servedOf(plane, executed, answering, false)));
  exchange.onDrain(() => attempt.resume());
  attempt.take((bytes) => client.write(bytes));
  const committedAt = plane.clock.monotonic();
  const { failure, terminated } = await attempt.end;
  answering.visit.waitedMs += plane.clock.monotonic() - committedAt;
  if (failure === null) {
    const tail = answering.metadata
      ? [protocol.encodeStreamMetadata(metadataOf(servedOf(plane, executed, answering, true)))]
      : [];
    if (!terminated) tail.push(protocol.terminator);
    client.end(tail.length > 0 ? Buffer.concat(tail) : undefined);
    return null;
  }
  record.failure = failure;
  if (failure.class !== "cancelled") {
    plane.metrics.attemptFailed(record.hop.pool, failure.class);
    client.fail(finalError(answering.call, answering.lease.attempts, false), answering.visit.requestId);
  }
  return failure;
}

/** `over`: the answer is complete, so that its cost can be told. */
function servedOf(plane: DataPlane, executed: Executed, answering: Answering, over: boolean): Served {
  const { visit, call, lease, expose } = answering;
  const latency = plane.clock.monotonic() - visit.arrivedAt;
  const sum = over ? sumOf(attemptRows(lease.attempts, call, visit.startedAt)) : null;
  return {
    visit,
    alias: call.alias,
    record: executed.record,
    attempts: lease.attempts.length,
    fallbackDepth: fallbackDepth(lease.attempts),
    costMicroUsd: sum && isKnown(sum.cost_state) ? sum.cost_micro_usd : null,
    overheadMs: round(Math.max(0, latency - visit.waitedMs)),
    latencyMs: round(latency),
    expose,
  };
}

function isKnown(state: CostState): boolean {
  return state !== "unknown";
}
