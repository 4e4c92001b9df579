import { createHash } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Simulator, startSimulator } from "@sluicegate/simulator";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  type ChildGateway,
  expectBuilt,
  runCommand,
  startChildGateway,
  temporaryFolder,
} from "./support/child-gateway.ts";
import { type ConnectionCount, countConnections } from "./support/connections.ts";
import { CLIENT_KEY } from "./support/gateway.ts";
import { type LoadClient, loadClient, type Outcome } from "./support/load-client.ts";
import { until } from "./support/until.ts";
import { chatAnswer, chatChunk, startUpstream } from "./support/upstream.ts";

const OTHER_KEY = `sg_other_${"b2".repeat(32)}`;

interface Parts {
  /** Shows in the model of alias `which`. */
  version: string;
  /** Chain of alias `default`. */
  chain?: string[];
  providers?: string;
  deployments?: string;
  keys?: string[];
}

let old: Simulator;
let fresh: Simulator;
let folder: ReturnType<typeof temporaryFolder>;
let file: string;
let connections: ConnectionCount;
let gateway: ChildGateway;
let load: LoadClient;

beforeEach(async () => {
  expectBuilt();
  connections = countConnections();
  old = await startSimulator({ recentRequests: 10_000 });
  fresh = await startSimulator({ recentRequests: 10_000 });
  folder = temporaryFolder();
  file = join(folder.path, "sluicegate.yaml");
});

afterEach(async () => {
  load.close();
  if (gateway.process.exitCode === null) await gateway.kill("SIGKILL");
  await old.close();
  await fresh.close();
  connections.stop();
  folder.remove();
});

async function start(first: Parts): Promise<void> {
  write(first);
  const args = ["--config", file, "--port", "0", "--data-dir", folder.path];
  gateway = await startChildGateway({ args, cwd: folder.path });
  load = loadClient(gateway.url);
}

function configText({
  version,
  chain = ["new/echo"],
  providers,
  deployments = "{}",
  keys = [CLIENT_KEY],
}: Parts): string {
  const which = providers?.includes("sim:") ? "sim" : "new";
  const hashes = keys.map(
    (key, n) => `{ id: key-${n}, hash: 'sha256:${createHash("sha256").update(key).digest("hex")}' }`,
  );
  return [
    `providers: ${providers ?? `{ old: { kind: simulator, base_url: ${old.url}/v1 }, new: { kind: simulator, base_url: ${fresh.url}/v1 } }`}`,
    `deployments: ${deployments}`,
    "routes:",
    `  which: { chain: ['${which}/echo?tag=${version}'] }`,
    `  default: { chain: ${JSON.stringify(chain)} }`,
    `keys: [${hashes.join(", ")}]`,
    "",
  ].join("\n");
}

function write(parts: Parts): void {
  writeFileSync(file, configText(parts));
}

/** As editors and Kubernetes do it: nobody ever sees half a file. */
function replace(parts: Parts): void {
  writeFileSync(`${file}.new`, configText(parts));
  renameSync(`${file}.new`, file);
}

function send(marker: string, model: string, stream: boolean, key = CLIENT_KEY): Promise<Outcome> {
  return load.send({
    marker,
    key,
    body: { model, stream, ...(stream && { stream_options: { include_usage: true } }) },
  });
}

let asked = 0;

/** The version that serves a request which is made now. It must be served, whatever happens to the config. */
async function served(): Promise<string> {
  const outcome = await send(`which-${asked++}`, "which", false);
  expect(outcome).toMatchObject({ status: 200, complete: true });
  return String(outcome.headers["x-sluicegate-model"]).replace("echo?tag=", "");
}

async function becomes(version: string): Promise<void> {
  await until(`version ${version}`, async () => (await served()) === version);
}

interface Health {
  status: string;
  config: { revision: string; loaded_at: string; state: string };
}

async function health(): Promise<Health> {
  return (await (await gateway.admin("/v1/health")).json()) as Health;
}

async function stats(): Promise<{ requests: number; in_flight: number; by_status: Record<string, number> }> {
  return (await (await gateway.admin("/v1/stats")).json()) as never;
}

/** Lines of the gateway's log about a config it does not take. */
function refusals(): { msg: string; at: string | null; path: string }[] {
  return gateway
    .stdout()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes("config refused"))
    .map((line) => JSON.parse(line));
}

