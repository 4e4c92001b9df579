import type { Deployment } from "../config/snapshot.ts";
import { GatewayError } from "../core/errors.ts";
import { denialOf, deniesDeployment } from "../core/permission.ts";
import { undressId } from "../protocols/openai-responses/ids.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { spokenBy } from "../providers/provider.ts";
import type { Caller } from "./authenticate.ts";
import { policiesOf } from "./authorize.ts";
import type { Runtime } from "./plane.ts";
import { deploymentToken, type Hop, keysOf, providerFor } from "./route.ts";

/**
 * The deployment that keeps a response of this tenant's, by the token in its id (ruling 23). Throws invalid_request for an id without a token,
 * and one not_found for everything else: no such deployment, one that this caller may not use, one without the API. Which of
 * them it was is nobody's business.
 */
export function findResponse(runtime: Runtime, caller: Caller, id: string, protocol: Protocol): Hop {
  const own = undressId(id);
  const shown = JSON.stringify(id.slice(0, 80));
  if (!own) {
    throw new GatewayError("invalid_request", `${shown} is not an id that this gateway has given out`, {
      param: "response_id",
    });
  }
  const deployment = named(runtime, caller.tenant.name, own.token);
  const provider = deployment && providerFor(runtime, caller.tenant.name, deployment.provider);
  const spoken = provider && deployment ? spokenBy(provider, deployment) : [];
  const speaks = spoken.some(({ api, operation }) => api === protocol.api && operation === "chat");
  if (!deployment || !provider || !speaks || !mayUse(runtime, caller, deployment)) {
    throw new GatewayError("not_found", `there is no response ${shown} for this key`, { param: "response_id" });
  }
  return { deployment, provider, protocol, crossing: null, ...keysOf(runtime, caller.tenant.name, deployment) };
}

function named({ snapshot, madeDeployments }: Runtime, tenant: string, token: string): Deployment | undefined {
  const isIt = (deployment: Deployment): boolean => deploymentToken(deployment, tenant) === token;
  for (const deployment of snapshot.deployments.values()) if (isIt(deployment)) return deployment;
  for (const deployment of madeDeployments()) if (isIt(deployment)) return deployment;
  return undefined;
}

/** Whether any name the caller may use leads to the deployment. */
function mayUse({ snapshot }: Runtime, caller: Caller, deployment: Deployment): boolean {
  const policies = policiesOf(caller);
  if (deniesDeployment(policies, deployment)) return false;
  const raw = [`deployment:${deployment.name}`, `${deployment.provider}/${deployment.model}`];
  if (raw.some((name) => denialOf(policies, name, true) === null)) return true;
  for (const { alias, chain } of snapshot.routes.values()) {
    if (chain.includes(deployment.name) && denialOf(policies, alias, false) === null) return true;
  }
  return false;
}
