import { describe, expect, test } from "vitest";
import { aDeployment, aRoute } from "../config/fixtures/parts.ts";
import type { Deployment, Route, Snapshot } from "../config/snapshot.ts";
import type { HealthFacts } from "../core/health.ts";
import type { Price } from "../core/money.ts";
import { decide } from "./decide.ts";
import type { RouteFacts } from "./facts.ts";
import { aConfig, anInput, someFacts } from "./fixtures/config.ts";

type Healths = Record<string, Partial<HealthFacts>>;

/** USD per million tokens, of input and output alike. */
function priced(usd: number): Deployment["prices"] {
  const rate = usd * 1e9;
  const rates = { input: rate, cachedInput: rate, cacheWrite: rate, cacheWrite1h: rate, output: rate };
  const price: Price = { ...rates, tiers: [], source: "config" };
  return [{ fromMs: 0, price }];
}

function orderOf(
  deployments: readonly Deployment[],
  route: Partial<Route>,
  health: Healths = {},
  facts: Partial<RouteFacts> = {},
): readonly string[] {
  return order(configOf(deployments, route), health, facts);
}

function configOf(deployments: readonly Deployment[], route: Partial<Route>): Snapshot {
  const chain = deployments.map(({ name }) => name);
  return aConfig({ deployments, routes: [aRoute("main", chain, route)] });
}

function order(snapshot: Snapshot, health: Healths, facts: Partial<RouteFacts>): readonly string[] {
  return decide(anInput(snapshot, someFacts(facts), health)).chain;
}

/** How often each goes first, over evenly spread draws. */
function shares(
  count: number,
  deployments: readonly Deployment[],
  route: Partial<Route>,
  health: Healths = {},
): (name: string) => number {
  const snapshot = configOf(deployments, route);
  const firsts = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    const first = order(snapshot, health, { draw: (i + 0.5) / count })[0] ?? "";
    firsts.set(first, (firsts.get(first) ?? 0) + 1);
  }
  return (name) => (firsts.get(name) ?? 0) / count;
}

const near = (count: number, share: number): number => 5 * Math.sqrt((share * (1 - share)) / count);
const [a, b, c] = [aDeployment("a"), aDeployment("b"), aDeployment("c")];

describe("weighted", () => {
  const weights = [0.7, 0.3, 0];
  test("splits by weight; 0 serves as a fallback only", () => {
    const share = shares(5_000, [a, b, c], { strategy: "weighted", weights });
    expect(Math.abs(share("a") - 0.7)).toBeLessThan(near(5_000, 0.7));
    expect(share("c")).toBe(0);
    expect(orderOf([a, b, c], { strategy: "weighted", weights })[2]).toBe("c");
  });

  test("splits what is well by the weights of what is well", () => {
    const down: Healths = { a: { circuit: "open", retryAt: 2_000_000 } };
    const route: Partial<Route> = { strategy: "weighted", weights: [8, 1, 1] };
    const share = shares(5_000, [a, b, c], route, down);
    expect(share("a")).toBe(0);
    expect(Math.abs(share("b") - 0.5)).toBeLessThan(near(5_000, 0.5));
  });

  test("without weights takes all alike", () => {
    const share = shares(3_000, [a, b, c], { strategy: "weighted" });
    for (const name of ["a", "b", "c"]) expect(Math.abs(share(name) - 1 / 3)).toBeLessThan(near(3_000, 1 / 3));
  });
});

