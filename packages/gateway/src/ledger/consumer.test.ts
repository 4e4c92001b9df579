import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { Clock } from "../core/clock.ts";
import { Consumer } from "./consumer.ts";
import { anAdmission, aRow } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { SegmentTail } from "./segment-tail.ts";
import { listSegments, segmentPath } from "./segments.ts";
import { admissionLine, settlementLine } from "./spool-line.ts";
import type { Batch, LedgerStore } from "./store.ts";

let directory: string;
let now: number;
const clock: Clock = { now: () => now, monotonic: () => now, after: () => ({ cancel() {} }) };

beforeEach(() => {
  directory = aDirectory();
  now = 0;
});

const admit = (id: string) => admissionLine(anAdmission(id));
const settle = (id: string) => settlementLine(aRow(id), []);
const write = (segment: number, text: string) => writeFileSync(segmentPath(directory, segment), text);
const idOf = (line: string) => String(JSON.parse(line)[1][0]);

/** A store that only remembers what it was given. */
function aStore() {
  const applied: { running: string[]; settled: string[] }[] = [];
  const store = {
    apply({ running, settled }: Batch) {
      applied.push({ running: running.map(idOf), settled: settled.map(idOf) });
      return [];
    },
  } as unknown as LedgerStore;
  return { applied, store };
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
    const lines = ["é".repeat(10), "", "x".repeat(1_200_000), "last"].map((text) =>
      settlementLine(aRow(`r${text.length}`, { tags: { text } }), []),
    );
    const bytes = Buffer.from(lines.join(""));
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 5 }), (cuts) => {
        writeFileSync(segmentPath(directory, 1), bytes);
        const tail = new SegmentTail(directory);
        const seen: string[] = [];
        for (const end of [...cuts.sort((a, b) => a - b), bytes.length]) {
          tail.extend({ segment: 1, bytes: end });
          for (let read = tail.read(); read.length > 0; read = tail.read())
            seen.push(...read.map(({ text }) => `${text}\n`));
        }
        tail.close();
        expect(seen).toEqual(lines);
        expect(tail.position).toEqual({ segment: 1, bytes: bytes.length, lines: lines.length });
      }),
      { numRuns: 20 },
    );
  });
});
