import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RequestRecord } from "@sluicegate/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Log, silentLog } from "../src/telemetry/log.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { keyedConfig, vaultVariables } from "./support/keyed-config.ts";
import { type KeyedUpstream, startKeyedUpstream } from "./support/keyed-upstream.ts";
import { until } from "./support/until.ts";
import { startVault, type VaultServer } from "./support/vault-server.ts";

const [OLD, NEW, NEWEST] = ["sk-old-11111111", "sk-new-22222222", "sk-newest-33333333"] as const;
const ASK = { model: "default", messages: [{ role: "user", content: "hi" }] };

const logged: string[] = [];
const keep = (message: string, facts: unknown): void => void logged.push(`${message} ${JSON.stringify(facts)}`);
const log: Log = { ...silentLog, info: keep, warn: keep, error: keep, access: (row) => keep("access", row) };

let vault: VaultServer;
let upstream: KeyedUpstream;
let gateway: TestGateway;

beforeEach(async () => {
  logged.length = 0;
  vault = await startVault();
  vault.secrets.set("llm", { openai: OLD });
  upstream = await startKeyedUpstream(OLD);
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
  await vault.stop();
  // Nothing that is logged, of any generation.
  for (const key of [OLD, NEW, NEWEST]) expect(logged.join("\n")).not.toContain(key);
});
async function start(config = keyedConfig(upstream.url)): Promise<void> {
  gateway = await startTestGateway({ config, log, variables: vaultVariables(vault) });
}

/** The row of one call, which has to go well unless something else is expected. */
async function call(status = 200): Promise<RequestRecord> {
  const response = await gateway.post(ASK);
  const text = await response.text();
  expect(response.status, text).toBe(status);
  for (const key of [OLD, NEW, NEWEST]) expect(text).not.toContain(key);
  return gateway.row(response.headers.get("x-request-id") ?? "");
}

async function health(): Promise<{ status: string; secrets: { state: string; oldest_refresh_s: number } }> {
  return (await gateway.admin("/v1/health")).json() as never;
}

test("a key that is rotated twice under 200 requests a second and 20 open streams fails no call", async () => {
  await start(keyedConfig(upstream.url, { gateway: "secret_refresh: 1s" }));
  const streams = Array.from({ length: 20 }, async () => {
    const response = await gateway.post({ ...ASK, stream: true });
    return { status: response.status, text: await response.text() };
  });
  await until("the streams to be open", () => upstream.held.length === 20);
  const statuses = new Map<number, number>();
  const one = async (): Promise<void> => {
    const response = await gateway.post(ASK);
    await response.text();
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
  };
  const calls: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const tick = setInterval(() => {
      for (let i = 0; i < 10; i++) calls.push(one());
      // Planned: both are taken for a while, and the old one goes when the new one is in use.
      if (calls.length === 400) {
        upstream.keys.add(NEW);
        vault.secrets.set("llm", { openai: NEW });
      }
      if (upstream.calls(NEW) > 0 && calls.length < 1_400) upstream.keys.delete(OLD);
      // In an emergency: the key that is in use is taken away at once.
      if (calls.length === 1_400) {
        vault.secrets.set("llm", { openai: NEWEST });
        upstream.keys = new Set([NEWEST]);
      }
      if (calls.length < 2_000) return;
      clearInterval(tick);
      resolve();
    }, 50);
  });
  await Promise.all(calls);
  upstream.release();
  const ended = await Promise.all(streams);
  expect(ended.every(({ status, text }) => status === 200 && text.includes("[DONE]") && text.includes("end"))).toBe(
    true,
  );
  expect([...statuses]).toEqual([[200, 2_000]]);
  for (const key of [OLD, NEW, NEWEST]) expect(upstream.calls(key), key).toBeGreaterThan(20);
  const last = await call();
  expect(last.attempts.map(({ credential }) => credential)).toEqual([{ name: "up", generation: 3, owner: "shared" }]);
  expect((await health()).secrets.state).toBe("ok");
  const metrics = await (await gateway.admin("/metrics")).text();
  expect(metrics).toContain('sluicegate_credential_generations_total{provider="up",result="rotated"} 2');
});

test("a refused call is made again with the key that a look at the manager brings, and only then", async () => {
  await start();
  await call();
  upstream.keys = new Set([NEW]);
  vault.secrets.set("llm", { openai: NEW });
  const row = await call();
  expect(row.attempts).toMatchObject([
    { status: "failed", error_class: "auth_failed", credential: { generation: 1 } },
    { status: "ok", retry: true, credential: { generation: 2 } },
  ]);
  upstream.keys = new Set();
  const before = upstream.refused;
  expect((await call(502)).attempts).toHaveLength(1);
  expect(upstream.refused - before).toBe(1);
});

