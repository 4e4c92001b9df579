import { existsSync, mkdtempSync, openSync, rmSync, type write, type writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { type Fifo, openFifo } from "../../test/support/fifo.ts";
import { PipeOutput } from "./pipe-output.ts";

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "pipe-output-"));
afterAll(() => rmSync(folder, { recursive: true }));

let fifos = 0;
function fifo(): Fifo {
  fifos += 1;
  return openFifo(join(folder, `fifo${fifos}`));
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const fault = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

function linesOf(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, n) => `${from + n} é € \ud83d\ude00 ${"x".repeat((n * 37) % 500)}\n`);
}

describe("a pipe", () => {
  it("gets every line, whole and in order, however slow its reader", async () => {
    const pipe = fifo();
    const output = new PipeOutput(pipe.writer);
    const lines = [...linesOf(4_000), `${"long".repeat(50_000)}\n`, "", ...linesOf(500, 4_000)];
    const text = lines.join("");
    for (const line of lines) output.write(line);
    expect(await pipe.readUntil((got) => got.length >= text.length, 3_001)).toBe(text);
  });

  it("gets the lines that came after a pause", async () => {
    const pipe = fifo();
    const output = new PipeOutput(pipe.writer);
    for (const line of linesOf(10)) {
      output.write(line);
      expect(await pipe.readUntil((got) => got.endsWith("\n"))).toBe(line);
    }
  });

  it("that nobody reads keeps the oldest lines up to a bound, holds nobody up, and goes on when it is read", async () => {
    const pipe = fifo();
    const output = new PipeOutput(pipe.writer);
    const lineOf = (n: number): string => `${String(n).padStart(8)}${"x".repeat(1015)}\n`;
    for (let n = 0; n < 20 * 1024; n++) output.write(lineOf(n));
    await turn();
    output.flushNow();
    await turn();

    // Once there is room again, a line gets in behind all that was kept.
    const before = (await pipe.readUntil((got) => got.length >= MIB)).length;
    output.write("end\n");
    let kept = before;
    let last = "";
    await pipe.readUntil((got) => {
      last = got;
      return got.endsWith("end\n");
    });
    kept += last.length - "end\n".length;
    expect(kept % 1024).toBe(0);
    expect(kept).toBeGreaterThanOrEqual(8 * MIB);
    expect(kept).toBeLessThanOrEqual(8 * MIB + 256 * 1024);
    expect(last.slice(-1024 - 4)).toBe(`${lineOf(kept / 1024 - 1)}end\n`);
  });

  it("is filled by a flush while it is read, and the rest of a line that was begun comes first", async () => {
    const pipe = fifo();
    const output = new PipeOutput(pipe.writer);
    const text = linesOf(300).join("");
    // More than the pipe holds: its part is taken at once.
    for (const line of linesOf(300)) output.write(line);
    const first = pipe.read(50_000)?.toString("latin1") ?? "";
    output.flushNow();
    const second = await pipe.readUntil((got) => got.endsWith("\n"));
    expect(Buffer.from(first, "latin1").toString() + second).toBe(text);
  });

  it("whose reader has gone loses everything, for good", async () => {
    const pipe = fifo();
    const output = new PipeOutput(pipe.writer);
    pipe.closeReader();
    output.write("lost\n");
    output.write("lost\n");
    output.flushNow();
    await turn();
  });

  it("whose reader was gone before it began loses everything, too", async () => {
    const pipe = fifo();
    pipe.closeReader();
    const output = new PipeOutput(pipe.writer);
    output.write("lost\n");
    output.flushNow();
    await turn();
    output.write("lost\n");
    output.flushNow();
  });
});

it.skipIf(!existsSync("/dev/full"))("loses what a full device (/dev/full) does not take", async () => {
  const output = new PipeOutput(openSync("/dev/full", "w"));
  for (const line of linesOf(1_000)) output.write(line);
  await turn();
  output.flushNow();
  output.write("lost\n");
  output.flushNow();
});

it("takes a descriptor that is not open for one that is gone", () => {
  const output = new PipeOutput(1_000_000);
  output.write("lost\n");
  output.flushNow();
  output.write("lost\n");
  output.flushNow();
});

describe("a device", () => {
  /** What was written to a device that answers each write as told: with a number of bytes, or an error. */
  function device(answers: (number | string)[]): { output: PipeOutput; text(): string; writes(): number } {
    const written: Buffer[] = [];
    let writes = 0;
    const writeNow = ((_fd: number, bytes: Buffer, offset: number, length: number) => {
      writes += 1;
      const answer = answers.shift() ?? length;
      if (typeof answer === "string") throw fault(answer);
      const taken = Math.min(answer, length);
      written.push(Buffer.from(bytes.subarray(offset, offset + taken)));
      return taken;
    }) as typeof writeSync;
    const output = new PipeOutput(openSync("/dev/null", "w"), { write: undefined as never, writeSync: writeNow });
    return { output, text: () => Buffer.concat(written).toString(), writes: () => writes };
  }

  it.each(["ENOSPC", "EIO"])("loses the text that met %s and gets the next", (code) => {
    const { output, text, writes } = device([code]);
    output.write("lost\n");
    output.write("kept\n");
    output.flushNow();
    expect(text()).toBe("kept\n");
    expect(writes()).toBe(2);
  });

  it.each(["EPIPE", "EBADF"])("is written to no more after %s", (code) => {
    const { output, writes } = device([code]);
    for (const line of linesOf(10)) output.write(line);
    output.flushNow();
    expect(writes()).toBe(1);
  });

  it("that is busy is tried again, and a flush does not wait for the pause to end", async () => {
    const { output, text } = device(["EAGAIN", 3, "EBUSY", 0]);
    output.write("first\n");
    output.write("second\n");
    expect(text()).toBe("");
    output.flushNow();
    expect(text()).toBe("first\nsecond\n");
    output.write("third\n");
    output.flushNow();
    expect(text()).toBe("first\nsecond\nthird\n");
  });

  it.each(["EAGAIN", 0])("that goes on answering %s is let go of by a flush", (answer) => {
    const { output, writes } = device(Array.from({ length: 10_000 }, () => answer));
    output.write("kept\n");
    output.flushNow();
    expect(writes()).toBeLessThan(200);
  });
});

