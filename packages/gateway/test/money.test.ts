import type { RequestRecord, SpendReport } from "@sluicegate/contract";
import { afterEach, describe, expect, test } from "vitest";
import { configOf, startTestGateway, type TestGateway } from "./support/gateway.ts";
import {
  allRows,
  expectBilled,
  expectSums,
  hitsByMarker,
  linesById,
  microUsd,
  type TestPrice,
} from "./support/ledger-check.ts";
import { loadClient, type Order, type Outcome } from "./support/load-client.ts";
import { type Seeded, seeded } from "./support/seeded.ts";
import { testClock } from "./support/test-clock.ts";
import { until } from "./support/until.ts";

const SONNET: TestPrice = { input: 3, cached: 0.3, output: 15 };
const GPT: TestPrice = { input: 2.5, cached: 2.5, output: 10 };
/** Every rounding there is shows at these. */
const ODD: TestPrice = { input: 0.073, cached: 0.011, output: 0.417 };

interface TestDeployment {
  model: string;
  price: TestPrice | null;
}

/** Deployments by name: what they do, and what they cost. */
const DEPLOYMENTS: Record<string, TestDeployment> = {
  sonnet: { model: "fixed?input=6000&cached=5000&output=300", price: SONNET },
  "sonnet-cold": { model: "fixed?input=6000&output=300&tag=cold", price: SONNET },
  gpt: { model: "fixed?input=2000&output=800", price: GPT },
  odd: { model: "fixed?input=1237&cached=419&output=53", price: ODD },
  odder: { model: "fixed?input=101&cached=151&output=7", price: ODD },
  thinker: { model: "reason?tokens=40&input=77", price: SONNET },
  talker: { model: "long?tokens=300&between=2ms", price: GPT },
  counter: { model: "long?tokens=300&between=2ms&quirk=usage_every", price: GPT },
  secretive: { model: "nousage", price: ODD },
  failing: { model: "error?status=500", price: SONNET },
  busy: { model: "error?status=503", price: SONNET },
  cutting: { model: "cut?after=4", price: GPT },
  breaking: { model: "errorafter?after=4", price: GPT },
  opening: { model: "errorafter?after=0", price: ODD },
  resetting: { model: "reset", price: ODD },
  hanging: { model: "hang", price: ODD },
  priceless: { model: "fixed?input=900&output=90&tag=priceless", price: null },
};

const CHAINS: Record<string, string[]> = {
  cached: ["sonnet"],
  cold: ["sonnet-cold"],
  gpt: ["gpt"],
  odd: ["odd"],
  odder: ["odder"],
  thinker: ["thinker"],
  talker: ["talker"],
  counter: ["counter"],
  secretive: ["secretive"],
  fallback: ["busy", "odd"],
  retried: ["failing", "gpt"],
  reset: ["resetting", "sonnet"],
  cutting: ["cutting"],
  breaking: ["breaking"],
  preamble: ["opening", "gpt"],
  hanging: ["hanging", "gpt"],
  down: ["busy", "failing"],
  priceless: ["priceless"],
  mixed: ["resetting", "priceless"],
};

const LEFT_EARLY = ["talker", "counter"];

function configText(): string {
  const price = ({ input, cached, output }: TestPrice): string =>
    `, price: { input: ${input}, cached_input: ${cached}, output: ${output} }`;
  const deployments = Object.entries(DEPLOYMENTS).map(
    ([name, { model, price: own }]) =>
      `  ${name}: { provider: ${own ? "sim" : "own"}, model: '${model}'${own ? price(own) : ""} }`,
  );
  return configOf(CHAINS)
    .replace("providers: { ", "providers: { own: { kind: openai-compatible, base_url: SIMULATOR }, ")
    .replace("  hanging: { ", "  hanging: { timeouts: { hop: 150ms }, ")
    .concat("\ndeployments:\n", deployments.join("\n"), "\n");
}

let gateway: TestGateway;

afterEach(() => gateway.close());

