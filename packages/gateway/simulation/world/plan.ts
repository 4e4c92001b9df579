import type { ProviderConfig, Snapshot } from "../../src/config/snapshot.ts";
import type { ClientSpec } from "../client/spec.ts";
import { type Chance, chanceOf } from "../core/chance.ts";
import { clientsOf } from "./clients.ts";
import { type PlannedUpstream, upstreamsOf } from "./deployments.ts";
import { type Fault, faultsOf } from "./faults.ts";
import { routesOf, rulesOf } from "./routes.ts";
import type { Template } from "./template.ts";
import { keyOf, TENANTS, tenantsOf } from "./tenants.ts";

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

/** What a world is made to have, whatever its seed says: so that something rare shows in few of them. */
export interface Tilt {
  stormy?: boolean;
  ruled?: boolean;
  replicas?: number;
}

/** A world from its seed: nothing else goes into it, but what it is tilted to. */
export function planOf(seed: number, template: Template, tilt: Tilt = {}): WorldPlan {
  const chance = chanceOf(seed, "plan");
  const horizonMs = chance.pick([20_000, 45_000, 90_000]);
  const drawn = { stormy: chance.yes(0.3), replicas: Number(chance.weighted({ 1: 3, 2: 3, 3: 2 })) };
  const { stormy, replicas: count, ruled } = { ruled: false, ...drawn, ...tilt };
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
    rules: rulesOf(chance.fork("rules"), names, ruled),
    tenants: new Map(tenants.map((tenant) => [tenant.name, tenant])),
    keys: keys.map(({ entry }) => entry),
  };
  const replicas = Array.from({ length: count }, (_, i) => ({
    name: `r${i}`,
    skewMs: i === 0 ? 0 : chance.int(-400, 400),
  }));
  return {
    ...{ seed, horizonMs, snapshot, upstreams, replicas },
    clients: clientsOf(chance.fork("clients"), {
      horizonMs,
      stormy,
      aliases: [...routes.keys()],
      keys: keys.map(({ key }) => key),
    }),
    faults: faultsOf(
      chance.fork("faults"),
      horizonMs,
      replicas.map(({ name }) => name),
    ),
  };
}

/** The accounts, some with ceilings of their own. */
function providersOf(chance: Chance, { snapshot }: Template): Map<string, ProviderConfig> {
  const limited = (provider: ProviderConfig): ProviderConfig => ({
    ...provider,
    limits: { rpm: chance.pick([null, 30]), tpm: null, concurrency: chance.pick([null, 4]) },
  });
  return new Map(
    [...snapshot.providers].map(([name, provider]) => [name, chance.yes(0.2) ? limited(provider) : provider]),
  );
}
