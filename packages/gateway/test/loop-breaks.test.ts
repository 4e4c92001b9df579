import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openLedgerReader } from "../src/ledger/reader.ts";
import { errorIn, type Seen, seen } from "./support/answers.ts";
import { ADMIN_KEY, configOf, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { until } from "./support/until.ts";

/** One deployment, by its name: what the simulator does, and what the config says of it. */
const DEPLOYMENTS: Record<string, { model: string; more?: Record<string, unknown> }> = {
  echo: { model: "echo" },
  ill: { model: "error?status=500&tag=ill" },
  "taken-out": { model: "echo?tag=out" },
  held: { model: "slow?first_token=600ms&tag=held", more: { limits: { concurrency: 1 } } },
  spare: { model: "echo?tag=spare" },
  tiny: { model: "echo?tag=tiny", more: { limits: { tpm: 4 } } },
  limited: { model: "error?status=429&latency=300ms&tag=limited" },
  narrow: { model: "context?latency=200ms&tag=narrow", more: { context_window: 8_000 } },
  wide: { model: "slow?first_token=600ms&tag=wide", more: { context_window: 200_000 } },
  slow: { model: "slow?first_token=400ms&tag=slow" },
  quick: { model: "error?status=500&tag=quick" },
  cooling: { model: "error?status=429&retry_after_ms=400&times=1&tag=cooling" },
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`bad-${n}`, { model: `error?status=500&tag=bad${n}` }])),
};

const ROUTES: Record<string, { chain: string[] } & Record<string, unknown>> = {
  forced: { chain: ["ill", "taken-out"], when_all_open: "least_bad" },
  held: { chain: ["held"] },
  late: { chain: ["held", "spare"], queue: { max_wait: "5s" } },
  small: { chain: ["held", "tiny"], queue: { max_wait: "1ms" } },
  limited: { chain: ["limited"], retries: { attempts: 1 } },
  roomy: { chain: ["narrow", "wide"], context_fallback: true, hedge: { after: "0ms", max_extra: 1 } },
  first: { chain: ["slow", "quick"], hedge: { after: "0ms", max_extra: 1 } },
  many: { chain: ["bad-1", "bad-2", "bad-3", "bad-4", "bad-5", "bad-6", "cooling"] },
  cooling: { chain: ["cooling"], retries: { attempts: 1 }, when_all_cooling: "refuse" },
};

let gateway: TestGateway;

beforeAll(async () => {
  const deployments = Object.fromEntries(
    Object.entries(DEPLOYMENTS).map(([name, { model, more }]) => [
      name,
      { provider: "sim", model, price: { input: 1, output: 2 }, ...more },
    ]),
  );
  const retries = { base: "1ms", cap: "1ms", budget: 1 };
  const config = {
    providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
    deployments,
    routes: Object.fromEntries(Object.entries(ROUTES).map(([alias, route]) => [alias, { retries, ...route }])),
    tenants: { default: { models: { allow: ["*"] } } },
    keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
  };
  gateway = await startTestGateway({ config: JSON.stringify(config) });
});

afterAll(async () => {
  const stats = (await (await gateway.admin("/v1/stats")).json()) as { in_flight: number };
  expect(stats.in_flight).toBe(0);
  await gateway.close();
});

const body = (model: string, more: Record<string, unknown> = {}) => ({
  model,
  messages: [{ role: "user", content: "one two three" }],
  ...more,
});

async function ask(model: string, more: Record<string, unknown> = {}, headers = {}): Promise<Seen> {
  return seen(await gateway.post(body(model, more), { headers }));
}

const rowOf = (answer: Seen) => gateway.row(answer.headers.get("x-request-id") ?? "");

function hits(deployment: string): number {
  const { model } = DEPLOYMENTS[deployment] ?? { model: "" };
  return gateway.simulator.requests().by_model[model] ?? 0;
}

async function force(deployment: string, what: string, more = {}): Promise<void> {
  const answer = await fetch(`${gateway.url}/admin/circuits/${deployment}/${what}`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
    body: JSON.stringify(more),
  });
  expect(answer.status).toBe(200);
}

/** A call that fills the one place of `held`, from the moment this resolves. */
async function fill(): Promise<{ running: Promise<Seen> }> {
  const before = hits("held");
  const running = ask("held");
  await until("the place to be taken", () => hits("held") > before);
  return { running };
}