/** An upstream that has begun its answers and waits for the word to end them. */
async function heldUpstream(): Promise<{
  url: string;
  port: number;
  held(): number;
  release(): void;
  close(): Promise<void>;
}> {
  const upstream = await startUpstream();
  const waiting: (() => void)[] = [];
  let cut = 0;
  upstream.answer((response, { body }) => {
    response.on("close", () => {
      if (!response.writableFinished) cut++;
    });
    const { stream } = JSON.parse(body.toString()) as { stream: boolean };
    if (!stream) {
      waiting.push(() => response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("held back")));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).write(chatChunk({ content: "held " }));
    waiting.push(() => {
      const usage = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };
      response.end(`${chatChunk({ content: "back" }, "stop")}${chatChunk({}, null, usage)}data: [DONE]\n\n`);
    });
  });
  return {
    url: upstream.url,
    port: Number(new URL(upstream.url).port),
    held: () => waiting.length - cut,
    release: () => {
      for (const end of waiting.splice(0)) end();
    },
    close: () => upstream.close(),
  };
}

test("200 requests in flight end where they began, while the config changes under them", async () => {
  asked = 0;
  const upstream = await heldUpstream();
  onTestFinished(() => upstream.close());
  const providers = [
    `old: { kind: openai-compatible, base_url: '${upstream.url}/v1' }`,
    `new: { kind: simulator, base_url: '${fresh.url}/v1' }`,
  ];
  const first: Parts = { version: "v1", providers: `{ ${providers.join(", ")} }`, chain: ["old/held"] };
  await start(first);
  const running = Array.from({ length: 200 }, (_, n) => send(`running-${n}`, "default", n % 5 < 3));
  await until("all of them to be in flight", () => upstream.held() === 200);
  expect(await served()).toBe("v1");
  const before = await stats();
  expect(before).toMatchObject({ in_flight: 200, requests: 1 });

  write({ version: "v2" });
  await becomes("v2");
  const whole = await health();
  expect(whole).toMatchObject({ status: "ok", config: { state: "ok" } });

  // The fourth line: a provider that nobody has heard of.
  writeFileSync(file, configText({ version: "v2b" }).replace("new/echo?tag", "nwe/echo?tag"));
  await until("the refusal", async () => (await health()).config.state !== "ok");
  // The log is written behind what is done.
  await until("a word of it", () => refusals().length > 0);
  expect(refusals()).toEqual([expect.objectContaining({ at: "sluicegate.yaml:4:20", path: "routes.which.chain[0]" })]);
  expect(refusals()[0]?.msg).toContain("nwe");
  expect(await health()).toMatchObject({ status: "degraded", config: { ...whole.config, state: "last_good" } });
  expect(await served()).toBe("v2");
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);

  writeFileSync(file, "routes: {\n  default: [\n");
  await until("another refusal", () => refusals().length > 1);
  for (const { at } of refusals()) expect(at).toMatch(/sluicegate\.yaml:\d+:\d+$/);
  expect(await served()).toBe("v2");

  replace({ version: "v3" });
  await becomes("v3");
  expect(await health()).toMatchObject({ status: "ok", config: { state: "ok" } });

  write({ version: "v4" });
  gateway.process.kill("SIGHUP");
  await becomes("v4");
  rmSync(file);
  gateway.process.kill("SIGHUP");
  await until("the file to be missed", async () => (await health()).config.state !== "ok");
  expect(await served()).toBe("v4");
  write({ version: "v5" });
  await becomes("v5");
  expect((await send("new-chain", "default", true)).headers["x-sluicegate-model"]).toBe("echo");

  expect(upstream.held()).toBe(200);
  expect(await stats()).toMatchObject({ in_flight: 200, requests: asked + 1, by_status: { ok: asked + 1 } });
  upstream.release();
  for (const outcome of await Promise.all(running)) {
    expect(outcome, outcome.marker).toMatchObject({ status: 200, complete: true, error: null });
    expect(outcome.headers["x-sluicegate-deployment"]).toBe("old/held");
    expect(outcome.text.replaceAll(/data: .*?"content":"(.*?)".*\n\n/g, "$1")).toContain("held back");
  }
  await until("all to be counted", async () => (await stats()).in_flight === 0);
  expect(await stats()).toMatchObject({ requests: 201 + asked, by_status: { ok: 201 + asked } });
  // What only the old config used is let go once it is idle; the upstream itself would wait for five seconds.
  await until("the old connections to close", () => connections.open(upstream.port) === 0, 3_000);
}, 60_000);

