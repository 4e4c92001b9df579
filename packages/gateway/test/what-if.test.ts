import type { RequestRecord } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Destination, WhatIfChange, WhatIfReport } from "../src/admin/what-if-report.ts";
import { ADMIN_KEY, keyHash, startTestGateway, type TestGateway } from "./support/gateway.ts";

const KEYS = { acme: "sg_acme", other: "sg_other" };
type Tenant = keyof typeof KEYS;

const deployment = (tag: string, usd: number, changes: object = {}): object => ({
  ...{ provider: "sim", model: `echo?tag=${tag}`, region: "eu-west", max_classification: "restricted" },
  price: { input: usd, output: 2 * usd },
  ...changes,
});

/** What both configs have. */
const COMMON = {
  gateway: { region: "eu-west" },
  classifications: ["public", "restricted"],
  providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
  keys: (["acme", "other"] as const).map((id) => ({ id, hash: keyHash(KEYS[id]), tenant: id })),
};
const OLD = JSON.stringify({
  ...COMMON,
  deployments: { big: deployment("big", 1), small: deployment("small", 0.2) },
  routes: { main: { chain: ["big", "small"] }, fast: { chain: ["small"] } },
  tenants: { acme: { models: { allow: "*" } }, other: { models: { allow: "*" } } },
});
const NEW = JSON.stringify({
  ...COMMON,
  deployments: {
    big: deployment("big", 2),
    small: deployment("small", 0.2, { max_classification: "public" }),
    next: deployment("next", 0.5, { capabilities: ["json_schema"], expected_latency: "200ms" }),
  },
  routes: {
    main: {
      chain: ["big", "small"],
      strategy: "cheapest",
      tenant_overrides: { other: ["big"] },
      canary: { deployment: "next", percent: 40, variant: "next" },
    },
    fast: { chain: ["small"] },
  },
  rules: [{ name: "gold-big", priority: 1, when: { tags: { tier: ["gold"] } }, chain: ["big"] }],
  tenants: { acme: { models: { allow: "*" } }, other: { models: { allow: ["main"] } } },
});

/** The same traffic, again and again: who asks for what. */
const TRAFFIC = Array.from({ length: 60 }, (_, i) => ({
  tenant: (i % 5 === 0 ? "other" : "acme") as Tenant,
  body: {
    model: i % 4 === 3 ? "fast" : "main",
    messages: [{ role: "user", content: `word ${i} `.repeat((i % 7) + 1) }],
    ...(i % 6 === 1 && {
      tools: [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }],
    }),
    gateway: {
      session_id: `s${i % 11}`,
      ...(i % 9 === 2 && { tags: { tier: "gold" } }),
      ...(i % 8 === 3 && { classification: "restricted" }),
    },
  },
}));

async function run(config: string): Promise<{ gateway: TestGateway; rows: RequestRecord[] }> {
  const gateway = await startTestGateway({ config });
  const rows: RequestRecord[] = [];
  for (const { tenant, body } of TRAFFIC) {
    const response = await gateway.post(body, { key: KEYS[tenant] });
    await response.arrayBuffer();
    rows.push(await gateway.row(response.headers.get("x-request-id") ?? ""));
  }
  return { gateway, rows };
}

let before: { gateway: TestGateway; rows: RequestRecord[] };
let after: { gateway: TestGateway; rows: RequestRecord[] };
beforeAll(async () => {
  [before, after] = await Promise.all([run(OLD), run(NEW)]);
}, 60_000);
afterAll(async () => {
  await before.gateway.close();
  await after.gateway.close();
});

