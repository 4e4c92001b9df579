import type { CostState } from "@sluicegate/contract";
import type { SlowStreamConfig } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import { GatewayError, type ProviderFailure } from "../core/errors.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Dresser, Protocol } from "../protocols/protocol.ts";
import type { Lease } from "./admit.ts";
import { metadataOf, metadataText, type Served, servedHeaders } from "./answer-headers.ts";
import type { ClientStream } from "./client-stream.ts";
import type { Executed, ExecutedReply } from "./execute.ts";
import { finalError } from "./final-error.ts";
import type { DataPlane } from "./plane.ts";
import { attemptRows, fallbackDepth, round, sumOf } from "./rows.ts";
import { SlowWatch } from "./slow-watch.ts";
import type { Visit } from "./visit.ts";

const JSON_TYPE = "application/json";
const IS_JSON = /^application\/(?:[\w.+-]+\+)?json\b/i;

/** What responding needs besides the answer itself. */
export interface Answering {
  visit: Visit;
  call: Call;
  lease: Lease;
  expose: "full" | "minimal";
  /** Null: a stream may be as slow as it likes. */
  slowStream: SlowStreamConfig | null;
  /** Put `gateway_metadata` into the answer. */
  metadata: boolean;
}

/**
 * Sends the answer: whole, at once, or as a stream until it is over. Returns what broke a stream off, null when nothing did;
 * a promise of it for streams alone.
 */
export function respond(
  plane: DataPlane,
  exchange: Exchange,
  client: ClientStream | null,
  executed: Executed,
  answering: Answering,
): ProviderFailure | null | Promise<ProviderFailure | null> {
  if (executed.kind === "reply") {
    const served = servedOf(plane, executed, answering, true);
    const { protocol } = answering.visit;
    const { body } = executed;
    // A whole answer to a call that was to stream: too late once silence has begun the stream.
    if (exchange.headSent) throw new GatewayError("all_providers_failed", "the answer is no stream, and one has begun");
    const contentType = contentTypeOf(protocol, executed);
    const decorated = answering.metadata && (contentType === JSON_TYPE || IS_JSON.test(contentType));
    const shown = decorated ? protocol.decorateReply(latin1Of(executed), metadataText(served)) : null;
    const headers = servedHeaders(served, ["content-type", contentType]);
    exchange.respond(200, headers, shown ?? body, "latin1");
    return null;
  }
  if (!client) throw new Error("a stream came back for a call that asked for none");
  return stream(plane, exchange, client, executed, answering);
}

/** The answer as text of Latin-1: what its reader made of it, unless it was written anew since. */
function latin1Of({ body, facts: { ascii } }: ExecutedReply): string {
  return ascii?.body === body ? ascii.text : body.toString("latin1");
}

/** A translated answer is JSON in every dialect; what else an answer is, its upstream says: sound, subtitles. */
function contentTypeOf(client: Protocol, { record, contentType }: ExecutedReply): string {
  const plain = client.operation === "speech" || client.operation === "transcription";
  return plain && !record.hop.crossing ? contentType : JSON_TYPE;
}

async function stream(
  plane: DataPlane,
  exchange: Exchange,
  client: ClientStream,
  executed: Executed,
  answering: Answering,
): Promise<ProviderFailure | null> {
  const { record } = executed;
  const { attempt, dresser, writer } = record;
  const { protocol } = answering.visit;
  client.begin(servedHeaders(servedOf(plane, executed, answering, false)));
  const { slowStream } = answering;
  const watch = slowStream ? new SlowWatch(slowStream, record, plane.clock) : null;
  exchange.onDrain(() => {
    watch?.clientPaused(false);
    attempt.resume();
  });
  attempt.take((bytes) => {
    const keepsUp = client.write(bytes);
    if (!keepsUp) watch?.clientPaused(true);
    return keepsUp;
  }, client);
  const committedAt = plane.clock.monotonic();
  const { failure, terminated, heldTerminator } = await attempt.end;
  watch?.close();
  answering.visit.waitedMs += plane.clock.monotonic() - committedAt;
  if (failure === null) {
    const metadata = answering.metadata ? metadataOf(servedOf(plane, executed, answering, true)) : null;
    if (writer) client.end(writer.end(metadata));
    else if (metadata) client.end(closing(protocol.endWithMetadata(heldTerminator, metadata, answering.call), dresser));
    else client.end(closing(terminated ? null : protocol.terminator, dresser));
    return null;
  }
  record.failure = failure;
  if (failure.class !== "cancelled") {
    plane.metrics.attemptFailed(record.hop.pool, failure.class);
    client.fail(finalError(answering.call, answering.lease.attempts, false), answering.visit.requestId);
  }
  return failure;
}

/** The last bytes of a stream that was passed on. */
function closing(mark: Buffer | null, dresser: Dresser | null): Buffer | undefined {
  const dressed = dresser?.end() ?? null;
  if (mark && dressed) return Buffer.concat([mark, dressed]);
  return mark ?? dressed ?? undefined;
}

/** `over`: the answer is complete, so that its cost can be told. */
function servedOf(plane: DataPlane, executed: Executed, answering: Answering, over: boolean): Served {
  const { visit, call, lease, expose } = answering;
  const { record } = executed;
  const { deployment } = record.hop;
  const latency = plane.clock.monotonic() - visit.arrivedAt;
  const sum = over ? sumOf(attemptRows(lease.attempts, call, visit.startedAt)) : null;
  return {
    visit,
    alias: call.alias,
    deployment,
    model: record.attempt.meter.model ?? deployment.model,
    dropped: record.dropped,
    attempts: lease.attempts.length,
    fallbackDepth: fallbackDepth(lease),
    hedged: lease.attempts.some(({ hedge }) => hedge),
    variant: lease.row.variant,
    circuit: plane.health.circuit(record.hop.health),
    costMicroUsd: sum && isKnown(sum.cost_state) ? sum.cost_micro_usd : null,
    overheadMs: round(Math.max(0, latency - visit.waitedMs)),
    latencyMs: round(latency),
    expose,
  };
}

function isKnown(state: CostState): boolean {
  return state !== "unknown";
}
