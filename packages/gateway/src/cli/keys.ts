import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { defineKeysCreate } from "./keys-create.ts";
import { defineKeysList } from "./keys-list.ts";
import { defineKeysRevoke } from "./keys-revoke.ts";
import { defineKeysRotate } from "./keys-rotate.ts";

/** `sluicegate keys`. */
export function defineKeys(program: Command, context: CliContext): void {
  const keys = program
    .command("keys")
    .description("make, list, rotate and revoke client keys")
    .addHelpText("after", "\nExample:\n  sluicegate keys create --tenant acme --name checkout-bot\n");
  defineKeysCreate(keys, context);
  defineKeysList(keys, context);
  defineKeysRotate(keys, context);
  defineKeysRevoke(keys, context);
}
