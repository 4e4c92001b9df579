import { isFloating } from "../config/build/floating-model.ts";
import type { Deployment } from "../config/snapshot.ts";
import { deniesDeployment } from "../core/permission.ts";
import type { DecideInput, Removed } from "./decision.ts";
import { deploymentToken } from "./deployment-token.ts";
import { fieldOf, lackedBy, misplaced, overflowOf, type Placement } from "./gates.ts";

/** What the static gates made of a chain: both parts in its order. */
export interface Sifted {
  kept: Deployment[];
  removed: Removed[];
}

/**
 * Holds each deployment of a chain against every static gate (ruling 6); the first that has something against it names itself.
 * Whether one is well is no matter here.
 */
export function sift(
  input: DecideInput,
  placement: Placement,
  names: readonly string[],
  dropUnsupported: boolean,
): Sifted {
  const kept: Deployment[] = [];
  const removed: Removed[] = [];
  for (const name of names) {
    const deployment = input.deployment(name);
    if (!deployment) continue;
    const against = gated(input, placement, deployment, dropUnsupported);
    if (against) removed.push({ deployment: deployment.name, kept: false, ...against });
    else kept.push(deployment);
  }
  return { kept, removed };
}

type Against = Omit<Removed, "deployment" | "kept">;

function gated(
  input: DecideInput,
  placement: Placement,
  deployment: Deployment,
  dropUnsupported: boolean,
): Against | null {
  const { facts, snapshot } = input;
  if (deniesDeployment(input.policies, deployment)) return { gate: "permission", reason: "denied to this key" };
  const elsewhere = misplaced(deployment, facts, placement, snapshot);
  if (elsewhere) return elsewhere;
  const reach = input.reach(deployment);
  if (!reach.ok) return { gate: reach.gate, reason: reach.reason };
  if (facts.pinned_to !== undefined && facts.pinned_to !== deploymentToken(deployment, facts.tenant)) {
    return { gate: "permission", reason: "the ids in the request are another one's" };
  }
  if (snapshot.gateway.strictPins && mayMove(input, deployment)) {
    return { gate: "pin", reason: "its name may move, which strict pins refuse" };
  }
  const { lost, fieldNames } = reach;
  // What cannot even be said on the way is a later gate's business: a route may let it drop.
  const lacked = lackedBy(deployment, facts).filter((need) => !lost.includes(fieldOf(need, fieldNames)));
  if (lacked.length > 0) {
    const fields = lacked.map((need) => fieldOf(need, fieldNames));
    return { gate: "capability", reason: `lacks ${lacked.join(", ")}`, fields };
  }
  const overflow = overflowOf(facts, deployment);
  if (overflow) {
    return { gate: "context", reason: `its window of ${overflow.window} tokens is too small`, overflow };
  }
  if (lost.length > 0 && !dropUnsupported) {
    const reason = `the ${reach.api} API cannot express ${lost.join(", ")}`;
    return { gate: "expressibility", reason, fields: lost };
  }
  return null;
}

/** Made on the fly for a name that the config, whose pins are checked at load, does not list. */
function mayMove({ snapshot }: DecideInput, { name, provider, model }: Deployment): boolean {
  const config = snapshot.providers.get(provider);
  return config !== undefined && !snapshot.deployments.has(name) && isFloating(model, config);
}
