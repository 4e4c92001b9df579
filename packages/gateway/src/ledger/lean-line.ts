import type { AttemptRow, RequestRow, Usage } from "@sluicegate/contract";
import { jsonText } from "../core/kept-json.ts";
import { LeanRuns } from "./lean-runs.ts";
import type { Admission } from "./ledger.ts";
import { admissionLine, settlementLine } from "./spool-line.ts";

/**
 * Writes the lines of requests that are admitted: columns with tabs between them, which stand in no JSON text.
 *
 *     A request_id started_at run own tags facts ATTEMPT
 *     S request_id run numbers ATTEMPT …
 *
 * An ATTEMPT is three columns: run, provider_request_id, numbers. A run is a JSON array, as `own`, which is empty where
 * all of it is null; numbers have commas between them, times in tenths of a millisecond and nothing for null. Tags and facts are
 * JSON text, or empty. Fields are in the order of layout.ts. A settlement says nothing that its admission has said, and an
 * admission nothing of what cannot have happened yet. What does not fit in says all there is, as in older builds.
 */
export class LeanLines {
  readonly #runs = new LeanRuns();

  /** The line, with its newline, of a request that has only just been admitted. */
  admission(admission: Admission): string {
    const { row, attempt } = admission;
    if (!isPlainAttempt(attempt)) return admissionLine(admission);
    return (
      `A\t${row.request_id}\t${row.started_at}\t${this.#runs.admitted(row)}\t${admittedOwn(row)}\t${tagsText(row.tags)}` +
      `\t${row.facts === null ? "" : jsonText(row.facts)}\t${this.#attempt(row, attempt)}\n`
    );
  }

  /** The line, with its newline, that settles a request whose admission was written before. */
  settlement(row: RequestRow, attempts: AttemptRow[]): string {
    if (!isPlainRow(row) || !attempts.every(isPlainAttempt)) return settlementLine(row, attempts);
    let line = `S\t${row.request_id}\t${this.#runs.settled(row)}\t${settledNumbers(row, attempts)}`;
    for (const attempt of attempts) line += `\t${this.#attempt(row, attempt)}`;
    return `${line}\n`;
  }

  #attempt(row: RequestRow, attempt: AttemptRow): string {
    return `${this.#runs.attempted(row, attempt)}\t${idText(attempt.provider_request_id)}\t${attemptNumbers(attempt)}`;
  }
}

function isPlainRow({ latency_ms, ttft_ms, overhead_ms, cost_micro_usd, usage }: RequestRow): boolean {
  return isTime(latency_ms) && isTime(ttft_ms) && isTime(overhead_ms) && isCount(cost_micro_usd) && isPlainUsage(usage);
}

function isPlainAttempt({ n, latency_ms, ttft_ms, cost_micro_usd, usage }: AttemptRow): boolean {
  return isCount(n) && isTime(latency_ms) && isTime(ttft_ms) && isCount(cost_micro_usd) && isPlainUsage(usage);
}

function isPlainUsage(usage: Usage): boolean {
  return (
    isCount(usage.input_tokens) &&
    isCount(usage.cached_input_tokens) &&
    isCount(usage.cache_write_tokens) &&
    isCount(usage.cache_write_1h_tokens) &&
    isCount(usage.output_tokens) &&
    isCount(usage.reasoning_tokens)
  );
}

/** A whole number from nothing up to some 2,000 million. */
function isCount(value: number): boolean {
  return (value | 0) === value && value >= 0;
}

/** Whole tenths of a millisecond become text, and numbers again, much faster than fractions. */
function isTime(ms: number | null): boolean {
  if (ms === null) return true;
  const tenths = Math.round(ms * 10);
  return isCount(tenths) && tenths / 10 === ms;
}

function tenths(ms: number | null): string {
  return ms === null ? "" : `${Math.round(ms * 10)}`;
}

function admittedOwn({ client_request_id, parent_request_id, agent, user, session, trace_id }: RequestRow): string {
  if (client_request_id === null && parent_request_id === null && agent === null && user === null)
    if (session === null && trace_id === null) return "";
  return JSON.stringify([client_request_id, parent_request_id, agent, user, session, trace_id]);
}

function settledNumbers(row: RequestRow, attempts: AttemptRow[]): string {
  const times = `${tenths(row.latency_ms)},${tenths(row.ttft_ms)},${tenths(row.overhead_ms)}`;
  const [only] = attempts;
  if (only && attempts.length === 1 && isSumOf(row, only)) return times;
  const { usage } = row;
  return (
    `${times},${row.cost_micro_usd},${usage.input_tokens},${usage.cached_input_tokens},${usage.cache_write_tokens}` +
    `,${usage.cache_write_1h_tokens},${usage.output_tokens},${usage.reasoning_tokens}`
  );
}

function attemptNumbers({ n, latency_ms, ttft_ms, cost_micro_usd, usage }: AttemptRow): string {
  const { cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens } = usage;
  const numbers =
    `${n},${tenths(latency_ms)},${tenths(ttft_ms)},${cost_micro_usd}` + `,${usage.input_tokens},${usage.output_tokens}`;
  if (cached_input_tokens === 0 && cache_write_tokens === 0 && cache_write_1h_tokens === 0 && reasoning_tokens === 0)
    return numbers;
  return `${numbers},${cached_input_tokens},${cache_write_tokens},${cache_write_1h_tokens},${reasoning_tokens}`;
}

function isSumOf({ usage, cost_micro_usd }: RequestRow, only: AttemptRow): boolean {
  if (cost_micro_usd !== only.cost_micro_usd) return false;
  const sum = only.usage;
  return (
    usage === sum ||
    (usage.input_tokens === sum.input_tokens &&
      usage.cached_input_tokens === sum.cached_input_tokens &&
      usage.cache_write_tokens === sum.cache_write_tokens &&
      usage.cache_write_1h_tokens === sum.cache_write_1h_tokens &&
      usage.output_tokens === sum.output_tokens &&
      usage.reasoning_tokens === sum.reasoning_tokens)
  );
}

/** Printable ASCII that JSON would not escape. */
const PLAIN = /^[ !#-[\]-~]+$/;

/** A plain one stands as it is; what begins with a quote is JSON. */
function idText(id: string | null): string {
  if (id === null) return "";
  return PLAIN.test(id) ? id : JSON.stringify(id);
}

function tagsText(tags: RequestRow["tags"]): string {
  for (const _ in tags) return jsonText(tags);
  return "";
}
