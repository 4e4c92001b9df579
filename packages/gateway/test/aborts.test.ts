import type { Socket } from "node:net";
import { join } from "node:path";
import type { RequestRecord, RequestRow } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Cancel } from "../src/core/cancel.ts";
import { openLedgerReader } from "../src/ledger/reader.ts";
import { HealthBoard } from "../src/resilience/health-board.ts";
import type { Permit } from "../src/resilience/permit.ts";
import { RetryBudget } from "../src/resilience/retry-budget.ts";
import { Ceilings, isFull } from "../src/stages/ceilings.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { type ConnectionCount, countConnections } from "./support/connections.ts";
import { CLIENT_KEY, configOf, startTestGateway, type TestGateway } from "./support/gateway.ts";
import {
  expectBilled,
  expectSums,
  hitsByMarker,
  type InvoiceLine,
  linesById,
  SIMULATOR_PRICE,
} from "./support/ledger-check.ts";
import { loadClient, type Order, type Outcome } from "./support/load-client.ts";
import { postHead, rawClient } from "./support/raw-client.ts";
import { type Seeded, seeded } from "./support/seeded.ts";
import { type TestClock, testClock } from "./support/test-clock.ts";
import { until } from "./support/until.ts";

const ABORTS = 1_000;
const ABREAST = 40;
const SEED = 7;

/** Wide enough for all of them, and counted all the same. */
const WIDE = "{ rpm: 1000000, tpm: 100000000, concurrency: 100 }";

const CHAINS: Record<string, string[]> = {
  hang: ["sim/hang"],
  prestall: ["sim/prestall"],
  stream: ["sim/long?tokens=400&between=2ms"],
  backoff: ["sim/error?status=503&retry_after=20"],
  jitter: ["sim/error?status=500"],
  quick: ["sim/fixed?input=40&cached=10&output=8"],
  brief: ["sim/fixed?input=41&output=7&between=1ms"],
  secondhang: ["sim/error?status=503", "sim/hang?tag=second"],
  secondstream: ["sim/reset", "sim/long?tokens=400&between=2ms&tag=second"],
  secondquick: ["sim/error?status=529", "sim/fixed?input=33&output=3&tag=second"],
  heldhang: ["held-hang"],
  heldstream: ["held-stream"],
  heldquick: ["held-quick"],
  queued: ["held-alone"],
  hedged: ["sim/hang?tag=hedged", "sim/hang?tag=hedge"],
};
/** With a ceiling, of which each call takes a share: model, and calls at once. */
const HELD: Record<string, [string, number]> = {
  "held-hang": ["hang?tag=held", 2 * ABREAST],
  "held-stream": ["long?tokens=400&between=2ms&tag=held", 2 * ABREAST],
  "held-quick": ["fixed", 2 * ABREAST],
  "held-alone": ["hang?tag=alone", 1],
};

function config(): string {
  const deployments = Object.entries(HELD).map(
    ([name, [model, concurrency]]) => [name, { provider: "sim", model, limits: { concurrency } }] as const,
  );
  const plain = configOf(CHAINS, `deployments: ${JSON.stringify(Object.fromEntries(deployments))}`);
  return plain
    .replace("SIMULATOR", `SIMULATOR, limits: ${WIDE}`)
    .replace("  hedged: { ", "  hedged: { hedge: { after: 0ms, max_extra: 1 }, ")
    .replace("  queued: { ", "  queued: { queue: { max_wait: 60s }, ");
}

/** Where a client may leave, and how its request may then stand in the ledger. */
interface Phase {
  name: string;
  order(chance: Seeded, n: number): Pick<Order, "body" | "leave">;
  statuses: readonly RequestRow["status"][];
}

const either = (chance: Seeded): boolean => chance.float() < 0.5;