test("a new key that the provider refuses is not used: the old one stays, and it is told", async () => {
  await start(keyedConfig(upstream.url, { gateway: "secret_refresh: 1s" }));
  await call();
  vault.secrets.set("llm", { openai: NEW });
  await until("the alarm", () => logged.some((line) => line.startsWith("the provider refuses the new credential")));
  expect((await call()).attempts).toMatchObject([{ credential: { generation: 1 } }]);
  expect(await health()).toMatchObject({ status: "degraded", secrets: { state: "degraded" } });
  expect(await (await gateway.admin("/metrics")).text()).toContain('{provider="up",result="refused"} 1');
  expect(upstream.calls(NEW)).toBe(0);
  // The next one is better.
  upstream.keys.add(NEWEST);
  vault.secrets.set("llm", { openai: NEWEST });
  await until("the next generation", async () => (await call()).attempts[0]?.credential?.generation === 3);
  expect(await health()).toMatchObject({ status: "ok" });
});

test("while the provider cannot be asked, a new key waits; it is used when the old one is refused", async () => {
  await start(keyedConfig(upstream.url, { gateway: "secret_refresh: 1s" }));
  await call();
  upstream.fault = { status: 503, body: { error: { message: "busy" } } };
  upstream.keys.add(NEW);
  const tried = upstream.hits.length;
  vault.secrets.set("llm", { openai: NEW });
  await until("a trial", () => upstream.hits.length > tried);
  expect((await call(503)).attempts[0]).toMatchObject({ credential: { generation: 1 } });
  upstream.fault = null;
  await until("the new key", async () => (await call()).attempts[0]?.credential?.generation === 2);
});

test("a manager that goes away later leaves what it gave in use", async () => {
  await start(keyedConfig(upstream.url, { gateway: "secret_refresh: 1s" }));
  await vault.stop();
  await until("it to be noticed", async () => (await health()).secrets.state === "degraded");
  expect((await call()).attempts).toMatchObject([{ credential: { generation: 1 } }]);
  expect((await gateway.admin("/readyz")).status).toBe(200);
  expect((await gateway.gateway.reload()).ok).toBe(true);
  await call();
  await vault.start();
  await until("it to be back", async () => (await health()).secrets.state === "ok");
});

test("a mounted file that changes is a new generation too, and is read at once when its key is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mounted-"));
  const file = join(folder, "key");
  const mount = (key: string): void => {
    writeFileSync(`${file}.next`, `${key}\n`);
    renameSync(`${file}.next`, file);
  };
  mount(OLD);
  await start(keyedConfig(upstream.url).replace("vault:secret/data/llm#openai", `file:${file}`));
  mount(NEW);
  await until("the alarm", () => logged.some((line) => line.startsWith("the provider refuses the new credential")));
  await call();
  upstream.keys = new Set([NEWEST]);
  mount(NEWEST);
  const { attempts } = await call();
  expect(attempts.at(-1)).toMatchObject({ status: "ok", credential: { generation: 3, owner: "shared" } });
  rmSync(folder, { recursive: true });
});

test("with somewhere else to go, a refused call goes there at once, whatever the manager does", async () => {
  const other = await startKeyedUpstream("sk-other");
  const config = keyedConfig(upstream.url)
    .replace("providers: {", `providers: { other: { kind: openai, base_url: '${other.url}/v1', api_key: sk-other },`)
    .replace("chain: [main]", "chain: [main, other/gpt-4o-2024-11-20]");
  await start(config);
  upstream.keys.clear();
  vault.trouble("hangs");
  const { attempts } = await call();
  expect(attempts).toMatchObject([
    { deployment: "main", error_class: "auth_failed" },
    { deployment: "other/gpt-4o-2024-11-20", status: "ok" },
  ]);
  // The manager was asked all the same, and has not answered.
  await until("the look at the manager", () => vault.asked.length === 2);
  vault.secrets.set("llm", { openai: NEW });
  upstream.keys.add(NEW);
  vault.trouble("none");
  await other.close();
});

test("a call that must not be repeated is not, and the next one has the new key", async () => {
  await start();
  upstream.keys = new Set([NEW]);
  vault.secrets.set("llm", { openai: NEW });
  const refused = await gateway.post({ ...ASK, gateway: { side_effecting: true } });
  expect(refused.status).toBe(502);
  await until("the new key", async () => (await call()).attempts[0]?.credential?.generation === 2);
});

test("a value that cannot be a key changes nothing, and is told", async () => {
  await start(keyedConfig(upstream.url, { gateway: "secret_refresh: 1s" }));
  vault.secrets.set("llm", { openai: "two\nlines" });
  await until("the alarm", () => logged.some((line) => line.startsWith("config refused")));
  await call();
  expect((await health()).secrets.state).toBe("degraded");
  vault.secrets.set("llm", { openai: OLD });
  await until("it to be whole", async () => (await health()).secrets.state === "ok");
});

test("a manager that is down at the start is a reference that does not resolve", async () => {
  await vault.stop();
  await expect(start()).rejects.toThrow(
    /`vault:secret\/data\/llm#openai` does not resolve: vault at .* did not answer/,
  );
  await vault.start();
  await start();
});
