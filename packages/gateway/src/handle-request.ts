import { HEADERS, PLATFORM_HEADER_PREFIX } from "@sluicegate/contract";
import { GatewayError, toGatewayError } from "./core/errors.ts";
import { readBody } from "./http/body.ts";
import type { Exchange } from "./http/exchange.ts";
import { checkNameLength } from "./protocols/field-checks.ts";
import type { Addressed } from "./protocols/registry.ts";
import { admit } from "./stages/admit.ts";
import { idHeaders } from "./stages/answer-headers.ts";
import { authenticate } from "./stages/authenticate.ts";
import { authorize } from "./stages/authorize.ts";
import { ClientStream } from "./stages/client-stream.ts";
import { countHere } from "./stages/count-here.ts";
import { execute } from "./stages/execute.ts";
import { plan as makePlan } from "./stages/plan.ts";
import type { DataPlane } from "./stages/plane.ts";
import { type IdempotentRun, idempotencyKey, replay } from "./stages/replay.ts";
import { respond } from "./stages/respond.ts";
import { routeFacts } from "./stages/route-facts.ts";
import { requestRow } from "./stages/rows.ts";
import { type Ending, settle } from "./stages/settle.ts";
import { shed } from "./stages/shed.ts";
import { openVisit, type Visit } from "./stages/visit.ts";

/**
 * The whole life of one request, top to bottom. Each stage takes what it needs and returns what it learned; none calls
 * the next. Whatever happens, the client is answered once and the request is settled once.
 */
export async function handleRequest(
  plane: DataPlane,
  exchange: Exchange,
  { protocol, path }: Addressed,
): Promise<void> {
  const { clock } = plane;
  const header = (name: string): string | undefined => exchange.header(name);
  const visit = openVisit(clock, plane.random, exchange, protocol);
  const runtime = plane.runtime();
  const { snapshot } = runtime;
  // With all that it may come to hold: it would grow out of its shape otherwise.
  const ending: Ending = {
    caller: undefined,
    call: undefined,
    facts: undefined,
    plan: undefined,
    lease: undefined,
    error: undefined,
    broken: undefined,
  };
  let client: ClientStream | null = null;
  let run: IdempotentRun | null = null;
  plane.metrics.requestBegan();
  try {
    if (plane.draining())
      throw new GatewayError("draining", "this gateway is shutting down; ask again", { retryAfterMs: 1_000 });
    // Whose key is this? Asked before the body is read: a stranger's bytes cost nothing.
    ending.caller = authenticate(plane, runtime, exchange, path.credential);
    const raw = await readBody(
      exchange,
      { bytesMax: snapshot.gateway.bodyLimitBytes, timeoutMs: plane.waits.clientBodyMs },
      clock,
    );
    visit.waitedMs = clock.monotonic() - visit.arrivedAt;
    if (path.alias !== undefined) checkNameLength(path.alias);
    // Wire → call; the raw bytes stay at hand.
    ending.call = protocol.decodeRequest({
      raw,
      header,
      path,
      platformHeaders: exchange.sends(PLATFORM_HEADER_PREFIX),
    });
    const keyed = idempotencyKey(exchange) !== null;
    // What routing looks at is on the row, whatever becomes of the request: what no config could change is refused before.
    ending.facts = routeFacts(runtime, ending.caller, ending.call, { at: clock.now(), draw: plane.random.float() });
    // May they use this alias, and is what must be said said? Before anything is spent.
    authorize(snapshot, ending.caller, ending.call);
    // Is there room at all? Less urgent work is turned away first.
    shed(plane, ending.call);
    // The same key again: the same answer, joined in flight or replayed.
    if (keyed) {
      const first = await replay(plane, exchange, { visit, runtime, caller: ending.caller, call: ending.call });
      if (first === "replayed") {
        ending.lease = { row: requestRow(visit, ending), attempts: [] };
        return;
      }
      run = first;
    }
    const door = run?.exchange ?? exchange;
    // Alias → ordered deployments, with reasons.
    const { caller: who, call: asked, facts } = ending;
    const planned = makePlan(plane, { runtime, visit, caller: who, call: asked, facts }, door.cancel);
    ending.plan = planned instanceof Promise ? await planned : planned;
    // A count that the deployment cannot make is made here: nobody is asked, and nothing is spent.
    if (ending.plan.countsHere) {
      const { caller, call, plan } = ending;
      ending.lease = await countHere(plane, door, { visit, caller, call, plan, expose: snapshot.gateway.expose });
      return;
    }
    // A trace of it on disk before anything is sent.
    const admitted = admit(plane, visit, ending.caller, ending.call, ending.plan);
    await admitted.written;
    ending.lease = admitted.lease;
    const { call, plan, lease } = ending;
    if (call.stream)
      client = new ClientStream(door, protocol, call, clock, plan.settings.keepaliveMs, idHeaders(visit));
    const wanted = header(HEADERS.metadata);
    const metadata = wanted === "on" || (wanted !== "off" && !call.stream && protocol.api === "chat");
    const work = { visit, call, plan, lease, header, holdTerminator: call.stream && metadata };
    // The attempt loop: pick, send, classify, again?
    const executed = await execute(plane, work, door.cancel);
    const { expose } = snapshot.gateway;
    const { slowStream } = plan.settings;
    const answer = { visit, call, lease, expose, metadata, slowStream };
    const answered = respond(plane, door, client, executed, answer);
    ending.broken = answered instanceof Promise ? await answered : answered;
  } catch (thrown) {
    ending.error = toGatewayError(thrown);
    answerError(run?.exchange ?? exchange, client, visit, ending.error);
  } finally {
    client?.close();
    try {
      settle(plane, visit, ending);
    } finally {
      run?.close(!ending.error && !ending.broken);
    }
  }
}

/** The error in the client's own shape: as a status while none is out, in-band after that. */
function answerError(exchange: Exchange, client: ClientStream | null, visit: Visit, error: GatewayError): void {
  if (error.code === "cancelled") return;
  if (exchange.headSent) {
    if (client) client.fail(error, visit.requestId);
    else exchange.destroy();
    return;
  }
  const answer = visit.protocol.encodeError(error, visit.requestId);
  exchange.respond(answer.status, [...answer.headers, ...idHeaders(visit)], answer.body);
}
