import { GatewayError } from "../core/errors.ts";
import type { CliContext } from "./context.ts";

/** The command line asks for something that cannot be: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** Runs a command's work, which returns its exit code; what it throws is told in one line on stderr. */
export async function runCommand(context: CliContext, work: () => number | Promise<number>): Promise<void> {
  try {
    context.exitWith(await work());
  } catch (thrown) {
    const isUsage =
      thrown instanceof UsageError || (thrown instanceof GatewayError && thrown.details.param !== undefined);
    context.complain(`error: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    context.exitWith(isUsage ? 2 : 1);
  }
}
