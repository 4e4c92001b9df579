import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { runCommand } from "./run-command.ts";

/** `sluicegate schema`. */
export function defineSchema(program: Command, context: CliContext): void {
  program
    .command("schema")
    .description("print the JSON schema of the config, for editors")
    .option("--json", "as it is: a JSON schema")
    .addHelpText(
      "after",
      `
Example:
  sluicegate schema > sluicegate.schema.json
  # and as the first line of sluicegate.yaml:
  # yaml-language-server: $schema=./sluicegate.schema.json
`,
    )
    .action(() =>
      runCommand(context, async () => {
        const { configJsonSchemaText } = await import("../config/json-schema.ts");
        context.write(configJsonSchemaText());
        return 0;
      }),
    );
}
