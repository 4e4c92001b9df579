import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RequestRecord } from "@sluicegate/contract";
import { type Simulator, type SimulatorOptions, startSimulator } from "@sluicegate/simulator";
import { environmentOf } from "../../src/config/env.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import type { Waits } from "../../src/core/limits.ts";
import { systemRandom } from "../../src/core/random.ts";
import { type Gateway, startGateway } from "../../src/start-gateway.ts";
import { type Log, silentLog } from "../../src/telemetry/log.ts";
import { ForgivingBoard } from "./forgiving-board.ts";

/** A client key that every test config can list by its hash. */
export const CLIENT_KEY = `sg_test_${"a1".repeat(32)}`;
/** Admin key of every test gateway. */
export const ADMIN_KEY = "admin-key-of-the-tests";

/** A gateway under test, its simulator and its data. */
export interface TestGateway {
  url: string;
  gateway: Gateway;
  simulator: Simulator;
  dataDir: string;
  configFile: string;
  /** Posts a chat completion (or anything else to `path`) as a client. */
  post(body: unknown, options?: PostOptions): Promise<Response>;
  /** Asks the control plane as an admin. */
  admin(path: string): Promise<Response>;
  /** The ledger's row of a request, waited for until it is settled. */
  row(requestId: string): Promise<RequestRecord>;
  /** All rows, newest first. */
  rows(): Promise<RequestRecord[]>;
  writeConfig(yaml: string): void;
  close(): Promise<void>;
}

/** How a post differs from the plain one. */
export interface PostOptions {
  path?: string;
  key?: string | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  raw?: string | Uint8Array;
}

/** What a test gateway is made of. `routes` is YAML for the `routes` section unless the whole config is given. */
export interface TestGatewayOptions {
  /** Chains by alias: `{ default: ["sim/echo"] }`. */
  chains?: Record<string, string[]>;
  /** YAML put behind the generated config. */
  extra?: string;
  /** The whole config; `SIMULATOR` in it becomes the simulator's base URL, `SIMULATOR_HOST` that less its version, `KEYHASH` the hash of CLIENT_KEY. */
  config?: string;
  log?: Log;
  /** Times that the test shortens. */
  waits?: Partial<Waits>;
  variables?: Record<string, string>;
  clock?: Clock;
  simulator?: SimulatorOptions;
  /** Work is turned away when this process, which is the test's as well, has too much of it. */
  sheds?: boolean;
  /** Failures are held against no deployment: for tests that ask one deployment for many of them. */
  forgives?: boolean;
}

/** sha256 as configs want it. */
export function keyHash(key: string): string {
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/** Starts a simulator and a gateway that knows it as provider `sim`, on free ports, with a data dir of its own. */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const simulator = await startSimulator(options.simulator ?? {});
  const dataDir = mkdtempSync(join(tmpdir(), "sluicegate-test-"));
  const configFile = join(dataDir, "sluicegate.yaml");
  const writeConfig = (yaml: string): void =>
    writeFileSync(
      configFile,
      yaml
        .replaceAll("SIMULATOR_HOST", simulator.url)
        .replaceAll("SIMULATOR", `${simulator.url}/v1`)
        .replaceAll("KEYHASH", keyHash(CLIENT_KEY)),
    );
  writeConfig(options.config ?? configOf(options.chains ?? { default: ["sim/echo"] }, options.extra ?? ""));
  const gateway = await startGateway({
    config: configFile,
    dataDir,
    port: 0,
    environment: environmentOf(
      new Map(Object.entries({ SLUICEGATE_ADMIN_KEY: ADMIN_KEY, ...options.variables })),
      dataDir,
    ),
    clock: options.clock ?? systemClock,
    random: systemRandom(),
    log: options.log ?? silentLog,
    waits: options.waits,
    sheds: options.sheds ?? false,
    makeHealth: options.forgives ? (parts) => new ForgivingBoard(parts) : undefined,
  });
  const admin = (path: string): Promise<Response> =>
    fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
  return {
    url: gateway.url,
    gateway,
    simulator,
    dataDir,
    configFile,
    writeConfig,
    admin,
    post: (body, how = {}) => post(gateway.url, body, how),
    row: (requestId) => settled(admin, requestId),
    rows: async () => ((await (await admin("/admin/requests?limit=1000")).json()) as { data: RequestRecord[] }).data,
    async close() {
      await gateway.close();
      await simulator.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A config with a provider `sim`, one fixed key, and these chains. */
export function configOf(chains: Record<string, string[]>, extra = ""): string {
  const routes = Object.entries(chains).map(([alias, chain]) => `  ${alias}: { chain: ${JSON.stringify(chain)} }`);
  return [
    "providers: { sim: { kind: simulator, base_url: SIMULATOR } }",
    "routes:",
    ...routes,
    "tenants: { default: { models: { allow: ['*', 'sim/*'] } } }",
    "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    extra,
  ].join("\n");
}

/** A fresh path-safe name. */
export function freshName(): string {
  return randomBytes(6).toString("hex");
}

function post(url: string, body: unknown, how: PostOptions): Promise<Response> {
  const key = how.key === undefined ? CLIENT_KEY : how.key;
  return fetch(`${url}${how.path ?? "/v1/chat/completions"}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...how.headers,
    },
    body: (how.raw ?? JSON.stringify(body)) as string,
    ...(how.signal ? { signal: how.signal } : {}),
  });
}

/** The row once it is in the database and no longer running; the ledger writes behind the answer. */
async function settled(admin: (path: string) => Promise<Response>, requestId: string): Promise<RequestRecord> {
  const until = Date.now() + 10_000;
  for (;;) {
    const response = await admin(`/admin/requests/${requestId}`);
    if (response.ok) {
      const row = (await response.json()) as RequestRecord;
      if (row.status !== "running") return row;
    }
    if (Date.now() > until) throw new Error(`no settled row for ${requestId}: ${response.status}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
