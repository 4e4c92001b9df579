import type { RequestRecord } from "@sluicegate/contract";
import type { Command } from "commander";
import { costText, exactUsd, grouped, humanDuration, shortUsd } from "../admin/human-numbers.ts";
import type { RequestFilter } from "../ledger/ledger.ts";
import type { CliContext } from "./context.ts";
import { type SourceOptions, withLedger, withSource } from "./ledger-source.ts";
import { countOption } from "./options.ts";
import { runCommand, UsageError } from "./run-command.ts";
import { type Cell, type Column, tableText } from "./table.ts";
import { statusStress } from "./terminal-text.ts";
import { waterfall } from "./waterfall.ts";

interface RequestsOptions extends SourceOptions, Omit<RequestFilter, "limit"> {
  limit?: number;
  json?: boolean;
}

const FILTERS = ["tenant", "alias", "deployment", "status", "from", "to", "cursor"] as const;
const ROWS_DEFAULT = 20;

/** `sluicegate requests [ID]`. */
export function defineRequests(program: Command, context: CliContext): void {
  const command = program
    .command("requests")
    .description("the latest requests, or one with its attempts")
    .argument("[id]", "request id, as in the answer's x-request-id")
    .option("--tenant <name>", "of this tenant")
    .option("--alias <name>", "that asked for this alias")
    .option("--deployment <name>", "that this deployment served")
    .option("--status <status>", "running, ok, failed, refused, cancelled or abandoned")
    .option("--from <time>", "started at or after, ISO 8601")
    .option("--to <time>", "started before")
    .option("--limit <rows>", `rows, at most 1000 (default: ${ROWS_DEFAULT})`, countOption)
    .option("--cursor <cursor>", "the next page, as told at the end of the one before")
    .option("--json", "as JSON");
  withSource(command)
    .addHelpText(
      "after",
      `
Examples:
  sluicegate requests --status failed --from 2026-11-14
  sluicegate requests req_01m5x7kq2v3w9b8c6d4e2f1g0h --url http://127.0.0.1:8080
`,
    )
    .action((id: string | undefined, options: RequestsOptions) =>
      runCommand(context, () => (id === undefined ? list(context, options) : show(context, id, options))),
    );
}

async function list(context: CliContext, options: RequestsOptions): Promise<number> {
  const filter: RequestFilter = { limit: options.limit ?? ROWS_DEFAULT };
  for (const name of FILTERS) {
    const value = options[name];
    if (value !== undefined) filter[name] = value;
  }
  const page = await withLedger(context, options, async (reads) => reads.requests(filter));
  if (options.json) {
    context.write(`${JSON.stringify(page, null, 2)}\n`);
    return 0;
  }
  if (page.data.length === 0) context.write("no requests\n");
  else
    context.write(
      tableText({ columns: COLUMNS, rows: page.data.map((record) => row(record, context.columns === null)) }, context),
    );
  if (page.next_cursor !== undefined) context.complain(`more: --cursor ${page.next_cursor}\n`);
  return 0;
}

async function show(context: CliContext, id: string, options: RequestsOptions): Promise<number> {
  const stray = [...FILTERS, "limit" as const].find((name) => options[name] !== undefined);
  if (stray !== undefined) throw new UsageError(`--${stray} has no meaning beside a request id`);
  const record = await withLedger(context, options, async (reads) => reads.request(id));
  if (!record) {
    context.complain(`error: there is no request ${id} here; one that has just ended takes a moment to be listed\n`);
    return 1;
  }
  context.write(options.json ? `${JSON.stringify(record, null, 2)}\n` : waterfall(record, context));
  return 0;
}

const COLUMNS: readonly Column[] = [
  { title: "STARTED (UTC)", keep: true },
  { title: "REQUEST", keep: true },
  { title: "TENANT", leaves: 3 },
  { title: "ALIAS", leaves: 4 },
  { title: "DEPLOYMENT" },
  { title: "STATUS" },
  { title: "IN", align: "right", leaves: 1 },
  { title: "OUT", align: "right", leaves: 2 },
  { title: "LATENCY", align: "right", keep: true },
  { title: "USD", align: "right", keep: true },
];

/** `whole`: with the year and with all of the money's digits. */
function row(record: RequestRecord, whole: boolean): Cell[] {
  const { status, error_code, usage, latency_ms, cost_micro_usd, cost_state, fallback_depth } = record;
  const fell = fallback_depth > 0 ? ` +${fallback_depth}` : "";
  return [
    record.started_at.slice(whole ? 0 : 5, 19).replace("T", " "),
    record.request_id,
    record.tenant,
    record.alias,
    record.deployment === null ? null : record.deployment + fell,
    { text: error_code === null ? status : `${status} ${error_code}`, stress: statusStress(status) },
    grouped(usage.input_tokens),
    grouped(usage.output_tokens),
    latency_ms === null ? null : humanDuration(latency_ms),
    status === "running" ? null : costText(cost_micro_usd, cost_state, whole ? exactUsd : shortUsd),
  ];
}
