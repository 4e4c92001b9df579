import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { GateQuestion } from "../src/config/model-changes.ts";
import { type Log, silentLog } from "../src/telemetry/log.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { until } from "./support/until.ts";

/** A config whose alias `default` leads to `sim/MODEL`, with a gate. */
const configOf = (model: string, gate: string, extra = ""): string => `gateway: { gate: ${gate} }
providers: { sim: { kind: simulator, base_url: SIMULATOR } }
routes:
  default: { chain: ["sim/${model}"] }
  still: { chain: [sim/echo] }
keys: [{ id: test, hash: 'KEYHASH' }]
${extra}`;

const logged: string[] = [];
const keep = (message: string): void => void logged.push(message);
const log: Log = { ...silentLog, info: keep, warn: keep, error: keep };

let gateway: TestGateway;
let webhook: Server | null = null;
afterEach(async () => {
  await gateway.close();
  webhook?.closeAllConnections();
  webhook?.close();
  webhook = null;
  logged.length = 0;
});

/** The model that alias `default` is answered by. */
async function served(): Promise<string> {
  const response = await gateway.post({ model: "default", messages: [{ role: "user", content: "hi" }] });
  return response.headers.get("x-sluicegate-deployment") ?? `status ${response.status}`;
}

async function configState(): Promise<unknown> {
  const response = await gateway.admin("/v1/health");
  return ((await response.json()) as { config: { state: string } }).config.state;
}

/** Writes the change and reloads; gives what was said of it. */
async function change(config: string): Promise<{ ok: boolean; report: string }> {
  gateway.writeConfig(config);
  return gateway.gateway.reload();
}

/** A command in the config's folder: a script, and what it was asked. */
const command = "{ command: ./gate.sh, timeout: 5s }";
const path = (name: string): string => join(gateway.dataDir, name);
const question = (): GateQuestion => JSON.parse(readFileSync(path("question.json"), "utf8")) as GateQuestion;

function script(text: string): void {
  // Written beside and moved, so that nothing half asked is read.
  writeFileSync(path("gate.sh"), `#!/bin/sh\ncat > question.tmp && mv question.tmp question.json\n${text}\n`, {
    mode: 0o755,
  });
}

test("a start is not asked about, and neither is a reload that changes no alias's model", async () => {
  gateway = await startTestGateway({ config: configOf("echo", command) });
  script("exit 1");
  const result = await change(configOf("echo", command, "alerts: [{ url: http://127.0.0.1:9 }]"));
  expect(result.ok).toBe(true);
  expect(existsSync(path("question.json"))).toBe(false);
  expect(await served()).toBe("sim/echo");
});

test("a command that ends with 0 lets a change through, which it was told of", async () => {
  gateway = await startTestGateway({ config: configOf("echo", command) });
  script("exit 0");
  expect(await change(configOf("other", command))).toMatchObject({ ok: true });
  expect(await served()).toBe("sim/other");
  const { from, to, changes } = question();
  expect(from).toMatch(/^[0-9a-f]{12}$/);
  expect(to).not.toBe(from);
  const to1 = (model: string) => [{ deployment: `sim/${model}`, provider: "sim", model }];
  const rest = { tenant_overrides: {}, canary: [], rules: [] };
  expect(changes).toEqual([
    { alias: "default", before: { chain: to1("echo"), ...rest }, after: { chain: to1("other"), ...rest } },
  ]);
});

test("one that ends otherwise keeps the old config, says why, and shows in health until the file is put right", async () => {
  gateway = await startTestGateway({ config: configOf("echo", command), log });
  script("echo 'worse on 3 of 40 cases' >&2; exit 7");
  const refused = await change(configOf("other", command));
  expect(refused).toMatchObject({ ok: false });
  expect(refused.report).toContain("exit code 7: worse on 3 of 40 cases");
  expect(logged).toContainEqual(expect.stringMatching(/^config refused: the gate does not allow .* exit code 7/));
  expect(await served()).toBe("sim/echo");
  expect(await configState()).toBe("last_good");
  expect(await change(configOf("echo", command))).toMatchObject({ ok: true });
  expect(await configState()).toBe("ok");
});

