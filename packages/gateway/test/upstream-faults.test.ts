import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ErrorBody, ErrorClass, RequestRecord } from "@sluicegate/contract";
import type { ScriptResponse } from "@sluicegate/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorIn, expectNothingInside, type Seen, seen } from "./support/answers.ts";
import { choicesOf, eventsOf, finishesOf, type ReadEvents, textOf } from "./support/events.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { ADMIN_KEY, CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { until } from "./support/until.ts";
import { chatChunk } from "./support/upstream.ts";

type Mode = "json" | "stream";

/** What a client is told when the faulty deployment is all there is. Null: it is served. */
interface Told {
  status: number;
  code: string;
  hits: number;
  /** The provider's own words are passed on (ruling 18). */
  verbatim?: boolean;
  shouldRetry?: "true" | "false";
  retryAfter?: { least: number; most: number };
}

/** One way for an upstream to fail, and what has to come of it. */
interface Fault {
  name: string;
  /** The simulator's model; each use gets a tag of its own, so that its calls can be counted. */
  model: string;
  modes?: Mode[];
  /** The class of the failed attempt; null where there is no failure. */
  class: ErrorClass | null;
  /** With another deployment in the chain: how often this one is asked, and whether the other one is. */
  chained: { hits: number; moves: boolean };
  alone: Told | null;
  /** Whether a failed attempt is billed by estimate (ruling 10). */
  billed?: boolean | Mode;
}

const SECRET = "sk-upstream-0123456789abcdef";
/** What providers' error bodies should not tell, and do. Models whose name begins with `leak` answer with it. */
const LEAK = `host 10.1.2.3 key ${SECRET}`;

const FAILED = { status: 502, code: "all_providers_failed" };
const OVERLOADED = {
  status: 503,
  code: "overloaded",
  shouldRetry: "false",
  retryAfter: { least: 1, most: 1 },
} as const;
const LIMITED = { status: 429, code: "rate_limit_exceeded" };
/** Tried again in place, then left; alone it is asked twice. */
const inPlace = (kind: ErrorClass, told: Omit<Told, "hits"> = FAILED) => ({
  class: kind,
  chained: { hits: 2, moves: true },
  alone: { ...told, hits: 2 },
});
/** Left at once; alone it is asked twice. */
const leftAtOnce = (kind: ErrorClass, told: Omit<Told, "hits">) => ({
  class: kind,
  chained: { hits: 1, moves: true },
  alone: { ...told, hits: 2 },
});
/** Never worth asking again. */
const hopeless = (kind: ErrorClass) => ({
  class: kind,
  chained: { hits: 1, moves: true },
  alone: { ...FAILED, hits: 1 },
});
/** The client's own affair: nobody else is asked. */
const final = (kind: ErrorClass, status: number, code: string, verbatim = true) => ({
  class: kind,
  chained: { hits: 1, moves: false },
  alone: { status, code, hits: 1, verbatim },
});
const served = { class: null, chained: { hits: 1, moves: false }, alone: null };

