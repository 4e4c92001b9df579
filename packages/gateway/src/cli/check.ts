import { relative } from "node:path";
import type { Command } from "commander";
import type { LoadedConfig } from "../config/load.ts";
import type { CliContext } from "./context.ts";
import { runCommand } from "./run-command.ts";

interface CheckOptions {
  env?: string;
  allowMissingSecrets?: boolean;
  json?: boolean;
}

/** `sluicegate check [FILE]`. */
export function defineCheck(program: Command, context: CliContext): void {
  program
    .command("check")
    .description("check a config and say what is wrong with it, line by line")
    .argument("[file]", "the config (default: SLUICEGATE_CONFIG or ./sluicegate.yaml)")
    .option("--env <name>", "with the overlay of this environment (default: SLUICEGATE_ENV)")
    .option("--allow-missing-secrets", "references that lead nowhere are warnings, as in CI without the secrets")
    .option("--json", "as JSON: { ok, problems }")
    .addHelpText(
      "after",
      `
Exit code 0: it can be served, perhaps with warnings. 1: it cannot.

Example:
  sluicegate check sluicegate.yaml --env prod
`,
    )
    .action((file: string | undefined, options: CheckOptions) =>
      runCommand(context, () => check(context, file, options)),
    );
}

async function check(context: CliContext, file: string | undefined, options: CheckOptions): Promise<number> {
  const { loadConfig } = await import("../config/load.ts");
  const { formatProblems, problemsJson } = await import("../config/report.ts");
  const { bookPrice } = await import("../ledger/price-book.ts");
  const { openSecrets } = await import("../open-secrets.ts");
  const { systemRandom } = await import("../core/random.ts");
  const now = context.clock.now();
  const environment = context.environment();
  const secrets = openSecrets({ environment, clock: context.clock, random: systemRandom() });
  const loaded = await loadConfig({
    file,
    envName: options.env,
    environment,
    secrets,
    dataDir: null,
    bookPrice: (kind, preset, model) => bookPrice(kind, preset, model, now)?.prices ?? [],
    allowMissingSecrets: options.allowMissingSecrets,
    clock: context.clock,
  });
  secrets.close();
  const code = loaded.snapshot === null ? 1 : 0;
  if (options.json) {
    context.write(`${problemsJson(loaded.problems)}\n`);
    return code;
  }
  const report = formatProblems(loaded.problems, loaded.frame);
  if (report !== "") context.write(`${report}\n`);
  context.write(`${verdict(context, loaded)}\n`);
  return code;
}

function verdict(context: CliContext, { snapshot, source }: LoadedConfig): string {
  const { cwd } = context.environment();
  const files = [source.file, source.overlay].flatMap((path) => (path === null ? [] : relative(cwd, path) || path));
  const what = files.length === 0 ? "the config made from the environment" : files.join(" + ");
  if (!snapshot) return `${what}: cannot be served`;
  const { providers, deployments, routes, tenants, revision } = snapshot;
  const counts = [
    counted(routes.size, "alias", "aliases"),
    counted(deployments.size, "deployment", "deployments"),
    counted(providers.size, "provider", "providers"),
    counted(tenants.size, "tenant", "tenants"),
  ];
  return `${what}: ok, revision ${revision} (${counts.join(", ")})`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
