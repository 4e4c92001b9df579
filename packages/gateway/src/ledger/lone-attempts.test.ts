import { join } from "node:path";
import { type AttemptRow, noUsage, type RequestRow, SPEND_DIMENSIONS } from "@sluicegate/contract";
import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anAdmission, anAttempt, aRow, aSettlement } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { ATTEMPT_FIELDS, type AttemptExtras, attemptValues, REQUEST_FIELDS, requestValues } from "./layout.ts";
import { sql as ledgerTables } from "./migrations/001-ledger.ts";
import { sql as feedbackTable } from "./migrations/002-feedback.ts";
import { openLedgerReader } from "./reader.ts";
import { admissionLine } from "./spool-line.ts";
import { LedgerStore } from "./store.ts";

type Made = readonly [row: RequestRow, attempts: (AttemptRow & AttemptExtras)[]];

const aPath = () => join(aDirectory(), "ledger.sqlite");
const scalar = (value: unknown) =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : (value as string | number | null);

/** A database as it was before lone attempts were kept in their requests' rows. */
function anOldDatabase(path: string, made: readonly Made[]): void {
  const db = new Database(path);
  db.exec(ledgerTables);
  db.exec(feedbackTable);
  db.pragma("user_version = 2");
  const insert = (table: string, columns: readonly string[], values: readonly unknown[]) =>
    db
      .prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
      .run(...values.map(scalar));
  for (const [row, attempts] of made) {
    const values = requestValues(row).map((value, at) => (at === 4 ? Date.parse(row.started_at) : value));
    const last = Math.max(0, ...attempts.map(({ n }) => n));
    insert("requests", [...REQUEST_FIELDS, "attempt_count", "last_attempt"], [...values, attempts.length, last]);
    for (const attempt of attempts)
      insert("attempts", ["request_id", ...ATTEMPT_FIELDS], [row.request_id, ...attemptValues(row, attempt)]);
  }
  db.close();
}

/** All that readers say of a database. */
function reads(path: string) {
  const reader = openLedgerReader(path);
  const range = { from: "2026-11-01", to: "2026-12-01" };
  const by = [[], ...SPEND_DIMENSIONS.map((name) => [name]), ["deployment", "day", "tenant"], ["tenant", "credential"]];
  const filters = [{}, { deployment: "one" }, { status: "ok" }, { status: "failed", tenant: "acme" }];
  try {
    return {
      requests: filters.map((filter) => reader.requests({ ...filter, limit: 1_000 })),
      spend: by.map((names) => reader.spend({ by: names, ...range })),
      ofTenant: reader.spend({ by: ["deployment", "region"], ...range, tenant: "acme" }),
    };
  } finally {
    reader.close();
  }
}

function attemptsIn(path: string, table: "attempts" | "attempt_rows") {
  const db = new Database(path, { readonly: true });
  const rows = db.prepare(`SELECT * FROM ${table} ORDER BY request_id, n`).all();
  db.close();
  return rows;
}

function written(path: string, made: readonly Made[]): LedgerStore {
  const store = new LedgerStore(path, false);
  const settled = made.map(([row, attempts]) => aSettlement(row, attempts));
  expect(store.apply({ instance: "gw", running: [], settled })).toEqual([]);
  return store;
}

const usage = fc
  .record({ input_tokens: fc.nat(99), cached_input_tokens: fc.nat(9), output_tokens: fc.nat(99) })
  .map((some) => ({ ...noUsage(), ...some }));