const FAULTS: Fault[] = [
  { name: "an HTML page", model: "html", ...inPlace("invalid_response") },
  { name: "an HTML page with 502", model: "html?status=502", ...inPlace("provider_error") },
  { name: "an HTML page with 503", model: "html?status=503", ...leftAtOnce("overloaded", OVERLOADED) },
  { name: "a redirect", model: "html?status=302", ...inPlace("invalid_response") },
  { name: "nothing, with 200", model: "empty", ...inPlace("invalid_response"), billed: "stream" },
  { name: "nothing, with 204", model: "empty?status=204", ...inPlace("invalid_response"), billed: "stream" },
  { name: "nothing, with 500", model: "empty?status=500", ...inPlace("provider_error") },
  { name: "half an answer", model: "half", ...inPlace("invalid_response") },
  { name: "an error under 200", model: "error200", ...inPlace("provider_error") },
  { name: "a rate limit under 200", model: "error200?status=429", ...leftAtOnce("rate_limited", LIMITED) },
  { name: "an overload under 200", model: "error200?status=503", ...leftAtOnce("overloaded", OVERLOADED) },
  { name: "a named error event", model: "error200?named=1&done=1", modes: ["stream"], ...inPlace("provider_error") },
  {
    name: "a cut before output",
    model: "cut?after=0",
    modes: ["stream"],
    ...inPlace("invalid_response"),
    billed: true,
  },
  { name: "a cut answer", model: "cut", modes: ["json"], ...inPlace("invalid_response"), billed: true },
  { name: "a broken answer", model: "broken", modes: ["json"], ...inPlace("invalid_response") },
  { name: "a broken first event", model: "broken?after=0", modes: ["stream"], ...inPlace("invalid_response") },
  { name: "a reset", model: "reset", ...inPlace("connection_failed"), billed: true },
  { name: "a reset within", model: "reset?after=0", ...inPlace("invalid_response"), billed: true },
  { name: "silence", model: "hang", ...leftAtOnce("timeout", timeout()), billed: true },
  {
    name: "silence after the headers",
    model: "prestall?preamble=0",
    ...leftAtOnce("timeout", timeout()),
    billed: true,
  },
  { name: "silence within", model: "hang?after=0", ...leftAtOnce("timeout", timeout()), billed: true },
  {
    name: "silence after a preamble",
    model: "prestall?preamble=3",
    modes: ["stream"],
    ...leftAtOnce("timeout", timeout()),
    billed: true,
  },
  { name: "a gateway timeout", model: "error?status=504", ...leftAtOnce("timeout", timeout()) },
  { name: "500", model: "leak500", ...inPlace("provider_error") },
  { name: "500 under 200", model: "leak200", modes: ["json"], ...inPlace("provider_error") },
  { name: "500 as the first event", model: "leakfirst", modes: ["stream"], ...inPlace("provider_error") },
  { name: "500 without a body", model: "error?shape=none", ...inPlace("provider_error") },
  {
    name: "500 once",
    model: "error?times=1",
    class: "provider_error",
    chained: { hits: 2, moves: false },
    alone: null,
  },
  { name: "503", model: "leak503", ...leftAtOnce("overloaded", OVERLOADED) },
  { name: "529", model: "error?status=529", ...leftAtOnce("overloaded", OVERLOADED) },
  {
    name: "503 with a long Retry-After",
    model: "error?status=503&retry_after=60",
    class: "overloaded",
    chained: { hits: 1, moves: true },
    alone: { ...OVERLOADED, hits: 1, shouldRetry: "true", retryAfter: { least: 60, most: 60 } },
  },
  { name: "429", model: "leak429", ...leftAtOnce("rate_limited", { ...LIMITED, ...after(1, 2) }) },
  {
    name: "429 with Retry-After in ms",
    model: "error?status=429&retry_after_ms=20",
    ...leftAtOnce("rate_limited", { ...LIMITED, shouldRetry: "false", ...after(1, 1) }),
  },
  {
    name: "429 with a long Retry-After",
    model: "error?status=429&retry_after=60",
    class: "rate_limited",
    chained: { hits: 1, moves: true },
    alone: { ...LIMITED, hits: 1, shouldRetry: "true", ...after(60, 60) },
  },
  {
    name: "429 with a date",
    model: "error?status=429&retry_after=date:40",
    class: "rate_limited",
    chained: { hits: 1, moves: true },
    alone: { ...LIMITED, hits: 1, shouldRetry: "true", ...after(30, 40) },
  },
  {
    name: "429 once",
    model: "error?status=429&times=1&retry_after_ms=20",
    class: "rate_limited",
    chained: { hits: 1, moves: true },
    alone: null,
  },
  { name: "no credit", model: "quota", ...hopeless("quota_exhausted") },
  { name: "no credit as 402", model: "error?status=402", ...hopeless("quota_exhausted") },
  { name: "a bad key", model: "badkey", ...hopeless("auth_failed") },
  { name: "a forbidden key", model: "error?status=403", ...hopeless("auth_failed") },
  { name: "a missing model", model: "missing", ...hopeless("model_not_found") },
  { name: "too long a context", model: "context", ...final("context_overflow", 400, "context_length_exceeded") },
  { name: "a filtered prompt", model: "filter", ...final("content_filtered", 400, "content_filter") },
  {
    name: "a filtered prompt under 200",
    model: "error200?status=400&code=content_filter",
    ...final("content_filtered", 400, "content_filter"),
  },
  {
    name: "a bad request",
    model: "leak400",
    ...final("bad_request", 400, "bad"),
  },
  { name: "422", model: "error?status=422&code=bad", ...final("bad_request", 400, "bad") },
  { name: "413", model: "error?status=413&code=big", ...final("bad_request", 413, "big") },
  { name: "an HTML page with 400", model: "html?status=400", ...final("bad_request", 400, "invalid_request", false) },
  { name: "an HTML page with 413", model: "html?status=413", ...final("bad_request", 413, "request_too_large", false) },
  { name: "an HTML page with 404", model: "html?status=404", ...hopeless("model_not_found") },
  { name: "an HTML page with 403", model: "html?status=403", ...hopeless("auth_failed") },
  // Nobody has left here: whatever a provider means by it, the client is waiting for an answer.
  { name: "499", model: "error?status=499", ...inPlace("provider_error") },
  { name: "no end mark", model: "nodone", ...served },
  { name: "gzip nobody asked for", model: "gzip", ...served },
  { name: "a line of a million bytes", model: "longline?bytes=1000000", ...served },
  { name: "an answer cut by a filter", model: "filter200", ...served },
  { name: "no usage", model: "nousage", ...served },
  { name: "tiny chunks", model: "echo?chunk=1", ...served },
  { name: "CRLF and comments", model: "echo?crlf=1&comments=1", ...served },
];

