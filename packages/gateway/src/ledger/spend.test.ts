import { join } from "node:path";
import { type AttemptRow, noUsage, type RequestRow, SPEND_DIMENSIONS, type SpendReport } from "@sluicegate/contract";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { anAttempt, aRow, aSettlement } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import type { LedgerReader } from "./ledger.ts";
import { openLedgerReader } from "./reader.ts";
import { LedgerStore } from "./store.ts";

let store: LedgerStore;
let reader: LedgerReader;

beforeEach(open);

function open(): void {
  const path = join(aDirectory(), "ledger.sqlite");
  store = new LedgerStore(path, false);
  reader = openLedgerReader(path);
}

const NOVEMBER = { from: "2026-11-01", to: "2026-12-01" };

/** Adds a request with these attempts; its cost and usage are their sums. */
function add(id: string, changes: Partial<RequestRow>, attempts: Partial<AttemptRow>[] = [{}]): void {
  const made = attempts.map((attempt, index) => anAttempt(index + 1, attempt));
  const usage = noUsage();
  for (const attempt of made) {
    for (const name of Object.keys(usage) as (keyof typeof usage)[]) usage[name] += attempt.usage[name];
  }
  const cost = made.reduce((sum, attempt) => sum + attempt.cost_micro_usd, 0);
  const row = aRow(id, { usage, cost_micro_usd: cost, ...changes });
  store.apply({ instance: "gw", running: [], settled: [aSettlement(row, made)] });
}

function spend(...by: string[]): SpendReport {
  return reader.spend({ by, ...NOVEMBER });
}

const groups = (report: SpendReport, ...names: string[]) => report.data.map((row) => names.map((name) => row[name]));

