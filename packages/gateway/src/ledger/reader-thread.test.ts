import { join } from "node:path";
import { expect, it } from "vitest";
import { anAttempt, aRow, aSettlement } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { openLedgerReader } from "./reader.ts";
import { openLedgerReaderThread } from "./reader-thread.ts";
import { LedgerStore } from "./store.ts";

const ALL = { by: ["tenant"], from: "2026-11-01", to: "2026-12-01" };

it("answers as the reader itself does, errors included", async () => {
  const path = join(aDirectory(), "ledger.sqlite");
  const thread = openLedgerReaderThread(path);
  expect(await thread.requests({ limit: 10 })).toEqual({ data: [] });
  const store = new LedgerStore(path, false);
  store.apply({ instance: "gw", running: [], settled: [aSettlement(aRow("req_1"), [anAttempt(1)])] });
  const reader = openLedgerReader(path);
  expect(await thread.requests({ limit: 10 })).toEqual(reader.requests({ limit: 10 }));
  expect(await thread.request("req_1")).toEqual(reader.request("req_1"));
  expect(await thread.request("req_2")).toBeNull();
  expect(await thread.spend(ALL)).toEqual(reader.spend(ALL));
  const error = await thread.spend({ ...ALL, by: ["tenat"] }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "GatewayError", code: "invalid_request", details: { param: "by" } });
  await thread.close();
});

it("bounds what waits, and rejects it when the thread is gone", async () => {
  const thread = openLedgerReaderThread("/nowhere/ledger.sqlite");
  const asked = Array.from({ length: 120 }, () =>
    thread.spend(ALL).then(
      () => "answered",
      (error: Error) => error.message,
    ),
  );
  await thread.close();
  const answers = await Promise.all(asked);
  expect(answers.slice(100).every((answer) => answer.startsWith("more than 100 questions"))).toBe(true);
  expect(
    answers.slice(0, 100).filter((answer) => answer.startsWith("the ledger's reader is gone")).length,
  ).toBeGreaterThan(0);
  expect((await thread.spend(ALL)).total.requests, "a new thread").toBe(0);
  await thread.close();
});
