import { ERROR_SHAPES, type ErrorShape, refuse } from "./problem.ts";

const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const WAIT_MS_MAX = 24 * 3_600_000;
const COUNT_MAX = 1_000_000_000;
/** What is made one by one, such as deltas, stops here. */
const PIECES_MAX = 1_000_000;

/** The oddities that `quirk=a,b` may ask for; a wire format ignores those that mean nothing in it. */
export const QUIRKS: readonly string[] = [
  "adaptive_only",
  "azure_first",
  "bare_calls",
  "call_ids",
  "deepseek_usage",
  "dup_ids",
  "dup_start",
  "empty_choices",
  "finish_repeated",
  "flipped_bit",
  "fresh_ids",
  "gemini_3",
  "late_input",
  "merged_finish",
  "merged_first",
  "moonshot_usage",
  "no_final_blank",
  "no_message",
  "no_prefill",
  "no_sampling",
  "no_signature",
  "null_choices",
  "null_delta",
  "obfuscation",
  "object_args",
  "odd_events",
  "redacted",
  "stop_with_calls",
  "system_turns",
  "usage_always",
  "usage_every",
  "usage_in_finish",
  "whole_calls",
  "xai_usage",
];

type Parse<T> = (value: string, option: string) => T;

const duration: Parse<number> = (value, option) => {
  const match = /^(\d+(?:\.\d+)?)(us|ms|s|m|h)$/.exec(value) ?? /^(0)()$/.exec(value);
  const ms = match === null ? Number.NaN : Number(match[1]) * (UNIT_MS[match[2] ?? ""] ?? 1);
  if (!(ms <= WAIT_MS_MAX)) {
    return refuse(`option ${option} wants a duration of at most 24h such as 500ms or 2s, got '${value}'`, "model");
  }
  return ms;
};

const count: Parse<number> = (value, option) => {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= COUNT_MAX)) {
    return refuse(`option ${option} wants a whole number of at most ${COUNT_MAX}, got '${value}'`, "model");
  }
  return number;
};

const pieces: Parse<number> = (value, option) => {
  const number = count(value, option);
  return number <= PIECES_MAX ? number : refuse(`option ${option} wants at most ${PIECES_MAX}`, "model");
};

const flag: Parse<boolean> = (value, option) => {
  if (value === "1" || value === "true" || value === "") return true;
  if (value === "0" || value === "false") return false;
  return refuse(`option ${option} wants 1 or 0, got '${value}'`, "model");
};

const text: Parse<string> = (value) => value;

const headerText: Parse<string> = (value, option) =>
  /^[\x20-\x7e]*$/.test(value) ? value : refuse(`option ${option} wants printable ASCII`, "model");

const names: Parse<readonly string[]> = (value) => value.split(",").filter((name) => name !== "");

const quirks: Parse<ReadonlySet<string>> = (value, option) => {
  const listed = names(value, option);
  const unknown = listed.find((name) => !QUIRKS.includes(name));
  if (unknown !== undefined) refuse(`option ${option} wants some of ${QUIRKS.join(", ")}, got '${unknown}'`, "model");
  return new Set(listed);
};

const status: Parse<number> = (value, option) => {
  const number = count(value, option);
  if (number < 200 || number > 599) refuse(`option ${option} wants an HTTP status from 200 to 599`, "model");
  return number;
};

const shape: Parse<ErrorShape> = (value, option) =>
  ERROR_SHAPES.find((known) => known === value) ??
  refuse(`option ${option} wants one of ${ERROR_SHAPES.join(", ")}, got '${value}'`, "model");

/** Every option, under its name in a model name. Durations come out in milliseconds. */
const PARSERS = {
  // pace
  latency: duration,
  first_token: duration,
  between: duration,
  keepalive: duration,
  preamble: pieces,
  // bytes
  chunk: count,
  crlf: flag,
  comments: flag,
  // billed figures
  input: count,
  output: count,
  cached: count,
  cache_write: count,
  cache_write_1h: count,
  reasoning: count,
  // answer
  tokens: pieces,
  finish: text,
  served: text,
  quirk: quirks,
  strict: flag,
  tag: text,
  as: text,
  // failing only sometimes
  times: count,
  every: count,
  rpm: count,
  tpm: count,
  retry_after: headerText,
  retry_after_ms: count,
  // one behaviour's own
  after: pieces,
  fin: flag,
  status,
  code: text,
  type: text,
  param: text,
  message: text,
  shape,
  reason: text,
  should_retry: flag,
  bytes: count,
  calls: pieces,
  call: names,
  args: text,
  says: text,
  always: flag,
  field: text,
  done: flag,
  named: flag,
} as const;

/** Name of an option of a model. */
export type OptionName = keyof typeof PARSERS;

/** The options of a model name, read. Absent = not given. */
export type Settings = { readonly [Name in OptionName]?: ReturnType<(typeof PARSERS)[Name]> };

/** The options that every model takes. */
export const GENERIC_OPTIONS: readonly OptionName[] = [
  "latency",
  "first_token",
  "between",
  "keepalive",
  "preamble",
  "chunk",
  "crlf",
  "comments",
  "input",
  "output",
  "cached",
  "cache_write",
  "cache_write_1h",
  "reasoning",
  "tokens",
  "finish",
  "served",
  "quirk",
  "strict",
  "tag",
  "as",
  "times",
  "every",
  "rpm",
  "tpm",
  "retry_after",
  "retry_after_ms",
];

/** Reads the query part of a model name; an option not in `allowed` or not readable is a 400. */
export function readSettings(query: string, allowed: readonly OptionName[], model: string): Settings {
  const settings: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const known = allowed.find((option) => option === name);
    if (known === undefined) refuse(`model ${model} has no option '${name}'; it has ${allowed.join(", ")}`, "model");
    settings[known] = PARSERS[known](value, known);
  }
  return settings as Settings;
}
