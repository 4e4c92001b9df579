import { relative, resolve } from "node:path";
import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import type { ModelRow } from "./model-rows.ts";
import { defineModelsUpdate } from "./models-update.ts";
import { runCommand, UsageError } from "./run-command.ts";
import { type Cell, tableText } from "./table.ts";

interface ModelsOptions {
  all?: boolean;
  alias?: string;
  provider?: string;
  config?: string;
  env?: string;
  dataDir?: string;
  json?: boolean;
}

/** `sluicegate models`. */
export function defineModels(program: Command, context: CliContext): void {
  const models = program
    .command("models")
    .description("what the models behind the aliases can do, take and cost, and until when they are there")
    .option("--all", "the whole catalogue, whatever the config holds (default without a config)")
    .option("--alias <name>", "only what is behind this alias")
    .option("--provider <name>", "only this provider's; with --all, only this maker's")
    .option("--config <file>", "the config (default: SLUICEGATE_CONFIG or ./sluicegate.yaml)")
    .option("--env <name>", "with the overlay of this environment (default: SLUICEGATE_ENV)")
    .option("--data-dir <dir>", "where a catalogue of your own is (default: SLUICEGATE_DATA_DIR or ./data)")
    .option("--json", "as JSON: { updated, data }")
    .addHelpText(
      "after",
      `
What the config says of a deployment goes over the catalogue. \`models update FILE\` puts a catalogue of your own over the one
that ships.

Examples:
  sluicegate models --alias default
  sluicegate models --all --provider anthropic --json
`,
    )
    .action((options: ModelsOptions) => runCommand(context, () => list(context, options)));
  defineModelsUpdate(models, context);
}

async function list(context: CliContext, options: ModelsOptions): Promise<number> {
  const environment = context.environment();
  const { catalogueFile } = await import("../config/catalogue/stored-catalogue.ts");
  const dataDir = resolve(environment.cwd, options.dataDir ?? (environment.get("SLUICEGATE_DATA_DIR") || "data"));
  const { loadConfig } = await import("../config/load.ts");
  const { bookPrice } = await import("../ledger/price-book.ts");
  const nowMs = context.clock.now();
  const loaded = await loadConfig({
    file: options.config,
    envName: options.env,
    environment,
    dataDir: null,
    catalogueFile: catalogueFile(dataDir),
    bookPrice: (kind, preset, model) => bookPrice(kind, preset, model, nowMs)?.prices ?? [],
    // Whose keys they are asked with has no bearing on what the models are.
    allowMissingSecrets: true,
    clock: context.clock,
  });
  const { snapshot, source } = loaded;
  for (const { path, file, message } of loaded.problems)
    if (path === "" && file === catalogueFile(dataDir))
      context.complain(`note: ${relative(environment.cwd, file)}: ${message}\n`);
  if (snapshot === null) throw new Error("the config has errors: see `sluicegate check`");
  const { catalogueRows, deploymentRows } = await import("./model-rows.ts");
  const all = options.all || (source.file === null && options.alias === undefined);
  if (all && options.alias !== undefined) throw new UsageError("--all is the catalogue, which knows no aliases");
  if (options.alias !== undefined && !snapshot.routes.has(options.alias))
    throw new UsageError(`there is no alias \`${options.alias}\``);
  const found = (all ? catalogueRows(snapshot.models, nowMs) : deploymentRows(snapshot, nowMs)).filter(
    ({ provider, aliases }) =>
      (options.provider === undefined || provider === options.provider) &&
      (options.alias === undefined || aliases.includes(options.alias)),
  );
  if (options.json) context.write(`${JSON.stringify({ updated: snapshot.models.updated, data: found }, null, 2)}\n`);
  else if (found.length === 0) context.write("no models\n");
  else context.write(`${modelTable(found, all, nowMs, context)}\ncatalogue of ${snapshot.models.updated}\n`);
  return 0;
}

function modelTable(rows: readonly ModelRow[], all: boolean, nowMs: number, context: CliContext): string {
  const columns = [
    ...(all
      ? []
      : [
          { title: "DEPLOYMENT", keep: true },
          { title: "ALIASES", leaves: 2 },
        ]),
    { title: "MODEL", keep: all },
    ...["WINDOW", "OUTPUT", "$IN", "$OUT"].map((title) => ({ title, align: "right" as const, keep: true })),
    { title: "RETIRES", keep: true },
    { title: "CAN" },
    { title: "SOURCE", leaves: 1 },
  ];
  const cells = rows.map((row): Cell[] => [
    ...(all ? [] : [row.deployment, row.aliases.join(", ")]),
    row.model,
    tokens(row.context_window),
    tokens(row.max_output),
    usd(row.price?.input),
    usd(row.price?.output),
    row.retires === null ? null : { text: row.retires, stress: Date.parse(row.retires) <= nowMs ? "bad" : null },
    row.capabilities === null ? "anything" : row.capabilities.join(" ") || "text",
    row.source,
  ]);
  return tableText({ columns, rows: cells }, context);
}

/** 128000 → `128k`, 1048576 → `1.05M`: windows are told in thousands and millions. */
function tokens(count: number | null): string | null {
  if (count === null) return null;
  if (count < 1_000) return String(count);
  return count < 999_500 ? `${Math.round(count / 1_000)}k` : `${Number((count / 1_000_000).toFixed(2))}M`;
}

function usd(perMillion: number | undefined): string | null {
  return perMillion === undefined ? null : String(perMillion);
}
