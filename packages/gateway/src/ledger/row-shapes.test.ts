import { join } from "node:path";
import type { AttemptRow, RequestRow } from "@sluicegate/contract";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { heldHeapBytes } from "../../test/support/held-bytes.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import { requestParams, requestScalars } from "./columns.ts";
import { anAttempt, aRow, aSettlement } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { type AttemptExtras, requestValues } from "./layout.ts";
import { openLedgerReader } from "./reader.ts";
import { RowShapes } from "./row-shapes.ts";
import { openSqlite } from "./sqlite.ts";
import { LedgerStore } from "./store.ts";

type Made = readonly [row: RequestRow, attempts: (AttemptRow & AttemptExtras)[]];

const ENOUGH = LEDGER_LIMITS.rowShapeAfter + 3;

function aLedger() {
  const path = join(aDirectory(), "ledger.sqlite");
  const store = new LedgerStore(path, false);
  return {
    store,
    reader: openLedgerReader(path),
    apply: (made: readonly Made[]) =>
      store.apply({ instance: "gw", running: [], settled: made.map(([row, some]) => aSettlement(row, some)) }),
  };
}

function one(id: string, row: Partial<RequestRow> = {}, attempt: Partial<AttemptRow & AttemptExtras> = {}): Made {
  const made = aRow(id, row);
  const { deployment, provider, model, usage, cost_micro_usd, cost_state } = made;
  const own = { deployment, provider, model, usage, cost_micro_usd, cost_state } as Partial<AttemptRow>;
  return [made, [anAttempt(1, { ...own, ...attempt })]];
}

const many = (prefix: string, count: number, row?: Partial<RequestRow>, attempt?: Partial<AttemptRow>): Made[] =>
  Array.from({ length: count }, (_, index) =>
    one(`${prefix}_${index}`, { latency_ms: index / 4, cost_micro_usd: index, ...row }, attempt),
  );

function expectAll({ reader }: ReturnType<typeof aLedger>, made: readonly Made[]): void {
  for (const [row, attempts] of made) expect(reader.request(row.request_id)).toEqual({ ...row, attempts });
}

