import { join } from "node:path";
import type { FeedbackRow, RequestRow } from "@sluicegate/contract";
import Database from "better-sqlite3";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { FeedbackDesk } from "./feedback-desk.ts";
import { feedbackLine } from "./feedback-line.ts";
import type { FeedbackTargetFacts } from "./feedback-reads.ts";
import { anAttempt, aRow, aSettlement } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import type { LedgerReader } from "./ledger.ts";
import { openLedgerReader } from "./reader.ts";
import { lineHead } from "./spool-line.ts";
import { LedgerStore } from "./store.ts";
import { openLedger } from "./writer.ts";

const NOVEMBER = { from: "2026-11-01", to: "2026-12-01" };

let path: string;
let store: LedgerStore;
let reader: LedgerReader;

beforeEach(() => {
  path = join(aDirectory(), "ledger.sqlite");
  store = new LedgerStore(path, false);
  reader = openLedgerReader(path);
});

function aScore(id: string, changes: Partial<FeedbackRow> = {}): FeedbackRow {
  return {
    ...{ id, at: "2026-11-02T00:00:00.000Z", tenant: "acme", key_id: "ci", request_id: "req_1", session_id: null },
    ...{ name: "helpful", value: true, comment: null, ...changes },
  };
}

function add(...rows: RequestRow[]): void {
  store.apply({ instance: "gw", running: [], settled: rows.map((row) => aSettlement(row, [anAttempt(1)])) });
}

function score(...rows: FeedbackRow[]): void {
  const rejected = store.apply({ instance: "gw", running: [], settled: [], feedback: rows.map(feedbackLine) });
  expect(rejected).toEqual([]);
}

const report = (by: string, tenant?: string) =>
  reader.feedback({ by: by === "" ? [] : by.split(","), ...NOVEMBER, ...(tenant && { tenant }) }).data;

describe("a score", () => {
  it("comes back as it went in", () => {
    const rows = [
      aScore("fb_4", { value: false, comment: 'ünï "x"\n' }),
      aScore("fb_3", { name: "stars", value: 4.5 }),
      aScore("fb_2", { request_id: null, session_id: "s1", value: 0, key_id: null }),
      aScore("fb_1", { request_id: null, session_id: "req_1", value: true }),
    ];
    score(...rows);
    expect(reader.scores({ limit: 10 })).toEqual({ data: rows });
    expect(lineHead(feedbackLine(aScore("fb_1")))).toEqual({ kind: "feedback", requestId: "fb_1" });
  });

  it("takes the place of an earlier one of its name, in whatever order they are written, how often ever", () => {
    const rows = [aScore("fb_1", { value: 1 }), aScore("fb_2", { value: 2 }), aScore("fb_3", { value: 3 })];
    fc.assert(
      fc.property(fc.shuffledSubarray([...rows, ...rows], { minLength: 4 }), (written) => {
        const last = written
          .map(({ id }) => id)
          .sort()
          .at(-1);
        const name = fc.sample(fc.uuid(), 1)[0] ?? "";
        score(...written.map((row) => ({ ...row, name })));
        expect(reader.scores({ limit: 1_000 }).data.filter((row) => row.name === name)).toMatchObject([{ id: last }]);
      }),
      { numRuns: 30 },
    );
  });

  it("that is broken is left out, and the others are kept", () => {
    const broken = feedbackLine(aScore("fb_1")).replace("1793", "1793.5");
    const lines = [broken, feedbackLine(aScore("fb_2"))];
    const rejected = store.apply({ instance: "gw", running: [], settled: [], feedback: lines });
    expect(rejected.length).toBe(1);
    expect(reader.scores({ limit: 10 }).data.length).toBe(1);
  });

  it("is found page by page, by tenant and time", () => {
    const at = (day: number) => `2026-11-0${day}T00:00:00.000Z`;
    score(...[1, 2, 3, 4, 5].map((day) => aScore(`fb_${day}`, { at: at(day), name: `n${day}` })));
    score(aScore("fb_9", { tenant: "other", at: at(3) }));
    const first = reader.scores({ limit: 2, tenant: "acme", from: at(2), to: at(5) });
    expect(first.data.map(({ id }) => id)).toEqual(["fb_4", "fb_3"]);
    const second = reader.scores({ limit: 2, tenant: "acme", from: at(2), cursor: first.next_cursor ?? "" });
    expect(second).toMatchObject({ data: [{ id: "fb_2" }] });
    expect(second.next_cursor).toBeUndefined();
  });
});

