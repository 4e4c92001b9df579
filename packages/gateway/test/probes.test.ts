import { join } from "node:path";
import type { RequestRecord, SpendReport } from "@sluicegate/contract";
import { afterEach, expect, test } from "vitest";
import { runCli } from "../src/cli/fixtures/run-cli.ts";
import { openLedgerReader } from "../src/ledger/reader.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { ADMIN_KEY, keyHash, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { keyedConfig, vaultVariables } from "./support/keyed-config.ts";
import { startKeyedUpstream } from "./support/keyed-upstream.ts";
import { allRows, expectBilled, expectSums, linesById, microUsd } from "./support/ledger-check.ts";
import { testClock } from "./support/test-clock.ts";
import { until } from "./support/until.ts";
import { startVault } from "./support/vault-server.ts";

/* Readiness: a server that is up and whose model is not there yet, one that hangs, one that is slow; and who pays for asking. */

const PRICE = { input: 3, cached: 0.3, output: 15 };
const VIEWER = "a-viewer-that-is-bound-to-one-tenant";
const LOADING = { error: { code: 503, message: "Loading model", type: "unavailable_error" } };
const MODELS = {
  warming: "echo?tag=warming",
  slow: "slow?first_token=100ms&tag=slow",
  hung: "hang",
  embedder: "text-embedding-3-small",
  unasked: "echo?tag=unasked",
};

let gateway: TestGateway;
let log: FaultLog;

afterEach(() => gateway.close());

function config(probe: string, names: readonly (keyof typeof MODELS)[]): string {
  const price = `{ input: ${PRICE.input}, cached_input: ${PRICE.cached}, output: ${PRICE.output} }`;
  const provider = (name: string): string => (name === "unasked" ? "plain" : "own");
  return [
    "providers:",
    `  own: { kind: openai-compatible, preset: vllm, base_url: SIMULATOR, api_key: env:OWN_KEY${probe} }`,
    "  plain: { kind: openai-compatible, preset: vllm, base_url: SIMULATOR }",
    "deployments:",
    ...names.map((name) => `  ${name}: { provider: ${provider(name)}, model: '${MODELS[name]}', price: ${price} }`),
    "routes:",
    ...names.map((name) => `  to-${name}: { chain: [${name}] }`),
    "tenants: { default: { models: { allow: ['*'] } } }",
    "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    `admin: { keys: [{ hash: '${keyHash(VIEWER)}', role: viewer, tenant: default }] }`,
  ].join("\n");
}

interface ProbeHealth {
  state: string;
  since: string;
  last_error_class: string | null;
  last_latency_ms: number | null;
}

async function probes(): Promise<Record<string, ProbeHealth | undefined>> {
  const health = (await (await gateway.admin("/v1/health")).json()) as {
    deployments: { name: string; circuit: string; probe?: ProbeHealth }[];
  };
  return Object.fromEntries(health.deployments.map(({ name, probe }) => [name, probe]));
}

function reached(name: string, state: string): Promise<ProbeHealth> {
  return until(`${name} to be ${state}`, async () => {
    const probe = (await probes())[name];
    return probe?.state === state && probe;
  });
}

/** The probes of a deployment that have been recorded, oldest first. */
async function probeRows(deployment: string): Promise<RequestRecord[]> {
  const rows = await allRows(gateway.admin, `deployment=${deployment}`);
  return rows.filter(({ purpose, status }) => purpose === "probe" && status !== "running").reverse();
}

async function spend(query: string, key = ADMIN_KEY): Promise<SpendReport> {
  const headers = { authorization: `Bearer ${key}` };
  return (await (await fetch(`${gateway.url}/admin/spend?${query}`, { headers })).json()) as SpendReport;
}

test("readiness is a generation that came back; it costs, and no tenant pays", async () => {
  log = faultLog();
  const names = ["warming", "slow", "hung", "embedder", "unasked"] as const;
  gateway = await startTestGateway({ chains: {}, config: config("", names), variables: { OWN_KEY: "sk-own" }, log });
  gateway.simulator.script({ match: { model: MODELS.warming }, times: 2, response: { status: 503, body: LOADING } });
  gateway.writeConfig(config(", probe: { every: 1s, timeout: 400ms }", names));
  expect((await gateway.gateway.reload()).ok).toBe(true);
  const warming = await reached("warming", "failing");
  expect(warming).toMatchObject({ last_error_class: "overloaded" });
  // The server answers, and is no worse a gateway for what it has found.
  expect((await gateway.admin("/readyz")).status).toBe(200);
  expect(await reached("hung", "failing")).toMatchObject({ last_error_class: "timeout" });
  const ready = await reached("warming", "ready");
  expect(ready.last_error_class).toBeNull();
  expect(Date.parse(ready.since)).toBeGreaterThan(Date.parse(warming.since));
  expect((await reached("slow", "ready")).last_latency_ms).toBeGreaterThan(0);
  await reached("embedder", "ready");
  expect((await probes())["unasked"]).toBeUndefined();

  const client = await gateway.post({ model: "to-unasked", messages: [{ role: "user", content: "one two three" }] });
  const paid = await gateway.row(client.headers.get("x-request-id") ?? "");
  await checkRows();
  await checkSpend(paid);
  await checkMetrics();
  const changes = log.lines.filter((line) => line.startsWith("its model") && line.includes('"warming"'));
  expect(changes.map((line) => line.slice(0, line.indexOf(" {")))).toEqual([
    "its model does not answer",
    "its model answers",
  ]);
  // What the gateway does for itself is no line of the access log.
  expect(log.lines.filter((line) => line.startsWith("request ") && line.includes('"purpose":"probe"'))).toEqual([]);
  log.expectNoFault();
});

