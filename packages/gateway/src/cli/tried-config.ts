import type { KeyEntry } from "../config/snapshot.ts";
import type { OfflineRuntime } from "../offline-runtime.ts";
import type { CliContext } from "./context.ts";
import { ledgerFile } from "./ledger-file.ts";

/** Flags that say which config is looked at. */
export interface ConfigOptions {
  config?: string | undefined;
  env?: string | undefined;
}

/**
 * Makes a config file into what decisions are taken with, without serving it, and hands it to `use`. Secrets that are not there
 * are no obstacle. Throws the config's problems when it cannot be served.
 */
export async function withConfig<T>(
  context: CliContext,
  { config, env }: ConfigOptions,
  use: (runtime: OfflineRuntime) => T | Promise<T>,
): Promise<T> {
  const { loadConfig } = await import("../config/load.ts");
  const { formatProblems } = await import("../config/report.ts");
  const { bookPrice } = await import("../ledger/price-book.ts");
  const { offlineRuntime } = await import("../offline-runtime.ts");
  const now = context.clock.now();
  const loaded = await loadConfig({
    ...{ file: config, envName: env, environment: context.environment(), dataDir: null, allowMissingSecrets: true },
    bookPrice: (kind, preset, model) => bookPrice(kind, preset, model, now)?.prices ?? [],
    clock: context.clock,
  });
  if (!loaded.snapshot) {
    const errors = loaded.problems.filter(({ severity }) => severity === "error");
    throw new Error(`the config has errors\n${formatProblems(errors, loaded.frame)}`);
  }
  const runtime = offlineRuntime(loaded.snapshot, context.clock);
  try {
    return await use(runtime);
  } finally {
    runtime.close();
  }
}

/** Looks keys up by their id: those of the config, then those made since, which lie beside the ledger of the data dir. */
export async function keysBeside(
  context: CliContext,
  dataDir: string | undefined,
  configured: readonly KeyEntry[],
): Promise<(id: string) => KeyEntry | null> {
  const file = await ledgerFile(context, dataDir === undefined ? {} : { dataDir });
  let made: readonly KeyEntry[] = [];
  if (file.exists) {
    const { openKeys } = await import("../ledger/keys.ts");
    const keys = openKeys({ path: file.path, clock: context.clock });
    made = keys.list();
    keys.close();
  }
  return (id) => [...configured, ...made].find((key) => key.id === id) ?? null;
}
