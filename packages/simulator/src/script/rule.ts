import { isObject, type JsonObject } from "../json.ts";

/** Tokens a scripted answer bills; what is absent is 0. Input includes cached, output includes reasoning. */
export interface ScriptBill {
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly output_tokens?: number;
  readonly reasoning_tokens?: number;
}

/** A scripted answer. At most one of `body`, `events` and `raw`. */
export interface ScriptResponse {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  /** Payloads of SSE events: a string is sent as it is, anything else as JSON. No [DONE] is added. */
  readonly events?: readonly unknown[];
  /** The bytes of the body, as text; content type text/event-stream unless a header says otherwise. */
  readonly raw?: string;
  /** Before anything is sent. */
  readonly delay_ms?: number;
  /** Between two events. */
  readonly between_ms?: number;
  /** Never ends: nothing is sent, or after the events nothing more. */
  readonly hang?: boolean;
  /** TCP reset instead of an answer, or after the events. */
  readonly reset?: boolean;
  /** Absent: the call is not billed. */
  readonly bill?: ScriptBill;
}

/** One rule. `*` in a match stands for any text; an absent match fits every call. */
export interface ScriptRule {
  readonly match?: { readonly model?: string; readonly path?: string };
  /** How many calls it answers; absent = all. */
  readonly times?: number;
  readonly response: ScriptResponse;
}

/** Why rules were not taken. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";
}

type Check = (value: unknown) => boolean;

const whole: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const flag: Check = (value) => typeof value === "boolean";
const text: Check = (value) => typeof value === "string";
const figures: Check = (value) => isObject(value) && Object.values(value).every(whole);
const status: Check = (value) => whole(value) && Number(value) >= 200 && Number(value) <= 599;
const headers: Check = (value) => isObject(value) && Object.entries(value).every(([name, to]) => isHeader(name, to));

const RULE: Readonly<Record<string, [Check, string]>> = {
  match: [isObject, "an object"],
  times: [(value) => whole(value) && Number(value) > 0, "a whole number from 1"],
  response: [isObject, "an object"],
};
const MATCH: Readonly<Record<string, [Check, string]>> = { model: [text, "a string"], path: [text, "a string"] };
const RESPONSE: Readonly<Record<string, [Check, string]>> = {
  status: [status, "an HTTP status from 200 to 599"],
  headers: [headers, "an object of header names and printable strings"],
  body: [() => true, ""],
  events: [Array.isArray, "an array"],
  raw: [text, "a string"],
  delay_ms: [(value) => whole(value) && Number(value) <= 86_400_000, "milliseconds, at most a day"],
  between_ms: [(value) => whole(value) && Number(value) <= 86_400_000, "milliseconds, at most a day"],
  hang: [flag, "true or false"],
  reset: [flag, "true or false"],
  bill: [figures, "an object of whole numbers"],
};
const BILL = "input_tokens cached_input_tokens cache_write_tokens output_tokens reasoning_tokens".split(" ");

/** Reads one rule or a list of them; throws ScriptError that names the place of the first fault. */
export function readRules(value: unknown): ScriptRule[] {
  const list = Array.isArray(value) ? value : isObject(value) && Array.isArray(value.rules) ? value.rules : [value];
  return list.map((rule: unknown, i) => readRule(rule, `rules[${i}]`));
}

function readRule(rule: unknown, at: string): ScriptRule {
  if (!isObject(rule)) throw new ScriptError(`${at} must be an object`);
  checkMembers(rule, RULE, at);
  if (isObject(rule.match)) checkMembers(rule.match, MATCH, `${at}.match`);
  if (!isObject(rule.response)) throw new ScriptError(`${at}.response is missing`);
  checkMembers(rule.response, RESPONSE, `${at}.response`);
  const { response } = rule;
  const given = ["body", "events", "raw"].filter((name) => response[name] !== undefined);
  if (given.length > 1) throw new ScriptError(`${at}.response has ${given.join(" and ")}; give one of them`);
  const odd = Object.keys(isObject(response.bill) ? response.bill : {}).find((name) => !BILL.includes(name));
  if (odd !== undefined) throw new ScriptError(`${at}.response.bill has no '${odd}'; it has ${BILL.join(", ")}`);
  // A copy, so that the caller's later changes do not reach the script.
  return structuredClone(rule) as unknown as ScriptRule;
}

function checkMembers(value: JsonObject, table: Readonly<Record<string, [Check, string]>>, at: string): void {
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(table, name) ? table[name] : undefined;
    if (known === undefined) throw new ScriptError(`${at} has no '${name}'; it has ${Object.keys(table).join(", ")}`);
    if (member !== undefined && !known[0](member)) throw new ScriptError(`${at}.${name} must be ${known[1]}`);
  }
}

function isHeader(name: string, value: unknown): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && typeof value === "string" && /^[\t\x20-\x7e]*$/.test(value);
}
