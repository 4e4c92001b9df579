import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { anAdmission, anAttempt, aRow } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { LeanLines } from "./lean-line.ts";
import type { LedgerReader } from "./ledger.ts";
import { openLedgerReader } from "./reader.ts";
import { admissionLine, needsAdmission, settlementLine } from "./spool-line.ts";
import { LedgerStore } from "./store.ts";

let store: LedgerStore;
let reader: LedgerReader;

beforeEach(() => {
  const path = join(aDirectory(), "ledger.sqlite");
  store = new LedgerStore(path, false);
  reader = openLedgerReader(path);
});

const admitted = (id: string) => admissionLine(anAdmission(id)).trimEnd();
const settled = (id: string, cost = 5) =>
  settlementLine(aRow(id, { cost_micro_usd: cost }), [anAttempt(1, { cost_micro_usd: cost })]).trimEnd();
const apply = (running: string[], done: string[]) =>
  store.apply({ instance: "gw_1", running, settled: done.map((line) => ({ line, admission: null })) });

describe("a row", () => {
  it("comes back as it went in", () => {
    const usage = {
      input_tokens: 60,
      cached_input_tokens: 50,
      cache_write_tokens: 4,
      cache_write_1h_tokens: 3,
      output_tokens: 20,
      reasoning_tokens: 10,
    };
    const row = aRow("req_1", { usage, tags: { tier: "gold", ünï: '"' }, facts: { needs: ["tools"] }, stream: true });
    const attempts = [
      anAttempt(1, { status: "failed", error_class: "timeout", http_status: null, credential: null, hedge: true }),
      anAttempt(2, { usage, retry: true, provider_request_id: "p-1", ttft_ms: 1.25 }),
    ];
    apply([], [settlementLine(row, attempts).trimEnd()]);
    expect(reader.request("req_1")).toEqual({ ...row, attempts });
    expect(reader.request("req_2")).toBeNull();
  });

  it("that runs shows as running and counts nothing, and is replaced when it ends", () => {
    apply([admitted("req_1")], []);
    expect(reader.request("req_1")).toMatchObject({ status: "running", cost_micro_usd: 0, attempts: [] });
    apply([], [settled("req_1")]);
    expect(reader.request("req_1")).toMatchObject({ status: "ok", cost_micro_usd: 5, attempts: [{ n: 1 }] });
  });

  it("that was settled stays, whatever is replayed after it", () => {
    apply([], [settled("req_1")]);
    apply([admitted("req_1")], []);
    apply([], [settled("req_1", 9)]);
    store.abandon([admitted("req_1")]);
    expect(store.abandonRunning("gw_1")).toBe(0);
    expect(reader.request("req_1")).toMatchObject({
      status: "ok",
      cost_micro_usd: 5,
      attempts: [{ cost_micro_usd: 5 }],
    });
  });

  it("that is abandoned costs what was estimated, once", () => {
    apply([admitted("req_1")], []);
    expect(store.abandonRunning("gw_2")).toBe(0);
    expect(store.abandonRunning("gw_1")).toBe(1);
    store.abandon([admitted("req_1"), admitted("req_2")]);
    for (const id of ["req_1", "req_2"]) {
      expect(reader.request(id)).toMatchObject({
        status: "abandoned",
        deployment: "one",
        usage: { input_tokens: 100 },
        cost_micro_usd: 7,
        cost_state: "estimated",
        attempts: [{ n: 1, cost_micro_usd: 7, cost_state: "estimated" }],
      });
    }
  });

  it("of a deployment without a price stays of unknown cost when it is abandoned", () => {
    const admission = anAdmission("req_1");
    store.abandon([admissionLine({ ...admission, attempt: { ...admission.attempt, cost_state: "unknown" } })]);
    expect(reader.request("req_1")).toMatchObject({ cost_state: "unknown", attempts: [{ cost_state: "unknown" }] });
  });
});

