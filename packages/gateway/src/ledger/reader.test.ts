import { join } from "node:path";
import type { RequestRow } from "@sluicegate/contract";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { anAttempt, aRow, aSettlement } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import type { LedgerReader, RequestFilter } from "./ledger.ts";
import { openLedgerReader } from "./reader.ts";
import { LedgerStore } from "./store.ts";

let path: string;
let store: LedgerStore;
let reader: LedgerReader;

beforeEach(() => {
  path = join(aDirectory(), "ledger.sqlite");
  reader = openLedgerReader(path);
});

function add(...rows: RequestRow[]): void {
  store.apply({ instance: "gw", running: [], settled: rows.map((row) => aSettlement(row, [anAttempt(1)])) });
}

function fresh(): void {
  store = new LedgerStore(path, false);
}

/** All ids of a list, page by page; `between` is called after each page. */
function pages(filter: Omit<RequestFilter, "limit">, limit: number, between: () => void = () => {}): string[] {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = reader.requests({ ...filter, limit, ...(cursor && { cursor }) });
    ids.push(...page.data.map((row) => row.request_id));
    cursor = page.next_cursor;
    between();
  } while (cursor);
  return ids;
}

describe("a list of requests", () => {
  it("is empty while there is no ledger, and not when there is one", () => {
    expect(reader.requests({ limit: 10 })).toEqual({ data: [] });
    expect(reader.request("req_1")).toBeNull();
    fresh();
    add(aRow("req_1"));
    expect(reader.requests({ limit: 10 }).data).toEqual([{ ...aRow("req_1"), attempts: [anAttempt(1)] }]);
  });

  it("is newest first, also within a millisecond, and pages hold each row once", () => {
    fresh();
    const at = (ms: number) => ({ started_at: new Date(Date.parse("2026-11-01") + ms).toISOString() });
    const rows = Array.from({ length: 50 }, (_, index) => aRow(`req_${100 + index}`, at(Math.floor(index / 7))));
    add(...rows);
    const expected = rows.map((row) => row.request_id).reverse();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), (limit) => {
        expect(pages({}, limit)).toEqual(expected);
      }),
    );
  });

  it("is not disturbed by rows that arrive while it is read", () => {
    fresh();
    const at = (second: number) => ({ started_at: new Date(Date.parse("2026-11-01") + second * 1_000).toISOString() });
    const before = Array.from({ length: 30 }, (_, index) => aRow(`old_${100 + index}`, at(index)));
    add(...before);
    let arrived = 0;
    const seen = pages({}, 7, () => add(aRow(`new_${100 + arrived}`, at(60 + arrived++))));
    expect(seen).toEqual(before.map((row) => row.request_id).reverse());
    expect(arrived).toBeGreaterThan(3);
  });

  it("holds what its filters ask for, paged as well", () => {
    fresh();
    const rows = Array.from({ length: 60 }, (_, index) =>
      aRow(`req_${100 + index}`, {
        tenant: index % 2 ? "acme" : "other",
        alias: index % 3 ? "default" : "fast",
        deployment: index % 5 ? "one" : "two",
        status: index % 4 ? "ok" : "failed",
        started_at: new Date(Date.parse("2026-11-01T00:00:00Z") + index * 3_600_000).toISOString(),
      }),
    );
    add(...rows);
    const same = (filter: Omit<RequestFilter, "limit">, keep: (row: RequestRow) => boolean) =>
      expect(pages(filter, 4)).toEqual(
        rows
          .filter(keep)
          .map((row) => row.request_id)
          .reverse(),
      );
    same({ tenant: "acme" }, (row) => row.tenant === "acme");
    same({ alias: "fast" }, (row) => row.alias === "fast");
    same({ deployment: "two", tenant: "other" }, (row) => row.deployment === "two" && row.tenant === "other");
    same({ status: "failed" }, (row) => row.status === "failed");
    same({ status: "ok", alias: "default" }, (row) => row.status === "ok" && row.alias === "default");
    same({ status: "running" }, () => false);
    const [from, to] = ["2026-11-02T01:00:00.000Z", "2026-11-02T05:00:00.000Z"];
    same({ from, to }, (row) => row.started_at >= from && row.started_at < to);
    same(
      { from: "2026-11-02T05:00+04:00", to: "2026-11-02T05:00" },
      (row) => row.started_at >= from && row.started_at < to,
    );
    same({ from: "2026-11-03" }, (row) => row.started_at >= "2026-11-03");
  });

  it("says which parameter is wrong, and what would be right", () => {
    const list = (filter: Partial<RequestFilter>) => () => reader.requests({ limit: 10, ...filter });
    const wrong = (param: string, message: RegExp) =>
      expect.objectContaining({ code: "invalid_request", details: { param }, message: expect.stringMatching(message) });
    expect(list({ limit: 0 })).toThrow(wrong("limit", /from 1 to 1000/));
    expect(list({ limit: 1_001 })).toThrow(wrong("limit", /from 1 to 1000/));
    expect(list({ limit: 1.5 })).toThrow(wrong("limit", /whole number/));
    expect(list({ cursor: "nonsense" })).toThrow(wrong("cursor", /not one that this list has given out/));
    expect(list({ status: "faild" })).toThrow(wrong("status", /did you mean `failed`/));
    expect(list({ from: "yesterday" })).toThrow(wrong("from", /ISO 8601/));
    expect(list({ to: "2026-13-01" })).toThrow(wrong("to", /ISO 8601/));
  });
});
