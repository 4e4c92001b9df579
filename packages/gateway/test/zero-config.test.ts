import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { VERSION } from "../src/version.ts";
import {
  type ChildGateway,
  expectBuilt,
  runCommand,
  SHIM,
  startChild,
  startChildGateway,
  temporaryFolder,
} from "./support/child-gateway.ts";
import { until } from "./support/until.ts";

const run = promisify(execFile);

let folder: ReturnType<typeof temporaryFolder>;
let gateways: ChildGateway[];
let servers: Server[];

beforeEach(() => {
  expectBuilt();
  folder = temporaryFolder();
  gateways = [];
  servers = [];
});

afterEach(async () => {
  for (const gateway of gateways) if (gateway.process.exitCode === null) await gateway.kill("SIGKILL");
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  folder.remove();
});

/** `sluicegate serve` in the folder of the test, with these flags and variables and nothing else. */
async function start(args: string[] = [], variables: Record<string, string> = {}): Promise<ChildGateway> {
  const gateway = await startChildGateway({ args, cwd: folder.path, variables });
  gateways.push(gateway);
  return gateway;
}

/** A port that somebody else has; `wanted` where it is free, or taken already. */
async function takePort(wanted: number): Promise<number> {
  // Others that start meanwhile ask this port whether a model server is there: nobody is kept waiting.
  const server = createServer((socket) => socket.destroy());
  const got = await new Promise<boolean>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(false) : reject(error),
    );
    server.listen(wanted, "127.0.0.1", () => resolve(true));
  });
  if (got) servers.push(server);
  return got ? (server.address() as AddressInfo).port : wanted;
}

/** What the start has said of itself. */
function said(gateway: ChildGateway): { key: string; curl: string; consoleUrl: string; aliases: string[] } {
  const text = gateway.stdout();
  const word = (name: string): string => new RegExp(`^ {2}${name} +(.+)$`, "m").exec(text)?.[1] ?? "";
  return {
    key: word("key"),
    consoleUrl: word("console"),
    aliases: word("aliases").split(", "),
    curl: /^ {2}curl [\s\S]*?(?=\n\n|\n$)/m.exec(text)?.[0] ?? "",
  };
}

function models(gateway: ChildGateway, key: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
}

