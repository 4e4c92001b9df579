import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { Clock } from "../core/clock.ts";
import { Consumer } from "./consumer.ts";
import { anAdmission, aRow } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { LeanLines } from "./lean-line.ts";
import { SegmentTail } from "./segment-tail.ts";
import { listSegments, segmentPath } from "./segments.ts";
import { lineHead, type Settled } from "./spool-line.ts";
import type { Batch, LedgerStore } from "./store.ts";

let directory: string;
let now: number;
const clock: Clock = { now: () => now, monotonic: () => now, after: () => ({ cancel() {} }) };

beforeEach(() => {
  directory = aDirectory();
  now = 0;
});

const lines = new LeanLines();
const admit = (id: string) => lines.admission(anAdmission(id));
const settle = (id: string) => lines.settlement(aRow(id), []);
const write = (segment: number, text: string) => writeFileSync(segmentPath(directory, segment), text);
const idOf = (line: string) => lineHead(line)?.requestId ?? "";

/** A store that only remembers what it was given. */
function aStore() {
  const applied: { running: string[]; settled: string[] }[] = [];
  const taken: Settled[] = [];
  const store = {
    apply({ running, settled }: Batch) {
      applied.push({ running: running.map(idOf), settled: settled.map(({ line }) => idOf(line)) });
      taken.push(...settled);
      return [];
    },
  } as unknown as LedgerStore;
  return { applied, taken, store };
}

describe("a settlement of a row that is shown as running", () => {
  const open = () => {
    const tail = new SegmentTail(directory);
    tail.extend({ segment: 1, bytes: 1e9 });
    return new Consumer(tail, "gw", clock, 1_000);
  };

  it("comes with its admission, so that a database that was replaced meanwhile gets the whole row", () => {
    write(1, admit("r1"));
    const consumer = open();
    const { applied, taken, store } = aStore();
    consumer.step(store, true);
    expect(applied[0]).toEqual({ running: ["r1"], settled: [] });
    write(1, admit("r1") + settle("r1") + settle("r1"));
    consumer.step(store, false);
    const admission = admit("r1").trimEnd();
    expect(taken.map((one) => one.admission)).toEqual([admission, admission]);
  });

  it("is tried again with it after the database refused", () => {
    write(1, admit("r1"));
    const consumer = open();
    const { taken, store } = aStore();
    consumer.step(store, true);
    write(1, admit("r1") + settle("r1"));
    const refuses = { apply: () => fails() } as unknown as LedgerStore;
    expect(() => consumer.step(refuses, false)).toThrow("locked");
    consumer.step(store, false);
    expect(taken.map((one) => one.admission)).toEqual([admit("r1").trimEnd()]);
  });
});

function fails(): never {
  throw new Error("locked");
}

