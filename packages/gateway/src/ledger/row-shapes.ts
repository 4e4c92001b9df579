import type { Statement } from "better-sqlite3";
import { LEDGER_LIMITS } from "./bounds.ts";
import { REQUEST_COLUMNS, type SqlValue } from "./columns.ts";
import type { Sqlite } from "./sqlite.ts";

/** Columns that are told apart from one request to the next; of the others, whole rows of values come again and again. */
const OWN_COLUMNS: ReadonlySet<string> = new Set([
  "request_id",
  "client_request_id",
  "parent_request_id",
  "started_at",
  "tenant",
  "team",
  "application",
  "agent",
  "user",
  "session",
  "key_id",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "output_tokens",
  "reasoning_tokens",
  "cost_micro_usd",
  "saved_micro_usd",
  "latency_ms",
  "ttft_ms",
  "overhead_ms",
  "trace_id",
  "tags",
  "facts",
  "attempt_latency_ms",
  "attempt_ttft_ms",
  "attempt_provider_request_id",
]);
/**
 * Those of them that mostly say nothing, by how they go together, and what they say then: which groups do is part of a shape.
 * More groups would be more shapes.
 */
const BLANKS: readonly Blank[] = [
  blank(null, ["client_request_id", "parent_request_id", "agent", "user", "session", "trace_id"]),
  blank(null, ["team", "application"]),
  blank(null, ["ttft_ms", "attempt_ttft_ms"]),
  blank(0, [
    "cached_input_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "reasoning_tokens",
    "saved_micro_usd",
  ]),
  blank("{}", ["tags"]),
];

/** What most shapes differ in is looked at first. */
const TELLING_COLUMNS: ReadonlySet<string> = new Set(["alias", "stream", "finish_reason", "deployment"]);
const OWN_AT = placesWhere((name) => OWN_COLUMNS.has(name));
const SHAPE_AT = [
  ...placesWhere((name) => TELLING_COLUMNS.has(name)),
  ...placesWhere((name) => !OWN_COLUMNS.has(name) && !TELLING_COLUMNS.has(name)),
];

/** Columns that go together, and what all of them are in most rows. */
interface Blank {
  places: readonly number[];
  value: SqlValue;
}

interface Shape {
  /** In the order of SHAPE_AT. */
  values: SqlValue[];
  /** A bit for each of BLANKS. */
  blanks: number;
  rows: number;
  adding: Adding | null;
}

/** A statement of a shape. */
interface Adding {
  statement: Statement;
  /** Columns that its parameters are. */
  ownAt: readonly number[];
  /** Parameters of one call, used again for the next. */
  own: SqlValue[];
}

/**
 * Adds requests, by statements that have the values of a shape in them: binding one parameter costs as much as storing two.
 * The shapes seen last are looked through in turn, and one that is found moves up by one place.
 */
export class RowShapes {
  readonly #db: Sqlite;
  readonly #any: Statement;
  readonly #quote: Statement;
  readonly #shapes: Shape[] = [];

  constructor(db: Sqlite) {
    this.#db = db;
    this.#any = db.prepare(addRequest(REQUEST_COLUMNS.map(() => "?")));
    this.#quote = db.prepare("SELECT quote(?)").pluck();
  }

  /** Adds a row unless there is one with its id. False: there is. Throws for a row that the table does not take. */
  add(row: SqlValue[]): boolean {
    const adding = this.#addingOf(row);
    // Parameters one by one are bound for half of what an array of them costs.
    if (!adding) return this.#any.run(...row).changes > 0;
    const { statement, ownAt, own } = adding;
    for (let index = 0; index < own.length; index++) own[index] = row[ownAt[index] as number] as SqlValue;
    const { changes } = statement.run(...own);
    // They may be pieces of the text of a whole batch, and the next row of the shape may be long in coming.
    own.fill(null);
    return changes > 0;
  }

  /** The same for a row of which there will be no other of its shape. */
  addSingle(row: SqlValue[]): boolean {
    return this.#any.run(...row).changes > 0;
  }

  #addingOf(row: SqlValue[]): Adding | null {
    const shapes = this.#shapes;
    const blanks = blanksOf(row);
    for (let index = 0; index < shapes.length; index++) {
      const shape = shapes[index] as Shape;
      if (shape.blanks !== blanks || !isOf(shape.values, row)) continue;
      if (index > 0) {
        shapes[index] = shapes[index - 1] as Shape;
        shapes[index - 1] = shape;
      }
      if (++shape.rows === LEDGER_LIMITS.rowShapeAfter) shape.adding = this.#prepare(shape);
      return shape.adding;
    }
    const values = SHAPE_AT.map((at) => row[at] ?? null);
    const last = Math.min(shapes.length, LEDGER_LIMITS.rowShapesMax - 1);
    if (values.every(isShort)) shapes[last] = { values, blanks, rows: 1, adding: null };
    return null;
  }

  #prepare({ values, blanks }: Shape): Adding {
    const texts: string[] = REQUEST_COLUMNS.map(() => "?");
    const put = (at: number, value: SqlValue): void => {
      texts[at] = String(this.#quote.get(value));
    };
    for (let index = 0; index < values.length; index++) put(SHAPE_AT[index] as number, values[index] ?? null);
    for (const [bit, { places, value }] of BLANKS.entries())
      if (blanks & (1 << bit)) for (const at of places) put(at, value);
    const ownAt = OWN_AT.filter((at) => texts[at] === "?");
    return { statement: this.#db.prepare(addRequest(texts)), ownAt, own: ownAt.map(() => null) };
  }
}

/** What goes into the text of a statement, and is kept until then: a model's name is as long as its provider makes it. */
function isShort(value: SqlValue): boolean {
  return typeof value !== "string" || (value.length <= LEDGER_LIMITS.rowShapeTextMax && !value.includes("\0"));
}

function isOf(shape: SqlValue[], row: SqlValue[]): boolean {
  for (let index = 0; index < shape.length; index++) if (shape[index] !== row[SHAPE_AT[index] as number]) return false;
  return true;
}

/** A bit for each of BLANKS that this row says nothing of. */
function blanksOf(row: SqlValue[]): number {
  let bits = 0;
  for (let bit = 0; bit < BLANKS.length; bit++) {
    const { places, value } = BLANKS[bit] as Blank;
    let at = 0;
    while (at < places.length && row[places[at] as number] === value) at++;
    if (at === places.length) bits |= 1 << bit;
  }
  return bits;
}

function blank(value: SqlValue, names: readonly string[]): Blank {
  return { places: placesWhere((name) => names.includes(name)), value };
}

function addRequest(values: readonly string[]): string {
  return `INSERT INTO requests (${REQUEST_COLUMNS.join(", ")}) VALUES (${values.join(", ")})
    ON CONFLICT (request_id) DO NOTHING`;
}

function placesWhere(keep: (name: string) => boolean): number[] {
  return REQUEST_COLUMNS.flatMap((name, at) => (keep(name) ? [at] : []));
}
