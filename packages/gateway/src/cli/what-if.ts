import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { WhatIfReport } from "../admin/what-if-report.ts";
import type { CliContext } from "./context.ts";
import { runCommand, UsageError } from "./run-command.ts";

interface WhatIfOptions {
  since?: string;
  from?: string;
  to?: string;
  tenant?: string;
  env?: string;
  dataDir?: string;
  url?: string;
  json?: boolean;
}

/** `sluicegate what-if FILE --since 7d`. */
export function defineWhatIf(program: Command, context: CliContext): void {
  program
    .command("what-if")
    .description("take recorded requests through another config: routes, refusals, cost and latency that would change")
    .argument("<file>", "the config that is tried")
    .option("--since <duration>", "how far back (default: 7d)")
    .option("--from <time>", "started at or after, in the place of --since, ISO 8601")
    .option("--to <time>", "started before (default: now)")
    .option("--tenant <name>", "requests of this tenant only")
    .option("--env <name>", "with the overlay of this environment (default: SLUICEGATE_ENV)")
    .option("--data-dir <dir>", "data dir of the gateway (default: SLUICEGATE_DATA_DIR or ./data)")
    .option("--url <url>", "over the ledger of a running gateway; needs SLUICEGATE_ADMIN_KEY")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      `
Exit code 0: nothing would change. 1: something would.

Examples:
  sluicegate what-if new.yaml --since 7d
  sluicegate what-if new.yaml --since 24h --tenant acme --url http://127.0.0.1:8080
`,
    )
    .action((file: string, options: WhatIfOptions) => runCommand(context, () => whatIf(context, file, options)));
}

async function whatIf(context: CliContext, file: string, options: WhatIfOptions): Promise<number> {
  const report = options.url === undefined ? await here(context, file, options) : await there(context, file, options);
  if (options.json) context.write(`${JSON.stringify(report, null, 2)}\n`);
  else {
    const { whatIfText } = await import("./what-if-text.ts");
    context.write(whatIfText(report, context));
  }
  return report.changed === 0 ? 0 : 1;
}

async function here(context: CliContext, file: string, options: WhatIfOptions): Promise<WhatIfReport> {
  const { spanOf } = await import("../admin/what-if.ts");
  const { runWhatIf } = await import("../admin/what-if-run.ts");
  const { withLedger } = await import("./ledger-source.ts");
  const { keysBeside, withConfig } = await import("./tried-config.ts");
  const { dataDir, env, tenant } = options;
  const span = spanOf(options, context.clock.now());
  return withConfig(context, { config: file, env }, async (runtime) => {
    const key = await keysBeside(context, dataDir, runtime.snapshot.keys);
    return withLedger(context, dataDir === undefined ? {} : { dataDir }, (reads) =>
      runWhatIf({ runtime, key, requests: (filter) => reads.requests(filter), tenant, ...span }),
    );
  });
}

async function there(context: CliContext, file: string, options: WhatIfOptions): Promise<WhatIfReport> {
  const { url = "", env, dataDir, since, from, to, tenant } = options;
  if (env !== undefined || dataDir !== undefined) {
    throw new UsageError("--url asks a running gateway, so --env and --data-dir have no meaning beside it");
  }
  const key = context.environment().get("SLUICEGATE_ADMIN_KEY");
  if (!key) throw new UsageError("--url needs an admin key in SLUICEGATE_ADMIN_KEY");
  const { adminClient } = await import("./admin-client.ts");
  const config = await readFile(resolve(context.environment().cwd, file), "utf8");
  return (await adminClient(url, key).post("/admin/what-if", { config, since, from, to, tenant })) as WhatIfReport;
}
