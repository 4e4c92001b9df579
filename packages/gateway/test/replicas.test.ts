import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorIn, type Seen, seen } from "./support/answers.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { fails, type ModelUpstream, startModelUpstream } from "./support/model-upstream.ts";
import { hasRedis, startRedis, type TestRedis } from "./support/redis-server.ts";
import { ShiftedClock } from "./support/shifted-clock.ts";
import { until } from "./support/until.ts";

/* Three gateways on one Redis, in front of one provider: together they are held to what one of them would be. */

const DEPLOYMENTS: Record<string, Record<string, unknown>> = {
  plain: {},
  ill: {},
  limited: {},
  slow: {},
  few: { limits: { rpm: 6 } },
  pair: { limits: { concurrency: 2 } },
  later: {},
};
const RECOVERY_MS = 30_000;
/** Redis is given longer than a busy machine takes. */
const PATIENCE_MS = 10_000;

let redis: TestRedis;
let upstream: ModelUpstream;
let clock: ShiftedClock;
let replicas: readonly [TestGateway, TestGateway, TestGateway];

function configOf(state: string, url: string): string {
  const names = Object.keys(DEPLOYMENTS);
  return JSON.stringify({
    state,
    providers: { up: { kind: "openai-compatible", base_url: url } },
    deployments: Object.fromEntries(
      names.map((name) => [
        name,
        { provider: "up", model: name, price: { input: 1, output: 2 }, ...DEPLOYMENTS[name] },
      ]),
    ),
    routes: Object.fromEntries(
      names.map((name) => [
        name,
        { chain: [name], retries: { attempts: 1 }, ...(name === "pair" && { queue: { max_wait: "1ms" } }) },
      ]),
    ),
    tenants: { default: { models: { allow: ["*"] } } },
    keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
  });
}

const body = (model: string, content = "hello") => ({ model, messages: [{ role: "user", content }] });

async function ask(replica: TestGateway, model: string, key?: string, content?: string): Promise<Seen> {
  const headers = key === undefined ? {} : { "idempotency-key": key };
  return seen(await replica.post(body(model, content), { headers }));
}

/** The same of every replica, at once. */
function askAll(model: string, key?: string): Promise<Seen[]> {
  return Promise.all(replicas.map((replica) => ask(replica, model, key)));
}

interface Standing {
  circuit: string;
  cooldown_until: string | null;
}

async function json<T>(replica: TestGateway, path: string): Promise<T> {
  return (await (await replica.admin(path)).json()) as T;
}

async function everywhere<T>(path: string, holds: (answer: T) => boolean): Promise<boolean> {
  const answers = await Promise.all(replicas.map((replica) => json<T>(replica, path)));
  return answers.every(holds);
}

const allSee = (name: string, holds: (standing: Standing) => boolean) => () =>
  everywhere(`/admin/deployments/${name}`, holds);
const storeIs = (state: string) => () =>
  everywhere<{ store: { state: string } }>("/v1/health", ({ store }) => store.state === state);

