import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { portOption } from "./options.ts";
import { runCommand } from "./run-command.ts";

interface SimulatorFlags {
  port: number;
  host: string;
  requireKey?: boolean;
  strict?: boolean;
  json?: boolean;
}

/** `sluicegate simulator`. */
export function defineSimulator(program: Command, context: CliContext): void {
  program
    .command("simulator")
    .description("run a server that speaks the providers' wire formats, with faults on demand")
    .option("--port <port>", "TCP port; 0 takes a free one", portOption, 9100)
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--require-key", "a call without a bearer token is a 401")
    .option("--strict", "fields that the wire format does not have are a 400")
    .option("--json", "say where it is as one line of JSON")
    .addHelpText(
      "after",
      `
Models by name: sim/echo, sim/slow?first_token=12s, sim/error?status=529 and so on; POST /script makes others.
GET /invoice tells what it billed. It runs until it is interrupted.

Example:
  sluicegate simulator --port 9100
  curl http://127.0.0.1:9100/v1/chat/completions -H "content-type: application/json" \\
    -d '{"model":"sim/echo","messages":[{"role":"user","content":"hello"}]}'
`,
    )
    .action((options: SimulatorFlags) => runCommand(context, () => simulate(context, options)));
}

async function simulate(context: CliContext, options: SimulatorFlags): Promise<number> {
  const { startSimulator } = await import("@sluicegate/simulator");
  const stopped = context.untilStopped();
  const simulator = await startSimulator({
    port: options.port,
    host: options.host,
    requireKey: options.requireKey === true,
    strict: options.strict === true,
  });
  const { url, port } = simulator;
  context.write(
    options.json ? `${JSON.stringify({ url, port })}\n` : `simulator on ${url}/v1, until it is interrupted\n`,
  );
  await stopped;
  await simulator.close();
  return 0;
}
