import type { Command } from "commander";
import type { CircuitAction, DeploymentState } from "../admin/deployment-seat.ts";
import { humanDuration } from "../admin/human-numbers.ts";
import type { AdminClient } from "./admin-client.ts";
import type { CliContext } from "./context.ts";
import { runCommand, UsageError } from "./run-command.ts";
import { type Cell, type Column, tableText } from "./table.ts";
import type { Stress } from "./terminal-text.ts";

const URL_DEFAULT = "http://127.0.0.1:8080";

interface CircuitsOptions {
  url: string;
  json?: boolean;
}

interface ForceOptions extends CircuitsOptions {
  for?: string;
  reason?: string;
}

/** `sluicegate circuits`. */
export function defineCircuits(program: Command, context: CliContext): void {
  const circuits = program
    .command("circuits")
    .description("how deployments are, and their circuits by hand")
    .addHelpText(
      "after",
      "\nExample:\n  sluicegate circuits open openai/gpt-5 --for 10m --reason 'their status page'\n",
    );
  withGateway(circuits.command("list", { isDefault: true }))
    .description("every deployment and its circuit")
    .addHelpText("after", "\nExample:\n  sluicegate circuits list --url http://127.0.0.1:8080\n")
    .action((options: CircuitsOptions) => runCommand(context, () => list(context, options)));
  for (const [action, description, lasts] of [
    ["open", "send nobody to a deployment", true],
    ["close", "close a circuit; with --for, hold it closed", true],
    ["reset", "forget what a circuit has counted, and how it is set", false],
  ] as const) {
    const command = withGateway(circuits.command(action))
      .description(description)
      .argument("<name>", "the deployment, as `circuits list` names it");
    if (lasts) command.option("--for <duration>", "how long it holds, as in 10m (default: until it is changed)");
    command
      .option("--reason <text>", "why, for the log and the list")
      .addHelpText("after", `\nExample:\n  sluicegate circuits ${action} openai/gpt-5${lasts ? " --for 10m" : ""}\n`)
      .action((name: string, options: ForceOptions) =>
        runCommand(context, () => force(context, action, name, options)),
      );
  }
}

function withGateway(command: Command): Command {
  return command
    .option("--url <url>", "the running gateway; needs SLUICEGATE_ADMIN_KEY", URL_DEFAULT)
    .option("--json", "as JSON");
}

async function list(context: CliContext, options: CircuitsOptions): Promise<number> {
  const client = await clientOf(context, options);
  const body = (await client.get("/admin/deployments")) as { data: DeploymentState[] } | null;
  if (!body) throw new Error(`${options.url} knows no deployments: it is not a gateway of this version`);
  if (options.json) context.write(`${JSON.stringify(body, null, 2)}\n`);
  else context.write(tableText({ columns: COLUMNS, rows: body.data.map((state) => row(state, context)) }, context));
  return 0;
}

async function force(
  context: CliContext,
  action: CircuitAction,
  name: string,
  { for: lasting, reason, ...options }: ForceOptions,
): Promise<number> {
  const client = await clientOf(context, options);
  const body = { ...(lasting !== undefined && { for: lasting }), ...(reason !== undefined && { reason }) };
  const state = (await client.post(`/admin/circuits/${encodeURIComponent(name)}/${action}`, body)) as DeploymentState;
  if (options.json) context.write(`${JSON.stringify(state, null, 2)}\n`);
  else context.write(`the circuit of ${state.name} is ${words(state.circuit)}${heldText(state)}\n`);
  return 0;
}

async function clientOf(context: CliContext, { url }: CircuitsOptions): Promise<AdminClient> {
  const key = context.environment().get("SLUICEGATE_ADMIN_KEY");
  if (!key) throw new UsageError("circuits are those of a running gateway: this needs its SLUICEGATE_ADMIN_KEY");
  const { adminClient } = await import("./admin-client.ts");
  return adminClient(url, key);
}

const COLUMNS: readonly Column[] = [
  { title: "DEPLOYMENT", keep: true },
  { title: "CIRCUIT", keep: true },
  { title: "WHY" },
  { title: "COOLS FOR", leaves: 4 },
  { title: "REQUESTS", align: "right", leaves: 3 },
  { title: "ERRORS", align: "right", leaves: 5 },
  { title: "P50", align: "right", leaves: 1 },
  { title: "P95", align: "right", leaves: 2 },
  { title: "NOW", align: "right", leaves: 0 },
];

const STRESS: Readonly<Record<DeploymentState["circuit"], Stress>> = { closed: "good", open: "bad", half_open: "warn" };

function row(state: DeploymentState, { clock }: CliContext): Cell[] {
  const { name, circuit, opened_by, cooldown_until, error_rate, window, p50_ms, p95_ms, in_flight, hand } = state;
  const coolsMs = cooldown_until === null ? 0 : Date.parse(cooldown_until) - clock.now();
  const by = hand ? `${hand.by}${hand.reason === null ? "" : `: ${hand.reason}`}` : opened_by;
  return [
    name,
    { text: words(circuit), stress: STRESS[circuit] },
    by,
    coolsMs > 0 ? humanDuration(coolsMs) : null,
    String(window.requests),
    error_rate === null ? null : `${Math.round(error_rate * 100)}%`,
    p50_ms === null ? null : humanDuration(p50_ms),
    p95_ms === null ? null : humanDuration(p95_ms),
    String(in_flight),
  ];
}

function words(circuit: DeploymentState["circuit"]): string {
  return circuit.replace("_", " ");
}

function heldText({ hand }: DeploymentState): string {
  if (!hand) return "";
  return hand.until === null ? " until it is changed" : ` until ${hand.until}`;
}
