import type { Command } from "commander";
import { humanDuration } from "../admin/human-numbers.ts";
import { newKey } from "../admin/new-key.ts";
import type { CliContext } from "./context.ts";
import { isoTime, keyState, withKey, withKeyDatabase } from "./key-database.ts";
import type { DataOptions } from "./ledger-file.ts";
import { durationOption } from "./options.ts";
import { runCommand } from "./run-command.ts";

const DAY_MS = 86_400_000;

interface RotateOptions extends DataOptions {
  overlap: number;
  json?: boolean;
}

/** `sluicegate keys rotate ID`. */
export function defineKeysRotate(keys: Command, context: CliContext): void {
  const command = keys
    .command("rotate")
    .description("make a key that takes another's place; both hold during the overlap")
    .argument("<id>", "id of the key to be replaced")
    .addOption(
      keys
        .createOption("--overlap <duration>", "how long the old key still holds")
        .argParser(durationOption)
        .default(DAY_MS, "24h"),
    );
  withKeyDatabase(command)
    .addHelpText(
      "after",
      `
The new key has an id of its own, and the tenant, models and end of the old one.

Example:
  sluicegate keys rotate 4k9x0w2mv7qc --overlap 1h
`,
    )
    .action((id: string, options: RotateOptions) => runCommand(context, () => rotate(context, id, options)));
}

function rotate(context: CliContext, id: string, options: RotateOptions): Promise<number> {
  return withKey(context, options, id, (keys, old) => {
    const now = context.clock.now();
    const state = keyState(old, now);
    if (state !== "live") throw new Error(`key ${id} is ${state}; make a new one with \`sluicegate keys create\``);
    const made = newKey(context.random);
    const { createdAt: _, revokedAt, ...entry } = old;
    keys.insert({ ...entry, id: made.id, hash: made.hash });
    // An end that an earlier rotation has set is not put off.
    const endsAt = Math.min(now + options.overlap, revokedAt ?? Number.POSITIVE_INFINITY);
    keys.revoke(id, endsAt);
    if (options.json) {
      const shown = { id: made.id, key: made.key, replaces: id, old_key_ends_at: isoTime(endsAt) };
      context.write(`${JSON.stringify(shown, null, 2)}\n`);
      return 0;
    }
    context.write(`${made.key}\n`);
    const until = endsAt <= now ? "no longer holds" : `holds for ${humanDuration(endsAt - now)} more`;
    context.complain(`key ${made.id} takes the place of ${id}, which ${until}\nKeep it now, it is not shown again.\n`);
    return 0;
  });
}