async function modelNames(gateway: ChildGateway, key: string): Promise<string[]> {
  const { data } = (await (await models(gateway, key)).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

describe("a start with nothing at all", () => {
  test("serves the simulator, and says a curl line that works as it stands", async () => {
    const gateway = await start();
    const { curl, key, aliases } = said(gateway);
    expect(key).toMatch(/^sg_dev_[0-9a-f]{64}$/);
    expect(aliases).toEqual(["default → sim/echo", "fast → sim/echo"]);
    expect(curl).toContain(gateway.url);
    const { stdout } = await run("sh", ["-c", `${curl} --silent --show-error --fail`], {
      env: { PATH: process.env["PATH"] },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      choices: [{ message: { role: "assistant", content: "Say hello." }, finish_reason: "stop" }],
      gateway_metadata: { provider: "sim", deployment: "sim/echo" },
    });
    expect(await modelNames(gateway, key)).toEqual(["default", "fast"]);
    expect((await models(gateway, `sg_dev_${"0".repeat(64)}`)).status).toBe(401);
    // Everything it keeps is under the data dir, and the key is for its owner only.
    expect(statSync(join(folder.path, "data", "dev-key")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder.path, "data", "dev-key"), "utf8").trim()).toBe(key);
    expect(gateway.stderr()).toBe("");
  });

  test("says the same key the next time, and a new console link", async () => {
    const first = await start();
    expect(await first.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    const second = await start();
    expect(said(second).key).toBe(said(first).key);
    expect(said(second).consoleUrl.split("token=")[1]).not.toBe(said(first).consoleUrl.split("token=")[1]);
    expect((await models(second, said(first).key)).status).toBe(200);
  });

  test("gives a console link that signs in once", async () => {
    const gateway = await start();
    const { consoleUrl } = said(gateway);
    expect(consoleUrl.startsWith(`${gateway.url}/console?token=`)).toBe(true);
    const opened = await fetch(consoleUrl, { redirect: "manual" });
    expect(opened.status).toBe(303);
    const cookie = opened.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^sluicegate_session=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict/);
    const headers = { cookie: cookie.split(";")[0] ?? "" };
    const page = await fetch(`${gateway.url}${opened.headers.get("location")}`, { headers });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("signed in as admin");
    const again = await fetch(consoleUrl, { redirect: "manual" });
    expect(again.status).toBe(401);
    expect(again.headers.get("set-cookie")).toBeNull();
    const stranger = await fetch(`${gateway.url}/console`);
    expect(await stranger.text()).not.toContain("signed in as admin");
  });
});

describe("a port that is taken", () => {
  test("is left for the next free one, and that is said", async () => {
    const taken = await takePort(8_080);
    const gateway = await start();
    const port = Number(new URL(gateway.url).port);
    expect(port).toBeGreaterThan(taken);
    expect(port).toBeLessThanOrEqual(taken + 20);
    await until("a word of it", () => gateway.stdout().includes(`port ${taken} is taken; trying ${taken + 1}`));
  });

  test.each([
    ["--port", (port: number) => start(["--port", String(port)])],
    ["SLUICEGATE_PORT", (port: number) => start([], { SLUICEGATE_PORT: String(port) })],
    [
      "gateway.listen",
      (port: number) => {
        const text = `providers: { sim: { kind: simulator } }\nroutes: { default: { chain: [sim/echo] } }\n`;
        writeFileSync(join(folder.path, "sluicegate.yaml"), `gateway: { listen: '127.0.0.1:${port}' }\n${text}`);
        return start();
      },
    ],
  ])("is an error when it was named: %s", async (_, startOn) => {
    const port = await takePort(0);
    const ended = await startOn(port).then(
      () => "it serves",
      (error: Error) => error.message,
    );
    expect(ended).toContain("the gateway ended (1)");
    expect(ended).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}; choose another --port`);
    expect(ended).not.toMatch(/\n {4}at /);
  });
});

describe("keys of providers in the environment", () => {
  test("make those providers, in one chain, without a call to anybody", async () => {
    const gateway = await start([], { OPENAI_API_KEY: "sk-not-a-key", GROQ_API_KEY: "gsk-not-a-key" });
    const { key, aliases } = said(gateway);
    expect(aliases).toEqual(["default → openai/gpt-4o-2024-11-20", "fast → openai/gpt-4o-mini-2024-07-18"]);
    expect(await modelNames(gateway, key)).toEqual(["default", "fast"]);
    const health = (await (await fetch(`${gateway.url}/v1/health`)).json()) as { deployments: { name: string }[] };
    expect(health.deployments.map(({ name }) => name)).toEqual([
      "openai/gpt-4o-2024-11-20",
      "groq/openai/gpt-oss-120b",
      "openai/gpt-4o-mini-2024-07-18",
      "groq/openai/gpt-oss-20b",
    ]);
    expect(gateway.stdout()).not.toContain("not-a-key");
  });

  test("are read from .env, and the real environment wins", async () => {
    writeFileSync(
      join(folder.path, ".env"),
      "XAI_API_KEY=xai-not-a-key\nSLUICEGATE_DATA_DIR=elsewhere\nOPENAI_API_KEY=sk\n",
    );
    const gateway = await start([], { OPENAI_API_KEY: "" });
    const health = (await (await fetch(`${gateway.url}/v1/health`)).json()) as { deployments: { name: string }[] };
    expect(health.deployments.map(({ name }) => name.split("/")[0])).toEqual(["xai", "xai"]);
    expect(existsSync(join(folder.path, "elsewhere", "dev-key"))).toBe(true);
  });
});

test("a config that cannot be served ends the start with its places, all at once", async () => {
  const text =
    "providers: { sim: { kind: simulator } }\nroutes:\n  default: { chian: [sim/echo] }\n  fast: { chain: [smi/echo] }\n";
  writeFileSync(join(folder.path, "sluicegate.yaml"), text);
  const { code, out, err } = await runCommand({ args: ["serve", "--port", "0"], cwd: folder.path });
  expect(code).toBe(1);
  expect(out).not.toContain("is serving on");
  expect(err).toContain("sluicegate.yaml:3:14");
  expect(err).toContain("chain");
  expect(err).toContain("sluicegate.yaml:4:19");
  expect(err).not.toMatch(/\n {4}at /);
  // What was refused has not become a last good config.
  expect(existsSync(join(folder.path, "data", "last-good"))).toBe(false);
});

test("a data dir that cannot be used ends the start in words", async () => {
  writeFileSync(join(folder.path, "data"), "a file, where a folder has to be");
  const { code, err } = await runCommand({ args: ["serve", "--port", "0"], cwd: folder.path });
  expect(code).toBe(1);
  expect(err).toMatch(/^sluicegate: .*data/);
  expect(err).not.toMatch(/\n {4}at /);
});

describe("the shim of a clone", () => {
  const root = dirname(dirname(SHIM));
  const lock = join(root, "package-lock.json");
  const installed = join(root, "node_modules", ".package-lock.json");

  test("runs the command line, by node and by npx", async () => {
    // It would install what is missing, under the feet of all other tests.
    expect(statSync(installed).mtimeMs, "dependencies are not installed").toBeGreaterThanOrEqual(
      statSync(lock).mtimeMs,
    );
    const direct = startChild({ script: SHIM, args: ["version"], cwd: folder.path });
    expect((await direct.exited).code).toBe(0);
    expect(direct.stdout().trim()).toBe(VERSION);
    mkdirSync(join(folder.path, "home"));
    const env = { PATH: process.env["PATH"], HOME: join(folder.path, "home"), npm_config_offline: "true" };
    const { stdout } = await run("npx", ["--no", "sluicegate", "version", "--json"], { cwd: root, env });
    expect(JSON.parse(stdout)).toEqual({ version: VERSION, node: process.versions.node });
  }, 120_000);
});
