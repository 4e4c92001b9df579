import type { Deployment, ProviderConfig, Snapshot } from "./config/snapshot.ts";
import type { Clock } from "./core/clock.ts";
import { LIMITS } from "./core/limits.ts";
import { bookPrice } from "./ledger/price-book.ts";
import { buildProvider } from "./providers/build.ts";
import type { Provider } from "./providers/provider.ts";
import type { Runtime } from "./stages/plane.ts";

/** Where the built-in simulator listens, started when the first provider of that kind appears. */
export type SimulatorUrl = () => Promise<string>;

/** What a config snapshot is made into before requests read it. Fails, and changes nothing, when a provider cannot be built. */
export async function buildRuntime(snapshot: Snapshot, clock: Clock, simulatorUrl: SimulatorUrl): Promise<Runtime> {
  const providers = new Map<string, Provider>();
  for (const config of snapshot.providers.values())
    providers.set(config.name, buildProvider(await located(config, simulatorUrl)));
  const raw = new Map<string, Deployment>();
  return {
    snapshot,
    providers,
    rawDeployment(provider, model) {
      const name = `${provider}/${model}`;
      const known = raw.get(name);
      if (known) return known;
      const config = snapshot.providers.get(provider);
      const prices = config ? (bookPrice(config.kind, config.preset, model, clock.now())?.prices ?? []) : [];
      const made: Deployment = { ...snapshot.rawDeployment, name, provider, model, prices };
      // Names come from callers: the memory of them is bounded, and forgetting costs only another look-up.
      if (raw.size >= LIMITS.rawDeploymentsMax) raw.clear();
      raw.set(name, made);
      return made;
    },
    madeDeployments: () => raw.values(),
  };
}

/** Names under which connections and retry budgets of a runtime are kept. */
export function poolsOf(snapshot: Snapshot): Set<string> {
  const pools = new Set(snapshot.deployments.keys());
  for (const name of snapshot.providers.keys()) pools.add(`${name}/*`);
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