const PHASES: readonly Phase[] = [
  {
    name: "before the headers",
    order: (chance) => ({ body: { model: "hang", stream: either(chance) }, leave: { afterMs: chance.int(0, 40) } }),
    statuses: ["cancelled"],
  },
  {
    name: "before the headers, of a model without a name of its own",
    order: (chance, n) => ({
      body: { model: `sim/hang?tag=${n}`, stream: either(chance) },
      leave: { afterMs: chance.int(0, 40) },
    }),
    statuses: ["cancelled"],
  },
  {
    name: "before the first token",
    order: (chance) => ({ body: { model: "prestall", stream: true }, leave: { afterMs: chance.int(5, 80) } }),
    statuses: ["cancelled"],
  },
  {
    name: "in the middle",
    order: (chance) => ({ body: { model: "stream", stream: true }, leave: { afterEvents: chance.int(1, 40) } }),
    statuses: ["cancelled"],
  },
  {
    name: "in a back-off that the provider asked for",
    order: (chance) => ({
      body: { model: "backoff", stream: either(chance) },
      leave: { afterMs: chance.int(10, 120) },
    }),
    // On a machine that stalls, the retry budget's window may have forgotten requests whose retries it still counts.
    statuses: ["cancelled", "failed"],
  },
  {
    name: "in a back-off by chance",
    order: (chance) => ({ body: { model: "jitter", stream: either(chance) }, leave: { afterMs: chance.int(0, 300) } }),
    statuses: ["cancelled", "failed"],
  },
  {
    name: "while the second of a chain is silent",
    order: (chance) => ({
      body: { model: "secondhang", stream: either(chance) },
      leave: { afterMs: chance.int(0, 80) },
    }),
    statuses: ["cancelled"],
  },
  {
    name: "while the second of a chain speaks",
    order: (chance) => ({ body: { model: "secondstream", stream: true }, leave: { afterEvents: chance.int(1, 40) } }),
    statuses: ["cancelled"],
  },
  {
    name: "with the last byte",
    order: (chance) => {
      const stream = either(chance);
      const body = { model: chance.pick(["quick", "brief", "secondquick"]), stream };
      return { body, leave: { afterText: stream ? "data: [DONE]" : "gateway_metadata" } };
    },
    statuses: ["ok", "cancelled"],
  },
  {
    name: "at any time of a short answer",
    order: (chance) => ({
      body: { model: chance.pick(["quick", "brief", "secondquick"]), stream: either(chance) },
      leave: { afterMs: chance.int(0, 100) },
    }),
    statuses: ["cancelled", "ok"],
  },
  {
    name: "with a share of a ceiling",
    order: (chance) => {
      const model = chance.pick(["heldhang", "heldstream", "heldstream", "heldquick"]);
      const leave = model === "heldstream" ? { afterEvents: chance.int(1, 40) } : { afterMs: chance.int(0, 80) };
      return { body: { model, stream: model === "heldstream" || either(chance) }, leave };
    },
    statuses: ["cancelled", "ok"],
  },
  {
    name: "while it waits for a place",
    order: (chance) => ({ body: { model: "queued", stream: either(chance) }, leave: { afterMs: chance.int(0, 80) } }),
    statuses: ["cancelled"],
  },
  {
    name: "while two of a chain are silent",
    order: (chance) => ({ body: { model: "hedged", stream: either(chance) }, leave: { afterMs: chance.int(0, 150) } }),
    statuses: ["cancelled"],
  },
  {
    name: "not at all",
    order: (chance) => ({ body: { model: chance.pick(["quick", "brief", "secondquick"]), stream: either(chance) } }),
    statuses: ["ok"],
  },
];

