import type { Command } from "commander";
import { VERSION } from "../version.ts";
import type { CliContext } from "./context.ts";

/** `sluicegate version`. */
export function defineVersion(program: Command, context: CliContext): void {
  program
    .command("version")
    .description("print the version")
    .option("--json", "as JSON, with the version of Node.js")
    .addHelpText("after", "\nExample:\n  sluicegate version --json\n")
    .action(({ json }: { json?: boolean }) => {
      const facts = { version: VERSION, node: process.versions.node };
      context.write(`${json ? JSON.stringify(facts) : VERSION}\n`);
    });
}
