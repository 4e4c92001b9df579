import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { RequestRow } from "@sluicegate/contract";
import Database from "better-sqlite3";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { until } from "./fixtures/poll.ts";
import { anAdmission, aRow } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { LeanLines } from "./lean-line.ts";
import { openLedgerReader } from "./reader.ts";
import { admissionLine, settlementLine } from "./spool-line.ts";
import { LedgerStore } from "./store.ts";
import { ledgerPath, openLedger } from "./writer.ts";

const random = systemRandom();
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function open(dataDir: string) {
  const ledger = openLedger({
    dataDir,
    fsync: false,
    spool: { maxBytes: 2 ** 30, onFull: "refuse" },
    clock: systemClock,
    random,
  });
  const reader = openLedgerReader(ledgerPath(dataDir));
  closers.push(
    () => reader.close(),
    () => ledger.close(),
  );
  return { ledger, reader };
}

/** Directories of spools that are there. */
const spools = (dataDir: string) => readdirSync(join(dataDir, "spool")).filter((name) => name.startsWith("gw_"));

/** A gateway in a process of its own, and the ids it has noted as admitted. */
function aGateway(
  dataDir: string,
  inFlight: number,
  pauseMs: number,
): { child: ChildProcess; admitted: () => string[] } {
  const script = fileURLToPath(new URL("./fixtures/crash-writer.mjs", import.meta.url));
  const notes = join(aDirectory(), "admitted");
  writeFileSync(notes, "");
  const child = spawn(process.execPath, [script, dataDir, notes, String(inFlight), String(pauseMs)], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  closers.push(() => child.kill("SIGKILL"));
  return { child, admitted: () => readFileSync(notes, "utf8").split("\n").slice(0, -1) };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("close", resolve));
  child.kill("SIGKILL");
  await gone;
}

function statuses(dataDir: string): Map<string, string> {
  const db = new Database(ledgerPath(dataDir), { readonly: true });
  const rows = db.prepare("SELECT request_id, status FROM requests").raw().all() as [string, string][];
  db.close();
  return new Map(rows);
}

describe("a gateway killed at full speed", () => {
  it("has every admitted request in the ledger after the next start, exactly once", { timeout: 60_000 }, async () => {
    const dataDir = aDirectory();
    const admitted: string[] = [];
    for (const kills of [500, 3_000, 9_000]) {
      const gateway = aGateway(dataDir, 40, 0);
      await until("it is at work", () => gateway.admitted().length > kills);
      await kill(gateway.child);
      admitted.push(...gateway.admitted());
    }
    const { reader, ledger } = open(dataDir);
    await until("all spools are brought in", () => spools(dataDir).length === 1);
    await ledger.close();

    const found = statuses(dataDir);
    expect(new Set(admitted).size).toBe(admitted.length);
    expect(admitted.filter((id) => !found.has(id))).toEqual([]);
    expect(new Set(found.values())).toEqual(new Set(["ok", "abandoned"]));
    // A few more may have reached the spool before the killed process could say so.
    expect(found.size - admitted.length).toBeLessThan(500);
    const day = { from: "2000-01-01", to: "2100-01-01" };
    const { data } = reader.spend({ by: ["status"], ...day });
    expect(data.find((row) => row["status"] === "ok")).toMatchObject({ attempts: 2 * count(found, "ok") });
    expect(data.find((row) => row["status"] === "ok")?.cost_micro_usd).toBe(5 * count(found, "ok"));
    expect(data.find((row) => row["status"] === "abandoned")?.cost_micro_usd).toBe(7 * count(found, "abandoned"));
    expect(spools(dataDir)).toEqual([]);
  });
});

function count(found: Map<string, string>, status: string): number {
  return [...found.values()].filter((value) => value === status).length;
}

describe("a gateway that ends without closing its ledger", () => {
  it("is not kept alive by it, and its rows come in at the next start", async () => {
    const dataDir = aDirectory();
    const script = fileURLToPath(new URL("./fixtures/brief-writer.mjs", import.meta.url));
    const child = spawn(process.execPath, [script, dataDir], { stdio: ["ignore", "inherit", "inherit"] });
    closers.push(() => child.kill("SIGKILL"));
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
    const { ledger } = open(dataDir);
    await until("it is brought in", () => spools(dataDir).length === 1);
    await ledger.close();
    expect(Object.fromEntries(statuses(dataDir))).toEqual({ settled: "ok", unsettled: "abandoned", last: "ok" });
  });
});

