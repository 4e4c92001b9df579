import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RequestRecord } from "@sluicegate/contract";
import { type Simulator, startSimulator } from "@sluicegate/simulator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLedgerReader } from "../src/ledger/reader.ts";
import { type ChildGateway, expectBuilt, startChildGateway, temporaryFolder } from "./support/child-gateway.ts";
import { CLIENT_KEY, configOf, keyHash } from "./support/gateway.ts";
import { allRows, expectBilled, expectSums, hitsByMarker, linesById, SIMULATOR_PRICE } from "./support/ledger-check.ts";
import { type LoadClient, loadClient, type Outcome } from "./support/load-client.ts";
import { postHead, type RawClient, rawClient } from "./support/raw-client.ts";
import { until } from "./support/until.ts";

const CHAINS = {
  stream: ["sim/long?tokens=60&between=50ms"],
  endless: ["sim/long?tokens=20000&between=5ms"],
  slow: ["sim/slow?first_token=60s"],
  waiting: ["sim/error?status=503&retry_after=30"],
  quick: ["sim/echo"],
  brief: ["sim/long?tokens=10&between=10ms"],
};

let simulator: Simulator;
let folder: ReturnType<typeof temporaryFolder>;
let gateways: ChildGateway[];
let clients: LoadClient[];

beforeEach(async () => {
  expectBuilt();
  simulator = await startSimulator({ recentRequests: 10_000 });
  folder = temporaryFolder();
  gateways = [];
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.close();
  for (const gateway of gateways) if (gateway.process.exitCode === null) await gateway.kill("SIGKILL");
  await simulator.close();
  folder.remove();
});

/** A gateway with these settings, on the one data dir of the test. */
async function start(settings: string): Promise<ChildGateway> {
  const config = `${configOf(CHAINS)}\ngateway: { ${settings} }\n`;
  const file = join(folder.path, "sluicegate.yaml");
  writeFileSync(file, config.replaceAll("SIMULATOR", `${simulator.url}/v1`).replaceAll("KEYHASH", keyHash(CLIENT_KEY)));
  const args = ["--config", file, "--port", "0", "--data-dir", folder.path];
  const gateway = await startChildGateway({ args, cwd: folder.path });
  gateways.push(gateway);
  return gateway;
}

function client(gateway: ChildGateway): LoadClient {
  const made = loadClient(gateway.url);
  clients.push(made);
  return made;
}

function send(to: LoadClient, marker: string, model: keyof typeof CHAINS, stream: boolean): Promise<Outcome> {
  return to.send({ marker, body: { model, stream, ...(stream && { stream_options: { include_usage: true } }) } });
}

/** Resolves once the simulator has been called this often. */
async function called(times: number): Promise<void> {
  await until(`${times} calls`, () => simulator.requests().total >= times);
}

/** Resolves once the gateway says that it has heard the signal. */
async function heard(gateway: ChildGateway): Promise<void> {
  await until("the gateway to hear the signal", () => gateway.stderr().includes("finishing what is running"));
}

/** What a gateway that is gone has left in the database. */
function rowsOnDisk(): RequestRecord[] {
  const reader = openLedgerReader(join(folder.path, "ledger.sqlite"));
  try {
    return reader.requests({ limit: 1_000 }).data;
  } finally {
    reader.close();
  }
}

async function spooledRows(gateway: ChildGateway): Promise<number> {
  const health = await (await fetch(`${gateway.url}/v1/health`)).json();
  return (health as { ledger: { spooled_rows: number } }).ledger.spooled_rows;
}

const spools = (): string[] => readdirSync(join(folder.path, "spool")).filter((name) => !name.startsWith("."));

