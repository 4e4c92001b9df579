import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RequestRecord } from "@sluicegate/contract";
import { type Simulator, startSimulator } from "@sluicegate/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChildGateway, expectBuilt, startChildGateway, temporaryFolder } from "./support/child-gateway.ts";
import { CLIENT_KEY, configOf, keyHash } from "./support/gateway.ts";
import {
  allRows,
  expectBilled,
  expectSums,
  hitsByMarker,
  linesById,
  microUsd,
  SIMULATOR_PRICE,
} from "./support/ledger-check.ts";
import { type LoadClient, loadClient, type Order, type Outcome } from "./support/load-client.ts";
import { type Seeded, seeded } from "./support/seeded.ts";
import { until } from "./support/until.ts";
import { chatAnswer, startUpstream } from "./support/upstream.ts";

const KILLS = 20;
const SEED = 20_261_129;

const CHAINS: Record<string, string[]> = {
  plain: ["sim/fixed?input=120&cached=20&output=30"],
  slow: ["sim/fixed?input=51&output=20&latency=120ms"],
  stream: ["sim/long?tokens=40&between=4ms"],
  endless: ["sim/long?tokens=2000&between=10ms"],
  fallback: ["sim/error?status=503", "sim/fixed?input=77&cached=7&output=9&tag=second"],
  late: ["sim/reset", "sim/long?tokens=20&between=4ms&tag=second"],
  waiting: ["sim/error?status=503&retry_after=30"],
  preamble: ["sim/errorafter?after=0", "sim/long?tokens=20&between=4ms&tag=third"],
  silent: ["sim/nousage"],
  cut: ["sim/cut?after=2"],
  hang: ["sim/hang"],
};
const STREAMED = new Set(["stream", "endless", "late", "preamble"]);

/** A request that was made, and a probe of its round: what had ended before it is on the disk. */
interface Made extends Outcome {
  probe: Outcome | undefined;
}

function anOrder(marker: string, chance: Seeded): Order {
  const alias = chance.pick(Object.keys(CHAINS));
  const stream = STREAMED.has(alias) || chance.float() < 0.4;
  const options = stream && chance.float() < 0.5 ? { stream_options: { include_usage: true } } : {};
  const leaves = chance.float() < 0.15;
  return {
    marker,
    body: { model: alias, stream, ...options },
    ...(leaves && { leave: { afterMs: chance.int(0, 200) } }),
  };
}

/** An upstream that tells of every call the moment it has come, and answers when it is told to. */
interface Watcher {
  url: string;
  /** Markers, in order. */
  hits: string[];
  onHit: () => void;
  release(): void;
  close(): Promise<void>;
}

async function startWatcher(): Promise<Watcher> {
  const upstream = await startUpstream();
  const held: (() => void)[] = [];
  const watcher: Watcher = {
    url: upstream.url,
    hits: [],
    onHit: () => {},
    release: () => {
      for (const answer of held.splice(0)) answer();
    },
    close: () => upstream.close(),
  };
  upstream.answer((response, { body }) => {
    watcher.onHit();
    watcher.hits.push((JSON.parse(body.toString()) as { messages: { content: string }[] }).messages[0]?.content ?? "");
    held.push(() => response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("seen")));
  });
  return watcher;
}

