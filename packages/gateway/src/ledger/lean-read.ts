import { ownText } from "../core/own-text.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import {
  ADMITTED_FIELDS,
  ADMITTED_OWN_FIELDS,
  ATTEMPT_FIELDS,
  ATTEMPT_OWN_FIELDS,
  ATTEMPT_SHARED_FIELDS,
  type LineValue,
  REQUEST_FIELDS,
  SETTLED_FIELDS,
  SUM_FIELDS,
  TIME_FIELDS,
  USAGE_FIELDS,
} from "./layout.ts";

const ADMITTED_AT = placesIn(REQUEST_FIELDS, ADMITTED_FIELDS);
const ADMITTED_OWN_AT = placesIn(REQUEST_FIELDS, ADMITTED_OWN_FIELDS);
const SETTLED_AT = placesIn(REQUEST_FIELDS, SETTLED_FIELDS);
const NUMBERS_AT = placesIn(REQUEST_FIELDS, [...TIME_FIELDS, ...SUM_FIELDS]);
const ATTEMPT_RUN_AT = placesIn(ATTEMPT_FIELDS, ATTEMPT_SHARED_FIELDS);
const ATTEMPT_NUMBERS_AT = placesIn(ATTEMPT_FIELDS, ATTEMPT_OWN_FIELDS);
/** A request's sums, and where its only attempt has them. */
const SUMS_AT = placesIn(REQUEST_FIELDS, SUM_FIELDS);
const SUMMED_AT = placesIn(ATTEMPT_FIELDS, SUM_FIELDS);
const TIMES_AT = placesIn(REQUEST_FIELDS, TIME_FIELDS);
const ATTEMPT_TIMES_AT = placesIn(ATTEMPT_FIELDS, ["latency_ms", "ttft_ms"]);
const REQUEST_ID_AT = REQUEST_FIELDS.indexOf("request_id");
const STARTED_AT_AT = REQUEST_FIELDS.indexOf("started_at");
const TAGS_AT = REQUEST_FIELDS.indexOf("tags");
const FACTS_AT = REQUEST_FIELDS.indexOf("facts");
const PROVIDER_REQUEST_ID_AT = ATTEMPT_FIELDS.indexOf("provider_request_id");

/** What lines need not say of a request that has only just been admitted, and of an attempt that used nothing. */
const UNSAID: Readonly<Record<string, LineValue>> = {
  ...{ status: "running", cost_state: "known", cost_micro_usd: 0, saved_micro_usd: 0 },
  ...{ fallback_depth: 0, hedged: 0, repeated: 1 },
  ...Object.fromEntries(USAGE_FIELDS.map((name) => [name, 0])),
};
const BARE_REQUEST = REQUEST_FIELDS.map((name) => UNSAID[name] ?? null);
const BARE_ATTEMPT = ATTEMPT_FIELDS.map((name) => UNSAID[name] ?? null);

const COMMA = 44;
const DIGIT_0 = 48;
const DIGIT_9 = 57;

interface Run {
  text: string;
  values: readonly LineValue[];
}

/** The memory of a pure function, and nothing else: the same runs are read again and again. */
class Runs {
  /** Texts are compared for a fraction of what it takes to look one up. */
  #last: Run = { text: "[]", values: [] };
  readonly #byText = new Map<string, Run>();

  /** The values of a run, which nobody may change. Throws SyntaxError or TypeError for a text that is none. */
  of(text: string): readonly LineValue[] {
    if (text !== this.#last.text) this.#last = this.#byText.get(text) ?? this.#read(text);
    return this.#last.values;
  }

  #read(text: string): Run {
    const run = { text: ownText(text), values: listOf(text) };
    if (text.length > LEDGER_LIMITS.runCharsMax) return run;
    if (this.#byText.size >= LEDGER_LIMITS.runsMax) this.#byText.clear();
    this.#byText.set(run.text, run);
    return run;
  }
}

const ADMITTED_RUNS = new Runs();
const SETTLED_RUNS = new Runs();
const ATTEMPT_RUNS = new Runs();

/** What is left of a line that is read column by column. */
class Columns {
  readonly #line: string;
  #at = 2;

  constructor(line: string) {
    this.#line = line;
  }

  get done(): boolean {
    return this.#at > this.#line.length;
  }