function timeout(): Omit<Told, "hits"> {
  return { status: 504, code: "provider_timeout", shouldRetry: "false" };
}

function after(least: number, most: number): Pick<Told, "retryAfter"> {
  return { retryAfter: { least, most } };
}

interface Case {
  fault: Fault;
  mode: Mode;
  /** Names its two routes and deployments. */
  id: string;
}

const CASES: Case[] = FAULTS.flatMap((fault, index) =>
  (fault.modes ?? (["json", "stream"] as Mode[])).map((mode) => ({ fault, mode, id: `f${index}-${mode}` })),
);

/** Faults of streams that have begun. */
const LATE: { name: string; model: string; class: ErrorClass; code?: string; told?: string }[] = [
  { name: "an error event", model: "leaklate", class: "provider_error" },
  { name: "a named error event and an end mark", model: "errorafter?after=3&named=1&done=1", class: "provider_error" },
  { name: "a rate limit", model: "errorafter?after=3&status=429", class: "rate_limited", code: "rate_limit_exceeded" },
  {
    name: "a filter",
    model: "errorafter?after=3&status=400&code=content_filter",
    class: "content_filtered",
    code: "content_filter",
  },
  { name: "a cut", model: "cut?after=3", class: "invalid_response" },
  { name: "a cut connection", model: "cut?after=3&fin=1", class: "invalid_response" },
  { name: "a reset", model: "reset?after=3", class: "invalid_response" },
  { name: "a broken event", model: "broken?after=3", class: "invalid_response" },
  { name: "silence", model: "hang?after=3", class: "timeout", code: "provider_timeout" },
];

const TEXT = "one two three four five six";
let gateway: TestGateway;
let log: FaultLog;

beforeAll(async () => {
  log = faultLog();
  gateway = await startTestGateway({ log, config: JSON.stringify(config(await closedPort())) });
  script();
});

afterAll(async () => {
  log.expectNoFault();
  expect(log.lines.join("\n")).not.toContain(SECRET);
  const stats = (await (
    await fetch(`${gateway.url}/v1/stats`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } })
  ).json()) as { in_flight: number };
  expect(stats.in_flight).toBe(0);
  await gateway.close();
});

/** The answers that leak. */
function script(): void {
  const error = (code: string | null, type: string) => ({ error: { message: LEAK, type, param: null, code } });
  const server = error(null, "server_error");
  const words = ["one ", "two ", "three "].map((content) => chatChunk({ content }).slice("data: ".length).trim());
  const answers: Record<string, ScriptResponse> = {
    leak500: { status: 500, body: server },
    leak503: { status: 503, body: error("server_is_overloaded", "service_unavailable_error") },
    leak429: { status: 429, body: error("rate_limit_exceeded", "requests") },
    leak400: { status: 400, body: error("bad", "invalid_request_error") },
    leak200: { body: server },
    leakfirst: { events: [server] },
    leaklate: { events: [...words, server] },
  };
  for (const [model, response] of Object.entries(answers)) {
    gateway.simulator.script({ match: { model: `${model}?*` }, response });
  }
}

