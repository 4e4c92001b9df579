import { resolve } from "node:path";
import { createConsoleLinks } from "./admin/console-links.ts";
import { createControlPlane } from "./admin/control-plane.ts";
import type { ConfigState } from "./admin/parts.ts";
import { type App, type ClosableDoor, type ControlSeat, startApp } from "./app.ts";
import { ConfigStore, type ReloadResult } from "./config/config-store.ts";
import { type DevKey, devKey } from "./config/dev-key.ts";
import type { Environment } from "./config/env.ts";
import type { Clock } from "./core/clock.ts";
import type { Waits } from "./core/limits.ts";
import type { Random } from "./core/random.ts";
import { probeModels } from "./http/probe-models.ts";
import { bookPrice } from "./ledger/price-book.ts";
import { openLedgerReaderThread } from "./ledger/reader-thread.ts";
import type { Log } from "./telemetry/log.ts";
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
  readonly aliases: readonly string[];
  /** Reads the config again; a bad one changes nothing. */
  reload(): Promise<ReloadResult>;
  close(): Promise<void>;
}

/** Loads the config, starts the app on it, and swaps it whenever the file changes. Throws ConfigRefused for a bad config. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { environment, clock, random, log } = options;
  const dataDir = resolve(environment.cwd, options.dataDir ?? (environment.get("SLUICEGATE_DATA_DIR") || "data"));
  const store = await openConfig(options, dataDir);
  try {
    const dev: DevKey | null = store.source.file === null ? devKey(dataDir, random) : null;
    const links = createConsoleLinks(clock, random);
    const startedAt = clock.now();
    const control = (seat: ControlSeat): Promise<ClosableDoor> => {
      // A report over many rows takes a while: it is read on a thread of its own.
      const reader = openLedgerReaderThread(seat.databasePath);
      return createControlPlane({
        ...{ ...seat, random, startedAt, reader, version: VERSION, consoleLinks: links },
        adminKeys: () => seat.snapshot().adminKeys,
        configState: () => stateOf(store),
        reload: () => store.reload(),
      });
    };
    const app = await startApp({
      ...{ snapshot: store.current, dataDir, log, clock, random, control, waits: options.waits },
      extraKeys: dev ? [dev.entry] : [],
    });
    follow(store, app, log);
    return {
      url: app.url,
      key: dev?.text ?? null,
      consoleUrl: `${app.url}/console?token=${links.issue()}`,
      source: store.source.file,
      aliases: [...store.current.routes.keys()],
      async reload() {
        const result = await store.reload();
        report(result, log);
        return result;
      },
      close: async () => {
        store.close();
        await app.close();
      },
    };
  } catch (error) {
    store.close();
    throw error;
  }
}

function openConfig(options: GatewayOptions, dataDir: string): Promise<ConfigStore> {
  const { clock, log } = options;
  const load = {
    file: options.config,
    envName: options.env,
    environment: options.environment,
    dataDir,
    bookPrice: (kind: string, preset: string | null, model: string) =>
      bookPrice(kind, preset, model, clock.now())?.prices ?? [],
    allowMissingSecrets: options.allowMissingSecrets,
    clock,
    probe: probeModels,
    overrides: { port: options.port, host: options.host },
  };
  return ConfigStore.open(load, (result) => report(result, log)).then((store) => {
    for (const problem of store.lastResult.problems)
      log.warn(problem.message, { at: placeOf(problem), path: problem.path });
    return store;
  });
}

/** Every good reload reaches the app; one that it cannot build leaves what runs as it is. */
function follow(store: ConfigStore, app: App, log: Log): void {
  store.onChange((next) => {
    app.reconfigure(next).then(
      () => log.info("config reloaded", { revision: next.revision }),
      (error: unknown) =>
        log.error("the new config could not be taken up; the old one is served", { cause: String(error) }),
    );
  });
  store.watch();
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