describe.skipIf(!hasRedis)("replicas on one Redis (needs redis-server on the path)", () => {
  beforeAll(async () => {
    [redis, upstream] = await Promise.all([startRedis(), startModelUpstream()]);
    clock = new ShiftedClock();
    const config = configOf(redis.url, upstream.url);
    const start = () => startTestGateway({ config, clock, waits: { storeAnswerMs: PATIENCE_MS } });
    replicas = await Promise.all([start(), start(), start()]);
    await until("all are connected", storeIs("ok"));
  }, 60_000);

  afterAll(async () => {
    // Calls that a test has left there end first.
    await upstream.close();
    await Promise.all(replicas.map((replica) => replica.close()));
    await redis.kill();
  });

  test("a circuit that one opens is open on the others, and one probe is sent between them", async () => {
    const [first] = replicas;
    upstream.does("ill", fails(500));
    for (let i = 0; i < 5; i++) expect((await ask(first, "ill")).status).toBe(502);
    await until(
      "all have heard that it is open",
      allSee("ill", ({ circuit }) => circuit === "open"),
    );
    for (const refused of await askAll("ill")) {
      expect(refused.status).toBe(503);
      expect(errorIn(refused)).toMatchObject({ code: "no_healthy_deployment" });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(upstream.hits("ill")).toBe(5);
    clock.forward(RECOVERY_MS);
    const held = upstream.holds("ill");
    const statuses: number[] = [];
    const asked = [...replicas, ...replicas, ...replicas].map(async (replica) => {
      statuses.push((await ask(replica, "ill")).status);
    });
    await until("all but the probe are refused", () => statuses.length === 8 && upstream.hits("ill") === 6);
    held.release();
    await Promise.all(asked);
    expect(statuses).toEqual([...Array(8).fill(503), 200]);
    expect(upstream.hits("ill")).toBe(6);
    await until(
      "all have heard that it is closed",
      allSee("ill", ({ circuit }) => circuit === "closed"),
    );
    for (const { status } of await askAll("ill")) expect(status).toBe(200);
  });

  test("a rate limit that one meets is respected by the others", async () => {
    const [first] = replicas;
    upstream.does("limited", fails(429, { "retry-after": "300" }));
    expect((await ask(first, "limited")).status).toBe(429);
    await until(
      "all have heard of it",
      allSee("limited", ({ cooldown_until: end }) => end !== null),
    );
    for (const refused of await askAll("limited")) {
      expect(refused.status).toBe(429);
      expect(errorIn(refused)).toMatchObject({ code: "rate_limit_exceeded", scope: "provider:up" });
      const seconds = Number(refused.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(240);
      expect(seconds).toBeLessThanOrEqual(300);
    }
    expect(upstream.hits("limited")).toBe(1);
  });

  test("an answer to an Idempotency-Key is replayed by the others", async () => {
    const [first, second, third] = replicas;
    const before = upstream.hits("plain");
    const made = await ask(first, "plain", "key-1");
    expect(made.headers.get("idempotent-replayed")).toBeNull();
    for (const again of [await ask(second, "plain", "key-1"), await ask(third, "plain", "key-1")]) {
      expect(again.status).toBe(200);
      expect(again.text).toBe(made.text);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
    }
    const other = await ask(second, "plain", "key-1", "something else");
    expect(other.status).toBe(422);
    expect(errorIn(other)).toMatchObject({ code: "idempotency_conflict" });
    expect(upstream.hits("plain")).toBe(before + 1);
  });

  test("an answer that is still being made is waited for by the others", async () => {
    const [first, ...others] = replicas;
    const held = upstream.holds("slow");
    const made = ask(first, "slow", "key-2");
    await until("the call is made", () => upstream.hits("slow") === 1);
    const waiting = others.map((replica) => ask(replica, "slow", "key-2"));
    const inFlight = async (replica: TestGateway) =>
      (await json<{ in_flight: number }>(replica, "/v1/stats")).in_flight === 1;
    for (const replica of others) await until("the others wait", () => inFlight(replica));
    held.release();
    const { text } = await made;
    for (const answer of await Promise.all(waiting)) {
      expect(answer.text).toBe(text);
      expect(answer.headers.get("idempotent-replayed")).toBe("true");
    }
    expect(upstream.hits("slow")).toBe(1);
  });

  test("a deployment's requests a minute are never exceeded by all of them together", async () => {
    const began = Date.now();
    const answers = (await Promise.all(Array.from({ length: 6 }, () => askAll("few")))).flat();
    const most = 6 + Math.floor((Date.now() - began) / 10_000);
    const served = answers.filter(({ status }) => status === 200);
    expect(served.length).toBeGreaterThanOrEqual(6);
    expect(served.length).toBeLessThanOrEqual(most);
    expect(upstream.hits("few")).toBe(served.length);
    expect(answers).toHaveLength(18);
    for (const refused of answers.filter(({ status }) => status !== 200)) {
      expect(refused.status).toBe(429);
      expect(errorIn(refused)).toMatchObject({ scope: "deployment:few", dimension: "requests" });
    }
  });

  test("nor are its places", async () => {
    const held = upstream.holds("pair");
    const statuses: number[] = [];
    const asked = [...replicas, ...replicas].map(async (replica) => {
      statuses.push((await ask(replica, "pair")).status);
    });
    await until("four are turned away", () => statuses.length === 4 && upstream.hits("pair") === 2);
    held.release();
    await Promise.all(asked);
    expect(statuses).toEqual([503, 503, 503, 503, 200, 200]);
    expect(upstream.hits("pair")).toBe(2);
    await until("the places are free again", async () => (await ask(replicas[2], "pair")).status === 200);
  });

  test("without it each goes on alone, and with it again they know what the others found meanwhile", async () => {
    const [first, second] = replicas;
    await redis.kill();
    for (const { status } of await askAll("plain")) expect(status).toBe(200);
    await until("all say that the store is down", storeIs("down"));
    expect(await json(first, "/v1/health")).toMatchObject({ status: "degraded", store: { kind: "redis" } });
    expect((await first.admin("/readyz")).status).toBe(200);
    for (const { status } of await askAll("plain", "key-3")) expect(status).toBe(200);
    expect((await ask(first, "plain", "key-3")).headers.get("idempotent-replayed")).toBe("true");
    upstream.does("later", fails(500));
    for (let i = 0; i < 5; i++) await ask(first, "later");
    expect((await ask(first, "later")).status).toBe(503);
    expect((await ask(second, "later")).status).toBe(502);
    await redis.start();
    await until("all say that it is there", storeIs("ok"));
    await until(
      "all have heard of the circuit",
      allSee("later", ({ circuit }) => circuit === "open"),
    );
    const calls = upstream.hits("later");
    for (const { status } of await askAll("later")) expect(status).toBe(503);
    expect(upstream.hits("later")).toBe(calls);
    for (const { status } of await askAll("limited")) expect(status).toBe(429);
    expect(upstream.hits("limited")).toBe(1);
  });
});