describe("a deployment that keeps its name", () => {
  const provider = (simulator: Simulator, more = ""): string =>
    `{ sim: { kind: simulator, base_url: ${simulator.url}/v1${more} } }`;
  const deployments = "{ main: { provider: sim, model: 'long?tokens=40&between=20ms' } }";

  test("moves to another place and another credential, and leaves nothing open behind it", async () => {
    await start({ version: "v1", providers: provider(old, ", api_key: sk-first"), deployments, chain: ["main"] });
    const running = Array.from({ length: 20 }, (_, n) => send(`running-${n}`, "default", true));
    await until("all of them to be in flight", () => old.requests().total >= 20);
    write({ version: "v2", providers: provider(fresh, ", api_key: sk-second"), deployments, chain: ["main"] });
    await becomes("v2");
    const next = await Promise.all(Array.from({ length: 5 }, (_, n) => send(`next-${n}`, "default", n % 2 === 0)));
    for (const outcome of [...next, ...(await Promise.all(running))]) {
      expect(outcome, outcome.marker).toMatchObject({ status: 200, complete: true });
    }
    const credentials = (of: Simulator): Set<unknown> =>
      new Set(of.requests().recent.map(({ headers }) => headers.authorization));
    expect(credentials(old)).toEqual(new Set(["Bearer sk-first"]));
    expect(credentials(fresh)).toEqual(new Set(["Bearer sk-second"]));
    await until("the old connections to close", () => connections.open(old.port) === 0);
  });

  test("takes as many connections as the new config gives it", async () => {
    const one = provider(fresh, ", pool: { connections: 1 }");
    await start({ version: "v1", providers: one, deployments, chain: ["main"] });
    const abreast = async (count: number): Promise<number> => {
      let most = 0;
      const watch = setInterval(() => {
        const open = fresh.invoice().lines.filter((line) => line.model.startsWith("long") && !line.finished).length;
        most = Math.max(most, open);
      }, 5);
      await Promise.all(Array.from({ length: count }, (_, n) => send(`abreast-${n}`, "default", true)));
      clearInterval(watch);
      return most;
    };
    expect(await abreast(3)).toBe(1);
    write({ version: "v2", providers: provider(fresh, ", pool: { connections: 4 }"), deployments, chain: ["main"] });
    await becomes("v2");
    expect(await abreast(8)).toBe(4);
  });
});

describe("keys", () => {
  test("of the config come and go with it, at once", async () => {
    await start({ version: "v1", chain: ["new/long?tokens=30&between=40ms"] });
    expect((await send("unknown", "which", false, OTHER_KEY)).status).toBe(401);
    write({ version: "v2", keys: [CLIENT_KEY, OTHER_KEY], chain: ["new/long?tokens=30&between=40ms"] });
    await becomes("v2");
    expect((await send("known", "which", false, OTHER_KEY)).status).toBe(200);
    const running = send("running", "default", true, OTHER_KEY);
    await until("it to be in flight", () => fresh.requests().by_model["long?tokens=30&between=40ms"]);
    write({ version: "v3", keys: [CLIENT_KEY] });
    await becomes("v3");
    expect((await send("gone", "which", false, OTHER_KEY)).status).toBe(401);
    expect(await running).toMatchObject({ status: 200, complete: true });
  });

  test("of the command line come and go within a second or so", async () => {
    await start({ version: "v1" });
    const keys = (...args: string[]): ReturnType<typeof runCommand> =>
      runCommand({ args: ["keys", ...args, "--data-dir", folder.path, "--config", file, "--json"], cwd: folder.path });
    const created = await keys("create");
    expect(created).toMatchObject({ code: 0 });
    const { id, key } = JSON.parse(created.out) as { id: string; key: string };
    const answers = (status: number) => async (): Promise<boolean> =>
      (await send("cli", "which", false, key)).status === status;
    // The promise is a second; what is over it is the machine's own.
    await until("the key to be known", answers(200), 3_000);
    expect(await keys("revoke", id)).toMatchObject({ code: 0 });
    await until("the key to be refused", answers(401), 3_000);
    expect((await send("fixed", "which", false)).status).toBe(200);
  });
});
