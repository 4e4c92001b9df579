import type { FeedbackRow } from "@sluicegate/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aRow } from "../ledger/fixtures/rows.ts";
import { KEYS, startControl, type TestControl } from "./fixtures/control.ts";

let control: TestControl;

beforeEach(async () => {
  control = await startControl();
  control.add(aRow("req_1", { variant: "next" }));
  control.add(aRow("req_2", { variant: "next", tenant: "other" }));
  control.score(aScore("fb_1", { value: true }));
  control.score(aScore("fb_2", { request_id: "req_2", tenant: "other", value: false, comment: "no" }));
});
afterEach(() => control.close());

function aScore(id: string, changes: Partial<FeedbackRow>): FeedbackRow {
  return {
    ...{ id, at: "2026-11-14T00:00:00.000Z", tenant: "acme", key_id: "ci", request_id: "req_1", session_id: null },
    ...{ name: "helpful", value: true, comment: null, ...changes },
  };
}

const read = async (query: string, key?: string) => {
  const answer = await control.get(`/admin/feedback${query}`, key);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

describe("GET /admin/feedback", () => {
  it("is a report by what served, of this month where nothing else is said", async () => {
    expect((await read("?by=variant")).body).toEqual({
      ...{ from: "2026-11-01T00:00:00.000Z", to: "2026-12-01T00:00:00.000Z", by: ["variant"] },
      data: [{ variant: "next", name: "helpful", count: 2, mean: 0.5, min: 0, max: 1 }],
    });
    expect((await read("?by=")).body["data"]).toMatchObject([{ name: "helpful", count: 2 }]);
    expect((await read("?by=alias,model&tenant=other")).body["data"]).toMatchObject([{ alias: "default", mean: 0 }]);
    expect((await read("?by=variant&from=2026-11-15")).body["data"]).toEqual([]);
  });

  it("is the scores themselves without `by`, page by page", async () => {
    const first = (await read("?limit=1")).body as { data: FeedbackRow[]; next_cursor: string };
    expect(first.data).toMatchObject([{ id: "fb_2", comment: "no", value: false }]);
    const second = (await read(`?limit=1&cursor=${first.next_cursor}`)).body;
    expect(second).toEqual({ data: [aScore("fb_1", {})] });
  });

  it("shows a key of one tenant nothing of the others", async () => {
    expect((await read("?by=variant", KEYS.acme)).body["data"]).toMatchObject([{ count: 1, mean: 1 }]);
    expect((await read("", KEYS.acme)).body["data"]).toMatchObject([{ id: "fb_1" }]);
    expect((await read("?by=variant&tenant=other", KEYS.acme)).status).toBe(403);
    expect((await read("", "nobody")).status).toBe(401);
  });

  it.each([
    ["?by=colour", "by"],
    ["?by=alias&limit=5", "limit"],
    ["?limit=0", "limit"],
    ["?from=yesterday", "from"],
    ["?cursor=x", "cursor"],
    ["?bye=alias", "bye"],
  ])("refuses %s, naming the parameter", async (query, param) => {
    const { status, body } = await read(query);
    expect([status, body]).toMatchObject([400, { error: { param } }]);
  });
});
