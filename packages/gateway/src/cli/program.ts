import { Command } from "commander";
import { VERSION } from "../version.ts";
import { defineCheck } from "./check.ts";
import { defineCircuits } from "./circuits.ts";
import { type CliContext, processContext } from "./context.ts";
import { defineExplain } from "./explain.ts";
import { defineKeys } from "./keys.ts";
import { defineModels } from "./models.ts";
import { portOption } from "./options.ts";
import { defineRequests } from "./requests.ts";
import { defineSchema } from "./schema.ts";
import type { ServeOptions } from "./serve.ts";
import { defineSimulator } from "./simulator.ts";
import { defineSpend } from "./spend.ts";
import { defineVersion } from "./version.ts";
import { defineWhatIf } from "./what-if.ts";

/**
 * The command line. A command's file holds its flags and its words; what it works with is imported when it runs, so
 * that `--help` is quick. Exit codes: 0 ok, 1 finding or failure, 2 usage.
 */
export function createProgram(context: CliContext = processContext()): Command {
  const program = new Command("sluicegate")
    .description("One gate in front of every model: an LLM gateway with routing, limits, money and a ledger.")
    .version(VERSION, "-V, --version", "print the version")
    .helpCommand("help [command]", "what a command does and takes")
    .showHelpAfterError("(--help says what it takes)")
    .configureOutput({ writeOut: (text) => context.write(text), writeErr: (text) => context.complain(text) })
    // Commander ends with 1 for a wrong command line, which here means a finding.
    .exitOverride((error) => context.exit(error.exitCode === 0 ? 0 : 2))
    .addHelpText("after", "\nExample:\n  sluicegate serve --config sluicegate.yaml\n");
  defineServe(program);
  defineCheck(program, context);
  defineExplain(program, context);
  defineWhatIf(program, context);
  defineSchema(program, context);
  defineKeys(program, context);
  defineSpend(program, context);
  defineRequests(program, context);
  defineModels(program, context);
  defineCircuits(program, context);
  defineSimulator(program, context);
  defineVersion(program, context);
  return program;
}

function defineServe(program: Command): void {
  program
    .command("serve")
    .description("start the gateway")
    .option("--config <file>", "the config (default: SLUICEGATE_CONFIG or ./sluicegate.yaml, else none is needed)")
    .option("--env <name>", "with the overlay of this environment (default: SLUICEGATE_ENV)")
    .option("--port <port>", "TCP port (default: the config's, else 8080 or the next free one)", portOption)
    .option("--host <host>", "address to listen on (default: the config's, else 127.0.0.1)")
    .option("--data-dir <dir>", "ledger, spool and keys (default: SLUICEGATE_DATA_DIR or ./data)")
    .option("--allow-missing-secrets", "leave out what wants a secret that is not there, instead of refusing")
    .addHelpText("after", "\nExample:\n  sluicegate serve --config sluicegate.yaml --port 9000 --data-dir ./data\n")
    .action(async (options: ServeOptions) => {
      const { runServe } = await import("./serve.ts");
      await runServe(options);
    });
}
