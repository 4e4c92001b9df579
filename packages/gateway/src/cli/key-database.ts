import type { Command } from "commander";
import type { ModelPolicy } from "../config/snapshot.ts";
import type { KeyStore } from "../ledger/ledger.ts";
import type { CliContext } from "./context.ts";
import { type DataOptions, type LedgerFile, ledgerFile } from "./ledger-file.ts";

/** A key as the database lists it. */
export type StoredKey = ReturnType<KeyStore["list"]>[number];

/** Adds the flags that say whose keys they are. */
export function withKeyDatabase(command: Command): Command {
  return command
    .option("--data-dir <dir>", "data dir of the gateway (default: SLUICEGATE_DATA_DIR or ./data)")
    .option("--config <file>", "its config (default: SLUICEGATE_CONFIG or ./sluicegate.yaml)")
    .option("--json", "as JSON");
}

/** Opens the keys that lie beside a gateway's ledger, which may run meanwhile. The database is made when missing. */
export async function withKeys<T>(context: CliContext, file: LedgerFile, use: (keys: KeyStore) => T): Promise<T> {
  const { openKeys } = await import("../ledger/keys.ts");
  const keys = openKeys({ path: file.path, clock: context.clock });
  try {
    return use(keys);
  } finally {
    keys.close();
  }
}

/** The same for one key that must be in there; throws the words for one that is not. */
export async function withKey<T>(
  context: CliContext,
  options: DataOptions,
  id: string,
  use: (keys: KeyStore, key: StoredKey) => T,
): Promise<T> {
  const file = await ledgerFile(context, options);
  if (!file.exists) throw unknownKey(id, file);
  return withKeys(context, file, (keys) => {
    const key = keys.list().find((candidate) => candidate.id === id);
    if (!key) throw unknownKey(id, file);
    return use(keys, key);
  });
}

/** Where a key stands at this moment. */
export function keyState({ expiresAt, revokedAt }: StoredKey, nowMs: number): "live" | "expired" | "revoked" {
  if (revokedAt !== null && revokedAt <= nowMs) return "revoked";
  return expiresAt !== null && expiresAt <= nowMs ? "expired" : "live";
}

function unknownKey(id: string, { config, shown }: LedgerFile): Error {
  if (config?.keys.some((key) => key.id === id)) return new Error(`key ${id} stands in the config; change it there`);
  return new Error(`there is no key ${id} in ${shown}; \`sluicegate keys list\` shows those that are`);
}

/** A policy as it is written: `*`, or names, those that are denied with `!`; null for the tenant's own. */
export function policyText(models: ModelPolicy | null): string | null {
  if (models === null) return null;
  const allowed = models.allow === "*" ? ["*"] : models.allow;
  return [...allowed, ...models.deny.map((name) => `!${name}`)].join(",");
}

/** Epoch ms as ISO 8601. */
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
