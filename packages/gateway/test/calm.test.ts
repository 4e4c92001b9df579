import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorIn, type Seen, seen } from "./support/answers.ts";
import { eventsOf, textOf } from "./support/events.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { until } from "./support/until.ts";

/** One deployment, by its name: what the simulator does, and what the config says of it. */
const DEPLOYMENTS: Record<string, { model: string; more?: Record<string, unknown> }> = {
  echo: { model: "echo" },
  alone: { model: "error?status=500" },
  ill: { model: "error?status=500&tag=ill" },
  "ill-2": { model: "error?status=500&tag=ill2" },
  limited: { model: "error?status=429&retry_after=300" },
  brief: { model: "error?status=429&retry_after_ms=300&times=1" },
  slow: { model: "slow?first_token=1500ms" },
  "slow-2": { model: "slow?first_token=1500ms&tag=slow2" },
  filter: { model: "filter?latency=300ms" },
  quick: { model: "error?status=500&tag=quick" },
  hang: { model: "hang", more: { timeouts: { first_token: "5s" } } },
  one: { model: "slow?first_token=400ms&tag=one", more: { limits: { concurrency: 1 } } },
  "one-2": { model: "slow?first_token=600ms&tag=one2", more: { limits: { concurrency: 1 } } },
  few: { model: "echo?tag=few", more: { limits: { rpm: 2 } } },
  small: { model: "echo?tag=small", more: { limits: { tpm: 600 } } },
  roomier: { model: "echo?tag=roomier", more: { limits: { rpm: 1, tpm: 100_000 } } },
  late: { model: "error?status=500&latency=300ms&tag=late" },
  patient: { model: "echo?tag=patient", more: { expected_latency: "800ms" } },
  narrow: { model: "context?tag=narrow", more: { context_window: 8_000 } },
  "narrow-2": { model: "echo?tag=narrow2", more: { context_window: 8_000 } },
  wide: { model: "echo?tag=wide", more: { context_window: 200_000 } },
  dripping: { model: "long?tokens=40&between=100ms" },
  "dripping-2": { model: "long?tokens=20&between=100ms&tag=drip2" },
};

const SLOW_STREAM = { tokens_per_second: 100, window: "500ms" };
const ROUTES: Record<string, { chain: string[] } & Record<string, unknown>> = {
  alone: { chain: ["alone"] },
  "with-backup": { chain: ["ill", "echo"] },
  "least-bad": { chain: ["ill-2"], when_all_open: "least_bad" },
  limited: { chain: ["limited"] },
  brief: { chain: ["brief"] },
  hedged: { chain: ["slow", "echo"], hedge: { after: "50ms", max_extra: 1 } },
  "on-demand": { chain: ["slow-2", "echo"] },
  "hedged-filter": { chain: ["slow-2", "filter"], hedge: { after: "0ms", max_extra: 1 } },
  "hedged-failure": { chain: ["slow-2", "quick"], hedge: { after: "0ms", max_extra: 1 } },
  "hedged-hang": { chain: ["hang", "echo"], hedge: { after: "50ms", max_extra: 1 } },
  queued: { chain: ["one"] },
  overflow: { chain: ["one-2", "echo"], queue: { max_wait: "50ms" } },
  crowded: { chain: ["one-2"], queue: { max_wait: "50ms" } },
  few: { chain: ["few"] },
  "few-overflow": { chain: ["few", "echo"] },
  "roomier-first": { chain: ["roomier", "small"] },
  small: { chain: ["small"] },
  budget: { chain: ["late", "patient"] },
  roomy: { chain: ["narrow", "narrow-2", "wide"], context_fallback: true },
  cramped: { chain: ["narrow", "wide"] },
  dripping: { chain: ["dripping"], slow_stream: { ...SLOW_STREAM, abort: true } },
  patience: { chain: ["dripping-2"], slow_stream: SLOW_STREAM },
};

