import { knowledgeOf } from "./config/build/model-facts.ts";
import type { Deployment, ProviderConfig, Snapshot } from "./config/snapshot.ts";
import type { Clock } from "./core/clock.ts";
import { LIMITS } from "./core/limits.ts";
import { bookPrice } from "./ledger/price-book.ts";
import { buildCeilings } from "./limits/ceilings.ts";
import { tokenPool } from "./providers/means.ts";
import type { Provider } from "./providers/provider.ts";
import type { ProviderRings, WantedProvider } from "./providers/provider-rings.ts";
import type { Runtime } from "./stages/plane.ts";
import { ownHealth } from "./stages/route.ts";

/** Where the built-in simulator listens, started when the first provider of that kind appears. */
export type SimulatorUrl = () => Promise<string>;

/** What runtimes are made with. */
export interface RuntimeParts {
  clock: Clock;
  simulatorUrl: SimulatorUrl;
  /** Where providers live on from one snapshot to the next. */
  rings: ProviderRings;
}

/** What a config snapshot is made into before requests read it. Fails, and changes nothing, when a provider cannot be built. */
export async function buildRuntime(snapshot: Snapshot, parts: RuntimeParts): Promise<Runtime> {
  return {
    snapshot,
    ...(await buildProviders(snapshot, parts)),
    ...rawDeployments(snapshot, parts.clock),
    ceilings: buildCeilings(snapshot),
  };
}

/** Deployments made on the fly for `provider/model` names that a config does not list. */
export function rawDeployments(snapshot: Snapshot, clock: Clock): Pick<Runtime, "rawDeployment" | "madeDeployments"> {
  const raw = new Map<string, Deployment>();
  return {
    rawDeployment(provider, model) {
      const name = `${provider}/${model}`;
      const found = raw.get(name);
      if (found) return found;
      const config = snapshot.providers.get(provider);
      const prices = config ? (bookPrice(config.kind, config.preset, model, clock.now())?.prices ?? []) : [];
      const known = config ? knowledgeOf({}, config, model, snapshot.models) : {};
      const made: Deployment = { ...snapshot.rawDeployment, ...known, name, provider, model, prices };
      // Names come from callers: the memory of them is bounded, and forgetting costs only another look-up.
      if (raw.size >= LIMITS.rawDeploymentsMax) raw.clear();
      raw.set(name, made);
      return made;
    },
    madeDeployments: () => raw.values(),
  };
}

/** The shared providers, and those with a tenant's own credentials. From here on the rings know no others. */
async function buildProviders(
  snapshot: Snapshot,
  { simulatorUrl, rings }: RuntimeParts,
): Promise<Pick<Runtime, "providers" | "own">> {
  const wanted: WantedProvider[] = [];
  const want = async (config: ProviderConfig, tenant: string | null): Promise<void> =>
    void wanted.push({ config: await located(config, simulatorUrl), tenant });
  for (const config of snapshot.providers.values()) await want(config, null);
  for (const { name, credentials } of snapshot.tenants.values())
    for (const config of credentials?.values() ?? []) await want(config, name);
  const built = rings.build(wanted);
  built.commit();
  const providers = new Map<string, Provider>();
  const own = new Map<string, Map<string, Provider>>();
  for (const [i, { config, tenant }] of wanted.entries()) {
    const provider = built.providers[i];
    if (!provider) continue;
    if (tenant === null) providers.set(config.name, provider);
    else own.set(tenant, (own.get(tenant) ?? new Map<string, Provider>()).set(config.name, provider));
  }
  return { providers, own };
}

/** Names under which connections of a runtime are kept; those of tenants with their own credentials too. */
export function poolsOf(snapshot: Snapshot): Set<string> {
  const pools = new Set<string>();
  const add = (pool: string, provider: string): void => {
    pools.add(pool);
    for (const { name, credentials } of snapshot.tenants.values())
      if (credentials?.has(provider)) pools.add(ownHealth(pool, name));
  };
  for (const { name, provider } of snapshot.deployments.values()) add(name, provider);
  for (const name of snapshot.providers.keys()) add(`${name}/*`, name);
  for (const name of snapshot.providers.keys()) pools.add(tokenPool(name));
  return pools;
}

async function located(config: ProviderConfig, simulatorUrl: SimulatorUrl): Promise<ProviderConfig> {
  if (config.kind !== "simulator" || config.baseUrl !== null) return config;
  return { ...config, baseUrl: `${await simulatorUrl()}/v1` };
}

/** The built-in simulator, started by the first provider that needs it and kept until the end. */
export function simulatorOnDemand(closers: (() => Promise<void> | void)[]): SimulatorUrl {
  let started: Promise<string> | null = null;
  return () => {
    started ??= import("@sluicegate/simulator").then(async ({ startSimulator }) => {
      const simulator = await startSimulator({});
      // First in the list, last to be closed: requests that are being drained still need it.
      closers.unshift(() => simulator.close());
      return simulator.url;
    });
    return started;
  };
}
