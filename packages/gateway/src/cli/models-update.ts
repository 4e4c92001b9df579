import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { runCommand } from "./run-command.ts";

interface UpdateOptions {
  dataDir?: string;
  json?: boolean;
}

/** `sluicegate models update FILE`. */
export function defineModelsUpdate(models: Command, context: CliContext): void {
  models
    .command("update")
    .description("check a catalogue and put it over the one that ships, in the data dir")
    .argument("<file>", "the catalogue, JSON: { updated, sources, models, retirements }")
    .option("--data-dir <dir>", "data dir of the gateway (default: SLUICEGATE_DATA_DIR or ./data)")
    .option("--json", "as JSON: { ok, file, models, retirements } or { ok, faults }")
    .addHelpText(
      "after",
      `
Its entries go over those that ship, name by name. A gateway takes it up when it starts or reloads its config; delete
catalogue.json in the data dir to be rid of it.

Example:
  sluicegate models update ./models.json --data-dir ./data
`,
    )
    // `models` has flags of the same names, and sees them first.
    .action((file: string, _: UpdateOptions, command: Command) =>
      runCommand(context, () => update(context, file, command.optsWithGlobals<UpdateOptions>())),
    );
}

async function update(context: CliContext, file: string, options: UpdateOptions): Promise<number> {
  const { cwd, ...environment } = context.environment();
  const { catalogueFile, parseCatalogue } = await import("../config/catalogue/stored-catalogue.ts");
  const from = resolve(cwd, file);
  const text = await readFile(from, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${file} cannot be read (${error.code ?? "unknown"})`);
  });
  const read = parseCatalogue(text);
  if ("faults" in read) {
    if (options.json) context.write(`${JSON.stringify({ ok: false, faults: read.faults }, null, 2)}\n`);
    else for (const fault of read.faults) context.write(`${file}: ${fault}\n`);
    return 1;
  }
  const to = catalogueFile(resolve(cwd, options.dataDir ?? (environment.get("SLUICEGATE_DATA_DIR") || "data")));
  await mkdir(dirname(to), { recursive: true });
  // Whole or not at all: a gateway may read it this very moment.
  await writeFile(`${to}.new`, text);
  await rename(`${to}.new`, to);
  const { models, retirements } = read.data;
  const done = { ok: true, file: to, models: models.length, retirements: retirements.length };
  context.write(
    options.json
      ? `${JSON.stringify(done, null, 2)}\n`
      : `${relative(cwd, to)}: ${models.length} models and ${retirements.length} retirements; taken up at the next start or reload\n`,
  );
  return 0;
}