/** Sends them all, so many abreast, and waits until every one of them is in the database. */
async function sendAll(orders: readonly Order[], abreast = 24): Promise<Outcome[]> {
  const client = loadClient(gateway.url);
  const outcomes: Outcome[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let order = orders[next++]; order; order = orders[next++]) outcomes.push(await client.send(order));
  };
  await Promise.all(Array.from({ length: abreast }, worker));
  client.close();
  await until("an empty spool", async () => {
    const stats = (await (await gateway.admin("/v1/stats")).json()) as { in_flight: number };
    const health = (await (await gateway.admin("/v1/health")).json()) as { ledger: { spooled_rows: number } };
    return stats.in_flight === 0 && health.ledger.spooled_rows === 0;
  });
  return outcomes;
}

async function spend(query: string): Promise<SpendReport> {
  const response = await gateway.admin(`/admin/spend?${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as SpendReport;
}

function sum<T>(of: Iterable<T>, figure: (one: T) => number): number {
  let total = 0;
  for (const one of of) total += figure(one);
  return total;
}

describe("500 requests of every kind", () => {
  const PEOPLE = ["ann", "bob", "cy"] as const;

  function anOrder(n: number, chance: Seeded): Order {
    const alias = chance.pick(Object.keys(CHAINS));
    const stream = LEFT_EARLY.includes(alias) || chance.float() < 0.5;
    const tags = { squad: chance.pick(["red", "blue"]) };
    return {
      marker: `m${n}`,
      body: {
        model: alias,
        stream,
        ...(stream && chance.float() < 0.5 && { stream_options: { include_usage: true } }),
        user: chance.pick(PEOPLE),
        gateway: { session_id: `s${chance.int(1, 9)}`, task_class: chance.pick(["chat", "code"]), tags },
      },
      ...(LEFT_EARLY.includes(alias) && chance.float() < 0.7 && { leave: { afterEvents: chance.int(1, 60) } }),
    };
  }

  test("cost in the ledger what the provider billed, line by line, in every report", async () => {
    gateway = await startTestGateway({ config: configText(), simulator: { recentRequests: 10_000 } });
    const chance = seeded(500);
    const orders = Array.from({ length: 500 }, (_, n) => anOrder(n, chance));
    const outcomes = await sendAll(orders);
    const rows = await allRows(gateway.admin);
    expect(rows).toHaveLength(500);
    checkLines(rows, new Map(outcomes.map((outcome) => [outcome.marker, outcome])));
    await checkReports(rows);
  }, 60_000);

  function checkLines(rows: readonly RequestRecord[], outcomes: ReadonlyMap<string, Outcome>): void {
    const lines = linesById(gateway.simulator);
    const hits = hitsByMarker(gateway.simulator);
    let reported = 0;
    const seen = new Map<string, number>();
    const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
    for (const row of rows) {
      const marker = row.client_request_id ?? "";
      expectSums(row);
      count(`${row.status}`);
      // An error behind the opening of a stream: nothing had been said yet, so the next one says it all.
      if (row.alias === "preamble") expect(row, marker).toMatchObject({ status: "ok", deployment: "gpt" });
      expect(row.cost_state, marker).toBe(leastCertain(row.attempts.map(({ cost_state }) => cost_state)));
      for (const attempt of row.attempts) {
        const { model, price } = DEPLOYMENTS[attempt.deployment] as TestDeployment;
        expect(attempt.model).toBe(model);
        if (attempt.deployment === "odder") {
          // More cached than there was: all of it was cached.
          expect(attempt.usage).toMatchObject({ input_tokens: 101, cached_input_tokens: 101 });
          expect(attempt.cost_micro_usd).toBe(microUsd(attempt.usage, ODD));
          continue;
        }
        const line = expectBilled(attempt, lines, price);
        count(`${attempt.status} ${attempt.cost_state}`);
        // What the provider said is known, and what it did not say is not taken to be.
        const whole = attempt.status === "ok" && line?.reported === true;
        if (whole && price) expect(attempt, marker).toMatchObject({ cost_state: "known" });
        if (attempt.status === "cancelled") expect(attempt.cost_state, marker).toBe("estimated");
        // A provider that answered with an error is taken to charge nothing (ruling 10).
        const charged = attempt.usage.input_tokens + attempt.usage.output_tokens > 0;
        if (line && !line.reported && price && charged) expect(attempt.cost_state, marker).not.toBe("known");
        if (attempt.deployment === "counter" && line && attempt.usage.output_tokens > 0) {
          // It tells in every chunk: what was told before the client left is not guessed at.
          expect(attempt.usage.input_tokens, marker).toBe(line.input_tokens);
          expect(attempt.usage.output_tokens, marker).toBeLessThanOrEqual(line.output_tokens + 1);
        }
        if (whole) reported++;
      }
      const called = hits.get(marker)?.length ?? 0;
      expect(row.attempts.length, marker).toBe(called);
      checkShown(row, outcomes.get(marker) as Outcome);
    }
    expect(reported).toBeGreaterThan(200);
    for (const what of [
      "ok known",
      "ok estimated",
      "ok unknown",
      "failed known",
      "failed estimated",
      "cancelled estimated",
    ])
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(8);
  }

  /** What a client was told it cost is what the ledger says. */
  function checkShown(row: RequestRecord, { headers, status, text }: Outcome): void {
    if (status !== 200 || row.stream) return;
    const shown = headers["x-sluicegate-cost-usd"];
    const { cost_usd } = (JSON.parse(text) as { gateway_metadata: { cost_usd: number | null } }).gateway_metadata;
    if (row.cost_state === "unknown") {
      expect(shown).toBeUndefined();
      expect(cost_usd).toBeNull();
      return;
    }
    expect(Math.round(Number(shown) * 1_000_000)).toBe(row.cost_micro_usd);
    expect(Math.round((cost_usd ?? Number.NaN) * 1_000_000)).toBe(row.cost_micro_usd);
  }

  async function checkReports(rows: readonly RequestRecord[]): Promise<void> {
    const cost = sum(rows, (row) => row.cost_micro_usd);
    const { total } = await spend("");
    expect(total).toMatchObject({
      requests: rows.length,
      attempts: sum(rows, (row) => row.attempts.length),
      cost_micro_usd: cost,
      input_tokens: sum(rows, (row) => row.usage.input_tokens),
      cached_input_tokens: sum(rows, (row) => row.usage.cached_input_tokens),
      output_tokens: sum(rows, (row) => row.usage.output_tokens),
      unknown_cost_requests: rows.filter((row) => row.cost_state === "unknown").length,
      active_users: PEOPLE.length,
    });
    expect(Number(total.cost_usd)).toBeCloseTo(cost / 1_000_000, 9);
    const byRequest: Record<string, (row: RequestRecord) => string | null> = {
      alias: (row) => row.alias,
      status: (row) => row.status,
      user: (row) => row.user,
      session: (row) => row.session,
      task_class: (row) => row.task_class,
      finish_reason: (row) => row.finish_reason,
      error_code: (row) => row.error_code,
      key: (row) => row.key_id,
      "tag:squad": (row) => row.tags["squad"] ?? null,
      hour: (row) => `${row.started_at.slice(0, 13)}:00:00Z`,
    };
    for (const [by, name] of Object.entries(byRequest)) {
      const report = await spend(`by=${by}`);
      expect(
        sum(report.data, (group) => group.cost_micro_usd),
        by,
      ).toBe(cost);
      for (const group of report.data) {
        const own = rows.filter((row) => name(row) === group[by]);
        const expected = { requests: own.length, cost_micro_usd: sum(own, (row) => row.cost_micro_usd) };
        expect(group, `${by} ${group[by]}`).toMatchObject(expected);
      }
    }
    for (const by of ["deployment", "model", "provider"] as const) {
      const report = await spend(`by=${by}`);
      expect(report.total).toEqual(total);
      expect(
        sum(report.data, (group) => group.cost_micro_usd),
        by,
      ).toBe(cost);
      for (const group of report.data) {
        const own = rows.flatMap((row) => row.attempts).filter((attempt) => attempt[by] === group[by]);
        const expected = { attempts: own.length, cost_micro_usd: sum(own, (attempt) => attempt.cost_micro_usd) };
        expect(group, `${by} ${group[by]}`).toMatchObject(expected);
      }
    }
    const both = await spend("by=alias,deployment,status");
    expect(sum(both.data, (group) => group.cost_micro_usd)).toBe(cost);
  }
});

function leastCertain(states: readonly string[]): string {
  return states.includes("unknown") ? "unknown" : states.includes("estimated") ? "estimated" : "known";
}

describe("the scenarios of SPEC COST-10, at a five-hundredth and at a thousandth", () => {
  test("a cached prompt costs $517.50 a day, not $1,125", async () => {
    gateway = await startTestGateway({ config: configText() });
    const orders = Array.from({ length: 100 }, (_, n) => ({
      marker: `m${n}`,
      body: { model: n % 10 === 0 ? "cold" : "cached", stream: n % 3 === 0 },
    }));
    await sendAll(orders);
    const { total } = await spend("");
    expect(total).toMatchObject({ requests: 100, cost_micro_usd: 517_500_000 / 500, cost_usd: "1.035" });
    expect(total).toMatchObject({ input_tokens: 600_000, cached_input_tokens: 450_000, output_tokens: 30_000 });
  });

  test("streams that are left half-way cost $1,228 a day with the others, not $1,066", async () => {
    const chains = { whole: ["whole"], dropped: ["dropped"] };
    const price = "price: { input: 2.50, output: 10.00 }";
    gateway = await startTestGateway({
      config: configOf(chains).concat(
        "\ndeployments:",
        `\n  whole: { provider: sim, model: 'fixed?input=2000&output=800', ${price} }`,
        `\n  dropped: { provider: sim, model: 'hang?after=400&input=2000&output=800', ${price} }\n`,
      ),
    });
    // 800 deltas of four characters, a token each; the whole request 8,000 bytes, 2,000 tokens.
    const speech = "abc ".repeat(800);
    const orderOf = (n: number): Order => {
      const model = n < 18 ? "dropped" : "whole";
      const body = { model, stream: true, messages: [{ role: "user", content: speech }], user: "" };
      body.user = "u".repeat(8_000 - Buffer.byteLength(JSON.stringify(body)));
      return { marker: `m${n}`, body, ...(model === "dropped" && { leave: { afterEvents: 401 } }) };
    };
    await sendAll(Array.from({ length: 100 }, (_, n) => orderOf(n)));
    const report = await spend("by=status");
    expect(report.total).toMatchObject({ requests: 100, cost_micro_usd: 1_228_000, cost_usd: "1.228" });
    expect(report.data.map(({ status, requests, cost_usd }) => ({ status, requests, cost_usd }))).toEqual([
      { status: "ok", requests: 82, cost_usd: "1.066" },
      { status: "cancelled", requests: 18, cost_usd: "0.162" },
    ]);
    const billed = gateway.simulator.invoice().total;
    expect(report.total).toMatchObject({ input_tokens: billed.input_tokens, output_tokens: billed.output_tokens });
    const dropped = (await allRows(gateway.admin, "status=cancelled")).map((row) => row.cost_state);
    expect(new Set(dropped)).toEqual(new Set(["estimated"]));
  });
});

describe("prices", () => {
  const NEW_YEAR = Date.UTC(2027, 0, 1);

  test("change with their date, for requests that begin after it", async () => {
    const clock = testClock();
    clock.setDate(NEW_YEAR - 60_000);
    gateway = await startTestGateway({
      clock,
      config: configOf({ dated: ["dated"], held: ["held"] }).concat(
        "\ndeployments:",
        "\n  dated: { provider: sim, model: 'fixed?input=1000&output=100', price: [{ input: 10, output: 20, from: 2027-01-01 }, { input: 1, output: 2 }] }",
        "\n  held: { provider: sim, model: 'fixed?input=1000&output=100&first_token=400ms', price: [{ input: 1, output: 2 }, { input: 10, output: 20, from: 2027-01-01 }] }\n",
      ),
    });
    await sendAll([{ marker: "before", body: { model: "dated" } }]);
    const across = sendAll([
      { marker: "across", body: { model: "held", stream: true } },
      { marker: "across-json", body: { model: "held" } },
    ]);
    await until("them to be under way", () => gateway.simulator.requests().total === 3);
    clock.setDate(NEW_YEAR);
    await across;
    await sendAll([{ marker: "after", body: { model: "dated" } }]);
    const rows = await allRows(gateway.admin);
    const costs = Object.fromEntries(rows.map((row) => [row.client_request_id, row.cost_micro_usd]));
    expect(costs).toEqual({ before: 1_200, across: 1_200, "across-json": 1_200, after: 12_000 });
    const report = await spend("by=day&from=2026-12-31&to=2027-01-02");
    expect(report.data.map(({ day, requests, cost_micro_usd }) => [day, requests, cost_micro_usd])).toEqual([
      ["2027-01-01", 1, 12_000],
      ["2026-12-31", 3, 3_600],
    ]);
    expect((await spend("from=2027-01-01&to=2027-02-01")).total.cost_micro_usd).toBe(12_000);
  });

  test("of a long prompt hold from the first token above the edge, for all of it", async () => {
    const price =
      "price: { input: 2, cached_input: 1, output: 10, tiers: [{ above: 1000, input: 4, cached_input: 2, output: 15 }] }";
    gateway = await startTestGateway({
      config: configOf({ edge: ["edge"], above: ["above"] }).concat(
        "\ndeployments:",
        `\n  edge: { provider: sim, model: 'fixed?input=1000&cached=400&output=10', ${price} }`,
        `\n  above: { provider: sim, model: 'fixed?input=1001&cached=400&output=10', ${price} }\n`,
      ),
    });
    await sendAll([
      { marker: "edge", body: { model: "edge" } },
      { marker: "above", body: { model: "above", stream: true } },
    ]);
    const rows = await allRows(gateway.admin);
    const costs = Object.fromEntries(rows.map((row) => [row.client_request_id, row.cost_micro_usd]));
    expect(costs).toEqual({ edge: 600 * 2 + 400 + 10 * 10, above: 601 * 4 + 400 * 2 + 10 * 15 });
  });

  test("that nobody knows are shown as unknown, never as nothing", async () => {
    gateway = await startTestGateway({ config: configText() });
    const orders = [false, true].map((stream) => ({
      marker: `stream-${stream}`,
      body: { model: "priceless", stream },
    }));
    const outcomes = await sendAll([...orders, { marker: "known", body: { model: "odd" } }]);
    for (const row of (await allRows(gateway.admin)).filter((one) => one.alias === "priceless")) {
      expect(row).toMatchObject({ cost_state: "unknown", cost_micro_usd: 0, usage: { input_tokens: 900 } });
      expect(row.attempts).toEqual([expect.objectContaining({ cost_state: "unknown", cost_micro_usd: 0 })]);
    }
    for (const { headers } of outcomes.filter(({ marker }) => marker !== "known"))
      expect(headers).not.toHaveProperty("x-sluicegate-cost-usd");
    const report = await spend("by=deployment");
    expect(report.total).toMatchObject({ requests: 3, unknown_cost_requests: 2 });
    expect(report.data.find((group) => group["deployment"] === "priceless")).toMatchObject({
      unknown_cost_requests: 2,
    });
    expect(report.data.find((group) => group["deployment"] === "odd")).toMatchObject({ unknown_cost_requests: 0 });
  });
});