function config(deadPort: number): unknown {
  const price = { input: 1, output: 2 };
  // Long enough for a busy machine, unless waiting is what the fault is about.
  const patient = { connect: "5s", first_token: "10s", idle: "10s" };
  const hasty = { connect: "5s", first_token: "500ms", idle: "300ms" };
  const deployments: Record<string, unknown> = {};
  const routes: Record<string, unknown> = {};
  const deploy = (name: string, model: string, more = {}): void => {
    const tagged = `${model}${model.includes("?") ? "&" : "?"}tag=${name}`;
    deployments[name] = { provider: "sim", model: tagged, price, timeouts: patient, ...more };
  };
  const retries = { attempts: 2, base: "1ms", cap: "1ms", budget: 1 };
  const route = (alias: string, chain: string[], more = {}): void => {
    routes[alias] = { chain, retries, timeouts: { hop: "10s", total: "20s" }, ...more };
  };
  for (const { fault, mode, id } of CASES) {
    const waits = fault.class === "timeout" && !fault.model.startsWith("error");
    for (const kind of ["alone", "next"]) deploy(`${id}-${kind}`, fault.model, waits ? { timeouts: hasty } : {});
    deploy(`${id}-echo`, "echo");
    const more = waits && mode === "json" ? { timeouts: { hop: "800ms", total: "20s" } } : {};
    route(`${id}-alone`, [`${id}-alone`], more);
    route(`${id}-next`, [`${id}-next`, `${id}-echo`], more);
  }
  LATE.forEach(({ model, class: kind }, index) => {
    deploy(`late${index}`, model, kind === "timeout" ? { timeouts: { ...patient, idle: "300ms" } } : {});
    deploy(`late${index}-echo`, "echo");
    route(`late${index}`, [`late${index}`, `late${index}-echo`]);
  });
  deploy("echo", "echo");
  for (const name of ["effect", "pinned", "ambiguous", "safe"]) {
    deploy(name, "error");
    route(name, [name, "echo"]);
  }
  for (const mode of ["json", "stream"]) {
    for (const n of [1, 2, 3]) deploy(`hang-${mode}${n}`, "hang");
    deploy(`hang-${mode}-echo`, "echo");
    const chain = [1, 2, 3].map((n) => `hang-${mode}${n}`);
    routes[`deadline-${mode}`] = {
      chain: [...chain, `hang-${mode}-echo`],
      retries,
      timeouts: { hop: "200ms", total: "500ms" },
    };
    deploy(`budget-${mode}`, "hang");
    routes[`budget-${mode}`] = { chain: [`budget-${mode}`, `hang-${mode}-echo`], retries };
    deploy(`endless-${mode}`, `endlessline?bytes=${mode === "json" ? 200_000_000 : 100_000_000}`);
    deploy(`endless-${mode}-echo`, "echo");
    routes[`endless-${mode}`] = { chain: [`endless-${mode}`, `endless-${mode}-echo`], retries: { attempts: 1 } };
  }
  deploy("forever", "long?tokens=10000&between=20ms");
  route("forever", ["forever"], { timeouts: { hop: "1s", total: "1s", stream_max: "1s" } });
  const patientBreaker = { consecutive: 1_000, min_requests: 1_000 };
  deployments["dead"] = { provider: "dead", model: "any-2026-01-01", price, breaker: patientBreaker };
  route("dead-alone", ["dead"]);
  route("dead-next", ["dead", "echo"]);
  return {
    providers: {
      sim: { kind: "openai-compatible", base_url: "SIMULATOR", api_key: SECRET },
      dead: { kind: "openai-compatible", base_url: `http://127.0.0.1:${deadPort}/v1` },
    },
    deployments,
    routes,
    tenants: { default: { models: { allow: ["*"] } } },
    keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
  };
}

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Calls that the simulator has had for a deployment. */
function hitsOf(deployment: string): number {
  const models = Object.entries(gateway.simulator.requests().by_model);
  return models.reduce((sum, [model, count]) => sum + (model.endsWith(`tag=${deployment}`) ? count : 0), 0);
}

/** One call, as the client and the ledger see it. */
async function ask(
  alias: string,
  mode: Mode,
  more: Record<string, unknown> = {},
): Promise<{ answer: Seen; row: RequestRecord }> {
  const messages = [{ role: "user", content: TEXT }];
  const response = await gateway.post({ model: alias, messages, ...(mode === "stream" && { stream: true }), ...more });
  const answer = await seen(response);
  const row = await gateway.row(response.headers.get("x-request-id") ?? "");
  expectNoSecrets(answer);
  expectConsistent(row);
  return { answer, row };
}

function expectNoSecrets(answer: Seen): void {
  expectNothingInside(answer);
  for (const secret of [SECRET, CLIENT_KEY]) expect(answer.text).not.toContain(secret);
}