describe("cheapest", () => {
  const dear = aDeployment("dear", { prices: priced(10) });
  const cheap = aDeployment("cheap", { prices: priced(1) });
  const middle = aDeployment("middle", { prices: priced(5) });
  const known = { dear: { p50Ms: 100 }, cheap: { p50Ms: 3_000 }, middle: { p50Ms: 900 } };
  const slo = (ms: number | null): Partial<Route> => ({ strategy: "cheapest", latencySloMs: ms });

  test("goes by price where any pace will do", () => {
    expect(orderOf([dear, cheap, middle], slo(null))).toEqual(["cheap", "middle", "dear"]);
  });

  test("takes the cheapest that is fast enough, and then the faster of the rest", () => {
    expect(orderOf([dear, cheap, middle], slo(1_000), known)).toEqual(["middle", "dear", "cheap"]);
    expect(orderOf([dear, cheap, middle], slo(1_000), known, { stream: true })).toEqual(["middle", "dear", "cheap"]);
  });

  test("takes the fastest where none is fast enough", () => {
    expect(orderOf([cheap, middle, dear], slo(50), known)).toEqual(["dear", "middle", "cheap"]);
  });

  test("looks at the first token where the answer streams", () => {
    const streaming = { ...known, cheap: { p50Ms: 3_000, ttftP50Ms: 200 } };
    expect(orderOf([dear, cheap, middle], slo(1_000), streaming, { stream: true })[0]).toBe("cheap");
    expect(orderOf([dear, cheap, middle], slo(1_000), streaming)[0]).toBe("middle");
  });

  test("takes what was expected where nothing is seen yet", () => {
    const promised = aDeployment("promised", { prices: priced(0.5), expectedLatencyMs: 800 });
    expect(orderOf([dear, promised], slo(1_000), known)).toEqual(["promised", "dear"]);
  });

  test("counts provisioned capacity as paid until it is full, and then spills", () => {
    const owned = aDeployment("owned", { capacity: "provisioned", prices: priced(20) });
    expect(orderOf([cheap, owned], slo(null), { owned: { saturation: 0.99 } })).toEqual(["owned", "cheap"]);
    expect(orderOf([cheap, owned, dear], slo(null), { owned: { saturation: 1 } })).toEqual(["cheap", "dear", "owned"]);
  });

  test("puts a price that nobody knows last, but for a server of one's own", () => {
    const own = aDeployment("own", { capacity: "self_hosted" });
    expect(orderOf([aDeployment("unknown"), dear, own], slo(null))).toEqual(["own", "dear", "unknown"]);
  });

  test("compares what the request itself would cost", () => {
    const talks = aDeployment("talks", { prices: priced(1) });
    const reads = aDeployment("reads", { prices: priced(1) });
    for (const { price } of talks.prices) price.output = 0.1e9;
    for (const { price } of reads.prices) price.input = 0.1e9;
    const long = { input_tokens: 10_000, max_output_tokens: 10 };
    const wordy = { input_tokens: 10, max_output_tokens: 10_000 };
    expect(orderOf([talks, reads], slo(null), {}, long)[0]).toBe("reads");
    expect(orderOf([talks, reads], slo(null), {}, wordy)[0]).toBe("talks");
  });

  test("makes a cheaper one known, now and then", () => {
    const health = { dear: { p50Ms: 100 } };
    const share = shares(4_000, [dear, cheap], slo(1_000), health);
    expect(share("cheap")).toBeGreaterThan(0.02);
    expect(share("cheap")).toBeLessThan(0.08);
  });

  test("has no interest in one that is dearer than what will do", () => {
    const share = shares(2_000, [cheap, dear], slo(5_000), { cheap: { p50Ms: 90 } });
    expect(share("dear")).toBe(0);
  });
});

describe("fastest", () => {
  test("goes by what was seen, and then by what was expected", () => {
    const promised = aDeployment("promised", { expectedLatencyMs: 200 });
    const health = { a: { p50Ms: 300 }, b: { p50Ms: 100 } };
    expect(orderOf([a, promised, b, c], { strategy: "fastest" }, health)).toEqual(["b", "promised", "a", "c"]);
  });

  test("gives the unknown a small share, and an unwell one none", () => {
    const health: Healths = { a: { p50Ms: 300 } };
    const share = shares(4_000, [a, b], { strategy: "fastest" }, health);
    expect(Math.abs(share("b") - 0.05)).toBeLessThan(near(4_000, 0.05));
    const ill: Healths = { ...health, b: { degraded: true } };
    expect(shares(2_000, [a, b], { strategy: "fastest" }, ill)("b")).toBe(0);
  });
});

describe("least busy", () => {
  test("goes by the calls on their way", () => {
    const health = { a: { inFlight: 3 }, b: { inFlight: 1 }, c: { inFlight: 2 } };
    expect(orderOf([a, b, c], { strategy: "least_busy" }, health)).toEqual(["b", "c", "a"]);
    expect(orderOf([a, b, c], { strategy: "least_busy" })).toEqual(["a", "b", "c"]);
  });
});

describe("health", () => {
  const route: Partial<Route> = { strategy: "health", health: { errorCeiling: 1, windowMs: 60_000 } };
  const share = (health: Healths) => shares(4_000, [a, b], route, health);

  test("splits alike what is alike, known or not", () => {
    expect(Math.abs(share({})("a") - 0.5)).toBeLessThan(near(4_000, 0.5));
    const well = { requests: 100, failures: 0, p50Ms: 500 };
    expect(Math.abs(share({ a: well, b: well })("a") - 0.5)).toBeLessThan(near(4_000, 0.5));
  });

  test.each<[string, Partial<HealthFacts>, Partial<HealthFacts>, number]>([
    // Scores 1 and 0.64.
    ["errors", { requests: 100 }, { requests: 100, failures: 20 }, 1 / 1.64],
    ["latency", { p50Ms: 100 }, { p50Ms: 300 }, 0.75],
    // Scores 1 and 0.55.
    ["saturation", { saturation: 0 }, { saturation: 0.5 }, 1 / 1.55],
  ])("splits in proportion to %s", (_, first, second, expected) => {
    expect(Math.abs(share({ a: first, b: second })("a") - expected)).toBeLessThan(near(4_000, expected));
  });
});
