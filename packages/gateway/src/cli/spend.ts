import type { SpendFigures, SpendReport } from "@sluicegate/contract";
import type { Command } from "commander";
import { defaultRange } from "../admin/default-range.ts";
import { exactUsd, grouped } from "../admin/human-numbers.ts";
import type { CliContext } from "./context.ts";
import { type SourceOptions, withLedger, withSource } from "./ledger-source.ts";
import { namesOption } from "./options.ts";
import { runCommand } from "./run-command.ts";
import { type Cell, type Column, tableText } from "./table.ts";

interface SpendOptions extends SourceOptions {
  by: string[];
  tenant?: string;
  from?: string;
  to?: string;
  json?: boolean;
}

/** `sluicegate spend`. */
export function defineSpend(program: Command, context: CliContext): void {
  const command = program
    .command("spend")
    .description("what was used and what it cost, by any dimension")
    .option("--by <dimensions>", "tenant, model, day, user, tag:NAME and so on, with commas between", namesOption, [
      "tenant",
      "model",
    ])
    .option("--tenant <name>", "only what this tenant spent")
    .option("--from <time>", "start, ISO 8601 (default: the start of this month, UTC)")
    .option("--to <time>", "end, exclusive (default: the end of this month, UTC)")
    .option("--json", "as JSON, money in integer micro-USD too");
  withSource(command)
    .addHelpText(
      "after",
      `
Examples:
  sluicegate spend --by model --tenant acme --from 2026-11-14 --to 2026-11-15
  sluicegate spend --by user,day --json --url http://127.0.0.1:8080
`,
    )
    .action((options: SpendOptions) => runCommand(context, () => spend(context, options)));
}

async function spend(context: CliContext, options: SpendOptions): Promise<number> {
  const range = defaultRange(options, context.clock.now());
  const query = { by: options.by, ...range, ...(options.tenant !== undefined && { tenant: options.tenant }) };
  const report = await withLedger(context, options, async (reads) => reads.spend(query));
  if (options.json) {
    context.write(`${JSON.stringify(report, null, 2)}\n`);
    return 0;
  }
  context.write(`${momentText(report.from)} to ${momentText(report.to)}, UTC\n\n${spendTable(report, context)}`);
  const unknown = report.total.unknown_cost_requests;
  if (unknown > 0) {
    context.write(
      `\n${grouped(unknown)} of these requests have no known price, and count as $0: see \`sluicegate check\`\n`,
    );
  }
  return 0;
}

function spendTable(report: SpendReport, context: CliContext): string {
  const columns: Column[] = [
    ...report.by.map((name): Column => ({ title: name.startsWith("tag:") ? name : name.toUpperCase() })),
    ...["REQUESTS", "INPUT", "CACHED", "OUTPUT", "USD"].map((title): Column => ({ title, align: "right", keep: true })),
  ];
  const rows = report.data.map((row) => [...report.by.map((name) => textOf(row[name])), ...figures(row)]);
  const label = report.by.map((_, i): Cell => ({ text: i === 0 ? "TOTAL" : " ", stress: "bold" }));
  return tableText({ columns, rows, foot: [...label, ...figures(report.total)] }, context);
}

function figures(row: SpendFigures): Cell[] {
  const { requests, input_tokens, cached_input_tokens, output_tokens, cost_micro_usd } = row;
  return [...[requests, input_tokens, cached_input_tokens, output_tokens].map(grouped), exactUsd(cost_micro_usd)];
}

/** The start of a day is its date. */
function momentText(iso: string): string {
  return iso.replace(/T00:00:00(?:\.000)?Z$/, "");
}

function textOf(value: string | number | null | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}
