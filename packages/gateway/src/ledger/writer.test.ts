import { existsSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { until } from "./fixtures/poll.ts";
import { anAdmission, anAttempt, aRow } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { openLedgerReader } from "./reader.ts";
import { LedgerStore } from "./store.ts";
import { type Ledger, type LedgerOptions, ledgerPath, openLedger } from "./writer.ts";

const MIB = 1024 * 1024;
const random = systemRandom();
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function open(dataDir: string, changes: Partial<LedgerOptions> = {}) {
  const log: string[] = [];
  const ledger = openLedger({
    dataDir,
    fsync: false,
    spool: { maxBytes: 64 * MIB, onFull: "refuse" },
    clock: systemClock,
    random,
    log: (level, message) => log.push(`${level}: ${message}`),
    ...changes,
  });
  const reader = openLedgerReader(ledgerPath(dataDir));
  closers.push(
    () => reader.close(),
    () => ledger.close(),
  );
  const ids = () => reader.requests({ limit: 1_000 }).data.map((row) => row.request_id);
  return { ledger, reader, ids, log };
}

/** Keeps the database from being written until it is called. */
function lock(dataDir: string): () => void {
  const other = new Database(ledgerPath(dataDir));
  other.exec("BEGIN IMMEDIATE");
  closers.push(() => other.close());
  return () => other.exec("ROLLBACK");
}

async function oneRequest(ledger: Ledger, id: string): Promise<void> {
  await ledger.admit(anAdmission(id));
  ledger.settle(aRow(id, { cost_micro_usd: 5 }), [anAttempt(1, { cost_micro_usd: 5 })]);
}

const numbered = (count: number, prefix = "req") =>
  Array.from({ length: count }, (_, index) => `${prefix}_${1_000 + index}`);

describe("a ledger", () => {
  it("brings admitted, settled and recorded rows into the database", async () => {
    const { ledger, reader } = open(aDirectory());
    await Promise.all(numbered(200).map((id) => oneRequest(ledger, id)));
    ledger.record(aRow("refused", { status: "refused", error_code: "rate_limit_exceeded", repeated: 9 }));
    expect(ledger.spooledRows()).toBeGreaterThan(0);
    await ledger.drain(10_000);
    expect(ledger.spooledRows()).toBe(0);
    expect(ledger.state()).toBe("ok");
    const rows = reader.requests({ limit: 1_000 }).data;
    expect(rows).toHaveLength(201);
    expect(rows.filter((row) => row.status === "ok" && row.attempts.length === 1)).toHaveLength(200);
    expect(reader.request("refused")).toMatchObject({ status: "refused", repeated: 9, attempts: [] });
  });

  it("shows a long request as running, without a drain", async () => {
    const { ledger, reader } = open(aDirectory());
    await ledger.admit(anAdmission("long"));
    await until("it is shown", () => reader.request("long")?.status === "running");
    ledger.settle(aRow("long"), []);
    await until("it is shown as ok", () => reader.request("long")?.status === "ok");
    expect(ledger.spooledRows()).toBe(0);
  });

  it("settles a request whole, whatever became of its admission meanwhile", async () => {
    const dataDir = aDirectory();
    const { ledger, reader } = open(dataDir);
    const known = { tenant: "other", session: "s-1", tags: { tier: "gold" }, facts: { needs: ["tools"] } };
    const ids = ["waiting", "running", "given up"];
    await ledger.admit(anAdmission("given up", known));
    await ledger.drain(10_000);
    // As a gateway of another data dir on the same database does, which finds nobody's spool for it.
    const other = new LedgerStore(ledgerPath(dataDir), false);
    expect(other.runningInstances().map((instance) => other.abandonRunning(instance))).toEqual([1]);
    other.close();
    await ledger.admit(anAdmission("running", known));
    await ledger.drain(10_000);
    expect(ids.map((id) => reader.request(id)?.status)).toEqual([undefined, "running", "abandoned"]);
    await ledger.admit(anAdmission("waiting", known));
    const attempt = anAttempt(1, { cost_micro_usd: 5 });
    for (const id of ids) ledger.settle(aRow(id, { ...known, cost_micro_usd: 5 }), [attempt]);
    await ledger.drain(10_000);
    for (const id of ids)
      expect(reader.request(id)).toEqual({ ...aRow(id, { ...known, cost_micro_usd: 5 }), attempts: [attempt] });
  });

  it("deletes the segments it has brought in", async () => {
    const dataDir = aDirectory();
    const { ledger, ids } = open(dataDir, { spool: { maxBytes: MIB / 4, onFull: "refuse" } });
    for (const batch of [1, 2, 3, 4]) {
      await Promise.all(numbered(100, `req_${batch}`).map((id) => oneRequest(ledger, id)));
      await ledger.drain(10_000);
    }
    const [instance = ""] = readdirSync(join(dataDir, "spool"));
    expect(readdirSync(join(dataDir, "spool", instance)).filter((name) => name.endsWith(".jsonl"))).toHaveLength(1);
    expect(ids()).toHaveLength(400);
  });

  it("leaves nothing behind when it is closed, not even a running row", async () => {
    const dataDir = aDirectory();
    const { ledger, reader } = open(dataDir);
    await ledger.admit(anAdmission("running"));
    await oneRequest(ledger, "done");
    await ledger.close();
    expect(reader.request("running")).toMatchObject({ status: "abandoned", cost_micro_usd: 7 });
    expect(reader.request("done")?.status).toBe("ok");
    expect(readdirSync(join(dataDir, "spool"))).toEqual([]);
    expect(existsSync(`${ledgerPath(dataDir)}-journal`)).toBe(false);
    expect(ledger.accepting()).toBe(false);
    await ledger.close();
  });

  it("makes its rows durable when told to", async () => {
    const { ledger, ids } = open(aDirectory(), { fsync: true });
    await Promise.all(numbered(50).map((id) => oneRequest(ledger, id)));
    await ledger.drain(10_000);
    expect(ids()).toHaveLength(50);
  });

  it("refuses to start on a database of a newer build, or a file that is none", () => {
    const dataDir = aDirectory();
    const newer = new Database(ledgerPath(dataDir));
    newer.pragma("user_version = 9");
    newer.close();
    expect(() => open(dataDir)).toThrow("has ledger schema 9");
    expect(() => open(dataDir, { path: import.meta.filename })).toThrow("not a database");
    expect(existsSync(join(dataDir, "spool"))).toBe(false);
  });
});

describe("a locked database", () => {
  it("holds up nothing: rows wait in the spool, and all come in later", async () => {
    const dataDir = aDirectory();
    const { ledger, ids, log } = open(dataDir);
    await oneRequest(ledger, "before");
    await ledger.drain(10_000);
    const unlock = lock(dataDir);
    await Promise.all(numbered(300).map((id) => oneRequest(ledger, id)));
    await until("the trouble is seen", () => ledger.state() === "degraded");
    expect(ledger.accepting()).toBe(true);
    await expect(ledger.drain(50)).rejects.toThrow(/600 rows are still in the spool after 50 ms/);
    expect(ids()).toEqual(["before"]);
    unlock();
    await ledger.drain(10_000);
    expect(ids()).toHaveLength(301);
    expect(ledger.state()).toBe("ok");
    expect(log).toEqual([
      "warn: ledger database takes no rows; they stay in the spool",
      "info: ledger database takes rows again",
    ]);
  });

  it("is no reason not to start", async () => {
    const dataDir = aDirectory();
    const unlock = lock(dataDir);
    const { ledger, ids } = open(dataDir);
    await oneRequest(ledger, "early");
    await until("the trouble is seen", () => ledger.state() === "degraded");
    unlock();
    await ledger.drain(10_000);
    expect(ids()).toEqual(["early"]);
  });
});

describe("a full spool", () => {
  it("refuses new requests, settles those it has admitted, and takes more when there is room", async () => {
    const dataDir = aDirectory();
    const { ledger, reader, ids } = open(dataDir, { spool: { maxBytes: 100_000, onFull: "refuse" } });
    const unlock = lock(dataDir);
    const admitted: string[] = [];
    for (const id of numbered(1_000)) {
      if (!ledger.accepting()) break;
      await ledger.admit(anAdmission(id));
      admitted.push(id);
    }
    expect(admitted.length).toBeLessThan(400);
    expect(ledger.state()).toBe("degraded");
    for (const id of admitted) ledger.settle(aRow(id), []);
    ledger.record(aRow("refused", { status: "refused" }));
    expect(ledger.droppedRows()).toBe(1);
    unlock();
    await ledger.drain(10_000);
    expect(ledger.accepting()).toBe(true);
    expect(ids().sort()).toEqual(admitted);
    expect(reader.requests({ status: "ok", limit: 1_000 }).data).toHaveLength(admitted.length);
  });

  it("drops and counts when it is told to, but never half a request", async () => {
    const dataDir = aDirectory();
    const { ledger, reader, log } = open(dataDir, { spool: { maxBytes: 100_000, onFull: "drop" } });
    const unlock = lock(dataDir);
    const all = numbered(500);
    for (const id of all) {
      expect(ledger.accepting()).toBe(true);
      await ledger.admit(anAdmission(id));
    }
    expect(ledger.state()).toBe("degraded");
    for (const id of all) ledger.settle(aRow(id), []);
    expect(log).toContain("error: ledger spool is full: rows are dropped");
    unlock();
    await ledger.drain(10_000);
    const kept = reader.requests({ limit: 1_000 }).data;
    expect(kept.length).toBeGreaterThan(20);
    expect(kept.every((row) => row.status === "ok")).toBe(true);
    expect(kept.length * 2 + ledger.droppedRows()).toBe(1_000);
    expect(ledger.state()).toBe("ok");
  });
});

describe("a disk that is full", () => {
  it("stops new requests but not those in flight, and loses nothing when there is room again", async () => {
    let full = false;
    const write = (fd: number, bytes: Buffer) => {
      if (full) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      return writeSync(fd, bytes);
    };
    const { ledger, ids, log } = open(aDirectory(), { write });
    await ledger.admit(anAdmission("one"));
    full = true;
    await ledger.admit(anAdmission("two"));
    ledger.settle(aRow("one"), []);
    expect(ledger.state()).toBe("down");
    expect(ledger.accepting()).toBe(false);
    await expect(ledger.drain(20)).rejects.toThrow("still in the spool");
    full = false;
    await until("it is up again", () => ledger.state() === "ok");
    ledger.settle(aRow("two"), []);
    await ledger.drain(10_000);
    expect(ids().sort()).toEqual(["one", "two"]);
    expect(log).toEqual(["error: ledger spool cannot be written", "info: ledger spool is written again"]);
  });

  it("may lose an admission that memory cannot take either, but not the settlement", async () => {
    let full = true;
    const write = (fd: number, bytes: Buffer) => {
      if (full) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      return writeSync(fd, bytes);
    };
    const { ledger, reader } = open(aDirectory(), { write });
    const big = { tags: { text: "x".repeat(40 * MIB) } };
    await ledger.admit(anAdmission("kept", big));
    await ledger.admit(anAdmission("lost", big));
    expect(ledger.droppedRows()).toBe(1);
    full = false;
    await until("it is up again", () => ledger.state() === "ok");
    for (const id of ["kept", "lost"]) ledger.settle(aRow(id), []);
    await ledger.drain(10_000);
    expect(reader.request("lost")).toEqual({ ...aRow("lost"), attempts: [] });
    expect(reader.request("kept")?.status).toBe("ok");
  });
});
