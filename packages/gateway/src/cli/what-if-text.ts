import { exactUsd, grouped, humanDuration } from "../admin/human-numbers.ts";
import type { Destination, WhatIfChange, WhatIfReport } from "../admin/what-if-report.ts";
import type { CliContext } from "./context.ts";
import { type Cell, type Column, tableText } from "./table.ts";
import { printable, stressed } from "./terminal-text.ts";

const CHANGES_SHOWN = 50;

/** A what-if for people: what would change as a whole, then the changes, the most frequent first. */
export function whatIfText(report: WhatIfReport, context: CliContext): string {
  const { changes } = report;
  const lines = [headline(report, context), ...figures(report)].map((line) => `${line}\n`).join("");
  if (changes.length === 0) return lines;
  const rows = changes.slice(0, CHANGES_SHOWN).map(row);
  const more = changes.length > CHANGES_SHOWN ? `and ${changes.length - CHANGES_SHOWN} more kinds of changes\n` : "";
  return `${lines}\n${tableText({ columns: COLUMNS, rows }, context)}${more}`;
}

function headline(
  { requests, changed, skipped, truncated, from, to, config }: WhatIfReport,
  context: CliContext,
): string {
  const share = requests === 0 ? "" : ` (${Math.round((100 * changed) / requests)} %)`;
  const change = stressed(context, changed > 0 ? "warn" : "good", `${grouped(changed)} would change${share}`);
  const notes = [
    skipped > 0 ? `${grouped(skipped)} say too little and are left out` : null,
    truncated ? "there were more, and the oldest are left out" : null,
  ].filter((note) => note !== null);
  const span = `${from.slice(0, 16)} to ${to.slice(0, 16)} UTC, under config ${config.revision}`;
  const end = notes.length > 0 ? `\n${notes.join("; ")}` : "";
  return `${grouped(requests)} requests, ${span}: ${change}${end}`;
}

function figures({ refusals, cost, latency }: WhatIfReport): string[] {
  const usd = (micro: number): string => exactUsd(micro);
  const ms = (value: number | null): string => (value === null ? "unknown" : humanDuration(value));
  const unpriced = cost.unknown_requests > 0 ? ` (${grouped(cost.unknown_requests)} without a known price)` : "";
  const untimed = latency.unknown_requests > 0 ? ` (${grouped(latency.unknown_requests)} unknown)` : "";
  const lines = [
    `refused   ${grouped(refusals.before)} → ${grouped(refusals.after)}`,
    `cost      ${usd(cost.before_micro_usd)} → ${usd(cost.after_micro_usd)}${unpriced}`,
    `latency   ${ms(latency.before_ms)} → ${ms(latency.after_ms)}${untimed}`,
  ];
  for (const { code, message, requests } of refusals.by_code) {
    lines.push(printable(`  ${grouped(requests)} × ${code}: ${message}`));
  }
  return lines;
}

const COLUMNS: readonly Column[] = [
  { title: "REQUESTS", align: "right", keep: true },
  { title: "ALIAS" },
  { title: "BEFORE" },
  { title: "AFTER" },
  { title: "COST BEFORE", align: "right", leaves: 2 },
  { title: "COST AFTER", align: "right", leaves: 3 },
  { title: "EXAMPLE", leaves: 1 },
];

function row(change: WhatIfChange): Cell[] {
  const { alias, before, after, requests, cost_before_micro_usd, cost_after_micro_usd, example } = change;
  return [
    grouped(requests),
    alias,
    words(before, alias),
    { text: words(after, alias), stress: after.refused === null ? null : "bad" },
    exactUsd(cost_before_micro_usd),
    exactUsd(cost_after_micro_usd),
    example,
  ];
}

function words({ route, rule, variant, deployment, refused }: Destination, alias: string): string {
  if (refused !== null) return refused;
  const how = [
    route !== null && route !== alias ? `as ${route}` : null,
    rule === null || rule === "chain" ? null : rule,
    variant,
  ].filter((part) => part !== null);
  return `${deployment ?? "nobody"}${how.length > 0 ? ` (${how.join(", ")})` : ""}`;
}
