import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { until } from "./until.ts";

/** Redis is on the path, or the tests are told of one: without it they are reported as skipped. */
export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;

/** A Redis of a test's own, on loopback. Nothing is written to disk. */
export interface TestRedis {
  port: number;
  url: string;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Starts it again on its port, with nothing in it. */
  start(): Promise<void>;
}

/** Starts one. `args`: more of redis-server's own options. */
export async function startRedis(...args: string[]): Promise<TestRedis> {
  return startServer(await freePort(), args);
}

/** Starts a cluster of one node: the one that has every key. */
export async function startRedisCluster(): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), "sluicegate-redis-"));
  const redis = await startServer(await freePort(CLUSTER_PORT_MAX), [
    "--cluster-enabled",
    "yes",
    "--cluster-announce-ip",
    "127.0.0.1",
    "--dir",
    folder,
  ]);
  const node = new Redis(redis.url);
  await node.cluster("ADDSLOTSRANGE", 0, 16_383);
  await until("the cluster is up", async () => (await node.cluster("INFO")).includes("cluster_state:ok"));
  node.disconnect();
  return {
    ...redis,
    url: `redis+cluster://127.0.0.1:${redis.port}`,
    kill: () => redis.kill().then(() => remove(folder)),
  };
}

/** Starts a sentinel that watches a Redis under a name. */
export async function startSentinel(name: string, watched: TestRedis): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), "sluicegate-sentinel-"));
  const config = join(folder, "sentinel.conf");
  writeFileSync(config, `sentinel monitor ${name} 127.0.0.1 ${watched.port} 1\n`);
  const port = await freePort();
  const redis = await startServer(port, [], [config, "--sentinel", "--port", `${port}`, "--bind", "127.0.0.1"]);
  return {
    ...redis,
    url: `redis+sentinel://127.0.0.1:${port}/${name}`,
    kill: () => redis.kill().then(() => remove(folder)),
  };
}

/** A node of a cluster listens 10,000 ports above its own, too. */
const CLUSTER_PORT_MAX = 55_000;

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

async function startServer(port: number, args: readonly string[], whole?: readonly string[]): Promise<TestRedis> {
  let child: ChildProcess | null = null;
  const redis: TestRedis = {
    port,
    url: `redis://127.0.0.1:${port}`,
    async kill() {
      const running = child;
      child = null;
      if (!running) return;
      const gone = once(running, "exit");
      running.kill("SIGKILL");
      await gone;
    },
    async start() {
      const own = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", ...args];
      child = spawn("redis-server", [...(whole ?? own)], { stdio: ["ignore", "pipe", "ignore"] });
      // A run that is broken off leaves no server behind.
      const last = child;
      const end = (): void => void last.kill("SIGKILL");
      process.once("exit", end);
      last.once("exit", () => process.off("exit", end));
      const ended = once(child, "exit").then(() => Promise.reject(new Error("redis-server ended at its start")));
      ended.catch(() => {});
      await Promise.race([ready(child), ended]);
    },
  };
  await redis.start();
  return redis;
}

async function ready(child: ChildProcess): Promise<void> {
  if (!child.stdout) return;
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolve) => {
    lines.on("line", (line) => {
      if (/Ready to accept connections|Sentinel ID is/.test(line)) resolve();
    });
  });
}

async function freePort(most = 65_535): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  const port = typeof address === "object" && address ? address.port : 0;
  return port <= most ? port : freePort(most);
}
