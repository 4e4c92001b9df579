import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { withKey, withKeyDatabase } from "./key-database.ts";
import type { DataOptions } from "./ledger-file.ts";
import { runCommand } from "./run-command.ts";

interface RevokeOptions extends DataOptions {
  json?: boolean;
}

/** `sluicegate keys revoke ID`. */
export function defineKeysRevoke(keys: Command, context: CliContext): void {
  const command = keys
    .command("revoke")
    .description("end a key now, for good")
    .argument("<id>", "id of the key: the part between the underscores");
  withKeyDatabase(command)
    .addHelpText("after", "\nExample:\n  sluicegate keys revoke 4k9x0w2mv7qc\n")
    .action((id: string, options: RevokeOptions) => runCommand(context, () => revoke(context, id, options)));
}

function revoke(context: CliContext, id: string, options: RevokeOptions): Promise<number> {
  return withKey(context, options, id, (keys) => {
    if (!keys.revoke(id)) throw new Error(`key ${id} is revoked already`);
    if (options.json) context.write(`${JSON.stringify({ id, revoked: true })}\n`);
    else context.write(`key ${id} is revoked; a running gateway refuses it within a second\n`);
    return 0;
  });
}
