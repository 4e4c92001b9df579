import { deniesDeployment } from "../../core/permission.ts";
import { classAllowed, regionWithin } from "../../core/placement.ts";
import type { Deployment, Snapshot, Tenant } from "../snapshot.ts";

/** What of a snapshot says where a request may go, before anything is known of it but who asks and with what data. */
export type World = Pick<
  Snapshot,
  "classifications" | "regions" | "tenants" | "deployments" | "routes" | "rules" | "gateway"
>;

/** A request as far as placement goes. Null: no class is known, no residency asked for. */
export interface Placed {
  classification: string | null;
  residency: string | null;
}

/** Says why a deployment may not serve, once somebody wants to know. */
export type Fault = () => string;

/** Why a deployment may not serve a tenant's request, by its place and permission alone; null: it may. */
function placementFault(world: World, tenant: Tenant, deployment: Deployment, placed: Placed): Fault | null {
  const { classification, residency } = placed;
  const { name, tenants, region, maxClassification: ceiling } = deployment;
  if (deniesDeployment([tenant.models], deployment)) return () => `\`${name}\` is denied to it`;
  if (tenants && !tenants.includes(tenant.name)) {
    return () => `\`${name}\` is kept for ${tenants.map((other) => `\`${other}\``).join(", ")}`;
  }
  if (!classAllowed(world.classifications, ceiling, classification)) {
    const [lowest] = world.classifications;
    return () => `\`${name}\` may hold no more than \`${ceiling ?? lowest}\`, not \`${classification ?? lowest}\``;
  }
  if (residency === null || regionWithin(world.regions, residency, region)) return null;
  return () =>
    `\`${name}\` ${region === null ? "has no `region`, so it is" : `runs in \`${region}\`,`} outside \`${residency}\``;
}

/** Why each of a chain may not serve, in its order; null: one of them may. */
export function chainFaults(world: World, tenant: Tenant, chain: readonly string[], placed: Placed): Fault[] | null {
  const faults: Fault[] = [];
  for (const name of chain) {
    const deployment = world.deployments.get(name);
    if (!deployment) continue;
    const fault = placementFault(world, tenant, deployment, placed);
    if (fault === null) return null;
    faults.push(fault);
  }
  return faults;
}