const name = fc.constantFrom("one", "two", "b'c");
const shared = {
  deployment: name,
  provider: name,
  model: name,
  region: fc.constantFrom(null, "eu"),
  usage,
  cost_micro_usd: fc.nat(9_999),
  cost_state: fc.constantFrom("known" as const, "estimated" as const, "unknown" as const),
};
const ofRequest = fc.record({
  ...shared,
  tenant: fc.constantFrom("acme", "zeta"),
  user: fc.constantFrom(null, "u"),
  status: fc.constantFrom("ok" as const, "failed" as const, "cancelled" as const),
  cache: fc.constantFrom(null, "hit" as const),
  saved_micro_usd: fc.nat(9),
  repeated: fc.integer({ min: 1, max: 3 }),
  hour: fc.nat(40),
});
const ofAttempt = fc.record({
  status: fc.constantFrom("ok" as const, "failed" as const, "cancelled" as const),
  error_class: fc.constantFrom(null, "timeout" as const),
  http_status: fc.constantFrom(null, 200, 503),
  latency_ms: fc.constantFrom(0, 1.25, 80),
  ttft_ms: fc.constantFrom(null, 0.5, 7),
  hedge: fc.boolean(),
  retry: fc.boolean(),
  credential: fc.constantFrom(null, { name: "k", generation: 2, owner: "tenant" as const }),
  provider_request_id: fc.constantFrom(null, "p-1"),
  capacity: fc.constantFrom(null, "provisioned"),
});
/** Mostly an attempt that is its request's own, with at most a few things told differently. */
const differences = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.record({ ...shared, n: fc.integer({ min: 1, max: 3 }) }, { requiredKeys: [] }),
);
const attempts = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.tuple(ofAttempt, differences)) },
  fc.array(fc.tuple(ofAttempt, differences), { maxLength: 3 }),
);
const requests = fc.array(fc.tuple(ofRequest, attempts), { maxLength: 14 }).map((all) =>
  all.map(([{ hour, ...changes }, some], index): Made => {
    const started_at = new Date(Date.parse("2026-11-10") + hour * 3_600_000).toISOString();
    const row = aRow(`req_${index}`, { ...changes, started_at });
    const { deployment, provider, model, region, cost_micro_usd, cost_state } = row;
    const own = { deployment, provider, model, region, cost_micro_usd, cost_state, usage: row.usage };
    const made = some.map(([attempt, different], at) => ({
      ...anAttempt(1, own as Partial<AttemptRow>),
      ...attempt,
      ...different,
      n: some.length === 1 ? (different.n ?? 1) : at + 1,
    }));
    return [row, made];
  }),
);

describe("attempts", () => {
  it("come back as they were written, wherever they are kept, and add up as before", () => {
    fc.assert(
      fc.property(requests, (made) => {
        const [before, now] = [aPath(), aPath()];
        anOldDatabase(before, made);
        written(now, made).close();
        expect(attemptsIn(now, "attempts")).toEqual(attemptsIn(before, "attempts"));
        expect(reads(now)).toEqual(reads(before));
      }),
      { numRuns: 25 },
    );
  });

  it("have rows of their own only where the request's row does not say it all", () => {
    const one = (id: string, row: Partial<RequestRow>, attempt: Partial<AttemptRow & AttemptExtras>): Made => [
      aRow(id, row),
      [anAttempt(attempt.n ?? 1, attempt)],
    ];
    const path = aPath();
    written(path, [
      one("lone", { region: "eu", cost_micro_usd: 5 }, { cost_micro_usd: 5, capacity: "c", status: "failed" }),
      one("other cost", { cost_micro_usd: 5 }, { cost_micro_usd: 6 }),
      one("other cost state", {}, { cost_state: "estimated" }),
      one("other deployment", {}, { deployment: "two" }),
      one("other model", {}, { model: "m" }),
      one("other n", {}, { n: 2 }),
      one("other provider", {}, { provider: "p" }),
      one("other region", { region: "eu" }, { region: "us" }),
      one("other usage", {}, { usage: { ...noUsage(), cache_write_1h_tokens: 1 } }),
      [aRow("two"), [anAttempt(1), anAttempt(2)]],
    ]).close();
    const ids = attemptsIn(path, "attempt_rows").map((row) => (row as { request_id: string }).request_id);
    expect([...new Set(ids)].sort()).toEqual([
      "other cost",
      "other cost state",
      "other deployment",
      "other model",
      "other n",
      "other provider",
      "other region",
      "other usage",
      "two",
    ]);
    expect(attemptsIn(path, "attempts")).toHaveLength(11);
  });

  it("without what every attempt has are refused, also with a request that has no more", () => {
    const path = aPath();
    const store = new LedgerStore(path, false);
    const unserved = { deployment: null, provider: null, model: null };
    const lines = [unserved, { latency_ms: null }, { status: null }, { hedge: null }].map((lacks, index) => {
      const made = Object.entries(lacks).every(([field]) => field in unserved) ? unserved : {};
      const { line } = aSettlement(aRow(`req_${index}`, made), [anAttempt(1, lacks as unknown as AttemptRow)]);
      return { line: line.replace(/,0,0,"sim",1,/, "hedge" in lacks ? ',null,0,"sim",1,' : "$&"), admission: null };
    });
    const rejected = store.apply({ instance: "gw", running: [], settled: lines });
    expect(rejected.map(({ reason }) => reason)).toEqual(
      ["deployment", "latency_ms", "status", "hedge"].map((column) =>
        expect.stringContaining(`attempt_rows.${column}`),
      ),
    );
    store.close();
  });
});

