import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Snapshot } from "../config/snapshot.ts";
import type { CliContext } from "./context.ts";

/** Flags that say where a gateway's data is. */
export interface DataOptions {
  dataDir?: string;
  config?: string;
}

/** Where the ledger's database is. */
export interface LedgerFile {
  path: string;
  /** The path as people write it here. */
  shown: string;
  exists: boolean;
  /** The config that said so; null: none was found, or it is broken. */
  config: Snapshot | null;
  /** True when there is a config file at all. */
  configured: boolean;
}

/**
 * The database a gateway of this directory uses: the one that the config (or SLUICEGATE_LEDGER) names, else the one in
 * the data dir. A broken config is told of on stderr and passed over.
 */
export async function ledgerFile(context: CliContext, options: DataOptions): Promise<LedgerFile> {
  const environment = context.environment();
  const dataDir = resolve(environment.cwd, options.dataDir ?? (environment.get("SLUICEGATE_DATA_DIR") || "data"));
  const { loadConfig } = await import("../config/load.ts");
  const { snapshot, source } = await loadConfig({
    file: options.config,
    environment,
    dataDir: null,
    bookPrice: () => [],
    // The keys of the providers are the gateway's business, not of a shell that asks for figures.
    allowMissingSecrets: true,
    clock: context.clock,
  });
  if (snapshot === null) {
    const what = source.file === null ? "the environment" : relative(environment.cwd, source.file);
    context.complain(
      `note: ${what} has errors (see \`sluicegate check\`), so the ledger is looked for in the data dir\n`,
    );
  }
  const path = snapshot?.ledger.path ?? join(dataDir, "ledger.sqlite");
  const within = relative(environment.cwd, path);
  const shown = within.startsWith("..") ? path : within;
  return { path, shown, exists: existsSync(path), config: snapshot, configured: source.file !== null };
}