/** A connection that is kept open, with a request on it whose last bytes have not been sent. */
async function halfSent(gateway: ChildGateway, head: string): Promise<RawClient> {
  const connection = await rawClient(gateway.url, "GET /healthz HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await until("the first answer", () => connection.answers().length === 1);
  connection.socket.write(head.slice(0, -2));
  return connection;
}

describe.each(["SIGTERM", "SIGINT"] as const)("%s", (signal) => {
  test("lets running answers finish, turns new ones away, and leaves nothing behind", async () => {
    const gateway = await start("drain_timeout: 20s");
    const load = client(gateway);
    const streams = Array.from({ length: 20 }, (_, index) => send(load, `stream-${index}`, "stream", true));
    await called(20);
    const ready = await halfSent(gateway, "GET /readyz HTTP/1.1\r\nhost: gateway\r\n\r\n");
    const body = JSON.stringify({ model: "quick", messages: [{ role: "user", content: "too late" }] });
    const headers = { authorization: `Bearer ${CLIENT_KEY}`, "content-length": body.length };
    const late = await halfSent(gateway, postHead("/v1/chat/completions", headers));
    gateway.process.kill(signal);
    await heard(gateway);
    expect(load.inFlight).toBe(20);

    await until("new connections to be refused", () => fetch(`${gateway.url}/readyz`).then(() => false, refusal));
    ready.socket.write("\r\n");
    late.socket.write(`\r\n${body}`);
    const [, unready] = await ready.take(2);
    const [, refused] = await late.take(2);
    expect(unready).toMatchObject({ status: 503, headers: { connection: "close" } });
    expect(JSON.parse(unready?.body ?? "")).toMatchObject({ status: "draining" });
    expect(refused).toMatchObject({ status: 503, headers: { "x-should-retry": "true", connection: "close" } });
    expect(JSON.parse(refused?.body ?? "").error).toMatchObject({ code: "draining", type: "service_unavailable" });
    expect(load.inFlight).toBe(20);

    for (const outcome of await Promise.all(streams)) {
      expect(outcome).toMatchObject({ status: 200, complete: true, error: null });
      expect(outcome.text.match(/"content":"\w+ "/g)).toHaveLength(60);
    }
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
    const rows = rowsOnDisk();
    const lines = linesById(simulator);
    expect(rows.filter(({ status }) => status === "ok")).toHaveLength(20);
    for (const row of rows.filter(({ status }) => status === "ok")) {
      expectSums(row);
      expect(row.usage).toMatchObject({ output_tokens: 60 });
      for (const attempt of row.attempts) expect(expectBilled(attempt, lines, SIMULATOR_PRICE)).not.toBeNull();
    }
    const [turnedAway, ...others] = rows.filter(({ status }) => status !== "ok");
    expect(others).toEqual([]);
    // It was never asked whose key it was.
    if (turnedAway) expect(turnedAway).toMatchObject({ status: "refused", error_code: "draining", attempts: [] });
    expect(spools()).toEqual([]);
  });

  test("a second one ends it at once, and what was running is abandoned", async () => {
    const gateway = await start("drain_timeout: 60s");
    const load = client(gateway);
    const streams = Array.from({ length: 5 }, (_, index) => send(load, `endless-${index}`, "endless", true));
    await called(5);
    gateway.process.kill(signal);
    await heard(gateway);
    expect(load.inFlight).toBe(5);
    expect(await gateway.kill(signal)).toEqual({ code: 1, signal: null });
    for (const outcome of await Promise.all(streams)) expect(outcome.complete).toBe(false);
    const next = await start("drain_timeout: 60s");
    await until("the spool to be brought in", () => spools().length === 1);
    const rows = await allRows(next.admin);
    expect(rows.map(({ status }) => status)).toEqual(Array(5).fill("abandoned"));
  });
});

function refusal(error: Error): boolean {
  return (error.cause as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED";
}

test("drain_timeout cuts off what does not finish and settles it with what was used", async () => {
  const gateway = await start("drain_timeout: 300ms");
  const load = client(gateway);
  const pending = [
    ...Array.from({ length: 8 }, (_, index) => send(load, `endless-${index}`, "endless", true)),
    send(load, "slow-json", "slow", false),
    send(load, "slow-stream", "slow", true),
    send(load, "waiting-json", "waiting", false),
    send(load, "waiting-stream", "waiting", true),
  ];
  await called(12);
  await until("output", () => simulator.invoice().lines.filter((line) => line.output_tokens > 3).length >= 8);
  // With nothing left to wait for, the ledger would be closed at once.
  await until("an empty spool", async () => (await spooledRows(gateway)) === 0);
  expect(await gateway.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  for (const outcome of await Promise.all(pending)) expect(outcome.complete, outcome.marker).toBe(false);
  const rows = rowsOnDisk();
  expect(rows.map((row) => row.client_request_id).sort()).toEqual(
    (await Promise.all(pending)).map((o) => o.marker).sort(),
  );
  const lines = linesById(simulator);
  const hits = hitsByMarker(simulator);
  for (const row of rows) {
    const marker = row.client_request_id ?? "";
    expectSums(row);
    expect(row, marker).toMatchObject({ status: "cancelled", error_code: "cancelled" });
    const [attempt] = row.attempts;
    expect(row.attempts, marker).toHaveLength(1);
    const line = lines.get(hits.get(marker)?.[0] ?? "");
    if (marker.startsWith("waiting")) {
      expect(attempt, marker).toMatchObject({ status: "failed", error_class: "overloaded", cost_micro_usd: 0 });
      expect(line).toBeUndefined();
      continue;
    }
    expect(attempt, marker).toMatchObject({ status: "cancelled", cost_state: "estimated" });
    expect(attempt?.usage.input_tokens).toBeGreaterThan(0);
    expect(line, marker).toMatchObject({ client_closed: true, finished: false });
    if (marker.startsWith("endless")) {
      const written = attempt?.usage.output_tokens ?? 0;
      expect(written).toBeGreaterThan(0);
      // A filler word is a token to the simulator, and about one and a half by its length.
      expect(written).toBeLessThanOrEqual(Math.ceil((line?.output_tokens ?? 0) * 1.5) + 1);
    }
  }
  expect(spools()).toEqual([]);
});

test("drain_delay serves on while readiness is false", async () => {
  const gateway = await start("drain_delay: 2500ms, drain_timeout: 20s");
  const load = client(gateway);
  const stream = send(load, "stream", "stream", true);
  await called(1);
  gateway.process.kill("SIGTERM");
  await heard(gateway);
  const ready = await fetch(`${gateway.url}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ status: "draining" });
  const health = await gateway.admin("/v1/health");
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({ status: "draining" });
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  const served = await Promise.all([send(load, "json", "quick", false), send(load, "brief", "brief", true)]);
  for (const outcome of served) {
    expect(outcome).toMatchObject({ status: 200, complete: true });
    // So that nobody is left on a connection that is about to go.
    expect(outcome.headers.connection).toBe("close");
  }
  expect(await stream).toMatchObject({ status: 200, complete: true });
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  expect(rowsOnDisk().map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
});

test("a rolling restart under load loses no request and makes none twice", async () => {
  const running = [await start("drain_timeout: 20s"), await start("drain_timeout: 20s")];
  let current = 0;
  const outcomes: Outcome[] = [];
  let sent = 0;
  let restarts = 0;
  /** A client as the SDKs are: what was not answered, and what was told to come again, is asked again, somewhere else. */
  const worker = async (): Promise<void> => {
    let to = client(running[current] as ChildGateway);
    while (restarts < 3 || sent < 300) {
      const marker = `rolling-${sent++}`;
      const model = sent % 2 === 0 ? "quick" : "brief";
      for (let tries = 0; ; tries++) {
        const outcome = await send(to, marker, model, model === "brief");
        const again = outcome.status === null || outcome.headers["x-should-retry"] === "true";
        if (!again || tries > 20) {
          outcomes.push(outcome);
          break;
        }
        to = client(running[current] as ChildGateway);
      }
    }
  };
  const roll = async (): Promise<void> => {
    for (; restarts < 3; restarts++) {
      await until("traffic", () => simulator.requests().total > (restarts + 1) * 60);
      const old = running[current] as ChildGateway;
      current = 1 - current;
      expect(await old.kill("SIGTERM")).toEqual({ code: 0, signal: null });
      running[1 - current] = await start("drain_timeout: 20s");
    }
  };
  await Promise.all([roll(), ...Array.from({ length: 16 }, worker)]);
  for (const outcome of outcomes) expect(outcome, outcome.marker).toMatchObject({ status: 200, complete: true });
  const rows = await until("all rows", async () => {
    const found = (await allRows((running[current] as ChildGateway).admin)).filter(
      ({ status }) => status !== "refused",
    );
    return found.length >= outcomes.length ? found : null;
  });
  expect(rows.map((row) => row.client_request_id).sort()).toEqual(outcomes.map(({ marker }) => marker).sort());
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(["ok"]));
  for (const [marker, hits] of hitsByMarker(simulator)) expect(hits, marker).toHaveLength(1);
}, 60_000);