describe("a report", () => {
  it("joins the outcomes of a request by variant, alias, model and template", () => {
    add(
      aRow("req_1", { variant: "next", model: "m2", template_version: "t1" }),
      aRow("req_2", { variant: "stable", model: "m1", template_version: "t1" }),
      aRow("req_3", { variant: "stable", model: "m1", alias: "fast" }),
    );
    score(
      aScore("fb_1", { value: true }),
      aScore("fb_2", { request_id: "req_2", value: false }),
      aScore("fb_3", { request_id: "req_3", value: true }),
      aScore("fb_4", { request_id: "req_3", name: "stars", value: 4 }),
    );
    const figures = (count: number, mean: number, min: number, max: number) => ({ count, mean, min, max });
    expect(report("variant")).toEqual([
      { variant: "next", name: "helpful", ...figures(1, 1, 1, 1) },
      { variant: "stable", name: "helpful", ...figures(2, 0.5, 0, 1) },
      { variant: "stable", name: "stars", ...figures(1, 4, 4, 4) },
    ]);
    expect(report("")).toEqual([
      { name: "helpful", ...figures(3, 2 / 3, 0, 1) },
      { name: "stars", ...figures(1, 4, 4, 4) },
    ]);
    expect(report("alias,model").map(({ alias, model, name, count }) => [alias, model, name, count])).toEqual([
      ["default", "m1", "helpful", 1],
      ["default", "m2", "helpful", 1],
      ["fast", "m1", "helpful", 1],
      ["fast", "m1", "stars", 1],
    ]);
    expect(report("template_version")).toMatchObject([{ template_version: null }, {}, { template_version: "t1" }]);
  });

  it("counts a session's score once in each group its answered requests are in, as far as it had come", () => {
    const session = { session: "s1", variant: "next" };
    add(
      aRow("req_1", { ...session, model: "m1" }),
      aRow("req_2", { ...session, model: "m1" }),
      aRow("req_3", { ...session, model: "m2", alias: "fast" }),
      aRow("req_4", { ...session, model: "m3", status: "refused" }),
      aRow("req_5", { ...session, model: "m4", started_at: "2026-11-05T00:00:00.000Z" }),
      aRow("req_6", { ...session, model: "m5", purpose: "classifier" }),
      aRow("req_7", { ...session, model: "m6", tenant: "other" }),
    );
    score(aScore("fb_1", { request_id: null, session_id: "s1", value: 3 }));
    expect(report("variant")).toMatchObject([{ variant: "next", count: 1, mean: 3 }]);
    expect(report("model").map(({ model, count }) => [model, count])).toEqual([
      ["m1", 1],
      ["m2", 1],
    ]);
  });

  it("shows nobody's score at another tenant's request", () => {
    add(aRow("req_1", { tenant: "other" }));
    score(aScore("fb_1"), aScore("fb_2", { tenant: "other", value: false }));
    expect(report("variant")).toMatchObject([{ count: 1, mean: 0 }]);
    expect(report("variant", "acme")).toEqual([]);
    expect(report("variant", "other")).toMatchObject([{ count: 1, mean: 0 }]);
  });

  it("is of its time, and refuses what it does not know", () => {
    add(aRow("req_1"));
    score(aScore("fb_1", { at: "2026-12-01T00:00:00.000Z" }));
    expect(report("alias")).toEqual([]);
    expect(() => report("varient")).toThrow(
      /unknown feedback dimension "varient".*variant.*the dimensions are variant, alias, model, template_version/,
    );
    expect(() => reader.feedback({ by: [], from: "2026-12-01", to: "2026-11-01" })).toThrow("from must not be later");
  });
});

it("has nothing to say of a database that knows no scores yet", () => {
  const old = join(aDirectory(), "old.sqlite");
  const db = new Database(old);
  db.pragma("user_version = 1");
  db.close();
  const early = openLedgerReader(old);
  expect(early.scores({ limit: 1 })).toEqual({ data: [] });
  expect(early.feedback({ by: ["alias"], ...NOVEMBER }).data).toEqual([]);
  expect(early.feedbackTarget({ tenant: "acme", kind: "request", id: "req_1", name: "x" }).found).toBe(false);
});