describe("an admission", () => {
  it("that is settled in time is written once, as settled", () => {
    write(1, admit("r1") + admit("r2") + settle("r2"));
    const tail = new SegmentTail(directory);
    const consumer = new Consumer(tail, "gw", clock, 1_000);
    const { applied, store } = aStore();
    tail.extend({ segment: 1, bytes: 1e9 });
    consumer.step(store, false);
    expect(applied).toEqual([{ running: [], settled: ["r2"] }]);
    expect(consumer.position, "r1 still has to be read again after a crash").toEqual({
      segment: 1,
      bytes: 0,
      lines: 0,
    });
    write(1, admit("r1") + admit("r2") + settle("r2") + settle("r1"));
    now = 999;
    consumer.step(store, false);
    expect(applied[1]).toEqual({ running: [], settled: ["r1"] });
    expect(consumer.position.lines).toBe(4);
    expect(consumer.dueInMs()).toBeNull();
    const before = admit("r1") + admit("r2") + settle("r2") + settle("r1");
    write(1, before + settle("r3") + admit("r4"));
    consumer.step(store, false);
    expect(consumer.position, "r4 is the first that waits").toEqual({
      segment: 1,
      bytes: (before + settle("r3")).length,
      lines: 5,
    });
  });

  it("that is not becomes a running row after a second, or at once in a hurry", () => {
    write(1, admit("r1"));
    const tail = new SegmentTail(directory);
    const consumer = new Consumer(tail, "gw", clock, 1_000);
    const { applied, store } = aStore();
    tail.extend({ segment: 1, bytes: 1e9 });
    consumer.step(store, false);
    expect(consumer.dueInMs()).toBe(1_000);
    now = 1_000;
    consumer.step(store, false);
    expect(applied[1]).toEqual({ running: ["r1"], settled: [] });
    expect(consumer.position.lines).toBe(1);
    write(1, admit("r1") + admit("r2"));
    consumer.step(store, true);
    expect(applied[2]).toEqual({ running: ["r2"], settled: [] });
    expect(consumer.step(store, true)).toBeNull();
  });

  it("goes with its settlement for as long as it waits: from the same batch, or from one before", () => {
    write(1, admit("r1") + admit("r2") + settle("r2"));
    const tail = new SegmentTail(directory);
    const consumer = new Consumer(tail, "gw", clock, 1_000);
    const { taken, store } = aStore();
    tail.extend({ segment: 1, bytes: 1e9 });
    consumer.step(store, false);
    write(1, admit("r1") + admit("r2") + settle("r2") + settle("r1") + settle("r1"));
    consumer.step(store, false);
    const without = (text: string) => text.slice(0, -1);
    expect(taken).toEqual([
      { line: without(settle("r2")), admission: without(admit("r2")) },
      { line: without(settle("r1")), admission: without(admit("r1")) },
      { line: without(settle("r1")), admission: without(admit("r1")) },
    ]);
    write(1, `${admit("r1") + admit("r2") + settle("r2") + settle("r1") + settle("r1")}${admit("r3")}`);
    consumer.step(store, true);
    write(1, `${admit("r1") + admit("r2") + settle("r2") + settle("r1") + settle("r1")}${admit("r3")}${settle("r3")}`);
    consumer.step(store, true);
    expect(taken.at(-1), "a row that runs").toEqual({ line: without(settle("r3")), admission: without(admit("r3")) });
    write(
      1,
      `${admit("r1") + admit("r2") + settle("r2") + settle("r1") + settle("r1")}${admit("r3")}${settle("r3")}${settle("r4")}`,
    );
    consumer.step(store, false);
    expect(taken.at(-1), "one that is not known here").toEqual({ line: without(settle("r4")), admission: null });
  });

  it("is tried again, with its batch, when the database could not take it", () => {
    write(1, admit("r1") + settle("r2"));
    const tail = new SegmentTail(directory);
    const consumer = new Consumer(tail, "gw", clock, 1_000);
    const locked = {
      apply: () => {
        throw new Error("locked");
      },
    } as unknown as LedgerStore;
    const { applied, store } = aStore();
    tail.extend({ segment: 1, bytes: 1e9 });
    expect(() => consumer.step(locked, true)).toThrow("locked");
    expect(consumer.position.lines).toBe(0);
    consumer.step(store, false);
    expect(applied).toEqual([{ running: ["r1"], settled: ["r2"] }]);
    expect(consumer.position.lines).toBe(2);
  });
});

describe("a spool", () => {
  it("is read over its segments, whatever is torn off at their ends, and no line twice", () => {
    write(3, `${admit("r1")}${settle("r1")}["s","torn`);
    write(4, "");
    write(5, `not a line\n${settle("r2")}${settle("r3").slice(0, -9)}`);
    const tail = new SegmentTail(directory);
    const consumer = new Consumer(tail, "gw", clock, Number.POSITIVE_INFINITY);
    const { applied, store } = aStore();
    tail.extend({ segment: 5, bytes: 1e9 });
    const rejected = [];
    for (let step = consumer.step(store, false); step; step = consumer.step(store, false)) rejected.push(...step);
    expect(applied.flatMap(({ settled }) => settled)).toEqual(["r1", "r2"]);
    expect(rejected).toEqual([{ line: "not a line", reason: "not a line of a spool" }]);
    expect(consumer.position.segment).toBe(5);
    tail.deleteBefore(consumer.position);
    expect(listSegments(directory)).toEqual([5]);
  });

  it("goes on past a segment that somebody deleted", () => {
    write(1, settle("r1"));
    const tail = new SegmentTail(directory);
    const consumer = new Consumer(tail, "gw", clock, 1_000);
    const { applied, store } = aStore();
    write(3, settle("r3"));
    tail.extend({ segment: 3, bytes: 1e9 });
    while (consumer.step(store, false)) now++;
    expect(applied.flatMap(({ settled }) => settled)).toEqual(["r1", "r3"]);
  });

  it("gives the same lines however its bytes become visible, and lines longer than a batch", () => {
    const texts = fc.array(fc.constantFrom("", "a", "last", "é".repeat(10), "€\u{1f600}", "x".repeat(1_200_000)), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(texts, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }), (all, cuts) => {
        const bytes = Buffer.from(all.map((text) => `${text}\n`).join(""));
        writeFileSync(segmentPath(directory, 1), bytes);
        const tail = new SegmentTail(directory);
        const seen: string[] = [];
        for (const end of [...cuts.sort((a, b) => a - b), 1]) {
          tail.extend({ segment: 1, bytes: Math.floor(end * bytes.length) });
          for (let read = tail.read(); read; read = tail.read()) {
            expect(read.linesBefore).toBe(seen.length);
            for (const [index, start] of read.starts.entries())
              expect(bytes.subarray(start).indexOf(`${read.texts[index]}\n`)).toBe(0);
            seen.push(...read.texts);
          }
        }
        tail.close();
        expect(seen).toEqual(all);
        expect(tail.position).toEqual({ segment: 1, bytes: bytes.length, lines: all.length });
      }),
      { numRuns: 60 },
    );
  });
});
