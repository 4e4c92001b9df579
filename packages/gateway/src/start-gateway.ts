import { resolve } from "node:path";
import { createConsoleLinks } from "./admin/console-links.ts";
import { createControlPlane } from "./admin/control-plane.ts";
import type { ConfigState, SecretsState } from "./admin/parts.ts";
import { type App, type ClosableDoor, type ControlSeat, startApp } from "./app.ts";
import type { MakeHealth } from "./build-calm.ts";
import { catalogueFile } from "./config/catalogue/stored-catalogue.ts";
import { ConfigStore, type ReloadResult } from "./config/config-store.ts";
import { type DevKey, devKey } from "./config/dev-key.ts";
import type { Environment } from "./config/env.ts";
import type { LoadOptions } from "./config/load.ts";
import type { ProviderConfig } from "./config/snapshot.ts";
import type { Clock } from "./core/clock.ts";
import type { Waits } from "./core/limits.ts";
import type { Random } from "./core/random.ts";
import { secretsIn } from "./core/secret.ts";
import { askGates } from "./evaluation-gate.ts";
import { probeModels } from "./http/probe-models.ts";
import { bookPrice } from "./ledger/price-book.ts";
import { openLedgerReaderThread } from "./ledger/reader-thread.ts";
import { openSecrets } from "./open-secrets.ts";
import type { SecretKeeper } from "./secrets/secret-keeper.ts";
import type { Log } from "./telemetry/log.ts";
import { tryText } from "./try-config.ts";
import { VERSION } from "./version.ts";

/** What a gateway is started with; what is absent comes from the environment, then from the defaults. */
export interface GatewayOptions {
  config?: string | undefined;
  env?: string | undefined;
  port?: number | undefined;
  host?: string | undefined;
  dataDir?: string | undefined;
  allowMissingSecrets?: boolean | undefined;
  environment: Environment;
  clock: Clock;
  random: Random;
  log: Log;
  /** Times that a test shortens. */
  waits?: Partial<Waits> | undefined;
  /** False: no load is turned away, however late the event loop is. For tests, which share it. */
  sheds?: boolean | undefined;
  /** Another board of health, for a test. */
  makeHealth?: MakeHealth | undefined;
}

/** A gateway that serves its config and follows its file. */
export interface Gateway {
  readonly url: string;
  /** The dev key, shown at each start; null with a config, whose keys are its own. */
  readonly key: string | null;
  /** A link that opens the console once. */
  readonly consoleUrl: string;
  /** Config file, or null without one. */
  readonly source: string | null;
  /** The aliases, each with the first deployment of its chain. */
  readonly routes: readonly { alias: string; first: string }[];
  /** Reads the config again; a bad one changes nothing. */
  reload(): Promise<ReloadResult>;
  close(): Promise<void>;
}

/** Loads the config, starts the app on it, and swaps it whenever the file changes. Throws ConfigRefused for a bad config. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { environment, clock, random, log } = options;
  const dataDir = resolve(environment.cwd, options.dataDir ?? (environment.get("SLUICEGATE_DATA_DIR") || "data"));
  let renew = async (): Promise<void> => {};
  const secrets = openSecrets({
    ...{ environment, clock, random },
    changed: () => renew(),
    told: (document, fault) => tellOfSecrets(log, document, fault),
  });
  const load = loadOptions(options, dataDir, secrets);
  const store = await openConfig(load, log).catch((error: unknown) => {
    secrets.close();
    throw error;
  });
  try {
    secrets.refreshEvery(store.current.gateway.secretRefreshMs);
    const dev: DevKey | null = store.source.file === null ? devKey(dataDir, random) : null;
    const links = createConsoleLinks(clock, random);
    const startedAt = clock.now();
    /** What the references last gave could be served. */
    let renewed = true;
    const control = (seat: ControlSeat): Promise<ClosableDoor> => {
      // A report over many rows takes a while: it is read on a thread of its own.
      const reader = openLedgerReaderThread(seat.databasePath);
      return createControlPlane({
        ...{ ...seat, random, startedAt, reader, version: VERSION, consoleLinks: links },
        adminKeys: () => seat.snapshot().adminKeys,
        configState: () => stateOf(store),
        secrets: () => secretsState(secrets, renewed && seat.credentialsAccepted()),
        routing: {
          ...seat.routing,
          tryConfig: (text) => tryText(load, store.source.file ?? resolve(environment.cwd, "sluicegate.yaml"), text),
        },
        reload: () => store.reload(),
      });
    };
    const app = await startApp({
      ...{ snapshot: store.current, dataDir, log, clock, random, control, waits: options.waits },
      makeHealth: options.makeHealth,
      sheds: options.sheds,
      ...{
        environment: options.environment,
        environmentName: options.env ?? options.environment.get("SLUICEGATE_ENV") ?? null,
      },
      extraKeys: dev ? [dev.entry] : [],
      refetchSecrets: (config) => refetch(secrets, store, config, () => renew()),
    });
    renew = async () => {
      // Called by timers too, where nobody would hear of what goes wrong: it is told here, and what was served is served on.
      try {
        const result = await store.renew();
        report(result, log);
        renewed = result.ok;
        await app.settled();
      } catch (thrown) {
        renewed = false;
        log.fault("", thrown);
      }
    };
    follow(store, app, secrets, log);
    return {
      url: app.url,
      key: dev?.text ?? null,
      consoleUrl: `${app.url}/console?token=${links.issue()}`,
      source: store.source.file,
      routes: [...store.current.routes.values()].map(({ alias, chain }) => ({ alias, first: chain[0] ?? "" })),
      async reload() {
        const result = await store.reload();
        report(result, log);
        return result;
      },
      close: async () => {
        store.close();
        secrets.close();
        await app.close();
      },
    };
  } catch (error) {
    store.close();
    secrets.close();
    throw error;
  }
}