it("takes rows whatever their values are, before and after they have a statement of their own", () => {
  // A shape with a text that no statement can have in it has no statement: such texts are rare here.
  const text = fc.oneof(
    {
      weight: 20,
      arbitrary: fc.constantFrom("", "'", "it's", "?", "NULL", "';--", "\u00e9\u20ac", '"', "1", "1e3", "x'00'"),
    },
    { weight: 20, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
    { weight: 1, arbitrary: fc.constantFrom("a\0b", "long ".repeat(60)) },
  );
  const maybe = fc.option(text);
  const shape = fc.record({
    alias: maybe,
    route: maybe,
    variant: maybe,
    dialect: text,
    deployment: text,
    model: text,
    response_model: maybe,
    region: fc.constant(null),
    template_version: maybe,
    fallback_depth: fc.constantFrom(0, 3, 2 ** 40),
    hedged: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(shape, { minLength: 1, maxLength: 3 }), (shapes) => {
      const ledger = aLedger();
      const made = shapes.flatMap((changes, index) => many(`r${index}`, ENOUGH, changes, { provider_request_id: "p" }));
      // All shapes in turn, and all at once.
      made.sort(([a], [b]) => a.cost_micro_usd - b.cost_micro_usd);
      expect(ledger.apply(made)).toEqual([]);
      expectAll(ledger, made);
      ledger.store.close();
      ledger.reader.close();
    }),
    { numRuns: 25 },
  );
});

it("tells shapes apart by each of their values", () => {
  const changes: Partial<RequestRow>[] = [
    { purpose: "probe" },
    { tenant: "zeta" },
    { team: "t" },
    { application: "t" },
    { agent: "t" },
    { key_id: null },
    { alias: "t" },
    { route: "t" },
    { rule: null },
    { variant: "t" },
    { dialect: "t" },
    { stream: true },
    { status: "failed" },
    { error_code: "timeout" },
    { finish_reason: null },
    { deployment: "t" },
    { provider: "t" },
    { model: "t" },
    { response_model: "t" },
    { template_version: "t" },
    { task_class: "t" },
    { classification: "t" },
    { cost_state: "unknown" },
    { saved_micro_usd: 4 },
    { cache: "hit" },
    { fallback_depth: 1 },
    { hedged: true },
    { repeated: 2 },
  ];
  const ofAttempt: Partial<AttemptRow>[] = [
    { status: "failed" },
    { error_class: "timeout" },
    { http_status: 201 },
    { hedge: true },
    { retry: true },
    { credential: null },
    { credential: { name: "other", generation: 1, owner: "shared" } },
    { credential: { name: "sim", generation: 2, owner: "shared" } },
    { credential: { name: "sim", generation: 1, owner: "tenant" } },
    { n: 2 },
  ];
  const ledger = aLedger();
  ledger.apply(many("same", ENOUGH));
  const made = [
    ...changes.map((change, index) => one(`r${index}`, change)),
    ...ofAttempt.map((change, index) => one(`a${index}`, {}, change)),
    [aRow("none"), []] as const,
    [aRow("two"), [anAttempt(1), anAttempt(2)]] as const,
  ];
  expect(ledger.apply(made)).toEqual([]);
  expectAll(ledger, [...made, ...many("same", ENOUGH)]);
  ledger.apply([one("capacity", {}, { capacity: "provisioned" })]);
  const { data } = ledger.reader.spend({ by: ["capacity"], from: "2026-11-01", to: "2026-12-01" });
  expect(data.find(({ capacity }) => capacity !== null)).toMatchObject({ capacity: "provisioned", requests: 1 });
});

it("tells shapes apart by what they say nothing of", () => {
  const usage = aRow("r").usage;
  const changes: Partial<RequestRow>[] = [
    ...(["client_request_id", "parent_request_id", "agent", "user", "session", "trace_id"] as const).flatMap((name) => [
      { [name]: "t" },
      { [name]: "" },
    ]),
    ...[{ team: "t" }, { application: "t" }, { team: "t", application: "a" }, { ttft_ms: 3 }, { ttft_ms: 0 }],
    ...(["cached_input_tokens", "cache_write_tokens", "cache_write_1h_tokens", "reasoning_tokens"] as const).map(
      (name) => ({ usage: { ...usage, [name]: 7 } }),
    ),
    ...[{ saved_micro_usd: 7 }, { tags: { tier: "gold" } }, { tags: {} }],
    { agent: "a", team: "t", ttft_ms: 1, usage: { ...usage, cached_input_tokens: 1 }, tags: { "{}": "{}" } },
  ];
  const usual = { usage: { ...usage, input_tokens: 1 }, tags: {}, ttft_ms: null };
  const ledger = aLedger();
  const made = many("same", ENOUGH, usual);
  // Each once among those of the usual shape, and then often enough for a statement of its own.
  for (const [index, change] of changes.entries())
    made.push(one(`r${index}`, { ...usual, ...change }), one(`t${index}`, usual, { ttft_ms: 5 }));
  for (const [index, change] of changes.entries()) made.push(...many(`m${index}`, ENOUGH, { ...usual, ...change }));
  expect(ledger.apply(made)).toEqual([]);
  expectAll(ledger, made);
});

it("changes nothing of a row that is there, and leaves out what cannot go in", () => {
  const ledger = aLedger();
  const made = many("r", 2 * ENOUGH);
  ledger.apply(made);
  expect(ledger.apply(made.map(([row, attempts]) => [{ ...row, latency_ms: 999 }, attempts]))).toEqual([]);
  const rejected = ledger.apply([one("bad", { cost_micro_usd: 0.5 }), one("good")]);
  expect(rejected.map(({ reason }) => reason)).toEqual([expect.stringContaining("CHECK constraint")]);
  expectAll(ledger, [...made, one("good")]);
  expect(ledger.reader.request("bad")).toBeNull();
});

it("takes rows of more shapes than it keeps", () => {
  const ledger = aLedger();
  const shapes = Array.from({ length: 2 * LEDGER_LIMITS.rowShapesMax }, (_, index) => ({ alias: `alias ${index}` }));
  const made = [0, 1, 2].flatMap((turn) => shapes.map((shape, index) => one(`r${turn}_${index}`, shape)));
  made.push(...many("again", ENOUGH, shapes[0]), ...many("late", ENOUGH, shapes.at(-1)));
  expect(ledger.apply(made)).toEqual([]);
  expectAll(ledger, made);
});

it("holds on to nothing of the rows that it has added", () => {
  const MIB = 1024 * 1024;
  const db = openSqlite(join(aDirectory(), "ledger.sqlite"), { busyTimeoutMs: 0, durable: false });
  const shapes = new RowShapes(db);
  let count = 0;
  const add = (alias: string, batch: string) => {
    // As a line is read: its columns are cut out of the text of a batch.
    const id = batch.slice(0, 40);
    shapes.add(requestParams(requestScalars(requestValues(aRow(id, { alias }))), [], null, null));
  };
  const held = heldHeapBytes(() => {
    for (let shape = 0; shape < 16; shape++)
      for (let row = 0; row < ENOUGH; row++) add(`alias ${shape}`, `req_${count++}_`.padEnd(MIB, "x"));
  });
  expect(db.prepare("SELECT count(*) FROM requests").pluck().get()).toBe(16 * ENOUGH);
  expect(held).toBeLessThan(4 * MIB);
  db.close();
});

it("keeps no shape with a long text, and none in its place", () => {
  const db = openSqlite(join(aDirectory(), "ledger.sqlite"), { busyTimeoutMs: 0, durable: false });
  const shapes = new RowShapes(db);
  const prepare = vi.spyOn(db, "prepare");
  let count = 0;
  const add = (alias: string) => {
    const request = requestScalars(requestValues(aRow(`req_${count++}`, { alias })));
    expect(shapes.add(requestParams(request, [], null, null))).toBe(true);
  };
  for (let index = 0; index < LEDGER_LIMITS.rowShapesMax; index++) add(`alias ${index}`);
  const last = `alias ${LEDGER_LIMITS.rowShapesMax}`;
  for (let index = 1; index < LEDGER_LIMITS.rowShapeAfter; index++) {
    add(last);
    add("long ".repeat(LEDGER_LIMITS.rowShapeTextMax));
  }
  expect(prepare).not.toHaveBeenCalled();
  add(last);
  expect(prepare).toHaveBeenCalledTimes(1);
  db.close();
});