/** What holds for every row, however its request went. */
function expectConsistent(row: RequestRecord): void {
  const { attempts } = row;
  expect(row.cost_micro_usd).toBe(attempts.reduce((sum, attempt) => sum + attempt.cost_micro_usd, 0));
  expect(attempts.map(({ n }) => n)).toEqual(attempts.map((_, index) => index + 1));
  for (const attempt of attempts) {
    const { usage } = attempt;
    expect(attempt.cost_micro_usd).toBe(usage.input_tokens + 2 * usage.output_tokens);
    expect(attempt.status === "ok").toBe(attempt.error_class === null);
  }
  attempts.forEach((attempt, index) => {
    expect(attempt.retry).toBe(attempts[index - 1]?.deployment === attempt.deployment);
  });
}

function expectServed(mode: Mode, { fault }: Case, answer: Seen): void {
  expect(answer.status).toBe(200);
  if (mode === "json") {
    expect(answer.headers.get("content-type")).toBe("application/json");
    const reply = JSON.parse(answer.text);
    if (!fault.model.startsWith("longline")) expect(reply.choices[0].message.content).toBe(TEXT);
    return;
  }
  expect(answer.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const events = eventsOf(answer.text);
  expect(events.data.filter((event) => event === "[DONE]")).toHaveLength(1);
  expect(events.data.at(-1)).toBe("[DONE]");
  expect(finishesOf(events)).toHaveLength(1);
  expect(choicesOf(events).filter(({ delta }) => delta?.["role"] !== undefined)).toHaveLength(1);
  if (!fault.model.startsWith("longline")) expect(textOf(events)).toBe(TEXT);
}

function expectTold(told: Told, answer: Seen): void {
  expect(answer.status).toBe(told.status);
  if (told.verbatim) {
    const { error } = JSON.parse(answer.text) as { error: ErrorBody };
    expect(error.code).toBe(told.code);
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    expect(answer.headers.get("x-should-retry")).toBe("false");
    return;
  }
  const error = errorIn(answer);
  expect(error.code).toBe(told.code);
  expect(answer.text).not.toContain("10.1.2.3");
  expect(error.attempts).toHaveLength(told.hits);
  expect(answer.headers.get("x-should-retry")).toBe(told.shouldRetry ?? "false");
  if (told.status === 429) expect(error).toMatchObject({ scope: "provider:sim", dimension: "requests" });
  if (!told.retryAfter) {
    if (told.status !== 429) expect(answer.headers.get("retry-after")).toBeNull();
    return;
  }
  const seconds = Number(answer.headers.get("retry-after"));
  expect(seconds).toBeGreaterThanOrEqual(told.retryAfter.least);
  expect(seconds).toBeLessThanOrEqual(told.retryAfter.most);
  expect(Math.ceil(Number(answer.headers.get("retry-after-ms")) / 1_000)).toBe(seconds);
  expect(error.retry_after_ms).toBe(Number(answer.headers.get("retry-after-ms")));
}

function expectFailedAttempts(row: RequestRecord, { fault, mode, id }: Case, count: number): void {
  const failed = row.attempts.filter(({ status }) => status === "failed");
  expect(failed).toHaveLength(count);
  const billed = fault.billed === true || fault.billed === mode;
  for (const attempt of failed) {
    expect(attempt.deployment).toMatch(new RegExp(`^${id}-`));
    expect(attempt.error_class).toBe(fault.class);
    expect(attempt.cost_state).toBe(billed ? "estimated" : "known");
    expect(attempt.usage.input_tokens > 0).toBe(billed);
    expect(attempt.usage.output_tokens).toBe(0);
  }
}

describe.concurrent("with another deployment behind it", () => {
  test.each(CASES)("$fault.name ($mode)", async (entry) => {
    const { fault, mode, id } = entry;
    const { answer, row } = await ask(`${id}-next`, mode);
    const { hits, moves } = fault.chained;
    expect(hitsOf(`${id}-next`)).toBe(hits);
    expect(hitsOf(`${id}-echo`)).toBe(moves ? 1 : 0);
    const failures = fault.class === null ? 0 : moves ? hits : fault.alone === null ? hits - 1 : hits;
    expectFailedAttempts(row, entry, failures);
    if (!moves && fault.alone) {
      expectTold(fault.alone, answer);
      expect(row).toMatchObject({ status: "failed", fallback_depth: 0 });
      return;
    }
    expectServed(mode, entry, answer);
    expect(answer.headers.get("x-sluicegate-deployment")).toBe(moves ? `${id}-echo` : `${id}-next`);
    expect(answer.headers.get("x-sluicegate-attempts")).toBe(String(hits + (moves ? 1 : 0)));
    expect(answer.headers.get("x-sluicegate-fallback-depth")).toBe(moves ? "1" : "0");
    expect(row).toMatchObject({ status: "ok", error_code: null, fallback_depth: moves ? 1 : 0 });
  });
});

describe.concurrent("with nothing behind it", () => {
  test.each(CASES)("$fault.name ($mode)", async (entry) => {
    const { fault, mode, id } = entry;
    const { answer, row } = await ask(`${id}-alone`, mode);
    const told = fault.alone;
    if (told === null) {
      expectServed(mode, entry, answer);
      expect(hitsOf(`${id}-alone`)).toBe(fault.class === null ? 1 : 2);
      expect(row).toMatchObject({ status: "ok", error_code: null });
      const last = row.attempts.at(-1);
      expect(last).toMatchObject({ status: "ok", cost_state: fault.model === "nousage" ? "estimated" : "known" });
      // What is known for certain is what the provider billed.
      if (fault.model !== "nousage") expectBilled(`${id}-alone`, row);
      return;
    }
    expectTold(told, answer);
    expect(hitsOf(`${id}-alone`)).toBe(told.hits);
    expectFailedAttempts(row, entry, told.hits);
    expect(row.status).toBe("failed");
    if (!told.verbatim) expect(row.error_code).toBe(told.code);
    if (!fault.billed) expect(row.cost_micro_usd).toBe(0);
  });
});

function expectBilled(deployment: string, row: RequestRecord): void {
  const { by_model: models } = gateway.simulator.invoice();
  const [, bill] = Object.entries(models).find(([model]) => model.endsWith(`tag=${deployment}`)) ?? [];
  expect(row.attempts.at(-1)?.usage).toMatchObject({
    input_tokens: bill?.input_tokens,
    output_tokens: bill?.output_tokens,
  });
}

test("a filter's finish reason is passed on, and kept", async () => {
  const id = CASES.find(({ fault, mode }) => fault.model === "filter200" && mode === "stream")?.id;
  const { answer, row } = await ask(`${id}-next`, "stream");
  expect(finishesOf(eventsOf(answer.text))).toEqual(["content_filter"]);
  expect(row).toMatchObject({ status: "ok", finish_reason: "content_filter" });
});

test("a provider's own 400 is word for word, but for its secrets", async () => {
  const id = CASES.find(({ fault, mode }) => fault.name === "a bad request" && mode === "json")?.id;
  const { answer } = await ask(`${id}-next`, "json");
  expect(JSON.parse(answer.text)).toEqual({
    error: { message: "host 10.1.2.3 key ***", type: "invalid_request_error", param: null, code: "bad" },
  });
});

describe("nobody there", () => {
  test.each<Mode>(["json", "stream"])("is tried twice, left, and costs nothing (%s)", async (mode) => {
    const { answer, row } = await ask("dead-next", mode);
    expect(answer.status).toBe(200);
    expect(row.attempts.map(({ error_class: kind }) => kind)).toEqual(["connection_failed", "connection_failed", null]);
    expect(row.attempts[0]).toMatchObject({ cost_micro_usd: 0, cost_state: "known", http_status: null });
  });

  test.each<Mode>(["json", "stream"])("alone: 502 (%s)", async (mode) => {
    const { answer } = await ask("dead-alone", mode);
    expectTold({ ...FAILED, hits: 2 }, answer);
    expect(answer.text).not.toContain("ECONNREFUSED");
  });
});

describe.concurrent("once output has begun", () => {
  test.each(LATE.map((late, index) => ({ ...late, id: `late${index}` })))(
    "$name ends it with one error",
    async (late) => {
      const { answer, row } = await ask(late.id, "stream");
      expect(answer.status).toBe(200);
      const events = eventsOf(answer.text);
      expect(textOf(events)).toBe("one two three ");
      expect(finishesOf(events)).toEqual([]);
      const errors = errorEvents(events);
      expect(errors).toHaveLength(1);
      expect(events.data.slice(-2)).toEqual([errors[0], "[DONE]"]);
      expect(events.data.filter((event) => event === "[DONE]")).toHaveLength(1);
      expect(answer.text.includes("10.1.2.3")).toBe(false);
      const code = late.code ?? "all_providers_failed";
      expect(row).toMatchObject({ status: "failed", error_code: code, finish_reason: null, fallback_depth: 0 });
      expect(row.attempts).toHaveLength(1);
      expect(row.attempts[0]).toMatchObject({ status: "failed", error_class: late.class, cost_state: "estimated" });
      expect(row.attempts[0]?.usage.input_tokens).toBeGreaterThan(0);
      expect(row.attempts[0]?.usage.output_tokens).toBe(Math.ceil("one two three ".length / 4));
      expect(hitsOf(late.id)).toBe(1);
      expect(hitsOf(`${late.id}-echo`)).toBe(0);
    },
  );

  test("a stream that never ends is ended at its limit", async () => {
    const { answer, row } = await ask("forever", "stream");
    const events = eventsOf(answer.text);
    expect(errorEvents(events)).toMatchObject([{ error: { code: "provider_timeout" } }]);
    expect(row).toMatchObject({ status: "failed", error_code: "provider_timeout" });
    expect(row.usage.output_tokens).toBeGreaterThan(0);
  });
});

function errorEvents(events: ReadEvents): unknown[] {
  return events.data.filter((event) => event !== "[DONE]" && event["error"] !== undefined);
}

describe("a line that does not end", () => {
  test.each<Mode>(["json", "stream"])("is given up at its bound, and the connection closed (%s)", async (mode) => {
    const { answer, row } = await ask(`endless-${mode}`, mode);
    expect(answer.status).toBe(200);
    expect(row.attempts.map(({ error_class: kind }) => kind)).toEqual(["invalid_response", null]);
    await until("the upstream to see the close", () => {
      const line = gateway.simulator.invoice().lines.find(({ model }) => model.endsWith(`tag=endless-${mode}`));
      return line?.client_closed && !line.finished;
    });
  });
});

describe("the deadline", () => {
  test.each<Mode>(["json", "stream"])("is one for the whole chain (%s)", async (mode) => {
    const { answer, row } = await ask(`deadline-${mode}`, mode);
    expect(answer.status).toBe(504);
    expect(errorIn(answer)).toMatchObject({ code: "provider_timeout", type: "server_error" });
    expect(row.attempts.length).toBeLessThanOrEqual(3);
    expect(hitsOf(`hang-${mode}-echo`)).toBe(0);
    const spent = row.attempts.reduce((sum, { latency_ms: ms }) => sum + ms, 0);
    expect(spent).toBeLessThan(1_500);
  });

  test.each<Mode>(["json", "stream"])("may be the caller's own (%s)", async (mode) => {
    const { answer, row } = await ask(`budget-${mode}`, mode, { gateway: { latency_budget_ms: 200 } });
    expect(answer.status).toBe(504);
    expect(errorIn(answer)).toMatchObject({ code: "latency_budget_exhausted", type: "server_error" });
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(row).toMatchObject({ status: "failed", error_code: "latency_budget_exhausted" });
    expect(hitsOf(`hang-${mode}-echo`)).toBe(0);
  });
});

describe("what must not be repeated", () => {
  const toolResult = {
    messages: [
      { role: "user", content: "pay" },
      { role: "assistant", tool_calls: [{ id: "c1", type: "function", function: { name: "pay", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c1", content: "paid" },
    ],
  };

  test("a side effect: one call, no other deployment", async () => {
    const { answer, row } = await ask("effect", "json", { gateway: { side_effecting: true } });
    expect(answer.status).toBe(502);
    expect(hitsOf("effect")).toBe(1);
    expect(row.attempts).toHaveLength(1);
  });

  test("a caller that forbids fallback: this deployment only", async () => {
    const { answer } = await ask("pinned", "json", { gateway: { fallback: false } });
    expect(answer.status).toBe(502);
    expect(hitsOf("pinned")).toBe(2);
  });

  test("a tool's result after an ambiguous failure: not in place", async () => {
    const { answer } = await ask("ambiguous", "json", toolResult);
    expect(answer.status).toBe(200);
    expect(hitsOf("ambiguous")).toBe(1);
  });

  test("unless the caller says it is safe", async () => {
    const { answer } = await ask("safe", "json", { ...toolResult, gateway: { retry_after_tool_results: true } });
    expect(answer.status).toBe(200);
    expect(hitsOf("safe")).toBe(2);
  });
});