describe("a settlement that leaves out what its admission has said", () => {
  const lines = new LeanLines();
  const lean = (id: string) => {
    const admission = lines.admission(anAdmission(id, { user: "u", tags: { tier: "gold" } })).trimEnd();
    const row = aRow(id, { user: "u", tags: { tier: "gold" }, cost_micro_usd: 5, latency_ms: 12.5 });
    const attempts = [anAttempt(1, { cost_micro_usd: 5 })];
    return { admission, line: lines.settlement(row, attempts).trimEnd(), record: { ...row, attempts } };
  };
  const settle = (line: string, admission: string | null) =>
    store.apply({ instance: "gw_1", running: [], settled: [{ line, admission }] });

  it("is whole with it, and changes nothing when it comes again, with it or without", () => {
    const { admission, line, record } = lean("req_1");
    expect(needsAdmission(line)).toBe(true);
    for (const again of [admission, admission, null]) {
      expect(settle(line, again)).toEqual([]);
      expect(reader.request("req_1")).toEqual(record);
    }
  });

  it("finds it with the running row", () => {
    const { admission, line, record } = lean("req_1");
    apply([admission], []);
    expect(reader.request("req_1")).toMatchObject({ status: "running", tags: { tier: "gold" }, attempts: [] });
    expect(settle(line, null)).toEqual([]);
    expect(reader.request("req_1")).toEqual(record);
    expect(store.abandonRunning("gw_1")).toBe(0);
  });

  it("finds it with a row that was given up, be it from the database or the spool", () => {
    const [first, second] = [lean("req_1"), lean("req_2")];
    apply([first.admission], []);
    expect(store.abandonRunning("gw_1")).toBe(1);
    expect(store.abandon([second.admission])).toEqual([]);
    for (const { line, record } of [first, second]) {
      expect(reader.request(record.request_id)).toMatchObject({ status: "abandoned", cost_micro_usd: 7 });
      expect(settle(line, null)).toEqual([]);
      expect(reader.request(record.request_id)).toEqual(record);
    }
  });

  it("is left out, with what there is of it, where it cannot be put together", () => {
    const { admission, line } = lean("req_1");
    expect(settle(line, null)).toEqual([{ line, reason: "a settlement without its admission" }]);
    expect(settle(line, "A\treq_1")).toEqual([{ line, admission: "A\treq_1", reason: "not a line of a spool" }]);
    expect(reader.request("req_1")).toBeNull();
    expect(settle(line, admission)).toEqual([]);
  });
});

describe("a batch", () => {
  it("may be applied again from any place: the ledger ends up the same", () => {
    const event = fc.record({ id: fc.integer({ min: 1, max: 6 }), settles: fc.boolean() });
    let run = 0;
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.nat(30), (events, from) => {
        const prefix = `req_${run++}_`;
        const play = (some: typeof events) => {
          for (const { id, settles } of some) {
            if (settles) apply([], [settled(prefix + id, id)]);
            else apply([admitted(prefix + id)], []);
          }
        };
        const all = () => [1, 2, 3, 4, 5, 6].map((id) => reader.request(prefix + id));
        play(events);
        const once = all();
        play(events.slice(from));
        play(events);
        expect(all()).toEqual(once);
      }),
      { numRuns: 50 },
    );
  });

  it("leaves out the lines that cannot go in, and only those", () => {
    const broken = settlementLine(aRow("req_2", { cost_micro_usd: 0.5 }), []).trimEnd();
    const rejected = apply(['["a",["req_4",'], [settled("req_1"), broken, settled("req_3")]);
    expect(rejected.map(({ line }) => line)).toEqual(['["a",["req_4",', broken]);
    expect(rejected[1]?.reason).toContain("CHECK constraint");
    expect(reader.requests({ limit: 10 }).data.map((row) => row.request_id)).toEqual(["req_3", "req_1"]);
  });

  it("does not loop on a running row whose admission is no good", () => {
    const admission = anAdmission("req_1");
    apply([admissionLine({ ...admission, attempt: { ...admission.attempt, cost_micro_usd: 0.5 } })], []);
    expect(store.abandonRunning("gw_1")).toBe(1);
    expect(reader.request("req_1")).toMatchObject({ status: "abandoned", cost_state: "unknown", attempts: [] });
  });
});