describe("a gateway that is killed under load", () => {
  let simulator: Simulator;
  let watcher: Watcher;
  let folder: ReturnType<typeof temporaryFolder>;
  let gateway: ChildGateway | null = null;
  const chance = seeded(SEED);
  const made: Made[] = [];

  const start = async (): Promise<ChildGateway> => {
    gateway = await startChildGateway({
      args: ["--config", join(folder.path, "sluicegate.yaml"), "--port", "0", "--data-dir", folder.path],
      cwd: folder.path,
    });
    return gateway;
  };

  beforeAll(async () => {
    expectBuilt();
    simulator = await startSimulator({ recentRequests: 100_000 });
    watcher = await startWatcher();
    folder = temporaryFolder();
    const own = `providers: { watcher: { kind: openai-compatible, base_url: '${watcher.url}/v1' }, `;
    const chains = { ...CHAINS, watched: ["watcher/any"] };
    const config = configOf(chains).replace("providers: { ", own).replaceAll("SIMULATOR", `${simulator.url}/v1`);
    writeFileSync(join(folder.path, "sluicegate.yaml"), config.replaceAll("KEYHASH", keyHash(CLIENT_KEY)));
  });

  afterAll(async () => {
    if (gateway?.process.exitCode === null) await gateway.kill("SIGKILL");
    await simulator.close();
    await watcher.close();
    folder.remove();
  });

  /** A burst of requests, and the kill in the middle of it. */
  async function round(number: number, running: ChildGateway): Promise<void> {
    const client = loadClient(running.url);
    const count = chance.int(200, 280);
    const killAfterMs = chance.int(20, 450);
    const probes = probe(client, `r${number}`);
    const pending: Promise<Outcome>[] = [];
    let ended = 0;
    for (let i = 0; i < count; i++) {
      pending.push(client.send(anOrder(`r${number}-${i}`, chance)).finally(() => ended++));
      if (i % 40 === 39) await new Promise((resolve) => setTimeout(resolve, 8));
    }
    await new Promise((resolve) => setTimeout(resolve, killAfterMs));
    // Some kills come as early as that; most in the midst of things, however slow the machine is.
    if (number % 3 > 0) await until("answers", () => ended > 60);
    expect(await running.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
    const probed = await probes;
    const outcomes = [...probed, ...(await Promise.all(pending))];
    client.close();
    // A probe that was answered was admitted after all that had ended when it was sent, and by way of the same file. The one
    // after it gives the gateway the time to hear of those that left without a word.
    const last = probed.filter(({ status }) => status === 200).at(-2);
    made.push(...outcomes.map((outcome) => ({ ...outcome, probe: last })));
  }

  /** One request after the other, until one is not answered any more. */
  async function probe(client: LoadClient, prefix: string): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    do outcomes.push(await client.send({ marker: `${prefix}-p${outcomes.length}`, body: { model: "plain" } }));
    while (outcomes.at(-1)?.status === 200);
    return outcomes;
  }

  /** Markers that must be in the ledger: a provider saw them, or their client was answered. */
  function admitted(): Set<string> {
    const answered = made.filter(({ requestId }) => requestId !== null).map(({ marker }) => marker);
    return new Set([...hitsByMarker(simulator).keys(), ...answered]);
  }

  const spools = (): string[] => readdirSync(join(folder.path, "spool")).filter((name) => !name.startsWith("."));

  /** All rows, once the running gateway (which has nothing to do) has brought in what the dead ones left. */
  async function rowsOfTheDead(running: ChildGateway): Promise<RequestRecord[]> {
    await until("the spools to be brought in", () => spools().length === 1);
    const rows = await allRows(running.admin);
    expect(rows.filter(({ status }) => status === "running")).toEqual([]);
    const there = new Set(rows.map((row) => row.client_request_id));
    expect([...admitted()].filter((marker) => !there.has(marker))).toEqual([]);
    return rows;
  }

  test(`loses nothing and counts nothing twice, ${KILLS} times over`, async () => {
    for (let number = 0; number < KILLS; number++) {
      const running = await start();
      // Every other start is killed again before it has had the time to bring in what the one before it left.
      if (number % 2 === 1) await rowsOfTheDead(running);
      await round(number, running);
    }
    const rows = await rowsOfTheDead(await start());
    const byMarker = new Map<string, RequestRecord>();
    for (const row of rows) {
      const marker = row.client_request_id ?? "";
      expect(byMarker.has(marker), `${marker} is there twice`).toBe(false);
      byMarker.set(marker, row);
    }
    expect(rows.length).toBeGreaterThan(KILLS * 50);
    expect(new Set(rows.map((row) => row.request_id)).size).toBe(rows.length);
    expect(new Set(rows.map((row) => row.status))).toEqual(new Set(["ok", "failed", "cancelled", "abandoned"]));
    const settled = made.filter((outcome) => checkOutcome(outcome, byMarker));
    expect(settled.length).toBeGreaterThan(KILLS * 5);
    checkMoney(rows);
  }, 120_000);

  /** True for one that was certainly settled when the kill came. */
  function checkOutcome(outcome: Made, byMarker: ReadonlyMap<string, RequestRecord>): boolean {
    const row = byMarker.get(outcome.marker);
    if (outcome.requestId !== null) expect(row?.request_id).toBe(outcome.requestId);
    if (!row) return false;
    const probe = byMarker.get(outcome.probe?.marker ?? "");
    const before = outcome.probe !== undefined && outcome.endedAt < outcome.probe.sentAt;
    if (before && outcome.complete) {
      const went = outcome.status === 200 && !outcome.text.includes('data: {"error"');
      expect(row.status, outcome.marker).toBe(went ? "ok" : "failed");
      // What the first had opened with never left the gateway, so its error did not either.
      if (row.alias === "preamble") expect(went, outcome.marker).toBe(true);
      return true;
    }
    // A client may leave before its connection has been accepted: then the probe was faster.
    if (before && outcome.left && probe && row.started_at < probe.started_at) {
      expect(row.status, outcome.marker).not.toBe("abandoned");
      return true;
    }
    // In flight when the kill came: the answer may have been on its way, and a stream may have been broken off upstream.
    if (!outcome.left) expect(["abandoned", "ok", "failed"], outcome.marker).toContain(row.status);
    return false;
  }

  function checkMoney(rows: readonly RequestRecord[]): void {
    const lines = linesById(simulator);
    const hits = hitsByMarker(simulator);
    const seen = new Set<string>();
    let exact = 0;
    for (const row of rows) {
      const marker = row.client_request_id ?? "";
      expectSums(row);
      if (row.status === "abandoned") {
        checkAbandoned(row);
        continue;
      }
      const unnamed = row.attempts.filter((attempt) => attempt.provider_request_id === null);
      const ids = row.attempts.flatMap((attempt) => attempt.provider_request_id ?? []);
      // Every call that arrived is an attempt. One whose head never came has no name, and costs what is estimated.
      const nameless = (hits.get(marker) ?? []).filter((id) => !ids.includes(id));
      const estimated = unnamed.filter((attempt) => attempt.cost_state === "estimated");
      expect(nameless.length, marker).toBeLessThanOrEqual(estimated.length);
      for (const id of ids) {
        expect(seen.has(id), `${id} is there twice`).toBe(false);
        expect(hits.get(marker), marker).toContain(id);
        seen.add(id);
      }
      for (const attempt of row.attempts) {
        const line = expectBilled(attempt, lines, SIMULATOR_PRICE);
        if (line && attempt.cost_state === "known") exact++;
      }
    }
    expect(exact).toBeGreaterThan(KILLS * 5);
  }

  function checkAbandoned(row: RequestRecord): void {
    const [attempt] = row.attempts;
    expect(row.attempts).toHaveLength(1);
    expect(row).toMatchObject({ cost_state: "estimated", error_code: null });
    // Which of them is asked first depends on how they are.
    expect(CHAINS[row.alias ?? ""]).toContain(row.deployment);
    expect(row.usage.input_tokens).toBeGreaterThan(0);
    expect(row.cost_micro_usd).toBe(microUsd(row.usage, SIMULATOR_PRICE));
    expect(attempt).toMatchObject({ status: "cancelled", cost_state: "estimated" });
  }

  test("knows of a request by the time a provider does", async () => {
    const running = gateway as ChildGateway;
    const client = loadClient(running.url);
    const burst = (prefix: string): Promise<Outcome[]> =>
      Promise.all(
        Array.from({ length: 80 }, (_, n) => client.send({ marker: `${prefix}-${n}`, body: { model: "watched" } })),
      );
    // Opens the connections that the next ones will find, so that nothing stands between their admission and the wire.
    const warm = burst("warm");
    await until("all of them to be there", () => watcher.hits.length === 80);
    watcher.release();
    for (const outcome of await warm) expect(outcome).toMatchObject({ status: 200, complete: true });
    watcher.onHit = () => void running.process.kill("SIGKILL");
    await burst("seen");
    await running.exited;
    client.close();
    watcher.onHit = () => {};
    watcher.release();
    const rows = await rowsOfTheDead(await start());
    const markers = new Set(rows.map((row) => row.client_request_id));
    const seen = watcher.hits.filter((marker) => marker.startsWith("seen"));
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter((marker) => !markers.has(marker))).toEqual([]);
  });

  test("the report of what was spent is the sum of the rows", async () => {
    const running = gateway as ChildGateway;
    const rows = await allRows(running.admin);
    const report = (await (await running.admin("/admin/spend?by=status")).json()) as {
      data: { status: string; requests: number; cost_micro_usd: number }[];
      total: { requests: number; attempts: number; cost_micro_usd: number };
    };
    const sum = (of: readonly RequestRecord[]): number => of.reduce((total, row) => total + row.cost_micro_usd, 0);
    expect(report.total).toMatchObject({
      requests: rows.length,
      attempts: rows.reduce((total, row) => total + row.attempts.length, 0),
      cost_micro_usd: sum(rows),
    });
    for (const group of report.data) {
      const own = rows.filter((row) => row.status === group.status);
      expect(group).toMatchObject({ requests: own.length, cost_micro_usd: sum(own) });
    }
  });

  test("nothing of the dead gateways is left in the spool", async () => {
    expect(await (gateway as ChildGateway).kill("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(spools()).toEqual([]);
  });
});
