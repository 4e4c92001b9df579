import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { noUsage } from "@sluicegate/contract";
import { type Simulator, startSimulator } from "@sluicegate/simulator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openaiChat } from "../src/protocols/openai-chat/index.ts";
import { requestRow } from "../src/stages/rows.ts";
import { type Child, expectBuilt, startChild, temporaryFolder } from "./support/child-gateway.ts";
import { openFifo } from "./support/fifo.ts";
import { CLIENT_KEY, configOf, keyHash } from "./support/gateway.ts";
import { until } from "./support/until.ts";

const DIST = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");

let folder: ReturnType<typeof temporaryFolder>;
let simulator: Simulator;
let children: Child[];

beforeEach(async () => {
  expectBuilt();
  folder = temporaryFolder();
  simulator = await startSimulator();
  children = [];
});

afterEach(async () => {
  for (const child of children) if (child.process.exitCode === null) await child.kill("SIGKILL");
  await simulator.close();
  folder.remove();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Serves, reloads, serves and stops on SIGTERM as always, its standard output being this descriptor. */
async function expectService(stdout: number): Promise<void> {
  const config = join(folder.path, "sluicegate.yaml");
  writeFileSync(
    config,
    configOf({ echo: ["sim/echo"] })
      .replaceAll("SIMULATOR", `${simulator.url}/v1`)
      .replaceAll("KEYHASH", keyHash(CLIENT_KEY)),
  );
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ["serve", "--config", config, "--port", `${port}`, "--data-dir", folder.path];
  const child = startChild({ args, cwd: folder.path, stdout });
  children.push(child);
  const ask = async (): Promise<void> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${CLIENT_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hello" }] }),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "hello" } }] });
  };
  await until("the gateway to be ready", async () => {
    expect(child.process.exitCode, child.stderr()).toBeNull();
    return fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
  });
  await ask();
  // Says something of its own, too.
  child.process.kill("SIGHUP");
  for (let n = 0; n < 50; n++) await ask();
  expect(await child.kill("SIGTERM")).toEqual({ code: 0, signal: null });
}

describe("a gateway serves, and stops as always, when its standard output is", () => {
  test.skipIf(!existsSync("/dev/full"))("a full device (/dev/full)", async () => {
    await expectService(openSync("/dev/full", "w"));
  });

  test("a file that cannot be written to", async () => {
    const path = join(folder.path, "out");
    writeFileSync(path, "");
    await expectService(openSync(path, "r"));
    expect(readFileSync(path, "utf8")).toBe("");
  });

  test("a full pipe that nobody reads", async () => {
    const pipe = openFifo(join(folder.path, "pipe"));
    writeFileSync(pipe.writer, "x".repeat(64 * 1024));
    await expectService(pipe.writer);
  });

  test("a pipe whose reader has gone", async () => {
    const pipe = openFifo(join(folder.path, "pipe"));
    pipe.closeReader();
    await expectService(pipe.writer);
  });
});

describe("the last lines of a process that ends at once are written", () => {
  const LINES = 20_000;
  const visit = {
    requestId: "req_1",
    clientRequestId: null,
    protocol: openaiChat,
    startedAt: 0,
    arrivedAt: 0,
    waitedMs: 0,
  };

  /** Logs far more than a pipe holds, and ends. */
  function startLogger(ending: string, stdout?: number): Child {
    const script = join(folder.path, "logger.mjs");
    writeFileSync(
      script,
      `import { createLog } from ${JSON.stringify(pathToFileURL(join(DIST, "telemetry", "log.js")).href)};
      const log = createLog({ fd: 1, level: "info", access: true });
      for (let n = 0; n < ${LINES}; n++) log.info("line", { n });
      log.access(${JSON.stringify({ ...requestRow(visit, {}), usage: noUsage() })});
      ${ending}`,
    );
    const child = startChild({ script, args: [], cwd: folder.path, ...(stdout !== undefined && { stdout }) });
    children.push(child);
    return child;
  }

  function numbersOf(text: string): number[] {
    expect(text.endsWith("\n")).toBe(true);
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .map(({ msg, n }) => (msg === "request" ? LINES : n));
  }

  const ALL = Array.from({ length: LINES }, (_, n) => n);

  test.each(["process.exit(3);", "process.exitCode = 3;", "setImmediate(() => process.exit(3));"])(
    "to a pipe: %s",
    async (ending) => {
      const pipe = openFifo(join(folder.path, "pipe"));
      const child = startLogger(ending, pipe.writer);
      pipe.closeWriter();
      const text = await pipe.readUntil(() => false);
      expect(await child.exited).toEqual({ code: 3, signal: null });
      expect(numbersOf(text)).toEqual([...ALL, LINES]);
    },
  );

  test.each(["process.exit(3);", "setImmediate(() => process.exit(3));"])("to a socket: %s", async (ending) => {
    const child = startLogger(ending);
    expect(await child.exited).toEqual({ code: 3, signal: null });
    // A thread's write may come after the others.
    expect(numbersOf(child.stdout()).sort((a, b) => a - b)).toEqual([...ALL, LINES]);
  });

  test("but a pipe that nobody reads does not keep it from ending", async () => {
    const pipe = openFifo(join(folder.path, "pipe"));
    expect(await startLogger("process.exitCode = 3;", pipe.writer).exited).toEqual({ code: 3, signal: null });
  });

  test("to a file", async () => {
    const path = join(folder.path, "out");
    const fd = openSync(path, "a");
    expect(await startLogger("process.exit(3);", fd).exited).toEqual({ code: 3, signal: null });
    closeSync(fd);
    expect(numbersOf(readFileSync(path, "utf8"))).toEqual([...ALL, LINES]);
  });
});