test("a gate cannot be reloaded away together with the change it would not allow", async () => {
  gateway = await startTestGateway({ config: configOf("echo", command) });
  script("exit 1");
  const bare = configOf("other", command).replace(/^gateway:.*\n/, "");
  expect(await change(bare)).toMatchObject({ ok: false });
  expect(await served()).toBe("sim/echo");
});

test("a command that does not end is ended, with all that it started", async () => {
  gateway = await startTestGateway({ config: configOf("echo", command.replace("5s", "500ms")) });
  script("sleep 600 & echo $! > pid; wait");
  const refused = await change(configOf("other", command));
  expect(refused.report).toContain("no answer within 0.5s");
  const pid = Number(readFileSync(path("pid"), "utf8"));
  await until("the command's child to be gone", () => !isRunning(pid));
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie is dead: in a container nobody may come to bury it.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("while a gate thinks, the old config is served; a change meanwhile is asked about anew", async () => {
  gateway = await startTestGateway({ config: configOf("echo", command) });
  script('while [ ! -e "go" ]; do sleep 0.02; done; exit 0');
  gateway.writeConfig(configOf("second", command));
  const reload = gateway.gateway.reload();
  await until("the gate to be asked", () => existsSync(path("question.json")));
  expect(await served()).toBe("sim/echo");
  gateway.writeConfig(configOf("third", command));
  writeFileSync(path("go"), "");
  expect(await reload).toMatchObject({ ok: true });
  expect(question().changes[0]?.after.chain[0]?.model).toBe("third");
  expect(await served()).toBe("sim/third");
});

test("closing ends a gate that still thinks", async () => {
  gateway = await startTestGateway({ config: configOf("echo", command) });
  script("echo $$ > pid; sleep 600");
  gateway.writeConfig(configOf("other", command));
  const reload = gateway.gateway.reload();
  const pid = await until(
    "the gate to run",
    () => existsSync(path("pid")) && Number(readFileSync(path("pid"), "utf8")),
  );
  await gateway.gateway.close();
  expect(await reload).toMatchObject({ changed: false });
  await until("the command to be gone", () => !isRunning(pid));
});

test.each<[says: string, status: number, body: string, ok: boolean, reason: string]>([
  ["200 without a word", 200, "", true, ""],
  ["200 and allow", 200, '{"allow":true}', true, ""],
  ["200 and no", 200, '{"allow":false,"reason":"too\\u0007 dear"}', false, "on: too dear"],
  ["200 and no reason", 200, '{"allow":false}', false, "it said `allow: false`"],
  ["500", 500, "oops", false, "status 500"],
  ["a redirect", 302, "", false, "cannot be asked"],
])("a webhook that says %s", async (_, status, body, ok, reason) => {
  const asked: GateQuestion[] = [];
  webhook = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += String(part);
    asked.push(JSON.parse(text) as GateQuestion);
    response.writeHead(status, { location: "/elsewhere" }).end(body);
  });
  await new Promise<void>((resolve) => webhook?.listen(0, "127.0.0.1", resolve));
  const gate = `{ webhook: "http://127.0.0.1:${(webhook.address() as AddressInfo).port}/ask" }`;
  gateway = await startTestGateway({ config: configOf("echo", gate) });
  const result = await change(configOf("other", gate));
  expect(result.ok).toBe(ok);
  expect(result.report).toContain(reason);
  expect(asked[0]?.changes.map(({ alias }) => alias)).toEqual(["default"]);
  expect(await served()).toBe(ok ? "sim/other" : "sim/echo");
});

test("a webhook where nobody answers is no", async () => {
  const gate = '{ webhook: "http://127.0.0.1:9/" }';
  gateway = await startTestGateway({ config: configOf("echo", gate) });
  expect((await change(configOf("other", gate))).report).toContain("it cannot be asked (");
  expect(await served()).toBe("sim/echo");
});
