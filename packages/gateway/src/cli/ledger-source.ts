import type { Command } from "commander";
import type { LedgerReads } from "../admin/parts.ts";
import type { CliContext } from "./context.ts";
import { type DataOptions, ledgerFile } from "./ledger-file.ts";
import { UsageError } from "./run-command.ts";

/** Flags of commands that read the ledger. */
export interface SourceOptions extends DataOptions {
  url?: string;
}

/** Adds the flags that say whose ledger is read. */
export function withSource(command: Command): Command {
  return command
    .option("--data-dir <dir>", "data dir of the gateway (default: SLUICEGATE_DATA_DIR or ./data)")
    .option(
      "--config <file>",
      "its config, where that puts the ledger elsewhere (default: SLUICEGATE_CONFIG or ./sluicegate.yaml)",
    )
    .option("--url <url>", "ask a running gateway instead; needs SLUICEGATE_ADMIN_KEY");
}

/** Opens the ledger of a data dir, or of a running gateway; `use` may ask it until it returns. */
export async function withLedger<T>(
  context: CliContext,
  options: SourceOptions,
  use: (reads: LedgerReads) => Promise<T>,
): Promise<T> {
  const reads = options.url === undefined ? await openLocal(context, options) : await openRemote(context, options);
  try {
    return await use(reads);
  } finally {
    await reads.close();
  }
}

async function openLocal(context: CliContext, options: SourceOptions): Promise<LedgerReads> {
  const { path, shown, exists } = await ledgerFile(context, options);
  if (!exists)
    context.complain(
      `note: ${shown} does not exist, so there is nothing in it; name the gateway's --data-dir, or its --url\n`,
    );
  const { openLedgerReader } = await import("../ledger/reader.ts");
  return openLedgerReader(path);
}

async function openRemote(context: CliContext, { url, dataDir, config }: SourceOptions): Promise<LedgerReads> {
  if (dataDir !== undefined || config !== undefined) {
    throw new UsageError("--url asks a running gateway, so --data-dir and --config have no meaning beside it");
  }
  const key = context.environment().get("SLUICEGATE_ADMIN_KEY");
  if (!key) throw new UsageError("--url needs an admin key in SLUICEGATE_ADMIN_KEY");
  const { remoteLedger } = await import("./remote-ledger.ts");
  return remoteLedger(url ?? "", key);
}
