import type { ErrorClass } from "@sluicegate/contract";
import type { Deployment } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import { Cancel } from "../core/cancel.ts";
import { newId } from "../core/ids.ts";
import type { UpstreamRequest } from "../core/transport.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openCrossing, translates } from "../protocols/translate.ts";
import type { Verdict } from "../providers/credential-ring.ts";
import type { Provider } from "../providers/provider.ts";
import type { AttemptRecord } from "./admit.ts";
import { Attempt } from "./attempt.ts";
import type { DataPlane } from "./plane.ts";
import type { Hop } from "./route.ts";
import { attemptRows, requestRow, round, sumOf } from "./rows.ts";
import type { Visit } from "./visit.ts";

/** How long a trial may take, ms. */
const TRIAL_MS = 15_000;
const CONNECT_MS = 5_000;
const TIMEOUTS = {
  connectMs: CONNECT_MS,
  firstTokenMs: null,
  hopMs: TRIAL_MS,
  idleMs: TRIAL_MS,
  streamMaxMs: TRIAL_MS,
};
/** The least that every API takes: some refuse a smaller cap. */
const TINY = { messages: [{ role: "user", content: "." }], max_tokens: 16 };

/** What a failure says of the credential: the key, or the account behind it, is no good; or it says nothing of it. */
const REFUSED: readonly ErrorClass[] = ["auth_failed", "quota_exhausted"];
const UNCLEAR: readonly ErrorClass[] = [
  ...(["overloaded", "provider_error", "timeout", "connection_failed", "invalid_response", "cancelled"] as const),
];

/**
 * Tries a provider's credential: by its list of models, which costs nothing, where only those with a key see that; else, and
 * when the list gives no clear answer, by a tiny generation, which is recorded as a probe of the gateway's own.
 */
export async function tryCredential(plane: DataPlane, provider: Provider, tenant: string | null): Promise<Verdict> {
  const listed = await byModels(plane, provider);
  if (listed !== null) return listed;
  const deployment = deploymentOf(plane, provider);
  // Nothing is called there: whatever the credential is, nobody suffers from it.
  if (!deployment) return "accepted";
  return byGeneration(plane, provider, deployment, tenant);
}

async function byModels(plane: DataPlane, provider: Provider): Promise<Verdict | null> {
  const [protocol] = provider.protocols;
  const asked = provider.listModels?.({ pool: `${provider.config.name}/*`, connectTimeoutMs: CONNECT_MS });
  if (!asked || !protocol) return null;
  const attempt = attemptOf(plane, provider, protocol, asked.request);
  const outcome = await attempt.outcome;
  const status = attempt.meter.httpStatus;
  // Whatever the list looks like, it was given.
  if (status !== null && status >= 200 && status < 300) return "accepted";
  // A key may be kept from the list and be good for calls: only what is no key at all is refused here.
  const isRefused = outcome.kind === "failed" && outcome.failure.class === "auth_failed" && status !== 403;
  return isRefused ? "refused" : null;
}

async function byGeneration(
  plane: DataPlane,
  provider: Provider,
  deployment: Deployment,
  tenant: string | null,
): Promise<Verdict> {
  const spoken = provider.protocolsOf?.(deployment.model) ?? provider.protocols;
  const protocol = spoken.find((one) => one.operation === "chat" && translates(openaiChat, one));
  if (!protocol) return "accepted";
  const call = tinyCall(deployment.model);
  const crossing = protocol === openaiChat ? null : openCrossing(openaiChat, call);
  const pool = `${provider.config.name}/*`;
  const { request, credential, dropped, over } = provider.request({
    ...{ call, protocol, deployment, crossing, pool },
    header: () => undefined,
  });
  const visit = visitOf(plane);
  const attempt = attemptOf(plane, provider, protocol, request, over);
  const outcome = await attempt.outcome;
  const failure = outcome.kind === "failed" ? outcome.failure : null;
  const hop: Hop = { deployment, provider, protocol, crossing, pool, health: pool };
  const none = { retry: false, writer: null, dresser: null };
  record(plane, visit, call, { hop, attempt, credential, dropped, failure, ...none }, tenant);
  if (failure === null) return "accepted";
  if (REFUSED.includes(failure.class)) return "refused";
  return UNCLEAR.includes(failure.class) ? "unclear" : "accepted";
}

function attemptOf(
  plane: DataPlane,
  provider: Provider,
  protocol: Hop["protocol"],
  request: UpstreamRequest | Promise<UpstreamRequest>,
  over?: () => void,
): Attempt {
  const still = { rewrite: null, writer: null, dresser: null, stream: false, choices: 1, showsUsage: false };
  const spec = {
    ...still,
    request,
    over,
    protocol,
    quirks: provider.quirks,
    holdTerminator: false,
    timeouts: TIMEOUTS,
  };
  return new Attempt(spec, plane.transport, plane.clock, new Cancel());
}

/** The first deployment that calls the provider. */
function deploymentOf(plane: DataPlane, { config }: Provider): Deployment | undefined {
  const { snapshot, madeDeployments } = plane.runtime();
  for (const deployment of snapshot.deployments.values()) if (deployment.provider === config.name) return deployment;
  for (const deployment of madeDeployments()) if (deployment.provider === config.name) return deployment;
  return undefined;
}

function tinyCall(model: string): Call {
  const raw = Buffer.from(JSON.stringify({ model, ...TINY }));
  return openaiChat.decodeRequest({ raw, path: { query: "" }, header: () => undefined });
}

function visitOf({ clock, random }: DataPlane): Visit {
  return {
    requestId: newId("req", clock, random),
    clientRequestId: null,
    protocol: openaiChat,
    startedAt: clock.now(),
    arrivedAt: clock.monotonic(),
    waitedMs: 0,
  };
}

/** A row of its own, so that what it cost is in the sums. */
function record(plane: DataPlane, visit: Visit, call: Call, attempt: AttemptRecord, tenant: string | null): void {
  const { deployment } = attempt.hop;
  const row = requestRow(visit, { call });
  const attempts = attemptRows([attempt], call, visit.startedAt);
  Object.assign(row, sumOf(attempts), {
    purpose: "probe",
    tenant: tenant ?? "",
    status: attempt.failure === null ? "ok" : "failed",
    deployment: deployment.name,
    provider: deployment.provider,
    model: deployment.model,
    region: deployment.region,
    latency_ms: round(plane.clock.monotonic() - visit.arrivedAt),
  });
  plane.ledger.settle(row, attempts);
}
