import type { Deployment, Route } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Provider } from "../providers/provider.ts";
import { deniesDeployment } from "../routing/permission.ts";
import type { Caller } from "./authenticate.ts";
import { policiesOf, type Target } from "./authorize.ts";
import type { Runtime } from "./plane.ts";

/** One deployment of a plan, with everything needed to call it. */
export interface Hop {
  deployment: Deployment;
  provider: Provider;
  protocol: Protocol;
  /** Bounded name under which its connections and its retry budget are kept: raw models of one provider share one. */
  pool: string;
}

/** A deployment that was considered and left out, and which gate said so. */
export interface Removed {
  deployment: string;
  gate: "permission" | "capability" | "expressibility";
  reason: string;
}

/** Where a call goes: ordered deployments, and why the others are not among them. */
export interface Plan {
  /** The alias that serves, or the raw name. */
  route: string;
  /** What decided: the route's own chain, or a raw name. */
  rule: "chain" | "raw";
  settings: Omit<Route, "alias" | "chain">;
  hops: readonly [Hop, ...Hop[]];
  removed: Removed[];
}

/**
 * Alias → ordered deployments. Static gates only: a deployment the caller is denied leaves the chain, and so does one whose
 * provider has no such endpoint or does not speak the client's protocol. Throws when the chain is emptied, naming the gate.
 */
export function route(runtime: Runtime, caller: Caller, call: Call, target: Target): Plan {
  const { snapshot } = runtime;
  const found = snapshot.routes.get(target.name);
  const deployments = found
    ? found.chain.flatMap((name) => snapshot.deployments.get(name) ?? [])
    : [rawDeployment(runtime, target)];
  const removed: Removed[] = [];
  const hops: Hop[] = [];
  for (const deployment of deployments) {
    const hop = gate(runtime, caller, call, deployment);
    if ("reason" in hop) removed.push(hop);
    else hops.push(hop);
  }
  const [first, ...rest] = hops;
  if (!first) throw emptied(call, removed);
  return {
    route: target.name,
    rule: target.raw ? "raw" : "chain",
    settings: found ?? snapshot.rawRoute,
    hops: [first, ...rest],
    removed,
  };
}

function gate(runtime: Runtime, caller: Caller, call: Call, deployment: Deployment): Hop | Removed {
  if (deniesDeployment(policiesOf(caller), deployment)) {
    return { deployment: deployment.name, gate: "permission", reason: "denied to this key" };
  }
  const provider = runtime.providers.get(deployment.provider);
  const protocol = provider?.speaks(call.operation);
  if (!provider || !protocol) {
    return {
      deployment: deployment.name,
      gate: "capability",
      reason: `its provider has no ${call.operation} endpoint`,
    };
  }
  if (protocol.name !== call.dialect) {
    return { deployment: deployment.name, gate: "expressibility", reason: `it speaks ${protocol.name}` };
  }
  const pool = runtime.snapshot.deployments.has(deployment.name) ? deployment.name : `${deployment.provider}/*`;
  return { deployment, provider, protocol, pool };
}

function emptied(call: Call, removed: readonly Removed[]): GatewayError {
  const reasons = removed.map((entry) => `${entry.deployment} (${entry.reason})`).join(", ");
  if (removed.every((entry) => entry.gate === "permission")) {
    return new GatewayError(
      "model_not_allowed",
      `every deployment behind ${JSON.stringify(call.alias)} is denied to this key`,
      {
        param: "model",
        reason: "denied",
      },
    );
  }
  return new GatewayError(
    "unsupported_feature",
    `no deployment behind ${JSON.stringify(call.alias)} can serve this: ${reasons}`,
    {
      param: "model",
    },
  );
}

/** `deployment:NAME` as configured, or `provider/model` with the defaults. */
function rawDeployment(runtime: Runtime, target: Target): Deployment {
  const { deployments } = runtime.snapshot;
  const known = deployments.get(target.name) ?? deployments.get(target.name.replace(/^deployment:/, ""));
  if (known) return known;
  const slash = target.name.indexOf("/");
  return runtime.rawDeployment(target.name.slice(0, slash), target.name.slice(slash + 1));
}
