import type { Command } from "commander";
import type { KeyEntry } from "../config/snapshot.ts";
import type { CliContext } from "./context.ts";
import { isoTime, keyState, policyText, type StoredKey, withKeyDatabase, withKeys } from "./key-database.ts";
import { type DataOptions, ledgerFile } from "./ledger-file.ts";
import { runCommand } from "./run-command.ts";
import { type Cell, tableText } from "./table.ts";

interface ListOptions extends DataOptions {
  tenant?: string;
  all?: boolean;
  json?: boolean;
}

/** `sluicegate keys list`. */
export function defineKeysList(keys: Command, context: CliContext): void {
  const command = keys
    .command("list")
    .description("the client keys, those that the config fixes included; never the keys themselves")
    .option("--tenant <name>", "of this tenant")
    .option("--all", "also those that are revoked or have expired");
  withKeyDatabase(command)
    .addHelpText("after", "\nExample:\n  sluicegate keys list --tenant acme --all\n")
    .action((options: ListOptions) => runCommand(context, () => list(context, options)));
}

async function list(context: CliContext, options: ListOptions): Promise<number> {
  const now = context.clock.now();
  const found = (await allKeys(context, options)).filter(
    (key) =>
      (options.tenant === undefined || key.tenant === options.tenant) && (options.all || keyState(key, now) === "live"),
  );
  if (options.json) {
    context.write(`${JSON.stringify({ data: found.map((key) => asJson(key, now)) }, null, 2)}\n`);
  } else if (found.length === 0) {
    context.write("no keys\n");
  } else {
    context.write(keyTable(found, now, context));
  }
  return 0;
}

/** A listing makes no database where there is none. */
async function allKeys(context: CliContext, options: ListOptions): Promise<StoredKey[]> {
  const file = await ledgerFile(context, options);
  const fixed = (file.config?.keys ?? []).map((key: KeyEntry) => ({ ...key, createdAt: 0, revokedAt: null }));
  return file.exists ? [...fixed, ...(await withKeys(context, file, (keys) => keys.list()))] : fixed;
}

function asJson(key: StoredKey, now: number): Record<string, unknown> {
  const { id, tenant, team, application, name, models, source } = key;
  return {
    ...{ id, tenant, team, application, name, models, source, state: keyState(key, now) },
    created_at: source === "config" ? null : isoTime(key.createdAt),
    expires_at: isoTime(key.expiresAt),
    revoked_at: isoTime(key.revokedAt),
  };
}

function keyTable(keys: readonly StoredKey[], now: number, context: CliContext): string {
  const columns = [
    { title: "ID", keep: true },
    ...["TENANT", "TEAM", "APPLICATION", "NAME", "MODELS", "MADE", "ENDS", "STATE"].map((title) => ({ title })),
  ];
  const rows = keys.map((key): Cell[] => {
    const state = keyState(key, now);
    return [
      key.id,
      key.tenant,
      key.team,
      key.application,
      key.name,
      policyText(key.models) ?? "the tenant's",
      key.source === "config" ? "in the config" : minute(key.createdAt),
      minute(endOf(key)),
      { text: state, stress: state === "live" ? "good" : "dim" },
    ];
  });
  return tableText({ columns, rows }, context);
}

/** Whichever comes first: what was set at the start, or the end of a rotation's overlap. */
function endOf({ expiresAt, revokedAt }: StoredKey): number | null {
  if (expiresAt === null || revokedAt === null) return expiresAt ?? revokedAt;
  return Math.min(expiresAt, revokedAt);
}

function minute(ms: number | null): string | null {
  return isoTime(ms)?.slice(0, 16).replace("T", " ") ?? null;
}