describe("a spend report", () => {
  it("answers how much a tenant spent on a model on a day", () => {
    add("r1", { tenant: "x", started_at: "2026-11-28T23:59:59.999Z" }, [{ model: "m", cost_micro_usd: 1 }]);
    add("r2", { tenant: "x", started_at: "2026-11-28T00:00:00.000Z" }, [{ model: "m", cost_micro_usd: 20 }]);
    add("r3", { tenant: "x", started_at: "2026-11-29T00:00:00.000Z" }, [{ model: "m", cost_micro_usd: 300 }]);
    add("r4", { tenant: "y", started_at: "2026-11-28T12:00:00.000Z" }, [{ model: "m", cost_micro_usd: 4_000 }]);
    const yesterday = { from: "2026-11-28", to: "2026-11-29T00:00:00Z" };
    const report = reader.spend({ by: ["model"], ...yesterday, tenant: "x" });
    expect(report).toMatchObject({ by: ["model"], from: "2026-11-28T00:00:00.000Z", to: "2026-11-29T00:00:00.000Z" });
    expect(report.data).toMatchObject([{ model: "m", requests: 2, cost_micro_usd: 21, cost_usd: "0.000021" }]);
    expect(groups(spend("tenant", "day"), "tenant", "day", "cost_micro_usd")).toEqual([
      ["y", "2026-11-28", 4_000],
      ["x", "2026-11-29", 300],
      ["x", "2026-11-28", 21],
    ]);
    expect(groups(spend("hour"), "hour")[0]).toEqual(["2026-11-28T12:00:00Z"]);
  });

  it("bills a fallback to the deployment that cost it, and counts the request once", () => {
    const usage = { ...noUsage(), input_tokens: 10, output_tokens: 3 };
    add("r1", { deployment: "b", saved_micro_usd: 2 }, [
      { deployment: "a", status: "failed", cost_micro_usd: 5, usage },
      { deployment: "b", cost_micro_usd: 100, usage },
    ]);
    add("r2", { deployment: "a" }, [{ deployment: "a", cost_micro_usd: 40, usage }]);
    add("hit", { deployment: "a", cache: "hit", saved_micro_usd: 50 }, []);
    add("refused", { deployment: null, status: "refused", repeated: 7 }, []);
    const report = spend("deployment");
    expect(groups(report, "deployment", "requests", "attempts", "cost_micro_usd", "saved_micro_usd")).toEqual([
      ["b", 1, 1, 100, 2],
      ["a", 3, 2, 45, 50],
      [null, 7, 0, 0, 0],
    ]);
    expect(report.total).toMatchObject({ requests: 10, attempts: 3, cost_micro_usd: 145, saved_micro_usd: 52 });
    expect(report.total).toEqual(spend("alias").total);
    expect(report.total).toMatchObject({ input_tokens: 30, output_tokens: 9 });
  });

  it("counts users inside their tenants, and what each costs, half a micro-dollar up", () => {
    add("r1", { tenant: "x", user: "u1" }, [{ cost_micro_usd: 3 }]);
    add("r2", { tenant: "x", user: "u2" }, [{ cost_micro_usd: 4 }]);
    add("r3", { tenant: "y", user: "u1" }, [{ cost_micro_usd: 1 }]);
    add("r4", { tenant: "z", user: null }, [{ cost_micro_usd: 1 }]);
    const figures = ["tenant", "active_users", "cost_per_active_user_micro_usd"];
    expect(groups(spend("tenant"), ...figures)).toEqual([
      ["x", 2, 4],
      ["y", 1, 1],
      ["z", 0, null],
    ]);
    expect(spend("tenant").total.active_users).toBe(3);
  });

  it("shows how many requests are of unknown cost", () => {
    add("r1", { cost_state: "unknown" }, [
      { deployment: "a", cost_state: "known" },
      { deployment: "b", cost_state: "unknown" },
    ]);
    add("r2", { cost_state: "known" }, [{ deployment: "a" }]);
    expect(groups(spend("tenant"), "unknown_cost_requests")).toEqual([[1]]);
    expect(groups(spend("deployment"), "deployment", "unknown_cost_requests")).toEqual([
      ["a", 0],
      ["b", 1],
    ]);
  });

  it("groups by tags, keys, credentials, and by region and capacity where the rows tell", () => {
    add("r1", { tags: { 'a"$.b': "x", tier: "gold" }, region: "eu" }, [{ deployment: "one", cost_micro_usd: 2 }]);
    const dedicated = { credential: null, capacity: "provisioned", region: "us", cost_micro_usd: 1 };
    add("r2", { key_id: null, region: "eu" }, [dedicated as Partial<AttemptRow>]);
    expect(groups(spend("tag:tier"), "tag:tier")).toEqual([["gold"], [null]]);
    expect(groups(spend('tag:a"$.b'), 'tag:a"$.b')).toEqual([["x"], [null]]);
    expect(groups(spend("key", "credential"), "key", "credential")).toEqual([
      ["ci", "sim"],
      [null, null],
    ]);
    expect(groups(spend("region", "capacity"), "region", "capacity")).toEqual([
      ["eu", null],
      ["us", "provisioned"],
    ]);
  });

  it("takes every dimension there is, also all at once in parts", () => {
    add("r1", {});
    for (const name of SPEND_DIMENSIONS) expect(spend(name).data, name).toHaveLength(1);
    expect(spend("tenant", "tenant", "model").by).toEqual(["tenant", "model"]);
    expect(spend().data).toMatchObject([{ requests: 1 }]);
    expect(() => spend(...SPEND_DIMENSIONS)).toThrow("8 dimensions at most");
  });

  it("refuses a dimension it does not know, lists all, and names the nearest", () => {
    const error = (by: string) => {
      try {
        return spend(by);
      } catch (thrown) {
        return thrown;
      }
    };
    expect(error("tenat")).toMatchObject({ code: "invalid_request", details: { param: "by" } });
    const message = String((error("tenat") as Error).message);
    expect(message).toContain('unknown spend dimension "tenat"; did you mean `tenant`?');
    for (const name of [...SPEND_DIMENSIONS, "tag:NAME"]) expect(message).toContain(name);
    expect(error("tag:")).toMatchObject({ code: "invalid_request" });
    expect(() => reader.spend({ by: ["tenant"], from: "2026-12-01", to: "2026-11-01" })).toThrow("not be later");
    expect(() => reader.spend({ by: ["tenant"], from: "", to: "2026-11-01" })).toThrow("from must be an ISO 8601");
  });

  it("is all zeros where there is nothing", () => {
    const nothing = openLedgerReader("/nowhere/at/all.sqlite").spend({ by: ["tenant"], ...NOVEMBER });
    expect(nothing).toEqual(spend("tenant"));
    expect(nothing.data).toEqual([]);
    expect(nothing.total).toMatchObject({ requests: 0, cost_usd: "0", cost_per_active_user_micro_usd: null });
    expect(spend().data).toEqual([]);
  });

  it("adds up to its total, whatever it is grouped by", () => {
    const name = fc.constantFrom("a", "b", "c");
    const attempt = fc.record({
      deployment: name,
      model: name,
      cost_micro_usd: fc.nat(10_000),
      cost_state: fc.constantFrom("known" as const, "estimated" as const, "unknown" as const),
      usage: fc
        .record({ input_tokens: fc.nat(1_000), output_tokens: fc.nat(1_000) })
        .map((some) => ({ ...noUsage(), ...some })),
    });
    const request = fc.record({
      tenant: name,
      user: fc.option(name),
      hour: fc.nat(50),
      saved: fc.nat(9),
      attempts: fc.array(attempt, { maxLength: 3 }),
    });
    const by = fc.uniqueArray(
      fc.constantFrom("tenant", "user", "deployment", "model", "day", "hour", "tag:t", "credential"),
      {
        maxLength: 3,
      },
    );
    const dimension = fc.property(fc.array(request, { maxLength: 15 }), by, (requests, names) => {
      open();
      for (const [index, { tenant, user, hour, saved, attempts }] of requests.entries()) {
        const started_at = new Date(Date.parse("2026-11-10") + hour * 3_600_000).toISOString();
        add(`r${index}`, { tenant, user, started_at, saved_micro_usd: saved, tags: user ? { t: user } : {} }, attempts);
      }
      const { data, total } = spend(...names);
      const sum = (figure: "cost_micro_usd" | "attempts" | "input_tokens" | "output_tokens" | "saved_micro_usd") =>
        expect(
          data.reduce((all, row) => all + row[figure], 0),
          figure,
        ).toBe(total[figure]);
      for (const figure of ["cost_micro_usd", "attempts", "input_tokens", "output_tokens", "saved_micro_usd"] as const)
        sum(figure);
      const spent = requests.flatMap(({ attempts }) => attempts).reduce((all, one) => all + one.cost_micro_usd, 0);
      expect(total.cost_micro_usd).toBe(spent);
      expect(total.requests).toBe(requests.length);
      expect(data.map((row) => row.cost_micro_usd)).toEqual(
        data.map((row) => row.cost_micro_usd).sort((a, b) => b - a),
      );
    });
    fc.assert(dimension, { numRuns: 60 });
  });
});
