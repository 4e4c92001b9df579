import type { AttemptRow, RequestRecord } from "@sluicegate/contract";
import { costText, exactUsd, grouped, humanDuration } from "../admin/human-numbers.ts";
import type { CliContext } from "./context.ts";
import { type Cell, tableText } from "./table.ts";
import { printable, statusStress, stressed } from "./terminal-text.ts";

const BAR_CHARS = 24;
const INDENT = "  ";

/** One request for people: what came of it, who asked, what it used, and its attempts one under the other. */
export function waterfall(record: RequestRecord, context: CliContext): string {
  return `${headline(record, context)}\n${facts(record)}\n${attemptLines(record, context)}`;
}

function headline(record: RequestRecord, context: CliContext): string {
  const { request_id, status, error_code, alias, deployment, latency_ms, cost_micro_usd, cost_state } = record;
  const parts = [
    stressed(context, "bold", request_id),
    stressed(context, statusStress(status), error_code === null ? status : `${status} (${error_code})`),
    printable(`${alias ?? "-"} → ${deployment ?? "nobody"}`),
    latency_ms === null ? null : humanDuration(latency_ms),
    status === "running" ? null : costText(cost_micro_usd, cost_state, exactUsd),
  ];
  return parts.filter((part) => part !== null).join("  ");
}

function facts(record: RequestRecord): string {
  const { usage, ttft_ms, overhead_ms } = record;
  const tags = Object.entries(record.tags).map(([name, value]) => `${name}=${value}`);
  const who: [string, string | null][] = [
    ["tenant", record.tenant],
    ["team", record.team],
    ["application", record.application],
    ["agent", record.agent],
    ["user", record.user],
    ["session", record.session],
    ["key", record.key_id],
    ["tags", tags.join(" ") || null],
  ];
  const how = [
    record.started_at,
    record.dialect,
    record.stream ? "stream" : null,
    record.route !== null && record.route !== record.alias ? `route ${record.route}` : null,
    record.finish_reason === null ? null : `finish ${record.finish_reason}`,
    record.repeated > 1 ? `stands for ${record.repeated} like it` : null,
  ];
  const used = [
    `${grouped(usage.input_tokens)} tokens in (${grouped(usage.cached_input_tokens)} cached), ${grouped(usage.output_tokens)} out`,
    ttft_ms === null ? null : `first output after ${humanDuration(ttft_ms)}`,
    overhead_ms === null ? null : `gateway ${humanDuration(overhead_ms)}`,
  ];
  const named = who.map(([name, value]) => (value === null || value === "" ? null : `${name} ${value}`));
  return [how, named, used]
    .map((parts) => INDENT + printable(parts.filter((part) => part !== null).join(" · ")))
    .join("\n");
}

function attemptLines({ attempts, latency_ms }: RequestRecord, context: CliContext): string {
  if (attempts.length === 0) return `${INDENT}no provider was called\n`;
  const whole = Math.max(
    latency_ms ?? 0,
    attempts.reduce((sum, { latency_ms: own, hedge }) => sum + (hedge ? 0 : own), 0),
  );
  let startMs = 0;
  const rows = attempts.map((attempt): Cell[] => {
    const bar = barOf(startMs, attempt.latency_ms, whole);
    // A hedge runs beside the attempt before it; all others come one after the other.
    if (!attempt.hedge) startMs += attempt.latency_ms;
    return attemptCells(attempt, bar);
  });
  const columns = [
    { title: "#", keep: true },
    { title: "TIME".padEnd(BAR_CHARS), keep: true },
    { title: "TOOK", align: "right", keep: true } as const,
    { title: "DEPLOYMENT" },
    { title: "MODEL" },
    { title: "OUTCOME", keep: true },
    { title: "USD", align: "right", keep: true } as const,
  ];
  const narrower = context.columns === null ? null : context.columns - INDENT.length;
  const text = tableText({ columns, rows }, { columns: narrower, colour: context.colour });
  return `\n${text.replace(/^(?=.)/gm, INDENT)}`;
}

function attemptCells(attempt: AttemptRow, bar: string): Cell[] {
  const { n, status, error_class, http_status, retry, hedge } = attempt;
  const marks = [retry && "again", hedge && "hedge"].filter((mark) => mark !== false);
  const outcome =
    status === "ok" ? "ok" : [error_class ?? status, http_status].filter((part) => part !== null).join(" ");
  return [
    String(n),
    { text: bar, stress: statusStress(status) },
    humanDuration(attempt.latency_ms),
    attempt.deployment,
    attempt.model,
    { text: [outcome, ...marks].join(", "), stress: statusStress(status) },
    costText(attempt.cost_micro_usd, attempt.cost_state, exactUsd),
  ];
}

/** Where the attempt lies within the whole request. Back-off between attempts is not in the ledger and not shown. */
function barOf(startMs: number, ms: number, wholeMs: number): string {
  if (wholeMs <= 0) return "█";
  const start = Math.min(BAR_CHARS - 1, Math.floor((startMs / wholeMs) * BAR_CHARS));
  const length = Math.min(BAR_CHARS - start, Math.max(1, Math.round((ms / wholeMs) * BAR_CHARS)));
  return "·".repeat(start) + "█".repeat(length) + "·".repeat(BAR_CHARS - start - length);
}
