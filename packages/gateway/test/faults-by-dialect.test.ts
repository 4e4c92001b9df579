import type { RequestRecord } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectNothingInside, type Seen, seen } from "./support/answers.ts";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { FAULTS, type Fault, finalTold, type Mode, NOTHING_HEALTHY, type Outcome } from "./support/dialect-faults.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { expectSums, type InvoiceLine, microUsd } from "./support/ledger-check.ts";
import { wrongError, wrongStreamError } from "./support/matrix-expected.ts";
import { rowsOf } from "./support/matrix-run.ts";

/* Every fault over real sockets, to a client of every dialect: what it is told, what the provider was asked, what the ledger says. */

/** A deployment's API for each client: its own, and one that its calls are translated to. */
const LANES = {
  chat: { own: "chat", foreign: "messages" },
  responses: { own: "responses", foreign: "generate" },
  messages: { own: "messages", foreign: "chat" },
  gemini: { own: "generate", foreign: "responses" },
} as const satisfies Partial<Record<ClientName, unknown>>;
type Client = keyof typeof LANES;
const CLIENTS = Object.keys(LANES) as Client[];

interface Case extends Fault {
  client: Client;
  chain: "alone" | "next";
  /** Alias and faulty deployment: each case has its own, so that none is kept waiting for what another one did. */
  id: string;
}

/** What fails by itself speaks the client's own dialect, what has another one behind it speaks a foreign one. */
const CASES: readonly Case[] = FAULTS.flatMap((fault, index) =>
  CLIENTS.flatMap((client) =>
    (["alone", "next"] as const).map((chain) => ({ ...fault, client, chain, id: `f${index}-${client}-${chain}` })),
  ),
);

const PRICE = { input: 1, cached: 1, output: 2 };
const TOTAL_MS = 20_000;
/** Long enough for a busy machine, unless waiting is what the fault is about. */
const PATIENT = { connect: "5s", first_token: "10s", idle: "10s" };
const HASTY = { connect: "5s", first_token: "500ms", idle: "400ms" };
const HASTY_HOP_MS = 800;

let gateway: TestGateway;
let log: FaultLog;
/** What was billed for it all. */
let bill: readonly InvoiceLine[];
const played = new Map<string, { answer: Seen; row: RequestRecord }>();

beforeAll(async () => {
  log = faultLog();
  gateway = await startTestGateway({ log, config: JSON.stringify(config()) });
  await playAll();
}, 180_000);

afterAll(async () => {
  log.expectNoFault();
  const stats = (await (await gateway.admin("/v1/stats")).json()) as { in_flight: number };
  expect(stats.in_flight).toBe(0);
  await gateway.close();
});

function config(): unknown {
  const deployments: Record<string, unknown> = {};
  const routes: Record<string, unknown> = {};
  const deploy = (name: string, model: string, api: string, timeouts: unknown = PATIENT): void => {
    const tagged = `${model}${model.includes("?") ? "&" : "?"}tag=${name}`;
    deployments[name] = { provider: "sim", model: tagged, api, timeouts, price: { input: 1, output: 2 } };
  };
  const retries = { attempts: 2, base: "1ms", cap: "1ms", budget: 1 };
  const route = (alias: string, chain: string[], hop = "10s"): void => {
    routes[alias] = { chain, retries, timeouts: { hop, total: `${TOTAL_MS}ms` } };
  };
  for (const { id, client, chain, model, mode, waits } of CASES) {
    const { own, foreign } = LANES[client];
    deploy(id, model, chain === "alone" ? own : foreign, waits ? HASTY : PATIENT);
    if (chain === "next") deploy(`${id}-echo`, "echo", own);
    // A whole answer has no first token: its hop is what it has.
    route(id, chain === "alone" ? [id] : [id, `${id}-echo`], waits && mode === "json" ? `${HASTY_HOP_MS}ms` : "10s");
  }
  for (const client of CLIENTS) {
    for (const mode of ["json", "stream"]) {
      const name = `${client}-${mode}`;
      deploy(`down-${name}`, "error", LANES[client].own);
      deploy(`flaps-${name}`, "error?every=2", LANES[client].own);
      deploy(`shaky-${name}`, "error?every=2", LANES[client].foreign);
      deploy(`echo-${name}`, "echo", LANES[client].own);
      route(`down-${name}`, [`down-${name}`]);
      route(`flaps-${name}`, [`flaps-${name}`]);
      route(`shaky-${name}`, [`shaky-${name}`, `echo-${name}`]);
    }
  }
  return {
    providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
    ...{ deployments, routes },
    tenants: { default: { models: { allow: ["*"] } } },
    keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
  };
}

/** One call, as its client sees it. */
async function ask(alias: string, client: Client, mode: Mode): Promise<{ answer: Seen; requestId: string }> {
  const dialect = DIALECTS[client];
  const stream = mode === "stream";
  const response = await gateway.post(dialect.body(alias, stream), { path: dialect.path(alias, stream) });
  return { answer: await seen(response), requestId: response.headers.get("x-request-id") ?? "" };
}

