import type { ErrorClass } from "@sluicegate/contract";
import type { Deployment } from "../config/snapshot.ts";
import { Cancel } from "../core/cancel.ts";
import type { UpstreamRequest } from "../core/transport.ts";
import type { Verdict } from "../providers/credential-ring.ts";
import type { Provider } from "../providers/provider.ts";
import { Attempt } from "./attempt.ts";
import { WHOLE_ANSWER } from "./attempt-outcome.ts";
import { callForSelf } from "./own-call.ts";
import type { DataPlane } from "./plane.ts";
import type { Hop } from "./route.ts";
import { smallGeneration } from "./small-generation.ts";

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
  const small = smallGeneration(provider, deployment);
  if (!small) return "accepted";
  const answer = await callForSelf(plane, {
    ...{ purpose: "probe", tenant, deployment, provider, small },
    pool: `${provider.config.name}/*`,
    timeoutMs: TRIAL_MS,
    cancel: new Cancel(),
  });
  if (!answer) return "unclear";
  if (answer.failure === null) return "accepted";
  if (REFUSED.includes(answer.failure.class)) return "refused";
  return UNCLEAR.includes(answer.failure.class) ? "unclear" : "accepted";
}

function attemptOf(
  plane: DataPlane,
  provider: Provider,
  protocol: Hop["protocol"],
  request: UpstreamRequest | Promise<UpstreamRequest>,
): Attempt {
  const spec = { ...WHOLE_ANSWER, request, protocol, quirks: provider.quirks, timeouts: TIMEOUTS };
  return new Attempt(spec, plane.transport, plane.clock, new Cancel());
}

/** The first deployment that calls the provider. */
function deploymentOf(plane: DataPlane, { config }: Provider): Deployment | undefined {
  const { snapshot, madeDeployments } = plane.runtime();
  for (const deployment of snapshot.deployments.values()) if (deployment.provider === config.name) return deployment;
  for (const deployment of madeDeployments()) if (deployment.provider === config.name) return deployment;
  return undefined;
}
