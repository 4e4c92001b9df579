import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { fileOutput } from "./file-output.ts";

const folder = mkdtempSync(join(tmpdir(), "file-output-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("writes texts of any length and any characters one after the other", () => {
  const path = join(folder, "out");
  const fd = openSync(path, "a");
  const write = fileOutput(fd);
  const texts = ["plain\n", "é € \ud83d\ude00\n", "", "€".repeat(80 * 1024), "x".repeat(300_000), "last\n"];
  for (const text of texts) write(text);
  closeSync(fd);
  expect(readFileSync(path, "utf8")).toBe(texts.join(""));
});

it("goes on where a write has stopped", () => {
  const pieces: string[] = [];
  const write = fileOutput(1, ((_fd: number, bytes: Buffer, offset: number, length: number) => {
    const taken = Math.min(length, 7);
    pieces.push(bytes.toString("utf8", offset, offset + taken));
    return taken;
  }) as never);
  write("the first text");
  write("the second");
  expect(pieces.join("")).toBe("the first textthe second");
});

it("loses what cannot be written, and goes on", () => {
  let full = true;
  const written: string[] = [];
  const write = fileOutput(1, ((_fd: number, bytes: Buffer, offset: number, length: number) => {
    if (full) throw new Error("ENOSPC");
    written.push(bytes.toString("utf8", offset, offset + length));
    return length;
  }) as never);
  expect(() => write("lost")).not.toThrow();
  full = false;
  write("kept");
  expect(written).toEqual(["kept"]);
});

it("begins a new line after one of which only a part was written", () => {
  let room = 8;
  const written: string[] = [];
  const write = fileOutput(1, ((_fd: number, bytes: Buffer, offset: number, length: number) => {
    if (room === 0) throw new Error("ENOSPC");
    const taken = Math.min(length, room);
    room -= taken;
    written.push(bytes.toString("utf8", offset, offset + taken));
    return taken;
  }) as never);
  write("one\ntwo three\n");
  write("lost\n");
  room = 1_000;
  write("kept\n");
  write("kept, too\n");
  expect(written.join("")).toBe("one\ntwo \nkept\nkept, too\n");
});

it("begins no new line where lines were lost whole, and gives up on a file that takes nothing", () => {
  const room = [4, 0, 0];
  const written: string[] = [];
  const write = fileOutput(1, ((_fd: number, bytes: Buffer, offset: number, length: number) => {
    const taken = Math.min(length, room.shift() ?? length);
    written.push(bytes.toString("utf8", offset, offset + taken));
    return taken;
  }) as never);
  write("one\nlost\n");
  write("lost\n");
  write("kept\n");
  expect(written.join("")).toBe("one\nkept\n");
});
