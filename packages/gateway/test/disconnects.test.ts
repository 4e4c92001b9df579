import type { RequestRecord } from "@sluicegate/contract";
import type { InvoiceLine } from "@sluicegate/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cursorOf } from "./support/events.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { ADMIN_KEY, CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { postHead, rawClient } from "./support/raw-client.ts";
import { until } from "./support/until.ts";

/** Deployments by name; each stands in a route of its own with another one behind it. */
const MODELS: Record<string, string> = {
  silent: "hang",
  slow: "slow?first_token=60s",
  preamble: "prestall?preamble=2",
  long: "long?tokens=2000&between=10ms",
  thinking: "reason?tokens=2000&between=10ms",
  counting: "long?tokens=2000&between=10ms&quirk=usage_every",
  quiet: "slow?first_token=60s",
  fast: "long?tokens=60000&chunk=65536",
  short: "echo",
  crowd: "long?tokens=2000&between=10ms",
};
const MODES = [
  ["json", false],
  ["stream", true],
] as const;

let gateway: TestGateway;
let log: FaultLog;

beforeAll(async () => {
  log = faultLog();
  const price = { input: 1, output: 2 };
  const timeouts = { first_token: "60s", idle: "60s" };
  const deployments: Record<string, unknown> = {};
  const routes: Record<string, unknown> = {};
  for (const [name, model] of Object.entries(MODELS)) {
    for (const mode of ["json", "stream"]) {
      const own = `${name}-${mode}`;
      const tagged = `${model}${model.includes("?") ? "&" : "?"}tag=${own}`;
      deployments[own] = { provider: "sim", model: tagged, price, timeouts };
      deployments[`${own}-echo`] = { provider: "sim", model: `echo?tag=${own}-echo`, price, timeouts };
      const keepalive = name === "quiet" ? "50ms" : "15s";
      routes[own] = { chain: [own, `${own}-echo`], keepalive, timeouts: { hop: "60s", total: "60s" } };
    }
  }
  const busy = (name: string) => `error?status=503&retry_after=30&tag=${name}`;
  for (const name of ["backoff-json", "backoff-stream"]) {
    deployments[name] = { provider: "sim", model: busy(name), price, timeouts };
    routes[name] = { chain: [name], timeouts: { hop: "60s", total: "60s" } };
  }
  gateway = await startTestGateway({
    log,
    config: JSON.stringify({
      providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
      deployments,
      routes,
      tenants: { default: { models: "*" } },
      keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
    }),
  });
});

afterAll(async () => {
  expect((await stats()).in_flight).toBe(0);
  const answer = await gateway.post(body("short-json", false));
  expect(answer.status).toBe(200);
  log.expectNoFault();
  await gateway.close();
});

interface Stats {
  in_flight: number;
  retries: number;
}

async function stats(): Promise<Stats> {
  const answer = await fetch(`${gateway.url}/v1/stats`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
  return (await answer.json()) as Stats;
}

const body = (model: string, stream: boolean): Record<string, unknown> => ({
  model,
  stream,
  messages: [{ role: "user", content: "tell me" }],
});

function hitsOf(deployment: string): number {
  return Object.entries(gateway.simulator.requests().by_model).reduce(
    (sum, [model, count]) => sum + (model.endsWith(`tag=${deployment}`) ? count : 0),
    0,
  );
}

function linesOf(deployment: string): InvoiceLine[] {
  return gateway.simulator.invoice().lines.filter(({ model }) => model.endsWith(`tag=${deployment}`));
}

async function rowsOf(alias: string): Promise<RequestRecord[]> {
  return (await gateway.rows()).filter((row) => row.alias === alias && row.status !== "running");
}

/** Sends a request over a socket of its own, and waits until a provider has it. */
async function calling(alias: string, stream: boolean): Promise<Awaited<ReturnType<typeof rawClient>>> {
  const text = JSON.stringify(body(alias, stream));
  const head = postHead("/v1/chat/completions", {
    authorization: `Bearer ${CLIENT_KEY}`,
    "content-type": "application/json",
    "content-length": text.length,
  });
  const client = await rawClient(gateway.url, head + text);
  await until("the provider to be called", () => hitsOf(alias) > 0);
  return client;
}

/** What has to be true after a client has left while `alias` was at work. */
async function expectCancelled(alias: string, stream: boolean): Promise<RequestRecord> {
  await until("the provider to see the close", () => linesOf(alias)[0]?.client_closed);
  const row = await until("the row", async () => (await rowsOf(alias))[0]);
  expect(row).toMatchObject({ status: "cancelled", error_code: "cancelled", stream, finish_reason: null });
  expect(row.attempts).toHaveLength(1);
  const [attempt] = row.attempts;
  expect(attempt).toMatchObject({ status: "cancelled", error_class: "cancelled", deployment: alias, retry: false });
  expect(attempt?.usage.input_tokens).toBeGreaterThan(0);
  expect(row.cost_micro_usd).toBe((attempt?.usage.input_tokens ?? 0) + 2 * (attempt?.usage.output_tokens ?? 0));
  await until("nothing to be in flight", async () => (await stats()).in_flight === 0);
  // Nobody was asked in its place.
  expect([hitsOf(alias), hitsOf(`${alias}-echo`)]).toEqual([1, 0]);
  return row;
}

describe("a client that leaves before there is an answer", () => {
  test.each(MODES)("while the provider says nothing (%s)", async (mode, stream) => {
    const client = await calling(`silent-${mode}`, stream);
    client.socket.destroy();
    const row = await expectCancelled(`silent-${mode}`, stream);
    expect(row).toMatchObject({ cost_state: "estimated", ttft_ms: null });
    expect(row.usage.output_tokens).toBe(0);
    expect(client.received().toString()).toBe("");
  });

  test.each(MODES)("while the provider thinks (%s)", async (mode, stream) => {
    const client = await calling(`slow-${mode}`, stream);
    client.socket.destroy();
    const row = await expectCancelled(`slow-${mode}`, stream);
    expect(row.cost_state).toBe("estimated");
  });

  test.each(MODES)("by a reset (%s)", async (mode, stream) => {
    const client = await calling(`preamble-${mode}`, stream);
    client.socket.resetAndDestroy();
    await expectCancelled(`preamble-${mode}`, stream);
  });

  test.each(MODES)("during a back-off (%s)", async (mode, stream) => {
    const alias = `backoff-${mode}`;
    const { retries } = await stats();
    const client = await calling(alias, stream);
    await until("the back-off", async () => (await stats()).retries > retries);
    client.socket.destroy();
    const row = await until("the row", async () => (await rowsOf(alias))[0]);
    expect(row).toMatchObject({ status: "cancelled", error_code: "cancelled", cost_micro_usd: 0 });
    expect(row.attempts.map(({ error_class: kind }) => kind)).toEqual(["overloaded"]);
    await until("nothing to be in flight", async () => (await stats()).in_flight === 0);
    expect(hitsOf(alias)).toBe(1);
  });

  test("after a ping", async () => {
    const client = await calling("quiet-stream", true);
    await until("two pings", () => client.received().toString().split(": keep-alive\n\n").length > 2);
    client.socket.destroy();
    await expectCancelled("quiet-stream", true);
    expect(client.received().toString()).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("within its own headers: nobody notices", async () => {
    const before = await stats();
    const client = await rawClient(gateway.url, "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthor");
    client.socket.destroy();
    await client.closed();
    expect(await stats()).toMatchObject({ in_flight: before.in_flight });
  });
});

describe("a client that leaves in the middle of a stream", () => {
  test.each(["long", "thinking"])("is billed for what had come: %s", async (name) => {
    const alias = `${name}-stream`;
    const leave = new AbortController();
    const response = await gateway.post(body(alias, true), { signal: leave.signal });
    const cursor = cursorOf(response);
    await cursor.until((text) => text.split("data: ").length > 12);
    leave.abort();
    const row = await expectCancelled(alias, true);
    expect(row.cost_state).toBe("estimated");
    expect(row.ttft_ms).toBeGreaterThan(0);
    const [line] = linesOf(alias);
    // The provider stopped long before its end, and what was billed is of the size of what it had generated.
    expect(line?.output_tokens).toBeLessThan(1_500);
    expect(row.usage.output_tokens).toBeGreaterThanOrEqual(10);
    expect(row.usage.output_tokens).toBeLessThan(2 * (line?.output_tokens ?? 0) + 10);
  });

  test("is billed by the provider's own count so far where one came, and by estimate for what came after it", async () => {
    const leave = new AbortController();
    const response = await gateway.post(body("counting-stream", true), { signal: leave.signal });
    await cursorOf(response).until((text) => text.split("data: ").length > 12);
    leave.abort();
    const row = await expectCancelled("counting-stream", true);
    const [line] = linesOf("counting-stream");
    expect(row).toMatchObject({ cost_state: "estimated" });
    expect(row.usage.input_tokens).toBe(line?.input_tokens);
    expect(row.usage.output_tokens).toBeGreaterThan(0);
    expect(row.usage.output_tokens).toBeLessThanOrEqual((line?.output_tokens ?? 0) + 3);
  });

  test("and had stopped reading long before", async () => {
    const client = await calling("fast-stream", true);
    await until("the stream to begin", () => client.received().length > 0);
    client.socket.pause();
    await until("the provider to be held up", () => standsStill(() => linesOf("fast-stream")[0]?.output_tokens));
    client.socket.destroy();
    await expectCancelled("fast-stream", true);
  });

  test("with a hundred others: nothing is left behind", async () => {
    const leaving = Array.from({ length: 100 }, async () => {
      const leave = new AbortController();
      const response = await gateway.post(body("crowd-stream", true), { signal: leave.signal });
      await cursorOf(response).until((text) => text.includes("lorem"));
      leave.abort();
    });
    await Promise.all(leaving);
    const rows = await until("all rows", async () => {
      const found = await rowsOf("crowd-stream");
      return found.length === 100 && found;
    });
    for (const row of rows) expect(row).toMatchObject({ status: "cancelled", cost_state: "estimated" });
    await until("all providers to know", () => linesOf("crowd-stream").every((line) => line.client_closed));
    expect(await stats()).toMatchObject({ in_flight: 0 });
    expect([hitsOf("crowd-stream"), hitsOf("crowd-stream-echo")]).toEqual([100, 0]);
  });

  /** True when a figure has not moved for a while. */
  async function standsStill(figure: () => number | undefined): Promise<boolean> {
    const first = figure();
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (figure() !== first) return false;
    }
    return first !== undefined;
  }
});

test("a connection over which nothing is ever asked does not hold up the end", async () => {
  const own = await startTestGateway();
  const client = await rawClient(own.url);
  const kept = await own.post(body("default", false));
  expect(kept.status).toBe(200);
  await own.close();
  await client.closed();
});

describe("a client that leaves after the end", () => {
  test.each(MODES)("has been served (%s)", async (mode, stream) => {
    const client = await calling(`short-${mode}`, stream);
    await until("the whole answer", () => client.answers().length > 0);
    client.socket.destroy();
    const row = await until("the row", async () => (await rowsOf(`short-${mode}`))[0]);
    expect(row).toMatchObject({ status: "ok", error_code: null, finish_reason: "stop", cost_state: "known" });
    const [line] = linesOf(`short-${mode}`);
    expect(line).toMatchObject({ finished: true, client_closed: false });
    expect(row.usage).toMatchObject({ input_tokens: line?.input_tokens, output_tokens: line?.output_tokens });
    await until("nothing to be in flight", async () => (await stats()).in_flight === 0);
  });
});
