import { readFileSync, writeSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { systemClock } from "../core/clock.ts";
import { until } from "./fixtures/poll.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { listSegments, segmentPath } from "./segments.ts";
import { Spool, type SpoolOptions } from "./spool.ts";

function aSpool(changes: Partial<SpoolOptions> = {}) {
  const directory = aDirectory();
  const failures: unknown[] = [];
  const spool = new Spool({
    directory,
    fsync: false,
    segmentBytes: 100,
    clock: systemClock,
    onWritten: () => {},
    onFailing: (error) => failures.push(error),
    ...changes,
  });
  const text = () => listSegments(directory).map((segment) => readFileSync(segmentPath(directory, segment), "utf8"));
  return { spool, text, failures };
}

describe("a spool", () => {
  it("writes the lines of one tick at once, and says so after", async () => {
    const writes: number[] = [];
    const write = (fd: number, bytes: Buffer) => {
      writes.push(bytes.length);
      return writeSync(fd, bytes);
    };
    const { spool, text } = aSpool({ write });
    spool.append("one\n");
    const first = spool.written();
    spool.append("twö\n");
    expect(spool.written()).toBe(first);
    expect(text()).toEqual([""]);
    await first;
    expect(writes).toEqual([9]);
    expect(text()).toEqual(["one\ntwö\n"]);
    expect(spool.end).toEqual({ segment: 1, bytes: 9, lines: 2 });
    spool.close();
  });

  it("writes what somebody waits for before the event loop turns, in one go for all who run now", async () => {
    const { spool, text } = aSpool();
    const order: string[] = [];
    setImmediate(() => order.push("turn"));
    const admitted = ["one\n", "two\n"].map(async (line) => {
      await null;
      spool.append(line);
      await spool.written();
      order.push(text().join());
    });
    await Promise.all(admitted);
    await new Promise(setImmediate);
    expect(order).toEqual(["one\ntwo\n", "one\ntwo\n", "turn"]);
    spool.close();
  });

  it("begins a new segment when one is full, and knows what is not consumed", async () => {
    const { spool, text } = aSpool();
    for (let count = 0; count < 5; count++) {
      spool.append(`${"x".repeat(59)}\n`);
      await spool.written();
    }
    expect(text().map((segment) => segment.length)).toEqual([120, 120, 60]);
    expect([spool.unconsumedBytes, spool.unconsumedLines]).toEqual([300, 5]);
    spool.consume({ segment: 2, bytes: 60, lines: 1 });
    expect([spool.unconsumedBytes, spool.unconsumedLines]).toEqual([120, 2]);
    spool.consume({ segment: 3, bytes: 60, lines: 1 });
    expect([spool.unconsumedBytes, spool.unconsumedLines]).toEqual([0, 0]);
    spool.close();
  });

  it("writes to the disk itself when it is asked to", async () => {
    const { spool, text } = aSpool({ fsync: true });
    const written = Array.from({ length: 20 }, (_, count) => {
      spool.append(`${count} ${"x".repeat(50)}\n`);
      const done = spool.written();
      if (count % 3 === 0) spool.flush();
      return done;
    });
    await Promise.all(written);
    expect(text().join("").split("\n").length).toBe(21);
    spool.close();
  });

  it("keeps lines in memory while the disk is full, and tears none when it was cut in the middle", async () => {
    let room = 6;
    const write = (fd: number, bytes: Buffer) => {
      if (room === 0) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      const count = writeSync(fd, bytes.subarray(0, room));
      room -= count;
      return count;
    };
    const { spool, text, failures } = aSpool({ write });
    spool.append("first\nsecond\n");
    await spool.written();
    expect(text()).toEqual(["first\n"]);
    expect(spool.failing).toBe(true);
    // Longer than what waits, which it must not take the place of.
    spool.append(`third ${"x".repeat(20)}\n`);
    await spool.written();
    expect(spool.settled).toBe(false);
    expect(failures).toHaveLength(1);
    room = 1_000;
    await until("the spool is written again", () => !spool.failing);
    expect(text()).toEqual([`first\nsecond\nthird ${"x".repeat(20)}\n`]);
    expect(spool.settled).toBe(true);
    expect(failures).toEqual([expect.any(Error), null]);
    spool.close();
  });

  it("tears no line over two segments when the disk was full at the end of one", async () => {
    let room = 9;
    const write = (fd: number, bytes: Buffer) => {
      const count = writeSync(fd, bytes.subarray(0, room));
      room -= count;
      return count;
    };
    const { spool, text } = aSpool({ write, segmentBytes: 8 });
    spool.append("first\nsecond\n");
    await spool.written();
    expect(text()).toEqual(["first\nsec"]);
    room = 1_000;
    await until("the spool is written again", () => !spool.failing);
    spool.append("third\n");
    await spool.written();
    expect(text()).toEqual(["first\nsecond\n", "third\n"]);
    spool.close();
  });

  it("takes no more memory for them than they are long", async () => {
    let full = true;
    const memory: [kept: number, long: number][] = [];
    const write = (fd: number, bytes: Buffer) => {
      if (full) throw new Error("no space left on device");
      memory.push([bytes.buffer.byteLength, bytes.length]);
      return writeSync(fd, bytes);
    };
    const { spool, text } = aSpool({ write, segmentBytes: 1_000 });
    for (const line of ["first\n", "second\n", "third\n"]) {
      spool.append(line);
      await spool.written();
    }
    full = false;
    await until("the spool is written again", () => !spool.failing);
    expect(text()).toEqual(["first\nsecond\nthird\n"]);
    // The first was not yet known to have to wait.
    expect(memory.slice(1)).toEqual([
      [7, 7],
      [6, 6],
    ]);
    spool.close();
  });

  it("bounds that memory, and counts what it cannot keep", async () => {
    const { spool } = aSpool({
      write: () => {
        throw new Error("no space left on device");
      },
    });
    const big = `${"x".repeat(40 * 1024 * 1024)}\n`;
    for (let count = 0; count < 3; count++) {
      spool.append(big);
      await spool.written();
    }
    expect(spool.dropped).toBe(2);
    spool.close();
    spool.append("late\n");
    expect(spool.dropped).toBe(3);
  });
});
