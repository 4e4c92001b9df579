import { SPEND_DIMENSIONS } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anAttempt, aRow } from "../ledger/fixtures/rows.ts";
import { defaultRange } from "./default-range.ts";
import { KEYS, NOW, startControl, type TestControl } from "./fixtures/control.ts";
import { spendShape } from "./shapes.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
  const cost = (microUsd: number) => ({ cost_micro_usd: microUsd });
  control.add(aRow("req_1", { ...cost(1_500_000), user: "ann" }), [anAttempt(1, cost(1_500_000))]);
  control.add(aRow("req_2", { ...cost(500), user: '=HYPERLINK("x","y, z")' }), [anAttempt(1, cost(500))]);
  control.add(aRow("req_3", { ...cost(7), tenant: "other" }), [anAttempt(1, cost(7))]);
  control.add(aRow("req_4", { ...cost(900), started_at: "2026-10-31T23:59:59.999Z" }), [anAttempt(1, cost(900))]);
});
afterAll(() => control.close());

async function report(query: string, key?: string) {
  return spendShape.parse(await (await control.get(`/admin/spend?${query}`, key)).json());
}

describe("GET /admin/spend", () => {
  it("is of the current month, UTC, where no time is given", async () => {
    const { from, to, data, total } = await report("by=tenant,model");
    expect([from, to]).toEqual(["2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z"]);
    expect(data.map((row) => [row["tenant"], row["model"], row.cost_micro_usd])).toEqual([
      ["acme", "sim/echo", 1_500_500],
      ["other", "sim/echo", 7],
    ]);
    expect(total).toMatchObject({ requests: 3, cost_micro_usd: 1_500_507, cost_usd: "1.500507" });
  });

  it("answers for one tenant, one model, one day in one query", async () => {
    const { data } = await report("by=model&tenant=acme&from=2026-11-01&to=2026-11-02");
    expect(data).toMatchObject([{ model: "sim/echo", requests: 2, cost_usd: "1.5005" }]);
  });

  it("gives the total where nothing is grouped by", async () => {
    expect(await report("")).toMatchObject({ by: [], total: { requests: 3 } });
  });

  it("names every dimension when one is unknown", async () => {
    const answer = await control.get("/admin/spend?by=tenant,colour");
    const { error } = (await answer.json()) as { error: { message: string; param: string } };
    expect([answer.status, error.param]).toEqual([400, "by"]);
    for (const dimension of SPEND_DIMENSIONS) expect(error.message).toContain(dimension);
  });

  it.each(["format=xml", "format=focus", "from=2026-13-01", "from=2026-11-02&to=2026-11-01", "group=tenant"])(
    "refuses ?%s",
    async (query) => {
      expect((await control.get(`/admin/spend?${query}`)).status).toBe(400);
    },
  );

  it("says of focus that this build does not have it", async () => {
    const answer = await control.get("/admin/spend?format=focus");
    expect(await answer.json()).toMatchObject({ error: { code: "unsupported_feature", param: "format" } });
  });

  it("exports CSV that no spreadsheet runs", async () => {
    const answer = await control.get("/admin/spend?by=user&tenant=acme&format=csv");
    expect(answer.headers.get("content-type")).toContain("text/csv");
    expect(answer.headers.get("content-disposition")).toBe('attachment; filename="spend-2026-11-01-2026-12-01.csv"');
    const lines = (await answer.text()).split("\r\n");
    expect(lines[0]).toMatch(/^user,requests,attempts,.*,cost_micro_usd,cost_usd,/);
    expect(lines[1]).toMatch(/^ann,1,1,0,0,0,1500000,1\.5,/);
    expect(lines[2]).toMatch(/^"'=HYPERLINK\(""x"",""y, z""\)",1,1,/);
  });

  it("is filtered for a key bound to a tenant", async () => {
    const { data } = await report("by=tenant", KEYS.acme);
    expect(data.map((row) => row["tenant"])).toEqual(["acme"]);
    expect((await control.get("/admin/spend?by=tenant&tenant=other", KEYS.acme)).status).toBe(403);
  });
});

describe("the default range", () => {
  it.each([
    [{}, "2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z"],
    [{ from: "2026-02-03" }, "2026-02-03", "2026-12-01T00:00:00.000Z"],
    [{ to: "2026-03-01" }, "2026-02-01T00:00:00.000Z", "2026-03-01"],
    [{ to: "2026-03-02" }, "2026-03-01T00:00:00.000Z", "2026-03-02"],
  ])("of %o", (given, from, to) => {
    expect(defaultRange(given, NOW)).toEqual({ from, to });
  });

  it("crosses the year", () => {
    expect(defaultRange({}, Date.parse("2026-12-31T23:59:59Z")).to).toBe("2027-01-01T00:00:00.000Z");
  });
});