describe("what cannot be opened again", () => {
  /** A descriptor that no write of a thread comes back from before it is told to. */
  interface Slow {
    output: PipeOutput;
    text(): string;
    inFlight(): number;
    longest(): number;
    finish(answer?: number | string): void;
  }

  function slow(): Slow {
    const written: Buffer[] = [];
    const flights: { bytes: Buffer; done: (error: NodeJS.ErrnoException | null, taken: number) => void }[] = [];
    let longest = 0;
    const take = (bytes: Buffer): number => {
      longest = Math.max(longest, bytes.length);
      written.push(Buffer.from(bytes));
      return bytes.length;
    };
    const later = ((_fd: number, bytes: Buffer, _offset: number, _length: number, _at: null, done: never) =>
      void flights.push({ bytes, done })) as unknown as typeof write;
    const now = ((_fd: number, bytes: Buffer) => take(bytes)) as typeof writeSync;
    return {
      output: new PipeOutput(1_000_000, { write: later, writeSync: now }),
      text: () => Buffer.concat(written).toString(),
      inFlight: () => flights.length,
      longest: () => longest,
      finish(answer = Number.MAX_SAFE_INTEGER) {
        const flight = flights.shift();
        if (!flight) throw new Error("no write is in flight");
        if (typeof answer === "string") return flight.done(fault(answer), 0);
        const taken = Math.min(answer, flight.bytes.length);
        take(flight.bytes.subarray(0, taken));
        flight.done(null, taken);
      },
    };
  }

  it("is written to by one write at a time, which takes what has gathered", () => {
    const { output, text, inFlight, finish } = slow();
    for (const line of ["1\n", "2\n", "3\n"]) output.write(line);
    expect(inFlight()).toBe(1);
    finish();
    expect(text()).toBe("1\n");
    expect(inFlight()).toBe(1);
    finish();
    expect(text()).toBe("1\n2\n3\n");
    expect(inFlight()).toBe(0);
  });

  it("is written to in whole lines that no other write can come between", () => {
    const { output, text, inFlight, longest, finish } = slow();
    const lines = linesOf(400);
    for (const line of lines) output.write(line);
    let seen = 0;
    while (inFlight() > 0) {
      finish();
      expect(text().endsWith("\n")).toBe(true);
      seen += 1;
    }
    expect(text()).toBe(lines.join(""));
    expect(longest()).toBeLessThanOrEqual(4_096);
    expect(seen).toBeGreaterThan(10);
  });

  it("gets the other lines of a flush while a write is in flight, and that one's own once", () => {
    const { output, text, inFlight, finish } = slow();
    for (const line of ["1\n", "2\n", "3\n"]) output.write(line);
    output.flushNow();
    expect(text()).toBe("2\n3\n");
    finish();
    expect(text()).toBe("2\n3\n1\n");
    expect(inFlight()).toBe(0);
    output.write("4\n");
    finish();
    expect(text()).toBe("2\n3\n1\n4\n");
  });

  it("has a line in flight that may be taken in parts left alone by a flush", () => {
    const { output, text, finish } = slow();
    const long = `${"x".repeat(5_000)}\n`;
    output.write(long);
    output.write("next\n");
    output.flushNow();
    expect(text()).toBe("");
    finish(4_999);
    finish();
    finish();
    expect(text()).toBe(`${long}next\n`);
  });

  it("gets no line that may be taken in parts from a flush while a write is in flight", () => {
    const { output, text, finish } = slow();
    const long = `${"x".repeat(5_000)}\n`;
    for (const line of ["1\n", "2\n", long]) output.write(line);
    output.flushNow();
    expect(text()).toBe("2\n");
    while (text().length < long.length) finish();
    expect(text()).toBe(`2\n1\n${long}`);
  });

  it.each(["EPIPE", "EBADF"])("is written to no more after %s", (code) => {
    const { output, text, inFlight, finish } = slow();
    output.write("1\n");
    output.write("2\n");
    finish(code);
    output.write("3\n");
    output.flushNow();
    expect(inFlight()).toBe(0);
    expect(text()).toBe("");
  });

  it("gets each line once and whole, whatever comes between", () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("write" as const), length: fc.integer({ min: 0, max: 6_000 }) }),
      fc.record({ do: fc.constant("flush" as const) }),
      fc.record({ do: fc.constant("finish" as const), taken: fc.integer({ min: 1, max: 8_000 }) }),
      fc.record({ do: fc.constant("busy" as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { output, text, inFlight, finish } = slow();
        const lines: string[] = [];
        for (const one of steps) {
          if (one.do === "write") {
            lines.push(`${lines.length}:${"x".repeat(one.length)}\n`);
            output.write(lines.at(-1) ?? "");
          } else if (one.do === "flush") output.flushNow();
          // What is small is taken whole or not at all.
          else if (inFlight() > 0) finish(one.do === "busy" ? "EAGAIN" : Math.max(one.taken, 4_096));
        }
        while (inFlight() > 0) finish();
        output.flushNow();
        const got = text().split("\n").slice(0, -1);
        expect(got.map((line) => `${line}\n`).sort()).toEqual([...lines].sort());
      }),
      { numRuns: 1_000 },
    );
  });
});
