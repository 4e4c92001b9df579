import type { Command } from "commander";
import { newKey } from "../admin/new-key.ts";
import { didYouMean } from "../config/nearest.ts";
import type { KeyEntry, ModelPolicy } from "../config/snapshot.ts";
import type { CliContext } from "./context.ts";
import { isoTime, policyText, withKeyDatabase, withKeys } from "./key-database.ts";
import { type DataOptions, type LedgerFile, ledgerFile } from "./ledger-file.ts";
import { dateOption, namesOption } from "./options.ts";
import { runCommand, UsageError } from "./run-command.ts";

interface CreateOptions extends DataOptions {
  tenant?: string;
  team?: string;
  application?: string;
  name?: string;
  models?: string[];
  deny?: string[];
  expires?: number;
  json?: boolean;
}

/** `sluicegate keys create`. */
export function defineKeysCreate(keys: Command, context: CliContext): void {
  const command = keys
    .command("create")
    .description("make a client key; it is shown once")
    .option("--tenant <name>", "whose it is (may be left out where the config has no tenants)")
    .option("--team <name>", "a team of the tenant")
    .option("--application <name>", "an application of the tenant")
    .option("--name <name>", "what people call it")
    .option(
      "--models <names>",
      "narrow the tenant's models to these: aliases, provider/model, provider/* or *",
      namesOption,
    )
    .option("--deny <names>", "leave these models out", namesOption)
    .option("--expires <time>", "day or time from which it is refused", dateOption);
  withKeyDatabase(command)
    .addHelpText(
      "after",
      `
The key alone goes to stdout, what else is to be said to stderr. Only its hash is kept.

Example:
  KEY=$(sluicegate keys create --tenant acme --models default,fast --expires 2027-01-01)
`,
    )
    .action((options: CreateOptions) => runCommand(context, () => create(context, options)));
}

async function create(context: CliContext, options: CreateOptions): Promise<number> {
  const file = await ledgerFile(context, options);
  const tenant = tenantOf(options, file, context);
  if (options.expires !== undefined && options.expires <= context.clock.now()) {
    throw new UsageError("--expires is in the past");
  }
  const { id, key, hash } = newKey(context.random);
  const entry: KeyEntry = {
    ...{ id, hash, tenant, source: "created" },
    team: options.team ?? null,
    application: options.application ?? null,
    name: options.name ?? null,
    models: policyOf(options),
    expiresAt: options.expires ?? null,
  };
  await withKeys(context, file, (keys) => keys.insert(entry));
  tell(context, key, entry, options.json === true);
  return 0;
}

function tell(context: CliContext, key: string, entry: KeyEntry, json: boolean): void {
  const { id, tenant, team, application, name, models, expiresAt } = entry;
  const expires = isoTime(expiresAt);
  if (json) {
    const shown = { id, key, tenant, team, application, name, models, expires_at: expires };
    context.write(`${JSON.stringify(shown, null, 2)}\n`);
    return;
  }
  context.write(`${key}\n`);
  const scope = [`tenant ${tenant}`, team && `team ${team}`, application && `application ${application}`];
  const limits = [models && `models ${policyText(models)}`, expires ? `until ${expires}` : "no end"];
  const words = [...scope, ...limits].filter((part) => part !== null && part !== "").join(", ");
  context.complain(
    `key ${id}: ${words}\nKeep it now, it is not shown again. A running gateway takes it within a second.\n`,
  );
}

function policyOf({ models, deny }: CreateOptions): ModelPolicy | null {
  if (models === undefined && deny === undefined) return null;
  const allow = models === undefined || models.includes("*") ? "*" : models;
  return { allow, deny: deny ?? [] };
}

/** The tenant, held against the config where there is one: a key of nobody's would only be refused later. */
function tenantOf(options: CreateOptions, { config, configured }: LedgerFile, context: CliContext): string {
  const names = [...(config?.tenants.keys() ?? [])];
  if (options.tenant === undefined && config && !names.includes("default")) {
    throw new UsageError(`--tenant is missing; the config has ${names.join(", ")}`);
  }
  const name = options.tenant ?? "default";
  if (!config || !configured) {
    if (options.tenant !== undefined && name !== "default") {
      context.complain(`note: no config was read here, so it is not known whether there is a tenant ${name}\n`);
    }
    return name;
  }
  const tenant = config.tenants.get(name);
  if (!tenant) throw new UsageError(`the config has no tenant ${name}${didYouMean(name, names)}`);
  for (const [part, known] of [
    ["team", tenant.teams],
    ["application", tenant.applications],
  ] as const) {
    const asked = options[part];
    if (asked === undefined || known.includes(asked)) continue;
    throw new UsageError(`tenant ${name} has no ${part} ${asked}${didYouMean(asked, known)}`);
  }
  return name;
}