async function whatIf(body: object): Promise<{ status: number; body: unknown }> {
  const { gateway } = before;
  const response = await fetch(`${gateway.url}/admin/what-if`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}
async function reportOf(config: string, more: object = {}): Promise<WhatIfReport> {
  const text = config.replaceAll("SIMULATOR", `${before.gateway.simulator.url}/v1`);
  const answer = await whatIf({ config: text, ...more });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as WhatIfReport;
}

const destination = ({ route, rule, variant, deployment: served, error_code }: RequestRecord): Destination =>
  route === null
    ? { route, rule, variant, deployment: null, refused: error_code }
    : { route, rule, variant, deployment: served, refused: null };

/** What changed between two runs of the same traffic, as a what-if tells it, without money and examples. */
function changesBetween(old: RequestRecord[], next: RequestRecord[]): Map<string, number> {
  const changes = new Map<string, number>();
  for (const [i, row] of old.entries()) {
    const [was, is] = [destination(row), destination(next[i] as RequestRecord)];
    if (JSON.stringify(was) === JSON.stringify(is)) continue;
    const id = JSON.stringify([row.alias, was, is]);
    changes.set(id, (changes.get(id) ?? 0) + 1);
  }
  return changes;
}
const told = (changes: WhatIfChange[]): Map<string, number> =>
  new Map(changes.map(({ alias, before: was, after: is, requests }) => [JSON.stringify([alias, was, is]), requests]));

describe("a what-if", () => {
  test("tells, request by request, what a real run under the new config then does", async () => {
    const report = await reportOf(NEW);
    const expected = changesBetween(before.rows, after.rows);
    expect(told(report.changes)).toEqual(expected);
    expect(expected.size).toBeGreaterThan(6);
    expect(report).toMatchObject({ requests: TRAFFIC.length, skipped: 0, truncated: false });
    expect(report.changed).toBe([...expected.values()].reduce((sum, count) => sum + count, 0));
  });

  test("tells who would be refused, and with which words", async () => {
    const { refusals } = await reportOf(NEW);
    const codes = after.rows.filter(({ route }) => route === null).map(({ error_code }) => error_code);
    expect(new Set(codes).size).toBeGreaterThan(1);
    expect(refusals).toMatchObject({ before: 0, after: codes.length });
    for (const { code, requests } of refusals.by_code)
      expect(codes.filter((each) => each === code)).toHaveLength(requests);
  });

  test("tells what it would cost, to the micro-dollar", async () => {
    const { cost } = await reportOf(NEW);
    const sum = (rows: RequestRecord[]) => rows.reduce((all, { cost_micro_usd }) => all + cost_micro_usd, 0);
    expect(cost).toEqual({
      before_micro_usd: sum(before.rows),
      after_micro_usd: sum(after.rows),
      unknown_requests: 0,
    });
  });

  test("tells how long a request would take, by what was seen and else by what is expected", async () => {
    const { deployments, latency } = await reportOf(NEW);
    const next = deployments.find(({ deployment: name }) => name === "next");
    expect(next).toMatchObject({ requests_before: 0, expected_ms: 200 });
    const big = deployments.find(({ deployment: name }) => name === "big");
    expect(big?.expected_ms).toBeGreaterThan(0);
    expect(latency.before_ms).not.toBeNull();
    expect(latency.after_ms).toBeGreaterThan(latency.before_ms ?? 0);
  });

  test("of the config that serves changes nothing", async () => {
    expect(await reportOf(OLD)).toMatchObject({ requests: TRAFFIC.length, changed: 0, changes: [] });
  });

  test("may look at one tenant, and at a time", async () => {
    const mine = TRAFFIC.filter(({ tenant }) => tenant === "other").length;
    expect(await reportOf(NEW, { tenant: "other" })).toMatchObject({ requests: mine });
    expect(await reportOf(NEW, { from: "2001-01-01", to: "2002-01-01" })).toMatchObject({ requests: 0, changed: 0 });
  });

  test.each([
    [{}, "config"],
    [{ config: "routes: [" }, "config"],
    [{ config: "routes: { main: { chain: [nowhere] } }" }, "config"],
    [{ config: OLD, since: "yesterday" }, "since"],
    [{ config: OLD, since: "1d", from: "2026-01-01" }, "since"],
    [{ config: OLD, from: "yesterday" }, "from"],
    [{ config: OLD, sinse: "1d" }, "sinse"],
  ])("is asked for properly: %j", async (body, param) => {
    expect(await whatIf(body)).toMatchObject({ status: 400, body: { error: { code: "invalid_request", param } } });
  });
});
