import type { ProviderConfig, Snapshot } from "./config/snapshot.ts";
import type { Clock } from "./core/clock.ts";
import type { Transport } from "./core/transport.ts";
import { buildProvider } from "./providers/build.ts";
import { providerMeans } from "./providers/means.ts";
import type { Provider } from "./providers/provider.ts";
import { rawDeployments } from "./runtime.ts";
import type { Deciding } from "./stages/decide-again.ts";

/** A config made into what decisions are taken with, to be closed. */
export type OfflineRuntime = Deciding & { close(): void };

/** Nobody is called from here. */
const NO_TRANSPORT: Transport = {
  send(_, sink) {
    queueMicrotask(() => sink.onError("connect", "this config is looked at, not served"));
    return { abort() {}, pause() {}, resume() {} };
  },
  retain() {},
  close: async () => {},
};
/** Where a simulator would be, if it were started. */
const NOWHERE = "http://127.0.0.1:9/v1";

/** What a config would decide, without serving it: no connection is made and no simulator started. Throws when a provider cannot be built. */
export function offlineRuntime(snapshot: Snapshot, clock: Clock): OfflineRuntime {
  const means = providerMeans(clock, NO_TRANSPORT);
  const built: Provider[] = [];
  const build = (config: ProviderConfig): Provider => {
    const provider = buildProvider({ ...config, baseUrl: config.baseUrl ?? baseless(config) }, means);
    built.push(provider);
    return provider;
  };
  const providers = mapped(snapshot.providers, build);
  const own = new Map<string, ReadonlyMap<string, Provider>>();
  for (const { name, credentials } of snapshot.tenants.values())
    if (credentials) own.set(name, mapped(credentials, build));
  return {
    ...{ snapshot, providers, own },
    ...rawDeployments(snapshot, clock),
    close() {
      for (const { authenticator } of built) authenticator.close();
    },
  };
}

function mapped(configs: ReadonlyMap<string, ProviderConfig>, build: (config: ProviderConfig) => Provider) {
  return new Map([...configs].map(([name, config]) => [name, build(config)] as const));
}

function baseless({ kind }: ProviderConfig): string | null {
  return kind === "simulator" ? NOWHERE : null;
}