it("goes through the spool into the database, beside the rows", async () => {
  const dataDir = aDirectory();
  const spool = { maxBytes: 1_000_000, onFull: "refuse" as const };
  const ledger = openLedger({ dataDir, fsync: false, spool, clock: systemClock, random: systemRandom() });
  ledger.record(aRow("req_1"));
  ledger.score(aScore("fb_1"));
  ledger.score(aScore("fb_2", { name: "stars", value: 5 }));
  await ledger.drain(10_000);
  const after = openLedgerReader(join(dataDir, "ledger.sqlite"));
  expect(after.scores({ limit: 10 }).data.map(({ id }) => id)).toEqual(["fb_2", "fb_1"]);
  await ledger.close();
  ledger.score(aScore("fb_3"));
  expect(ledger.droppedRows()).toBe(1);
  after.close();
});

describe("the desk", () => {
  interface Known {
    now: FeedbackTargetFacts | Error | "never";
    /** From when the spool has been brought in. */
    later?: FeedbackTargetFacts;
  }

  function aDesk(known: Known, drain: () => Promise<void> = async () => {}) {
    const clock = new VirtualClock();
    const kept: string[] = [];
    const drains: number[] = [];
    const desk = new FeedbackDesk({
      clock,
      ledger: {
        accepting: () => true,
        score: ({ id }) => void kept.push(id),
        drain: async () => {
          drains.push(clock.monotonic());
          await drain();
          if (known.later) known.now = known.later;
        },
      },
      reader: {
        feedbackTarget: async () => {
          if (known.now === "never") return new Promise(() => {});
          if (known.now instanceof Error) throw known.now;
          return known.now;
        },
        close: async () => {},
      },
    });
    return { desk, clock, kept, drains };
  }

  const found = { found: true, names: 0 };
  const missing = { found: false, names: 0 };

  it("keeps what is known at once", async () => {
    const { desk, kept, drains } = aDesk({ now: found });
    await desk.leave(aScore("fb_1"));
    expect([kept, drains]).toEqual([["fb_1"], []]);
  });

  it("waits for what has only just ended", async () => {
    const { desk, kept, drains } = aDesk({ now: missing, later: found });
    await desk.leave(aScore("fb_1"));
    expect([kept, drains.length]).toEqual([["fb_1"], 1]);
  });

  it("refuses what its tenant has not made, and one name too many", async () => {
    const refused = aDesk({ now: missing });
    await expect(refused.desk.leave(aScore("fb_1"))).rejects.toMatchObject({
      ...{ code: "not_found", message: 'there is no request "req_1" for this key', details: { param: "request_id" } },
    });
    const session = aScore("fb_1", { request_id: null, session_id: "s1" });
    refused.clock.advance(1_000);
    await expect(refused.desk.leave(session)).rejects.toThrow('there is no session "s1"');
    const many = aDesk({ now: { found: true, names: 32 } });
    await expect(many.desk.leave(aScore("fb_1"))).rejects.toMatchObject({ details: { param: "name" } });
    expect([...refused.kept, ...many.kept]).toEqual([]);
  });

  it("keeps a score that nobody can look up: the database is away, hangs, or does not take the spool", async () => {
    const away = aDesk({ now: new Error("SQLITE_BUSY") });
    await away.desk.leave(aScore("fb_1"));
    const stuck = aDesk({ now: missing }, () => Promise.reject(new Error("still in the spool")));
    await stuck.desk.leave(aScore("fb_1"));
    const hung = aDesk({ now: "never" });
    const left = hung.desk.leave(aScore("fb_1"));
    hung.clock.advance(2_000);
    await left;
    expect([...away.kept, ...stuck.kept, ...hung.kept].length).toBe(3);
  });

  it("brings the spool in for many at once, not often, and never with one that began before they came", async () => {
    let finish = (): void => {};
    const { desk, clock, drains } = aDesk(
      { now: missing },
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const first = Promise.allSettled([1, 2, 3].map((n) => desk.leave(aScore(`fb_${n}`))));
    await turn();
    expect(drains).toEqual([0]);
    const later = Promise.allSettled([4, 5].map((n) => desk.leave(aScore(`fb_${n}`))));
    await turn();
    finish();
    await first;
    await turn();
    expect(drains).toEqual([0]);
    clock.advance(500);
    await turn();
    expect(drains).toEqual([0, 500]);
    finish();
    await later;
    expect(clock.timers).toBe(0);
  });

  it("takes only so many at once", async () => {
    const { desk } = aDesk({ now: "never" });
    for (let n = 0; n < 100; n++) void desk.leave(aScore(`fb_${n}`));
    await expect(desk.leave(aScore("fb_x"))).rejects.toMatchObject({ code: "overloaded" });
  });
});