let gateway: TestGateway;

beforeAll(async () => {
  const deployments = Object.fromEntries(
    Object.entries(DEPLOYMENTS).map(([name, { model, more }]) => [
      name,
      { provider: "sim", model, price: { input: 1, output: 2 }, ...more },
    ]),
  );
  const retries = { attempts: 2, base: "1ms", cap: "1ms", budget: 1 };
  const config = {
    providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
    deployments,
    routes: Object.fromEntries(Object.entries(ROUTES).map(([alias, route]) => [alias, { retries, ...route }])),
    tenants: { default: { models: { allow: ["*"] }, allow: ["hedge", "priority_high"] } },
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

async function ask(model: string, more: Record<string, unknown> = {}): Promise<Seen> {
  return seen(await gateway.post(body(model, more)));
}

const rowOf = (answer: Seen) => gateway.row(answer.headers.get("x-request-id") ?? "");

function hits(deployment: string): number {
  const { model } = DEPLOYMENTS[deployment] ?? { model: "" };
  return gateway.simulator.requests().by_model[model] ?? 0;
}

describe("a circuit", () => {
  test("of a single deployment opens after five failures, and then refuses without asking", async () => {
    for (let i = 0; i < 3; i++) expect((await ask("alone")).status).toBe(502);
    const asked = hits("alone");
    expect(asked).toBe(5);
    const refused = await ask("alone");
    expect(errorIn(refused).message).toBe('no deployment behind "alone" takes calls now: alone (its circuit is open)');
    expect(refused.status).toBe(503);
    expect(errorIn(refused)).toMatchObject({ code: "no_healthy_deployment", type: "service_unavailable" });
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(30);
    expect(hits("alone")).toBe(asked);
    expect(await rowOf(refused)).toMatchObject({ error_code: "no_healthy_deployment", attempts: [] });
  });

  test("that is open is passed over at once", async () => {
    for (let i = 0; i < 5; i++) expect((await ask("with-backup")).status).toBe(200);
    const asked = hits("ill");
    expect(asked).toBeLessThanOrEqual(6);
    const answer = await ask("with-backup");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("echo");
    expect(answer.headers.get("x-sluicegate-attempts")).toBe("1");
    expect(hits("ill")).toBe(asked);
  });

  test("is not got round where the caller forbids fallback", async () => {
    const answer = await ask("with-backup", { gateway: { fallback: false } });
    expect(answer.status).toBe(503);
    expect(errorIn(answer)).toMatchObject({ code: "no_healthy_deployment" });
  });

  test("may be tried all the same where its route says so", async () => {
    for (let i = 0; i < 3; i++) await ask("least-bad");
    const asked = hits("ill-2");
    expect((await ask("least-bad")).status).toBe(502);
    expect(hits("ill-2")).toBeGreaterThan(asked);
  });

  test("shows in the admin API, and is closed by hand", async () => {
    const state = async () =>
      (await (await gateway.admin("/admin/deployments/alone")).json()) as { circuit: string; opened_at: string | null };
    expect(await state()).toMatchObject({ circuit: "open", opened_at: expect.any(String) });
    const closed = await fetch(`${gateway.url}/admin/circuits/alone/reset`, {
      method: "POST",
      headers: { authorization: "Bearer admin-key-of-the-tests", "content-type": "application/json" },
      body: "{}",
    });
    expect(closed.status).toBe(200);
    expect(await state()).toMatchObject({ circuit: "closed" });
    expect((await ask("alone")).status).toBe(502);
  });
});

describe("a rate limit", () => {
  test("cools its deployment for as long as it asks: the next request is refused with the rest of that time", async () => {
    expect((await ask("limited")).status).toBe(429);
    const asked = hits("limited");
    const refused = await ask("limited");
    expect(refused.status).toBe(429);
    expect(errorIn(refused)).toMatchObject({ code: "rate_limit_exceeded", scope: "provider:sim" });
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(280);
    expect(seconds).toBeLessThanOrEqual(300);
    expect(hits("limited")).toBe(asked);
  });

  test("that is over before the deadline is waited for", async () => {
    const answer = await ask("brief");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-sluicegate-attempts")).toBe("2");
  });
});

describe("a hedge", () => {
  const BOTH = "of a slow deployment answers for it, and both are in the ledger (stream: %s)";
  test.each([false, true])(BOTH, async (stream) => {
    const answer = await ask("hedged", { stream });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("echo");
    expect(answer.headers.get("x-sluicegate-hedged")).toBe("true");
    if (stream) expect(textOf(eventsOf(answer.text))).toBe("one two three");
    const row = await rowOf(answer);
    expect(row).toMatchObject({ status: "ok", hedged: true, deployment: "echo", fallback_depth: 0 });
    expect(row.attempts.map(({ deployment, status, hedge }) => [deployment, status, hedge])).toEqual([
      ["slow", "cancelled", false],
      ["echo", "ok", true],
    ]);
    expect(row.cost_micro_usd).toBe(row.attempts.reduce((sum, attempt) => sum + attempt.cost_micro_usd, 0));
    if (stream) expect(row.ttft_ms).toBeLessThan(1_400);
    await until("the slow one to see the close", () =>
      gateway.simulator
        .invoice()
        .lines.filter(({ model }) => model === DEPLOYMENTS["slow"]?.model)
        .every((line) => line.client_closed || line.finished),
    );
  });

  test("may be asked for, and may be declined", async () => {
    const declined = await ask("hedged", { hedge: false });
    expect(declined.headers.get("x-sluicegate-deployment")).toBe("slow");
    // Nothing is known of the deployment yet, so that there is no p95 to wait for: one call shows it.
    await ask("on-demand");
    const asked = await ask("on-demand", { hedge: true });
    expect(asked.status).toBe(200);
  });

  test("that a filter refuses ends the request: nobody shops for another answer", async () => {
    const answer = await ask("hedged-filter");
    expect(answer.status).toBe(400);
    const row = await rowOf(answer);
    expect(row.error_code).toBe("content_filter");
    expect(row.attempts.map(({ status, error_class: kind }) => [status, kind])).toEqual([
      ["cancelled", "cancelled"],
      ["failed", "content_filtered"],
    ]);
  });

  test("that fails fast does not win", async () => {
    const answer = await ask("hedged-failure");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("slow-2");
    expect((await rowOf(answer)).attempts).toMatchObject([{ status: "ok" }, { status: "failed", hedge: true }]);
  });

  test("is not made of what has effects, or may have had them", async () => {
    const held = await ask("hedged", { gateway: { side_effecting: true } });
    expect(held.headers.get("x-sluicegate-deployment")).toBe("slow");
    const messages = [
      { role: "user", content: "pay" },
      { role: "assistant", tool_calls: [{ id: "c1", type: "function", function: { name: "pay", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c1", content: "paid" },
    ];
    const after = await ask("hedged", { messages });
    expect(after.headers.get("x-sluicegate-deployment")).toBe("slow");
  });

  test("of a stream that never begins leaves no connection open", async () => {
    const answer = await ask("hedged-hang", { stream: true });
    expect(textOf(eventsOf(answer.text))).toBe("one two three");
    await until("the hanging one to see the close", () =>
      gateway.simulator.invoice().lines.some(({ model, client_closed: closed }) => model === "hang" && closed),
    );
  });
});

describe("a deployment with one place", () => {
  test("is waited for, in line", async () => {
    const answers = await Promise.all([ask("queued"), ask("queued"), ask("queued")]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const lines = gateway.simulator.invoice().lines.filter(({ model }) => model === DEPLOYMENTS["one"]?.model);
    expect(lines).toHaveLength(3);
  });

  test("overflows to the next when waiting takes too long", async () => {
    const answers = await Promise.all([ask("overflow"), ask("overflow")]);
    expect(answers.map(({ headers }) => headers.get("x-sluicegate-deployment")).sort()).toEqual(["echo", "one-2"]);
  });

  test("and nothing behind it says so", async () => {
    const answers = await Promise.all([ask("crowded"), ask("crowded")]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 503]);
    const refused = answers.find(({ status }) => status === 503);
    expect(refused && errorIn(refused)).toMatchObject({
      code: "overloaded",
      scope: "deployment:one-2",
      dimension: "concurrency",
    });
  });
});

describe("a ceiling", () => {
  test("of requests a minute refuses, and names itself; the next of a chain takes what is over", async () => {
    for (let i = 0; i < 2; i++) expect((await ask("few")).status).toBe(200);
    const refused = await ask("few");
    expect(refused.status).toBe(429);
    expect(errorIn(refused)).toMatchObject({
      code: "rate_limit_exceeded",
      scope: "deployment:few",
      dimension: "requests",
    });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const moved = await ask("few-overflow");
    expect(moved.headers.get("x-sluicegate-deployment")).toBe("echo");
    expect(hits("few")).toBe(2);
  });

  test("that could never hold the input is a 413", async () => {
    const answer = await ask("small", { messages: [{ role: "user", content: "word ".repeat(2_000) }] });
    expect(answer.status).toBe(413);
    expect(errorIn(answer)).toMatchObject({
      code: "request_too_large",
      scope: "deployment:small",
      dimension: "tokens",
    });
  });

  test("that is only reached says when to ask again, though one behind it could never hold the input", async () => {
    const long = { messages: [{ role: "user", content: "word ".repeat(2_000) }] };
    expect((await ask("roomier-first", long)).status).toBe(200);
    const refused = await ask("roomier-first", long);
    expect(refused.status).toBe(429);
    expect(errorIn(refused)).toMatchObject({ scope: "deployment:roomier", dimension: "requests" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("of tokens gives back what was not used", async () => {
    // Each reserves 200 of output and uses a handful: without the refund the fourth would be too much.
    for (let i = 0; i < 6; i++) expect((await ask("small", { max_tokens: 200 })).status).toBe(200);
  });
});

describe("the latency budget", () => {
  test("keeps a hop from starting that cannot make it", async () => {
    const answer = await ask("budget", { gateway: { latency_budget_ms: 1_000 } });
    expect(answer.status).toBe(504);
    expect(errorIn(answer)).toMatchObject({ code: "latency_budget_exhausted" });
    expect(hits("patient")).toBe(0);
    const enough = await ask("budget", { gateway: { latency_budget_ms: 30_000 } });
    expect(enough.status).toBe(200);
  });
});

describe("an overflow of the context", () => {
  test("goes to the first deployment with more room, where the route says so", async () => {
    const answer = await ask("roomy");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("wide");
    expect(hits("narrow-2")).toBe(0);
  });

  test("is told everywhere else", async () => {
    const answer = await ask("cramped");
    expect(answer.status).toBe(400);
    expect((await rowOf(answer)).attempts).toHaveLength(1);
  });
});

describe("a stream slower than its route wants", () => {
  test("ends with one error where the route says abort", async () => {
    const answer = await ask("dripping", { stream: true });
    expect(answer.status).toBe(200);
    const errors = eventsOf(answer.text).data.filter((event) => event !== "[DONE]" && event["error"] !== undefined);
    expect(errors).toMatchObject([{ error: { code: "provider_timeout" } }]);
    expect(await rowOf(answer)).toMatchObject({ status: "failed", attempts: [{ error_class: "timeout" }] });
  });

  test("goes on where it does not", async () => {
    const answer = await ask("patience", { stream: true });
    expect(eventsOf(answer.text).data.at(-1)).toBe("[DONE]");
    expect(await rowOf(answer)).toMatchObject({ status: "ok" });
  });
});