describe("an older database", () => {
  const made: Made[] = [
    [aRow("lone", { cost_micro_usd: 4 }), [anAttempt(1, { cost_micro_usd: 4 })]],
    [aRow("two", { cost_micro_usd: 9, saved_micro_usd: 1 }), [anAttempt(1), anAttempt(2, { cost_micro_usd: 9 })]],
    [aRow("refused", { status: "refused", deployment: null, repeated: 4 }), []],
    [
      aRow("abandoned", { status: "abandoned", cost_micro_usd: 7 }),
      [anAttempt(1, { cost_micro_usd: 7 }), anAttempt(2)],
    ],
  ];

  it("reads the same before it is brought up to date, after it, and when its lines are replayed", () => {
    const path = aPath();
    anOldDatabase(path, made);
    const before = reads(path);
    expect(before.requests[0]?.data).toHaveLength(4);
    const reader = openLedgerReader(path);
    expect(reader.request("lone")?.attempts).toHaveLength(1);
    const store = new LedgerStore(path, false);
    expect(reads(path)).toEqual(before);
    expect(reader.request("lone")?.attempts).toHaveLength(1);
    const again = made.slice(0, 3).map(([row, some]) => aSettlement({ ...row, cost_micro_usd: 1 }, some));
    store.apply({ instance: "gw", running: [], settled: again });
    expect(reads(path)).toEqual(before);
    expect(attemptsIn(path, "attempt_rows")).toHaveLength(5);
    reader.close();
    store.close();
  });

  it("gives an abandoned request the attempts of its settlement, and no others", () => {
    const path = aPath();
    anOldDatabase(path, made);
    const settled = [aRow("abandoned"), [anAttempt(1)]] as const;
    written(path, [[settled[0], [...settled[1]]]]).close();
    const reader = openLedgerReader(path);
    expect(reader.request("abandoned")).toEqual({ ...settled[0], attempts: settled[1] });
    expect(attemptsIn(path, "attempt_rows")).toHaveLength(3);
    reader.close();
  });
});

describe("a request that is settled after it was given up", () => {
  it("keeps no attempt of the time before", () => {
    const path = aPath();
    const store = new LedgerStore(path, false);
    store.abandon([admissionLine(anAdmission("req_1"))]);
    expect(attemptsIn(path, "attempts")).toHaveLength(1);
    const failed = [aRow("req_1", { status: "failed", deployment: null }), [anAttempt(1), anAttempt(2)]] as const;
    store.apply({ instance: "gw", running: [], settled: [aSettlement(failed[0], [...failed[1]])] });
    const reader = openLedgerReader(path);
    expect(reader.request("req_1")).toEqual({ ...failed[0], attempts: failed[1] });
    expect(attemptsIn(path, "attempts")).toHaveLength(2);
    reader.close();
    store.close();
  });
});