describe("a spool without an owner", () => {
  /** What a dead gateway left: segments, and rows already in the database. */
  function aDeadGateway(dataDir: string, name: string, segments: string[]): void {
    const directory = join(dataDir, "spool", name);
    mkdirSync(directory, { recursive: true });
    for (const [index, text] of segments.entries()) writeFileSync(join(directory, `00000${index + 7}.jsonl`), text);
  }

  const lean = new LeanLines();
  const forms = [
    ["of this build", (id: string) => lean.admission(anAdmission(id)), (row: RequestRow) => lean.settlement(row, [])],
    ["of older ones", (id: string) => admissionLine(anAdmission(id)), (row: RequestRow) => settlementLine(row, [])],
  ] as const;

  it.each(forms)("is brought in up to a torn line %s, and what was never settled is abandoned", async (_, ...form) => {
    const [running, done] = form;
    const dataDir = aDirectory();
    const store = new LedgerStore(ledgerPath(dataDir), false);
    const before = (id: string) => running(id).slice(0, -1);
    store.apply({ instance: "gw_dead", running: [before("long"), before("longer")], settled: [] });
    store.apply({ instance: "gw_lost", running: [before("elsewhere")], settled: [] });
    store.close();
    aDeadGateway(dataDir, "gw_dead", [
      running("a") + running("b") + done(aRow("a")),
      `${running("c")}garbage\n${done(aRow("longer"))}${done(aRow("b")).slice(0, -30)}`,
    ]);
    const { reader } = open(dataDir);
    await until("it is brought in", () => reader.request("elsewhere")?.status === "abandoned");
    expect(spools(dataDir)).toHaveLength(1);
    const found = Object.fromEntries(statuses(dataDir));
    expect(found).toEqual({
      a: "ok",
      b: "abandoned",
      c: "abandoned",
      long: "abandoned",
      longer: "ok",
      elsewhere: "abandoned",
    });
    for (const id of ["a", "longer"]) expect(reader.request(id)).toEqual({ ...aRow(id), attempts: [] });
    expect(reader.request("b")).toMatchObject({ cost_micro_usd: 7, cost_state: "estimated", attempts: [{ n: 1 }] });
    expect(existsSync(join(dataDir, "spool", "rejected.jsonl"))).toBe(true);
  });

  it.each(forms)("may be brought in twice %s without a trace of it", async (_, running, done) => {
    const dataDir = aDirectory();
    const text = running("a") + done(aRow("a", { cost_micro_usd: 5 }));
    for (const name of ["gw_1", "gw_2"]) aDeadGateway(dataDir, name, [text, text + running("b")]);
    const { reader } = open(dataDir);
    await until("both are brought in", () => spools(dataDir).length === 1);
    const { total } = reader.spend({ by: [], from: "2026-11-01", to: "2026-11-02" });
    expect(total).toMatchObject({ requests: 2, attempts: 1, cost_micro_usd: 12 });
  });

  it("is left alone while its owner lives, on the same data dir, in this process or another", async () => {
    const dataDir = aDirectory();
    const gateway = aGateway(dataDir, 10, 2);
    await until("the other is at work", () => gateway.admitted().length > 300);
    const first = open(dataDir);
    const second = open(dataDir);
    for (let index = 0; index < 500; index++) {
      const [a, b] = [`first_${index}`, `second_${index}`];
      await Promise.all([first.ledger.admit(anAdmission(a)), second.ledger.admit(anAdmission(b))]);
      first.ledger.settle(aRow(a), []);
      if (index < 400) second.ledger.settle(aRow(b), []);
    }
    await Promise.all([first.ledger.drain(10_000), second.ledger.drain(10_000)]);
    expect(spools(dataDir)).toHaveLength(3);
    const found = statuses(dataDir);
    expect(count(found, "abandoned")).toBe(0);
    expect([...found].filter(([id, status]) => id.startsWith("second_") && status === "running")).toHaveLength(100);

    const before = gateway.admitted().length;
    await until("the other still works", () => gateway.admitted().length > before);
    await kill(gateway.child);
    await first.ledger.close();
    for (let index = 400; index < 500; index++) second.ledger.settle(aRow(`second_${index}`), []);
    await second.ledger.close();
    const third = open(dataDir);
    await until("only the killed one's is brought in", () => spools(dataDir).length === 1);
    await third.ledger.close();
    const end = statuses(dataDir);
    expect(gateway.admitted().filter((id) => !end.has(id))).toEqual([]);
    expect([...end].filter(([id, status]) => /^(first|second)_/.test(id) && status === "ok")).toHaveLength(1_000);
  });
});

describe("a worker that crashes", () => {
  it("is started again and goes on where the database is", async () => {
    const dataDir = aDirectory();
    const workers: Worker[] = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (...message) {
      if (workers.at(-1) !== this) workers.push(this);
      post.apply(this, message);
    };
    closers.push(() => {
      Worker.prototype.postMessage = post;
    });
    const { ledger } = open(dataDir);
    for (let index = 0; index < 300; index++) {
      await ledger.admit(anAdmission(`r${index}`));
      ledger.settle(aRow(`r${index}`), []);
      if (index % 100 === 50) {
        await ledger.drain(10_000);
        await workers.at(-1)?.terminate();
      }
    }
    await until("it is noticed", () => workers.length > 1 && ledger.state() === "ok");
    await ledger.drain(10_000);
    expect(statuses(dataDir).size).toBe(300);
    appendFileSync(join(dataDir, "spool", "other-file"), "");
    await ledger.close();
    expect(readdirSync(join(dataDir, "spool"))).toEqual(["other-file"]);
  });
});