async function checkRows(): Promise<void> {
  const [first, second, third] = await until("three probes on record", async () => {
    const rows = await probeRows("warming");
    return rows.length >= 3 && rows;
  });
  expect([first, second]).toMatchObject([
    { status: "failed", error_code: "overloaded", cost_micro_usd: 0, attempts: [{ http_status: 503 }] },
    { status: "failed", error_code: "overloaded", cost_micro_usd: 0, attempts: [{ error_class: "overloaded" }] },
  ]);
  expect(third).toMatchObject({
    ...{ status: "ok", purpose: "probe", tenant: "", key_id: null, alias: null, route: null, user: null, cache: null },
    ...{ parent_request_id: null, deployment: "warming", provider: "own", dialect: "openai-chat", stream: false },
    attempts: [{ n: 1, status: "ok", credential: { name: "own", generation: 1, owner: "shared" }, http_status: 200 }],
  });
  const lines = linesById(gateway.simulator);
  for (const name of ["warming", "slow", "embedder"]) {
    const good = await until(`a good probe of ${name} on record`, async () => {
      const rows = (await probeRows(name)).filter(({ status }) => status === "ok");
      return rows.length > 0 && rows;
    });
    for (const row of good) {
      for (const attempt of row.attempts) {
        const line = expectBilled(attempt, lines, PRICE);
        expect(line && microUsd(line, PRICE), `the bill of ${name}`).toBe(row.cost_micro_usd);
        expect(line?.output_tokens).toBeLessThanOrEqual(8);
      }
      expect([row.attempts.length, row.cost_state]).toEqual([1, "known"]);
      expectSums(row);
    }
  }
  const [hung] = await until("the hung one on record", async () => {
    const rows = await probeRows("hung");
    return rows.length > 0 && rows;
  });
  // Nobody knows what it cost: it is estimated, as any call that was sent and never answered.
  expect(hung).toMatchObject({ status: "failed", error_code: "provider_timeout", cost_state: "estimated" });
}

async function checkSpend(paid: RequestRecord): Promise<void> {
  const byPurpose = await spend("by=purpose");
  const of = (purpose: string) => byPurpose.data.find((row) => row["purpose"] === purpose);
  expect(of("client")).toMatchObject({ requests: 1, cost_micro_usd: paid.cost_micro_usd });
  expect(of("probe")?.cost_micro_usd).toBeGreaterThan(0);
  expect(byPurpose.total.cost_micro_usd).toBe(paid.cost_micro_usd + (of("probe")?.cost_micro_usd ?? 0));
  const byTenant = await spend("by=tenant");
  expect(byTenant.data.find(({ tenant }) => tenant === "default")).toMatchObject({
    requests: 1,
    cost_micro_usd: paid.cost_micro_usd,
  });
  // Whoever is bound to a tenant sees its own spend, and no probe.
  const own = await spend("by=purpose", VIEWER);
  expect(own.data.map(({ purpose, requests }) => [purpose, requests])).toEqual([["client", 1]]);
  const cli = await runCli(["spend", "--by", "purpose", "--json", "--url", gateway.url], {
    dir: gateway.dataDir,
    variables: { SLUICEGATE_ADMIN_KEY: ADMIN_KEY },
    now: Date.now(),
  });
  expect(cli.code, cli.err).toBe(0);
  const purposes = (JSON.parse(cli.out) as SpendReport).data.map((row) => row["purpose"]);
  expect(purposes.sort()).toEqual(["client", "probe"]);
}

async function checkMetrics(): Promise<void> {
  const metrics = await (await gateway.admin("/metrics")).text();
  for (const [name, state] of Object.entries({ warming: "ready", hung: "failing", slow: "ready", embedder: "ready" })) {
    for (const one of ["unknown", "ready", "failing"]) {
      const value = one === state ? 1 : 0;
      expect(metrics).toContain(`sluicegate_probe_state{deployment="${name}",state="${one}"} ${value}\n`);
    }
    expect(metrics).toMatch(new RegExp(`^sluicegate_probe_latency_seconds\\{deployment="${name}"\\} [0-9.]+$`, "m"));
  }
  expect(metrics).not.toMatch(/^sluicegate_probe.*deployment="unasked"/m);
  // One client has called; what the gateway asked for itself is none of its requests, and part of its costs.
  expect(metrics).toContain('sluicegate_requests_total{status="ok"} 1\n');
  expect(metrics).toContain("sluicegate_in_flight 0\n");
  const spent = Number(/^sluicegate_cost_usd_total (\S+)$/m.exec(metrics)?.[1]);
  const client = (await spend("by=purpose")).data.find(({ purpose }) => purpose === "client");
  expect(spent).toBeGreaterThan((client?.cost_micro_usd ?? 0) / 1_000_000);
}