  /** Throws TypeError when there is none. */
  next(): string {
    if (this.done) throw broken();
    const from = this.#at;
    const tab = this.#line.indexOf("\t", from);
    const end = tab < 0 ? this.#line.length : tab;
    this.#at = end + 1;
    return this.#line.slice(from, end);
  }
}

/** The request of a lean admission, as it was admitted. Throws SyntaxError or TypeError for a line that is broken. */
export function readAdmitted(line: string): LineValue[] {
  return admitted(new Columns(line));
}

/** The same with the attempt that is billed if it is never settled. */
export function readAdmission(line: string): { request: LineValue[]; attempts: LineValue[][] } {
  const columns = new Columns(line);
  const request = admitted(columns);
  return { request, attempts: [attempt(columns)] };
}

/**
 * Brings an admitted request up to what its lean settlement says, in place, and gives the attempts. Throws SyntaxError or
 * TypeError for a line that is broken, and for one that settles another request.
 */
export function readSettlement(line: string, request: LineValue[]): LineValue[][] {
  const columns = new Columns(line);
  if (columns.next() !== request[REQUEST_ID_AT]) throw broken();
  put(SETTLED_RUNS.of(columns.next()), SETTLED_AT, request);
  const numbers = numbersOf(columns.next());
  put(numbers, NUMBERS_AT, request);
  toMs(request, TIMES_AT);
  const attempts: LineValue[][] = [];
  while (!columns.done) attempts.push(attempt(columns));
  if (numbers.length <= TIMES_AT.length) takeSums(request, attempts);
  return attempts;
}

/** The sums that a line leaves to its only attempt. */
function takeSums(request: LineValue[], attempts: readonly LineValue[][]): void {
  const [only] = attempts;
  if (!only || attempts.length > 1) throw broken();
  for (let index = 0; index < SUMS_AT.length; index++)
    request[SUMS_AT[index] as number] = only[SUMMED_AT[index] as number] as LineValue;
}

function admitted(columns: Columns): LineValue[] {
  const request = BARE_REQUEST.slice();
  request[REQUEST_ID_AT] = columns.next();
  request[STARTED_AT_AT] = columns.next();
  put(ADMITTED_RUNS.of(columns.next()), ADMITTED_AT, request);
  const own = columns.next();
  if (own !== "") put(listOf(own), ADMITTED_OWN_AT, request);
  request[TAGS_AT] = objectText(columns.next()) ?? "{}";
  request[FACTS_AT] = objectText(columns.next());
  return request;
}

function attempt(columns: Columns): LineValue[] {
  const values = BARE_ATTEMPT.slice();
  put(ATTEMPT_RUNS.of(columns.next()), ATTEMPT_RUN_AT, values);
  const id = columns.next();
  if (id !== "") values[PROVIDER_REQUEST_ID_AT] = id.startsWith('"') ? JSON.parse(id) : id;
  put(numbersOf(columns.next()), ATTEMPT_NUMBERS_AT, values);
  toMs(values, ATTEMPT_TIMES_AT);
  return values;
}

/** What a newer build's line knows more is left out. */
function put(values: readonly LineValue[], places: readonly number[], into: LineValue[]): void {
  const count = Math.min(values.length, places.length);
  for (let index = 0; index < count; index++) into[places[index] as number] = values[index] as LineValue;
}

function toMs(values: LineValue[], places: readonly number[]): void {
  for (const at of places) if (values[at] !== null) values[at] = Number(values[at]) / 10;
}

function listOf(text: string): LineValue[] {
  const list = JSON.parse(text);
  if (!Array.isArray(list)) throw broken();
  return list;
}

/** Whole numbers with commas between them, and nothing for null. Throws TypeError for anything else. */
function numbersOf(text: string): LineValue[] {
  const numbers: LineValue[] = [];
  let number: number | null = null;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA) {
      numbers.push(number);
      number = null;
    } else if (code >= DIGIT_0 && code <= DIGIT_9) {
      number = (number ?? 0) * 10 + code - DIGIT_0;
    } else {
      throw broken();
    }
  }
  numbers.push(number);
  return numbers;
}

/** The text of a JSON object, which is not read here, or null for none. Bytes that never reached the disk are NUL. */
function objectText(text: string): string | null {
  if (text === "") return null;
  if (!text.startsWith("{") || !text.endsWith("}") || text.includes("\0")) throw broken();
  return text;
}

function broken(): TypeError {
  return new TypeError("not a line of a spool");
}

function placesIn(fields: readonly string[], names: readonly string[]): number[] {
  return names.map((name) => fields.indexOf(name));
}
