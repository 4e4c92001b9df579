import { hash } from "node:crypto";
import type { KeyEntry, ProviderConfig, Snapshot, Tenant } from "../../src/config/snapshot.ts";
import type { ClientSpec } from "../client/spec.ts";
import { type Chance, chanceOf } from "../core/chance.ts";
import { clientsOf } from "./clients.ts";
import { type PlannedUpstream, upstreamsOf } from "./deployments.ts";
import { type Fault, faultsOf } from "./faults.ts";
import { routesOf, rulesOf } from "./routes.ts";
import type { Template } from "./template.ts";

/** Everything that is decided before a run begins. */
export interface WorldPlan {
  seed: number;
  horizonMs: number;
  snapshot: Snapshot;
  upstreams: readonly PlannedUpstream[];
  replicas: readonly { name: string; skewMs: number }[];
  clients: readonly ClientSpec[];
  faults: readonly Fault[];
}

/** The keys of clients, by tenant. */
const TENANTS = ["acme", "bolt", "coda"] as const;

/** A world from its seed: nothing else goes into it. */
export function planOf(seed: number, template: Template): WorldPlan {
  const chance = chanceOf(seed, "plan");
  const horizonMs = chance.pick([20_000, 45_000, 90_000]);
  const stormy = chance.yes(0.3);
  const upstreams = upstreamsOf(chance.fork("upstreams"), template, { horizonMs, stormy });
  const names = upstreams.map(({ deployment }) => deployment.name);
  const routes = routesOf(chance.fork("routes"), template, names);
  const tenants = tenantsOf(template);
  const keys = TENANTS.map((name) => keyOf(name));
  const snapshot: Snapshot = {
    ...template.snapshot,
    providers: providersOf(chance.fork("providers"), template),
    deployments: new Map(upstreams.map(({ deployment }) => [deployment.name, deployment])),
    routes,
    rules: rulesOf(chance.fork("rules"), names),
    tenants: new Map(tenants.map((tenant) => [tenant.name, tenant])),
    keys: keys.map(({ entry }) => entry),
  };
  const replicas = Array.from({ length: chance.weighted({ 1: 3, 2: 3, 3: 2 }) as unknown as number }, (_, i) => ({
    name: `r${i}`,
    skewMs: i === 0 ? 0 : chance.int(-400, 400),
  }));
  return {
    ...{ seed, horizonMs, snapshot, upstreams, replicas },
    clients: clientsOf(chance.fork("clients"), { horizonMs, stormy, aliases: [...routes.keys()], keys: keys.map(({ key }) => key) }),
    faults: faultsOf(chance.fork("faults"), horizonMs, replicas.map(({ name }) => name)),
  };
}

/** The accounts, some with ceilings of their own. */
function providersOf(chance: Chance, { snapshot }: Template): Map<string, ProviderConfig> {
  const limited = (provider: ProviderConfig): ProviderConfig => ({
    ...provider,
    limits: { rpm: chance.pick([null, 30]), tpm: null, concurrency: chance.pick([null, 4]) },
  });
  return new Map([...snapshot.providers].map(([name, provider]) => [name, chance.yes(0.2) ? limited(provider) : provider]));
}

function tenantsOf({ tenant }: Template): Tenant[] {
  return TENANTS.map((name) => ({ ...tenant, name, allow: ["hedge", "priority_high"] }));
}

function keyOf(tenant: string): { key: string; entry: KeyEntry } {
  const key = `sg_${tenant}_${"5a".repeat(32)}`;
  const entry: KeyEntry = {
    ...{ id: `key-${tenant}`, hash: hash("sha256", key), tenant, team: null, application: null, name: null },
    ...{ models: null, expiresAt: null, source: "config" },
  };
  return { key, entry };
}
