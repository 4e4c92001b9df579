import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noUsage, type RequestRow } from "@sluicegate/contract";
import { afterAll, expect, it } from "vitest";
import { openFifo } from "../../test/support/fifo.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { requestRow } from "../stages/rows.ts";
import { createLog } from "./log.ts";

const folder = mkdtempSync(join(tmpdir(), "log-"));
afterAll(() => rmSync(folder, { recursive: true }));

function rowOf(requestId: string): RequestRow {
  const visit = { requestId, clientRequestId: null, protocol: openaiChat, startedAt: 0, arrivedAt: 0, waitedMs: 0 };
  return { ...requestRow(visit, {}), usage: noUsage() };
}

it("writes a line for every row, as the contract orders its members, among its other lines", () => {
  const path = join(folder, "access");
  const fd = openSync(path, "a");
  const log = createLog({ fd, level: "info", access: true });
  const rows = Array.from({ length: 40 }, (_, n) => rowOf(`req_${n}`));
  for (const row of rows) log.access(row);
  log.flush();
  log.info("said", { n: 1 });
  log.flush();
  closeSync(fd);

  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(lines.slice(0, 40)).toEqual(rows.map((row) => `{"msg":"request",${JSON.stringify(row).slice(1)}`));
  expect(JSON.parse(lines[40] ?? "")).toMatchObject({ msg: "said", n: 1 });
  expect(lines).toHaveLength(41);
});

it("writes no access lines where none are wanted", () => {
  const path = join(folder, "quiet");
  const fd = openSync(path, "a");
  const log = createLog({ fd, level: "info", access: false });
  log.access(rowOf("req_1"));
  log.flush();
  closeSync(fd);
  expect(readFileSync(path, "utf8")).toBe("");
});

it("loses lines, and nothing else, where a file cannot be written to", async () => {
  const path = join(folder, "unwritable");
  writeFileSync(path, "");
  const fd = openSync(path, "r");
  const log = createLog({ fd, level: "info", access: true });
  log.info("lost");
  log.access(rowOf("req_1"));
  log.fault("req_1", new Error("lost"));
  log.flush();
  await new Promise((resolve) => setImmediate(resolve));
  log.error("lost");
  log.flush();
  closeSync(fd);
  expect(readFileSync(path, "utf8")).toBe("");
});

it("keeps the levels, times and errors of its lines", () => {
  const path = join(folder, "lines");
  const fd = openSync(path, "a");
  const log = createLog({ fd, level: "warn", access: true });
  log.info("unsaid");
  log.warn("said", { n: 1 });
  log.fault("req_1", new TypeError("odd"));
  closeSync(fd);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { level: 40, time, n: 1, msg: "said" },
    {
      level: 50,
      time,
      request_id: "req_1",
      err: { type: "TypeError", message: "odd", stack: expect.stringContaining("log.test.ts") },
      msg: "unexpected fault",
    },
  ]);
});

it("puts its lines into a pipe", async () => {
  const pipe = openFifo(join(folder, "pipe"));
  const log = createLog({ fd: pipe.writer, level: "info", access: true });
  log.info("first");
  log.access(rowOf("req_1"));
  log.flush();
  log.info("last");
  const lines = (await pipe.readUntil((got) => got.includes("last"))).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(["first", "request", "last"]);
});