const CALLS_AT_ONCE = 16;

async function playAll(): Promise<void> {
  const answers: { id: string; requestId: string; answer: Seen }[] = [];
  const waiting = CASES.values();
  const work = async (): Promise<void> => {
    for (const { id, client, mode } of waiting) answers.push({ id, ...(await ask(id, client, mode)) });
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
  const rows = await rowsOf({ gateway }, answers);
  bill = gateway.simulator.invoice().lines;
  for (const { id, requestId, answer } of answers) {
    const row = rows.get(requestId);
    if (row) played.set(id, { answer, row });
  }
}

/** Calls that the simulator has had for a deployment. */
function hitsOf(deployment: string): number {
  const models = Object.entries(gateway.simulator.requests().by_model);
  return models.reduce((sum, [model, count]) => sum + (model.endsWith(`tag=${deployment}`) ? count : 0), 0);
}

/** What holds for every row, however its request went. */
function expectConsistent(row: RequestRecord): void {
  expectSums(row);
  for (const { status, model, error_class: kind, usage, cost_micro_usd: cost } of row.attempts) {
    expect(status === "ok").toBe(kind === null);
    expect(cost).toBe(microUsd(usage, PRICE));
    if (kind !== null) continue;
    const { input_tokens, output_tokens } = usage;
    const lines = bill.filter((line) => line.model === model);
    expect(lines).toMatchObject([{ input_tokens, output_tokens, finished: true }]);
  }
  row.attempts.forEach(({ deployment, retry }, index) => {
    expect(retry).toBe(row.attempts[index - 1]?.deployment === deployment);
  });
}

function expectServed({ client, mode }: Pick<Case, "client" | "mode">, { status, text }: Seen): void {
  expect(status).toBe(200);
  const dialect = DIALECTS[client];
  const stream = mode === "stream";
  dialect.check(text, stream);
  const [choice] = dialect.read(Buffer.from(text), stream).choices;
  expect(choice).toMatchObject({ text: "Grüße 👋", finish: "stop" });
}

/** Whether the error is the provider's own, word for word (ruling 18). */
function isVerbatim({ class: kind, chain }: Case): boolean {
  return chain === "alone" && (kind === "context_overflow" || kind === "content_filtered");
}

async function expectTold(entry: Case, answer: Seen): Promise<void> {
  const { client, advice, class: kind } = entry;
  if (kind === null) throw new Error("nothing has failed");
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(answer.headers.get("x-should-retry")).toBe(String(advice.shouldRetry));
  const seconds = answer.headers.get("retry-after");
  if (advice.retryAfterS === null) expect(seconds).toBeNull();
  else {
    const [least, most] = advice.retryAfterS;
    expect(Number(seconds)).toBeGreaterThanOrEqual(least);
    expect(Number(seconds), `retry-after-ms ${answer.headers.get("retry-after-ms")}`).toBeLessThanOrEqual(most);
    expect(Math.ceil(Number(answer.headers.get("retry-after-ms")) / 1_000)).toBe(Number(seconds));
  }
  if (isVerbatim(entry)) {
    const direct = await askProvider(entry);
    expect(answer.status).toBe(direct.status);
    expect(withoutId(answer.text)).toEqual(withoutId(direct.text));
    return;
  }
  expect(wrongError(client, answer.status, JSON.parse(answer.text), finalTold(kind))).toBeNull();
  if (client === "messages" && kind === "context_overflow") expect(answer.text).toContain("prompt is too long");
}

/** What a provider of the client's own dialect says to the same request. */
async function askProvider({ client, model, mode }: Case): Promise<Seen> {
  const dialect = DIALECTS[client];
  const stream = mode === "stream";
  const name = client === "gemini" ? encodeURIComponent(model) : model;
  const response = await fetch(`${gateway.simulator.url}${dialect.path(name, stream)}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(client === "gemini" ? { "x-goog-api-key": "k" } : { authorization: "Bearer k" }),
      ...(client === "messages" && { "anthropic-version": "2023-06-01" }),
    },
    body: JSON.stringify(dialect.body(model, stream)),
  });
  return seen(response);
}

/** Each of Anthropic's errors has an id of its own. */
function withoutId(text: string): unknown {
  const { request_id: _, ...said } = JSON.parse(text) as Record<string, unknown>;
  return said;
}

function expectFailures(row: RequestRecord, entry: Case, { hits, ends }: Outcome): void {
  const failed = row.attempts.filter(({ status }) => status === "failed");
  expect(failed).toHaveLength(ends === "served" ? hits - 1 : hits);
  for (const attempt of failed) {
    expect(attempt).toMatchObject({ deployment: entry.id, error_class: entry.class });
    if (ends === "broken") {
      expect(attempt.cost_state).toBe("estimated");
      expect(attempt.usage.output_tokens).toBeGreaterThan(0);
    } else {
      expect(attempt.cost_state).toBe(entry.billed ? "estimated" : "known");
      expect(attempt.usage.input_tokens > 0).toBe(entry.billed);
    }
  }
}

describe("a fault", () => {
  test.each(CASES)("$name ($client, $mode, $chain)", async (entry) => {
    const { client, mode, chain, id, class: kind } = entry;
    const outcome = entry[chain];
    const { answer, row } = played.get(id) ?? expect.unreachable("it has no row");
    expectNothingInside(answer);
    expect(answer.text).not.toContain(CLIENT_KEY);
    expect(hitsOf(id)).toBe(outcome.hits);
    expect(hitsOf(`${id}-echo`)).toBe(outcome.ends === "moved" ? 1 : 0);
    expect(row).toMatchObject({ alias: id, dialect: DIALECTS[client].protocol, stream: mode === "stream" });
    expect(row.latency_ms).toBeLessThan(TOTAL_MS);
    if (chain === "alone") expect(row.latency_ms).toBeGreaterThanOrEqual(entry.leastMs);
    expectConsistent(row);
    expectFailures(row, entry, outcome);
    if (outcome.ends === "served" || outcome.ends === "moved") {
      expectServed(entry, answer);
      const depth = outcome.ends === "moved" ? 1 : 0;
      expect(row).toMatchObject({ status: "ok", error_code: null, finish_reason: "stop", fallback_depth: depth });
      expect(row.deployment).toBe(depth === 0 ? id : `${id}-echo`);
      expect(row.attempts.at(-1)).toMatchObject({ status: "ok", cost_state: "known" });
      return;
    }
    if (kind === null) throw new Error("nothing has failed");
    expect(row).toMatchObject({ status: "failed", error_code: finalTold(kind).code, fallback_depth: 0 });
    if (outcome.ends === "told") return expectTold(entry, answer);
    expect(answer.status).toBe(200);
    expect(answer.text.match(/lorem|Grüße/g)).toHaveLength(1);
    expect(wrongStreamError(client, answer.text, finalTold(kind))).toBeNull();
  });
});

const BY_MODE = CLIENTS.flatMap((client) => (["json", "stream"] as const).map((mode) => ({ client, mode })));

describe.concurrent("a deployment that goes on failing", () => {
  test.each(BY_MODE)("is no longer asked once its circuit is open: $client, $mode", async ({ client, mode }) => {
    const alias = `down-${client}-${mode}`;
    for (let i = 0; i < 3; i++) expectFailed(client, await ask(alias, client, mode));
    expect(hitsOf(alias)).toBe(5);
    await expectRefused(client, await ask(alias, client, mode));
    expect(hitsOf(alias)).toBe(5);
  });

  test.each(BY_MODE)("every other time is no longer asked either: $client, $mode", async ({ client, mode }) => {
    const alias = `flaps-${client}-${mode}`;
    for (let i = 0; i < 3; i++) expectServed({ client, mode }, (await ask(alias, client, mode)).answer);
    // Half of six calls: nothing is left to retry with.
    expectFailed(client, await ask(alias, client, mode));
    await expectRefused(client, await ask(alias, client, mode));
    expect(hitsOf(alias)).toBe(6);
  });

  test.each(BY_MODE)(
    "every other time is put behind the one that is well: $client, $mode",
    async ({ client, mode }) => {
      const name = `${client}-${mode}`;
      const rows: RequestRecord[] = [];
      for (let i = 0; i < 5; i++) {
        const { answer, requestId } = await ask(`shaky-${name}`, client, mode);
        expectServed({ client, mode }, answer);
        rows.push(await gateway.row(requestId));
      }
      const well = [`shaky-${name}`, null];
      const ill = [`shaky-${name}`, "provider_error"];
      const other = [`echo-${name}`, null];
      expect(rows.map(({ attempts }) => attempts.map((one) => [one.deployment, one.error_class]))).toEqual([
        ...[[well], [ill, well], [ill, well], [other], [other]],
      ]);
      expect(hitsOf(`shaky-${name}`)).toBe(5);
      expect(hitsOf(`echo-${name}`)).toBe(2);
    },
  );
});

type Asked = Awaited<ReturnType<typeof ask>>;

function expectFailed(client: Client, { answer }: Asked): void {
  expect(wrongError(client, answer.status, JSON.parse(answer.text), finalTold("provider_error"))).toBeNull();
  expect(answer.headers.get("x-should-retry")).toBe("false");
}

/** Without a call, and with the time at which there may be one again. */
async function expectRefused(client: Client, { answer, requestId }: Asked): Promise<void> {
  const told = { ...NOTHING_HEALTHY, status: client === "messages" ? 529 : 503 };
  expect(wrongError(client, answer.status, JSON.parse(answer.text), told)).toBeNull();
  expect(answer.headers.get("x-should-retry")).not.toBe("false");
  const seconds = Number(answer.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(30);
  expect(answer.headers.get("retry-after-ms")).toMatch(/^\d+$/);
  const row = await gateway.row(requestId);
  expect(row).toMatchObject({ error_code: "no_healthy_deployment", attempts: [], cost_micro_usd: 0 });
}