describe("the least bad one", () => {
  test("is the only one that is tried by force: a deployment taken out by hand after it is not", async () => {
    await force("ill", "open", { for: "1h" });
    await force("taken-out", "open");
    const answer = await ask("forced");
    expect(answer.status).toBe(502);
    expect(hits("ill")).toBeGreaterThan(0);
    expect(hits("taken-out")).toBe(0);
  });
});

describe("a deadline", () => {
  test("that has passed in line for a place begins no call elsewhere", async () => {
    const { running } = await fill();
    const answer = await ask("late", { gateway: { latency_budget_ms: 150 } });
    expect(answer.status).toBe(504);
    expect(errorIn(answer)).toMatchObject({ code: "latency_budget_exhausted" });
    expect(hits("spare")).toBe(0);
    expect((await rowOf(answer)).attempts).toEqual([]);
    expect((await running).status).toBe(200);
  });
});

describe("a refusal by ceilings", () => {
  test("is for the time being where one of the chain has room again, though another never will", async () => {
    const { running } = await fill();
    const answer = await ask("small");
    expect(errorIn(answer)).toMatchObject({ code: "overloaded", scope: "deployment:held" });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await running).status).toBe(200);
  });
});

describe("Retry-After", () => {
  test("is no time at which nobody comes back, where a hand has opened the circuit in the meantime", async () => {
    const asked = ask("limited");
    await until("the call", () => hits("limited") > 0);
    await force("limited", "open");
    const answer = await asked;
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(3_600);
    await force("limited", "reset");
  });
});

describe("a hedged request", () => {
  test("that is too long for the first goes to the one with more room, which has begun already", async () => {
    const answer = await ask("roomy");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("wide");
    expect(hits("wide")).toBe(1);
  });

  test("that its first one answers has fallen back to nobody, though the second one failed", async () => {
    const answer = await ask("first");
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("slow");
    expect(answer.headers.get("x-sluicegate-fallback-depth")).toBe("0");
    expect(await rowOf(answer)).toMatchObject({ fallback_depth: 0, hedged: true });
  });
});

describe("the attempts of a request", () => {
  test("are at most twelve, also where the next deployment would be well again in a moment", async () => {
    expect((await ask("cooling")).status).toBe(429);
    const answer = await ask("many");
    expect(answer.status).toBe(502);
    expect((await rowOf(answer)).attempts).toHaveLength(12);
  });
});

describe("a replayed answer", () => {
  test("says what it cost itself: nothing", async () => {
    const headers = { "idempotency-key": "cost" };
    const first = await ask("held", {}, headers);
    const again = await ask("held", {}, headers);
    expect(Number(first.headers.get("x-sluicegate-cost-usd"))).toBeGreaterThan(0);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.text).toBe(first.text);
    expect(Number(again.headers.get("x-sluicegate-cost-usd"))).toBe(0);
    expect(await rowOf(again)).toMatchObject({ cost_micro_usd: 0 });
  });
});

describe("a call with an idempotency key whose client has gone", () => {
  test.each([
    ["is waited for by a gateway that shuts down", "long?tokens=40&between=20ms", "10s", "ok"],
    [
      "is ended and recorded when it takes longer than that waits",
      "long?tokens=5000&between=20ms",
      "400ms",
      "cancelled",
    ],
  ])("%s", async (_, model, timeout, status) => {
    const own = await startTestGateway({
      config: configOf({ default: [`sim/${model}`] }, `gateway: { drain_timeout: ${timeout} }`),
    });
    try {
      const leave = new AbortController();
      const sent = body("default", { stream: true });
      const answer = await own.post(sent, { headers: { "idempotency-key": "k" }, signal: leave.signal });
      await answer.body?.getReader().read();
      leave.abort();
      const began = performance.now();
      await own.gateway.close();
      expect(performance.now() - began).toBeLessThan(4_500);
      const reader = openLedgerReader(join(own.dataDir, "ledger.sqlite"));
      const rows = reader.requests({ limit: 10 }).data;
      reader.close();
      expect(rows).toMatchObject([{ status, attempts: [{ status }] }]);
      expect(rows[0]?.usage.output_tokens).toBeGreaterThan(0);
    } finally {
      await own.close();
    }
  });
});
