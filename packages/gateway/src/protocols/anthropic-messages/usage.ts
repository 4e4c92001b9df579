import type { Usage } from "@sluicegate/contract";
import { type Fields, isObject } from "../field-checks.ts";
import { tokenCount } from "../protocol.ts";
import type { Wire } from "./wire.ts";

/** Counts as Anthropic gives them, put together from several reports. */
export interface Counts {
  /** Input that was neither read from a cache nor written to one. */
  input?: number;
  read?: number;
  written?: number;
  /** The 1-hour part of `written`. */
  written1h?: number;
  output?: number;
  thinking?: number;
  /** Tokens of compactions, which the counts beside them leave out. */
  compactedInput?: number;
  compactedOutput?: number;
}

/**
 * Lays one `usage` object over what earlier ones of the same answer said: counts are cumulative, so what is not null
 * replaces (WIRE C2). Returns false for what is no usage.
 */
export function readCounts(raw: unknown, into: Counts): boolean {
  if (!isObject(raw)) return false;
  set(into, "input", raw["input_tokens"]);
  set(into, "read", raw["cache_read_input_tokens"]);
  set(into, "output", raw["output_tokens"]);
  const parts = isObject(raw["cache_creation"]) ? raw["cache_creation"] : {};
  const short = tokenCount(parts["ephemeral_5m_input_tokens"]);
  const long = tokenCount(parts["ephemeral_1h_input_tokens"]);
  if (short !== undefined || long !== undefined) into.written = (short ?? 0) + (long ?? 0);
  if (long !== undefined) into.written1h = long;
  set(into, "written", raw["cache_creation_input_tokens"]);
  const details = isObject(raw["output_tokens_details"]) ? raw["output_tokens_details"] : {};
  set(into, "thinking", details["thinking_tokens"]);
  if (Array.isArray(raw["iterations"])) addCompactions(raw["iterations"].filter(isObject), into);
  return true;
}

/** The counts that are known, normalised: cached and written input inside the input. */
export function usageOf(counts: Counts): Partial<Usage> {
  const { input, read, written, written1h, output, thinking, compactedInput = 0, compactedOutput = 0 } = counts;
  const usage: Partial<Usage> = {};
  if (input !== undefined || read !== undefined || written !== undefined) {
    usage.input_tokens = (input ?? 0) + (read ?? 0) + (written ?? 0) + compactedInput;
  }
  if (read !== undefined) usage.cached_input_tokens = read;
  if (written !== undefined) usage.cache_write_tokens = written;
  if (written1h !== undefined) usage.cache_write_1h_tokens = Math.min(written1h, written ?? 0);
  if (output !== undefined) usage.output_tokens = output + compactedOutput;
  if (thinking !== undefined) usage.reasoning_tokens = Math.min(thinking, usage.output_tokens ?? thinking);
  return usage;
}

/** Usage in Anthropic's arithmetic: what was read from a cache or written to it stands beside the input. */
export function wireUsage(usage: Partial<Usage>): Wire {
  const { cached_input_tokens: read = 0, cache_write_tokens: written = 0, cache_write_1h_tokens: long = 0 } = usage;
  return {
    input_tokens: Math.max(0, (usage.input_tokens ?? 0) - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    cache_creation: {
      ephemeral_5m_input_tokens: Math.max(0, written - long),
      ephemeral_1h_input_tokens: long,
    },
    output_tokens: usage.output_tokens ?? 0,
    ...(usage.reasoning_tokens && { output_tokens_details: { thinking_tokens: usage.reasoning_tokens } }),
  };
}

/** A compaction inside the call is billed and stands in `iterations` alone. */
function addCompactions(iterations: Fields[], into: Counts): void {
  const compactions = iterations.filter((entry) => entry["type"] === "compaction");
  if (compactions.length === 0) return;
  const sum = (key: string): number => compactions.reduce((total, entry) => total + (tokenCount(entry[key]) ?? 0), 0);
  into.compactedInput = sum("input_tokens");
  into.compactedOutput = sum("output_tokens");
}

function set(into: Counts, key: keyof Counts, value: unknown): void {
  const count = tokenCount(value);
  if (count !== undefined) into[key] = count;
}