test("another config ends what it no longer wants and leaves the rest in its rhythm; the end ends all, on record", async () => {
  const clock = testClock();
  const names = ["slow", "hung"] as const;
  const probe = ", probe: { every: 30s, timeout: 30s }";
  gateway = await startTestGateway({ config: config(probe, names), variables: { OWN_KEY: "sk-own" }, clock });
  const { since } = await reached("slow", "ready");
  await until("the hung one to be asked", () => gateway.simulator.requests().total === 2);
  // Something else has changed.
  gateway.writeConfig(config(probe, [...names, "unasked"]));
  await gateway.gateway.reload();
  expect((await probes())["slow"]).toMatchObject({ state: "ready", since });
  expect((await probes())["hung"]).toMatchObject({ state: "unknown" });
  expect(await probeRows("hung")).toEqual([]);
  // Nothing is to be probed any more: the one that hangs is let go at once.
  gateway.writeConfig(config("", names));
  await gateway.gateway.reload();
  expect(await probes()).toEqual({ slow: undefined, hung: undefined });
  const [row] = await until("its row", async () => {
    const rows = await probeRows("hung");
    return rows.length > 0 && rows;
  });
  expect(row).toMatchObject({ status: "cancelled", error_code: "cancelled", attempts: [{ status: "cancelled" }] });
  expect(clock.timers()["probes/probe-loops"]).toBeUndefined();

  gateway.writeConfig(config(probe, names));
  await gateway.gateway.reload();
  await reached("slow", "ready");
  await until("the hung one to be asked again", () => gateway.simulator.requests().total === 4);
  await gateway.gateway.close();
  expect(clock.timers()["probes/probe-loops"]).toBeUndefined();
  expect(gateway.simulator.requests().total).toBe(4);
  const reader = openLedgerReader(join(gateway.dataDir, "ledger.sqlite"));
  const left = reader.requests({ limit: 100 }).data.map(({ deployment, status }) => `${deployment} ${status}`);
  reader.close();
  expect(left.sort()).toEqual(["hung cancelled", "hung cancelled", "slow ok", "slow ok"]);
});

test("a key that a probe finds refused is looked for anew, before any client meets it", async () => {
  const vault = await startVault();
  vault.secrets.set("llm", { openai: "sk-old-11111111" });
  const upstream = await startKeyedUpstream("sk-old-11111111");
  gateway = await startTestGateway({
    config: keyedConfig(upstream.url).replace("kind: openai,", "kind: openai, probe: { every: 1s },"),
    variables: vaultVariables(vault),
  });
  try {
    await reached("main", "ready");
    vault.secrets.set("llm", { openai: "sk-new-22222222" });
    upstream.keys = new Set(["sk-new-22222222"]);
    expect(await reached("main", "failing")).toMatchObject({ last_error_class: "auth_failed" });
    await reached("main", "ready");
    const [row] = await until("a probe with the new key", async () => {
      const good = (await probeRows("main")).filter(({ attempts }) => attempts[0]?.credential?.generation === 2);
      return good.length > 0 && good;
    });
    expect(row).toMatchObject({ status: "ok", attempts: [{ credential: { name: "up", owner: "shared" } }] });
  } finally {
    await upstream.close();
    await vault.stop();
  }
});

test("a server that lists its models to anybody has a new key tried by a generation: on record, and nobody's", async () => {
  const vault = await startVault();
  vault.secrets.set("llm", { openai: "sk-old-11111111" });
  const upstream = await startKeyedUpstream("sk-old-11111111", "sk-new-22222222");
  gateway = await startTestGateway({
    config: keyedConfig(upstream.url, { gateway: "secret_refresh: 1s" }).replace(
      "kind: openai,",
      "kind: openai-compatible,",
    ),
    variables: vaultVariables(vault),
  });
  try {
    vault.secrets.set("llm", { openai: "sk-new-22222222" });
    const [row] = await until("the trial on record", async () => {
      const rows = await probeRows("main");
      return rows.length > 0 && rows;
    });
    expect(row).toMatchObject({ status: "ok", tenant: "", alias: null, usage: { input_tokens: 7, output_tokens: 3 } });
    expect(row?.attempts).toMatchObject([{ credential: { name: "up", generation: 2, owner: "shared" } }]);
    await until("the new key to be in use", async () => {
      const response = await gateway.post({ model: "default", messages: [{ role: "user", content: "hi" }] });
      const { attempts } = await gateway.row(response.headers.get("x-request-id") ?? "");
      return attempts[0]?.credential?.generation === 2;
    });
  } finally {
    await upstream.close();
    await vault.stop();
  }
});