describe(`${ABORTS} clients that leave`, () => {
  let gateway: TestGateway;
  let clock: TestClock;
  let connections: ConnectionCount;
  let rows: RequestRecord[];
  let lines: Map<string, InvoiceLine>;
  let hits: Map<string, string[]>;
  const chance = seeded(SEED);
  const outcomes: (Outcome & { phase: Phase })[] = [];
  const logged: RequestRow[] = [];
  const faults: unknown[] = [];
  const listening = new Set<object>();
  const budgets = new Set<string>();
  /** Leave to call a deployment, and shares of ceilings, that were given and not given back. */
  const permits = new Set<Permit>();
  const holds = new Set<string>();
  let held = 0;
  let halfBodies = 0;
  let reservedAtMost = 0;

  beforeAll(async () => {
    const onCancel = Cancel.prototype.onCancel;
    vi.spyOn(Cancel.prototype, "onCancel").mockImplementation(function (this: Cancel, listener) {
      const token = {};
      listening.add(token);
      const forget = onCancel.call(this, (reason) => {
        listening.delete(token);
        listener(reason);
      });
      return () => {
        listening.delete(token);
        forget();
      };
    });
    const request = RetryBudget.prototype.request;
    vi.spyOn(RetryBudget.prototype, "request").mockImplementation(function (this: RetryBudget, name) {
      budgets.add(name);
      request.call(this, name);
    });
    const pass = HealthBoard.prototype.pass;
    vi.spyOn(HealthBoard.prototype, "pass").mockImplementation(function (this: HealthBoard, ...args) {
      const permit = pass.apply(this, args);
      const counted: Permit = {
        ...{ ok: true, probe: permit.probe },
        done(outcome) {
          permits.delete(counted);
          permit.done(outcome);
        },
      };
      permits.add(counted);
      return counted;
    });
    const take = Ceilings.prototype.take;
    vi.spyOn(Ceilings.prototype, "take").mockImplementation(async function (this: Ceilings, ...args) {
      const hold = await take.apply(this, args);
      if (isFull(hold)) return hold;
      held++;
      holds.add(hold.holder);
      return hold;
    });
    const settle = Ceilings.prototype.settle;
    vi.spyOn(Ceilings.prototype, "settle").mockImplementation(function (this: Ceilings, hold, usedTokens) {
      holds.delete(hold.holder);
      settle.call(this, hold, usedTokens);
    });
    connections = countConnections();
    clock = testClock();
    gateway = await startTestGateway({
      forgives: true,
      clock,
      config: config(),
      simulator: { recentRequests: 10_000 },
      log: {
        ...silentLog,
        // The row is the gateway's own, and goes on being used.
        access: (row) => void logged.push(structuredClone(row)),
        fault: (_requestId, cause) => void faults.push(cause),
      },
    });
    await leaveAll();
  }, 60_000);

  afterAll(async () => {
    vi.restoreAllMocks();
    connections.stop();
    await gateway.simulator.close();
  });

  async function leaveAll(): Promise<void> {
    const client = loadClient(gateway.url);
    const holder = await holdPlace();
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < ABORTS) {
        const n = next++;
        const phase = chance.pick(PHASES);
        const outcome = await client.send({ marker: `m${n}`, ...phase.order(chance, n) });
        outcomes.push({ ...outcome, phase });
        if (n % 25 === 0) await leaveInTheBody(n);
        if (n % 50 === 1) reservedAtMost = Math.max(reservedAtMost, (await stats()).reserved_tokens);
      }
    };
    await Promise.all(Array.from({ length: ABREAST }, worker));
    client.close();
    // Those that waited for the place are gone from the line, though it has not become free.
    await inFlight(1);
    holder.destroy();
    await inFlight(0);
  }

  async function inFlight(count: number): Promise<void> {
    await until(`${count} requests to be in flight`, async () => (await stats()).in_flight === count);
  }

  async function stats(): Promise<{ in_flight: number; reserved_tokens: number }> {
    return (await (await gateway.admin("/v1/stats")).json()) as { in_flight: number; reserved_tokens: number };
  }

  /** Takes the only place of a deployment, for as long as the socket is open: who comes later waits. */
  async function holdPlace(): Promise<Socket> {
    const body = JSON.stringify({ model: "queued", stream: true, messages: [{ role: "user", content: "holder" }] });
    const headers = { authorization: `Bearer ${CLIENT_KEY}`, "content-type": "application/json" };
    const head = postHead("/v1/chat/completions", { ...headers, "content-length": body.length });
    const { socket } = await rawClient(gateway.url, head + body);
    await until("the place to be taken", () => held > 0);
    return socket;
  }

  /** A client that leaves while it is sending its request: nobody is called, and nothing is owed. */
  async function leaveInTheBody(n: number): Promise<void> {
    const began = logged.length;
    // A first request, so that the connection has been accepted.
    const { socket, answers } = await rawClient(gateway.url, "GET /healthz HTTP/1.1\r\nhost: gateway\r\n\r\n");
    await until("the first answer", () => answers().length === 1);
    const headers = { authorization: `Bearer ${CLIENT_KEY}`, "content-length": 1_000, "x-request-id": `half${n}` };
    socket.write(`${postHead("/v1/chat/completions", headers)}{"model":"quick"`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.destroy();
    halfBodies++;
    await until("it to be settled", () => logged.slice(began).some((row) => row.client_request_id === `half${n}`));
  }

  test("leave no fault, no timer, no listener, no share, no leave to call and no connection behind", async () => {
    expect(faults).toEqual([]);
    expect(reservedAtMost).toBeGreaterThan(0);
    expect((await stats()).reserved_tokens).toBe(0);
    expect([...listening]).toEqual([]);
    expect(permits.size).toBe(0);
    expect([...holds]).toEqual([]);
    expect(held).toBeGreaterThan(40);
    // With the deployments gone their idle connections go too: what stayed would be one that nobody had let go.
    gateway.writeConfig(configOf({ other: ["sim/echo?tag=other"] }));
    await gateway.gateway.reload();
    await until("the connections to go", () => connections.open(gateway.simulator.port) === 0);
    const ofRequests = (): Record<string, number> => {
      // The looks at keys, at files and at models that end, the worker's notice and the end of the refusals' minute belong to no
      // request.
      const {
        "stages/refusals": _r,
        "ledger/worker-link": _w,
        "config/watch": _c,
        "alerts/desk": _a,
        ...others
      } = clock.timers();
      return others;
    };
    await until("the timers to go", () => JSON.stringify(ofRequests()) === '{"stages/key-ring":1}', 3_000).catch(() =>
      expect(ofRequests()).toEqual({ "stages/key-ring": 1 }),
    );
  });

  test("grow nothing by the names they call", () => {
    const deployments = Object.values(CHAINS).flat();
    for (const name of budgets) expect([...deployments, "sim/*"]).toContain(name);
    expect(budgets).toContain("sim/*");
  });

  test("are in the ledger once each, as what they were", async () => {
    await gateway.gateway.close();
    const reader = openLedgerReader(join(gateway.dataDir, "ledger.sqlite"));
    rows = [];
    for (let cursor: string | undefined; ; ) {
      const page = reader.requests({ limit: 1_000, ...(cursor !== undefined && { cursor }) });
      rows.push(...page.data);
      cursor = page.next_cursor;
      if (cursor === undefined) break;
    }
    reader.close();
    lines = linesById(gateway.simulator);
    hits = hitsByMarker(gateway.simulator);

    const byMarker = new Map<string, RequestRecord[]>();
    for (const row of rows) {
      const marker = row.client_request_id ?? "";
      byMarker.set(marker, [...(byMarker.get(marker) ?? []), row]);
    }
    const seen = new Map<string, number>();
    for (const { phase, ...outcome } of outcomes) {
      const found = byMarker.get(outcome.marker) ?? [];
      // One that left before its connection was accepted was never there.
      const there = outcome.status !== null || hits.has(outcome.marker) || found.length > 0;
      expect(found.length, `${outcome.marker} ${phase.name}`).toBe(there ? 1 : 0);
      const [row] = found;
      if (!row) continue;
      expect(phase.statuses, `${outcome.marker} ${phase.name} ${row.error_code}`).toContain(row.status);
      if (row.status === "cancelled") expect(row.error_code).toBe("cancelled");
      if (outcome.requestId !== null) expect(row.request_id).toBe(outcome.requestId);
      // Whatever the upstream had opened with, it was not an answer yet.
      if (phase.name === "before the first token") expect(outcome.status, outcome.marker).toBeNull();
      seen.set(`${phase.name}: ${row.status}`, (seen.get(`${phase.name}: ${row.status}`) ?? 0) + 1);
    }
    for (const phase of PHASES) {
      const [usual] = phase.statuses;
      expect(seen.get(`${phase.name}: ${usual}`) ?? 0, `${phase.name}: ${usual}`).toBeGreaterThan(20);
    }
    const half = rows.filter((row) => row.client_request_id?.startsWith("half"));
    expect(half.every(({ status, attempts }) => status === "cancelled" && attempts.length === 0)).toBe(true);
    expect(half.reduce((sum, row) => sum + row.repeated, 0)).toBe(halfBodies);
  });

  test("are told in the access log as in the ledger", () => {
    const ledger = new Map(rows.map((row) => [row.request_id, row]));
    const admitted = logged.filter((row) => !row.client_request_id?.startsWith("half"));
    expect(admitted).toHaveLength(rows.filter((row) => !row.client_request_id?.startsWith("half")).length);
    for (const line of admitted) {
      const { attempts: _, ...row } = ledger.get(line.request_id) as RequestRecord;
      expect(row).toEqual(line);
    }
  });

  test("cost what was used of them, and the provider was told that they had gone", () => {
    let exact = 0;
    let cutOff = 0;
    for (const row of rows) {
      const marker = row.client_request_id ?? "";
      expectSums(row);
      const last = row.attempts.at(-1);
      for (const attempt of row.attempts) {
        const line = expectBilled(attempt, lines, SIMULATOR_PRICE);
        if (line && attempt.cost_state === "known") exact++;
        if (attempt !== last && !row.hedged) expect(attempt.status, marker).toBe("failed");
      }
      const ids = row.attempts.flatMap((attempt) => attempt.provider_request_id ?? []);
      const nameless = (hits.get(marker) ?? []).filter((id) => !ids.includes(id));
      const unnamed = row.attempts.filter(({ provider_request_id: id, status }) => id === null && status !== "ok");
      expect(nameless.length, marker).toBeLessThanOrEqual(unnamed.length);
      if (last?.status !== "cancelled") continue;
      cutOff++;
      checkCancelled(marker, last, [...ids.slice(-1), ...nameless]);
    }
    expect(exact).toBeGreaterThan(100);
    expect(cutOff).toBeGreaterThan(400);
    expect(rows.filter(({ hedged }) => hedged).length).toBeGreaterThan(5);
    expect(rows.filter(({ alias, attempts }) => alias === "queued" && attempts.length === 0).length).toBeGreaterThan(5);
  });

  function checkCancelled(marker: string, last: RequestRecord["attempts"][number], ids: readonly string[]): void {
    expect(last, marker).toMatchObject({ error_class: "cancelled" });
    const open = ids.flatMap((id) => lines.get(id) ?? []).filter((line) => !line.finished);
    // The provider's side of a call that was on its way is closed by us, not by it. A reset one was closed by it.
    for (const line of open)
      if (!line.model.startsWith("reset")) expect(line, marker).toMatchObject({ client_closed: true });
    if (last.usage.input_tokens > 0 && last.cost_state === "estimated" && last.usage.output_tokens > 0) {
      expect(last.http_status, marker).toBe(200);
    }
  }
});
