import type { Capacity, Deployment, DeploymentLimits, Snapshot } from "../config/snapshot.ts";
import type { Ceiling, Floor } from "../core/ceiling.ts";

/**
 * What a deployment's calls are held to: the allocation of its model in its region, then the provider's account. `owner`: the
 * tenant whose own credentials are used, null for the shared ones; an account of one's own has ceilings of its own.
 */
export type CeilingsOf = (deployment: Deployment, owner: string | null) => readonly Ceiling[];

/** Builds the ceilings of a config, once: asking for those of a deployment costs a look-up. */
export function buildCeilings(snapshot: Pick<Snapshot, "deployments" | "providers">): CeilingsOf {
  const allocations = new Map<string, DeploymentLimits>();
  for (const deployment of snapshot.deployments.values()) {
    const { limits } = deployment;
    if (!limits) continue;
    const key = allocationOf(deployment);
    const others = allocations.get(key);
    allocations.set(key, others ? smaller(others, limits) : limits);
  }
  // Deployments made on the fly come and go: what was built for them goes with them.
  const built = new WeakMap<Deployment, Map<string | null, readonly Ceiling[]>>();
  return (deployment, owner) => {
    const owners = built.get(deployment) ?? new Map<string | null, readonly Ceiling[]>();
    built.set(deployment, owners);
    const known = owners.get(owner);
    if (known) return known;
    const account = snapshot.providers.get(deployment.provider)?.limits;
    const found = [
      ceiling(
        `deployment:${deployment.name}`,
        allocationOf(deployment),
        allocations.get(allocationOf(deployment)),
        owner,
      ),
      ceiling(`provider:${deployment.provider}`, deployment.provider, account, owner),
    ].filter((one) => one !== null);
    owners.set(owner, found);
    return found;
  };
}

/** Deployments with the same one share an allocation (ruling 15). */
function allocationOf({ provider, model, region }: Deployment): string {
  return JSON.stringify([provider, model, region]);
}

function ceiling(
  scope: string,
  place: string,
  limits: Capacity | DeploymentLimits | undefined,
  owner: string | null,
): Ceiling | null {
  if (!limits) return null;
  const { rpm, tpm, concurrency } = limits;
  if (rpm === null && tpm === null && concurrency === null) return null;
  // Floors are for those who share an account: its only user needs none.
  const floors = owner === null && "floors" in limits ? limits.floors : new Map<string, Floor>();
  const key = owner === null ? place : `${place} of ${JSON.stringify(owner)}`;
  return { key, scope, rpm, tpm, concurrency, floors };
}

/** One allocation described twice: the smaller number is the safe one to believe, and of floors the larger. */
function smaller(a: DeploymentLimits, b: DeploymentLimits): DeploymentLimits {
  const floors = new Map<string, Floor>(a.floors);
  for (const [tenant, floor] of b.floors) {
    const other = floors.get(tenant);
    floors.set(tenant, {
      rpm: either(Math.max, other?.rpm ?? null, floor.rpm),
      tpm: either(Math.max, other?.tpm ?? null, floor.tpm),
    });
  }
  return {
    rpm: either(Math.min, a.rpm, b.rpm),
    tpm: either(Math.min, a.tpm, b.tpm),
    concurrency: either(Math.min, a.concurrency, b.concurrency),
    floors,
  };
}

function either(pick: (a: number, b: number) => number, a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return pick(a, b);
}