function loadOptions(options: GatewayOptions, dataDir: string, secrets: SecretKeeper): LoadOptions {
  const { clock } = options;
  return {
    file: options.config,
    envName: options.env,
    environment: options.environment,
    dataDir,
    catalogueFile: catalogueFile(dataDir),
    bookPrice: (kind: string, preset: string | null, model: string) =>
      bookPrice(kind, preset, model, clock.now())?.prices ?? [],
    allowMissingSecrets: options.allowMissingSecrets,
    clock,
    probe: probeModels,
    secrets,
    overrides: { port: options.port, host: options.host },
  };
}

function openConfig(load: LoadOptions, log: Log): Promise<ConfigStore> {
  return ConfigStore.open(load, (result) => report(result, log), askGates(load.clock)).then((store) => {
    for (const problem of store.lastResult.problems)
      log.warn(problem.message, { at: placeOf(problem), path: problem.path });
    return store;
  });
}

/** Every good reload reaches the app; one that it cannot build leaves what runs as it is. */
function follow(store: ConfigStore, app: App, secrets: SecretKeeper, log: Log): void {
  store.onChange((next) => {
    secrets.refreshEvery(next.gateway.secretRefreshMs);
    app.reconfigure(next).then(
      () => log.info("config reloaded", { revision: next.revision }),
      (error: unknown) =>
        log.error("the new config could not be taken up; the old one is served", { cause: String(error) }),
    );
  });
  store.watch();
}

/** Reads anew what a provider's secrets come from: managers by the document, files and variables with the config. */
async function refetch(
  secrets: SecretKeeper,
  store: ConfigStore,
  config: ProviderConfig,
  renew: () => Promise<void>,
): Promise<void> {
  const origins = new Set(secretsIn(config).map(({ origin }) => origin));
  const documents = [...origins].map((origin) => store.source.documents.get(origin));
  await secrets.refetch(new Set(documents.filter((document) => document !== undefined)));
  if (documents.includes(undefined)) await renew();
}

function tellOfSecrets(log: Log, document: string, fault: string | null): void {
  if (fault === null) log.info("a secret can be read again", { secret: document });
  else log.warn("a secret cannot be read; its last value stays in use", { secret: document, cause: fault });
}

function secretsState(secrets: SecretKeeper, accepted: boolean): SecretsState {
  const { state, oldestReadAt } = secrets.state();
  return { state: accepted ? state : "degraded", oldestReadAt };
}

function report(result: ReloadResult, log: Log): void {
  if (result.ok) return;
  for (const problem of result.problems)
    log.error(`config refused: ${problem.message}`, { at: placeOf(problem), path: problem.path });
}

function placeOf(problem: { file: string | null; line: number | null; column: number | null }): string | null {
  return problem.file === null ? null : `${problem.file}:${problem.line ?? 1}:${problem.column ?? 1}`;
}

function stateOf(store: ConfigStore): ConfigState {
  const { revision, loadedAt } = store.current;
  return { revision, loadedAt, state: store.state === "ok" ? "ok" : "last_good" };
}
