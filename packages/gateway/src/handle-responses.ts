import type { Cancel } from "./core/cancel.ts";
import { GatewayError, toGatewayError } from "./core/errors.ts";
import type { UpstreamRequest } from "./core/transport.ts";
import type { Exchange } from "./http/exchange.ts";
import { accountToken } from "./protocols/account-token.ts";
import { idDresser } from "./protocols/openai-responses/dress.ts";
import { providerId } from "./protocols/openai-responses/ids.ts";
import { openaiResponses } from "./protocols/openai-responses/index.ts";
import {
  asksForEvents,
  type ResourceCall,
  resourceCall,
  resourcePath,
  resourceProtocol,
} from "./protocols/openai-responses/resource.ts";
import { attemptTimeouts } from "./resilience/timeouts.ts";
import { idHeaders } from "./stages/answer-headers.ts";
import { Attempt } from "./stages/attempt.ts";
import { type AttemptRecord, unheld } from "./stages/attempt-record.ts";
import { authenticate, type Caller } from "./stages/authenticate.ts";
import { ClientStream } from "./stages/client-stream.ts";
import { finalError } from "./stages/final-error.ts";
import { findResponse } from "./stages/find-response.ts";
import type { DataPlane, Runtime } from "./stages/plane.ts";
import { renewal } from "./stages/renewal.ts";
import { deploymentToken, type Hop } from "./stages/route.ts";
import { openVisit, type Visit } from "./stages/visit.ts";

/** How long a provider may take over what it only has to look up, ms. */
const RESOURCE_MS = 60_000;
const NO_BODY = Buffer.from("{}");

/** True for /v1/responses/{id} and what is under it. */
export function isResponsePath(path: string): boolean {
  return resourcePath(path) !== null;
}

/**
 * Reads, deletes or cancels a response where it is kept: the deployment its id names, if the caller may use that. It costs
 * nothing at the provider, so there is no ledger row; making the response has left one. Answers whatever happens.
 */
export async function handleResponses(plane: DataPlane, exchange: Exchange): Promise<void> {
  const visit = openVisit(plane.clock, plane.random, exchange, openaiResponses);
  let client: ClientStream | null = null;
  try {
    if (plane.draining())
      throw new GatewayError("draining", "this gateway is shutting down; ask again", { retryAfterMs: 1_000 });
    const runtime = plane.runtime();
    const caller = authenticate(plane, runtime, exchange);
    const resource = resourceOf(exchange);
    const hop = findResponse(runtime, caller, resource.id, resourceProtocol(resource));
    if (asksForEvents(resource)) {
      const { keepaliveMs } = runtime.snapshot.rawRoute;
      const call = resourceCall(resource);
      client = new ClientStream(exchange, openaiResponses, call, plane.clock, keepaliveMs, idHeaders(visit));
    }
    let record = ask(plane, exchange, resource, hop, { runtime, caller });
    if (await isRenewed(plane, visit, record, exchange.cancel))
      record = ask(plane, exchange, resource, hop, { runtime, caller });
    await answer(exchange, client, visit, record, resource);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === "internal") plane.log.fault(visit.requestId, error.details.cause ?? error);
    refuse(exchange, client, visit, error);
  } finally {
    client?.close();
  }
}

function resourceOf(exchange: Exchange): ResourceCall {
  const named = resourcePath(exchange.path);
  if (!named) throw new Error("no path of a response");
  const { id, under, methods } = named;
  if (!methods.includes(exchange.method)) {
    const allow = methods.join(", ");
    throw new GatewayError("method_not_allowed", `${exchange.path} takes ${allow}, not ${exchange.method}`, { allow });
  }
  return { method: exchange.method as ResourceCall["method"], id, under, query: exchange.query };
}

/** Asks the provider, with its own credential and the id as it knows it. */
function ask(
  plane: DataPlane,
  exchange: Exchange,
  resource: ResourceCall,
  hop: Hop,
  { runtime, caller }: { runtime: Runtime; caller: Caller },
): AttemptRecord {
  const { deployment, provider, protocol, pool } = hop;
  const call = resourceCall(resource);
  const header = (name: string): string | undefined => exchange.header(name);
  const asked = (ready: UpstreamRequest): UpstreamRequest => ({
    ...ready,
    method: resource.method,
    body: resource.method === "POST" ? NO_BODY : null,
  });
  const dresser = idDresser(deploymentToken(deployment, caller.tenant.name), accountToken(deployment.provider));
  const settings = runtime.snapshot.rawRoute;
  const { request, credential, over } = provider.request({ call, protocol, deployment, crossing: null, pool, header });
  const attempt = new Attempt(
    {
      request: request instanceof Promise ? request.then(asked) : asked(request),
      over,
      protocol,
      rewrite: (body) => dresser.reply(body),
      writer: null,
      dresser,
      quirks: provider.quirks,
      stream: call.stream,
      choices: 1,
      showsUsage: true,
      holdTerminator: false,
      timeouts: attemptTimeouts(call, deployment, settings, settings.timeouts.totalMs ?? RESOURCE_MS),
    },
    plane.transport,
    plane.clock,
    exchange.cancel,
  );
  return { ...unheld(hop, attempt), credential, dresser };
}

async function answer(
  exchange: Exchange,
  client: ClientStream | null,
  visit: Visit,
  record: AttemptRecord,
  resource: ResourceCall,
): Promise<void> {
  const { attempt } = record;
  const outcome = await attempt.outcome;
  if (outcome.kind === "reply") {
    exchange.respond(200, ["content-type", "application/json", ...idHeaders(visit)], outcome.body);
    return;
  }
  if (outcome.kind === "failed") {
    record.failure = outcome.failure;
    throw refusal(record, resource);
  }
  if (!client) throw new Error("a stream came back for a call that asked for none");
  client.begin(idHeaders(visit));
  exchange.onDrain(() => attempt.resume());
  const stream = client;
  attempt.take((bytes) => stream.write(bytes));
  const { failure } = await attempt.end;
  record.failure = failure;
  if (failure === null) client.end();
  else throw refusal(record, resource);
}

/** Whether the provider refused its credential, and has another one now. */
async function isRenewed(plane: DataPlane, visit: Visit, record: AttemptRecord, cancel: Cancel): Promise<boolean> {
  const outcome = await record.attempt.outcome;
  if (outcome.kind !== "failed") return false;
  record.failure = outcome.failure;
  return renewal(plane, record, { visit, renewed: false, mayWait: true, remainingMs: RESOURCE_MS }, cancel);
}

/** What the client is told: a provider that does not have it says so with a 404, and in the words of its own id. */
function refusal(record: AttemptRecord, resource: ResourceCall): GatewayError {
  if (record.failure?.httpStatus === 404) {
    const shown = JSON.stringify(resource.id.slice(0, 80));
    return new GatewayError("not_found", `there is no response ${shown} for this key`, { param: "response_id" });
  }
  const error = finalError(resourceCall(resource), [record], false);
  const { upstream } = error.details;
  if (!upstream) return error;
  const body = Buffer.from(upstream.body.toString("utf8").replaceAll(providerId(resource.id), resource.id));
  return new GatewayError(error.code, error.message, { ...error.details, upstream: { ...upstream, body } });
}

function refuse(exchange: Exchange, client: ClientStream | null, visit: Visit, error: GatewayError): void {
  if (error.code === "cancelled") return;
  if (exchange.headSent) {
    if (client) client.fail(error, visit.requestId);
    else exchange.destroy();
    return;
  }
  const { status, headers, body } = openaiResponses.encodeError(error, visit.requestId);
  exchange.respond(status, [...headers, ...idHeaders(visit)], body);
}
