import { describe, expect, test } from "vitest";
import { aDeployment, aRoute, aTenant } from "../config/fixtures/parts.ts";
import type { ComplexityConfig, Route, RoutingRule, Snapshot } from "../config/snapshot.ts";
import type { HealthFacts } from "../core/health.ts";
import { decide } from "./decide.ts";
import type { RouteFacts } from "./facts.ts";
import { aConfig, anInput, type Differences, someFacts } from "./fixtures/config.ts";

const rule = (name: string, changes: Partial<RoutingRule> = {}): RoutingRule => ({
  ...{ name, priority: 10, when: {}, unless: null, chain: ["c"], mode: "enforce" as const },
  ...changes,
});
const deployments = ["a", "b", "c", "d", "next"].map((name) => aDeployment(name, { region: "eu-west" }));

/** The config that `decided` uses, for those who decide many times under one. */
function configOf(route: Partial<Route>, differences: Partial<Differences> = {}): Snapshot {
  const routes = [aRoute("main", ["a", "b"], route), aRoute("small", ["d"]), aRoute("large", ["c", "d"])];
  return aConfig({ deployments, routes, ...differences });
}

function decided(
  route: Partial<Route> = {},
  facts: Partial<RouteFacts> = {},
  { health = {}, ...differences }: Partial<Differences> & { health?: Record<string, Partial<HealthFacts>> } = {},
) {
  return decide(anInput(configOf(route, differences), someFacts(facts), health));
}

describe("what decides", () => {
  test("is the route's own chain when nothing else does", () => {
    expect(decided()).toMatchObject({ alias: "main", route: "main", rule: "chain", variant: null, chain: ["a", "b"] });
  });

  test("is a raw name", () => {
    expect(decided({}, { alias: "deployment:c" })).toMatchObject({ rule: "raw", route: "deployment:c", chain: ["c"] });
  });

  test("is a tenant's own chain, before every rule, experiment and complexity", () => {
    const route = {
      tenantOverrides: new Map([["acme", ["d"]]]),
      canary: [{ deployment: "next", percent: 100, variant: "next", flag: null }],
    };
    const found = decided(route, {}, { rules: [rule("everybody")] });
    expect(found).toMatchObject({ rule: "override", chain: ["d"], variant: null });
    const other = { tenants: [aTenant("acme"), aTenant("other")], rules: [rule("everybody")] };
    expect(decided(route, { tenant: "other" }, other)).toMatchObject({ rule: "everybody" });
  });

  test("is a tenant's own chain also where nothing of it is left: nothing outside serves it", () => {
    const closed = [...deployments.filter(({ name }) => name !== "d"), aDeployment("d", { tenants: ["other"] })];
    const found = decided({ tenantOverrides: new Map([["acme", ["d"]]]) }, {}, { deployments: closed });
    expect(found).toMatchObject({ rule: "override", chain: [], candidates: [{ deployment: "d", gate: "tenants" }] });
  });

  test("is the first rule that matches", () => {
    const rules = [
      rule("other-class", { when: { task_class: ["extraction"] } }),
      rule("gold", { when: { tags: { tier: ["gold"] }, alias: ["main"] }, chain: ["d"] }),
      rule("everybody"),
    ];
    expect(decided({}, { tags: { tier: "gold" } }, { rules })).toMatchObject({ rule: "gold", chain: ["d"] });
    expect(decided({}, { tags: { tier: "tin" } }, { rules })).toMatchObject({ rule: "everybody", chain: ["c"] });
    expect(decided({}, { alias: "small", tags: { tier: "gold" } }, { rules })).toMatchObject({ rule: "everybody" });
  });

  test("is no rule whose chain the gates leave nothing of, and that is said", () => {
    const gone = [...deployments, aDeployment("x", { tenants: [] })];
    const rules = [rule("empty", { chain: ["x"] }), rule("next", { chain: ["x", "d"] })];
    const found = decided({}, {}, { deployments: gone, rules });
    expect(found).toMatchObject({ rule: "next", chain: ["d"] });
    expect(found.passed).toEqual([{ rule: "empty", candidates: [expect.objectContaining({ deployment: "x" })] }]);
  });

  test("is no rule in shadow, but it is told of", () => {
    const rules = [rule("tried", { mode: "shadow", chain: ["d"] }), rule("behind", { when: { tenant: ["nobody"] } })];
    expect(decided({}, {}, { rules })).toMatchObject({ rule: "chain", shadow: [{ rule: "tried", chain: ["d"] }] });
  });

  test("is no rule that its `unless` takes out", () => {
    const rules = [rule("cheap", { unless: { tags: { tier: ["gold"] }, tenant: ["acme"] } })];
    expect(decided({}, { tags: { tier: "gold" } }, { rules }).rule).toBe("chain");
    expect(decided({}, {}, { rules }).rule).toBe("cheap");
  });

  test("is never health: a rule whose whole chain is down still decides", () => {
    const health = { c: { circuit: "open" as const, retryAt: 2_000_000 } };
    expect(decided({}, {}, { rules: [rule("everybody")], health })).toMatchObject({ rule: "everybody", chain: ["c"] });
  });
});

describe("experiments", () => {
  const canary = (percent: number, flag: string | null = null) => [
    { deployment: "next", percent, variant: "next", flag },
  ];

  test("put their deployment first, and keep the chain behind it", () => {
    expect(decided({ canary: canary(100) })).toMatchObject({
      rule: "canary",
      variant: "next",
      chain: ["next", "a", "b"],
    });
    expect(decided({ canary: canary(0) })).toMatchObject({ rule: "chain", variant: "stable", chain: ["a", "b"] });
  });

  test("keep their label when their deployment is down", () => {
    const health = { next: { circuit: "open" as const, retryAt: 2_000_000 } };
    const found = decided({ canary: canary(100) }, {}, { health });
    expect(found).toMatchObject({ rule: "canary", variant: "next", chain: ["a", "b", "next"] });
  });

  test("are not for those whom the gates keep from their deployment", () => {
    const closed = [...deployments.slice(0, -1), aDeployment("next", { tenants: [] })];
    expect(decided({ canary: canary(100) }, {}, { deployments: closed })).toMatchObject({ variant: "stable" });
  });

  test("are turned off by their flag", () => {
    expect(decided({ canary: canary(100, "f") }, { flags: { f: false } })).toMatchObject({ variant: "stable" });
    expect(decided({ canary: canary(100, "f") }, { flags: { f: true } })).toMatchObject({ variant: "next" });
    expect(decided({ canary: canary(100, "f") })).toMatchObject({ variant: "next" });
  });

  test("are seen last by the others, wherever the chain has their deployment", () => {
    const health = { next: { p50Ms: 1 }, a: { p50Ms: 100 }, b: { p50Ms: 50 } };
    const found = decided({ chain: ["next", "a", "b"], canary: canary(0), strategy: "fastest" }, {}, { health });
    expect(found.chain).toEqual(["b", "a", "next"]);
  });
});

describe("complexity", () => {
  const complexity = (changes: Partial<ComplexityConfig> = {}): ComplexityConfig => ({
    cheap: { kind: "alias", name: "small" },
    capable: { kind: "deployment", name: "c" },
    ...{ shortChars: 200, longChars: 2_000, tools: 3, cut: 0.5, budgetMs: 50, classifier: null },
    ...changes,
  });
  const classifier = { kind: "http" as const, url: "http://127.0.0.1:1" };

  test.each<[Partial<RouteFacts>, string, string, string[]]>([
    [{ last_message_chars: 199 }, "short", "small", ["d"]],
    [{ last_message_chars: 200 }, "ambiguous", "main", ["c", "a", "b"]],
    [{ last_message_chars: 199, tools: 1 }, "ambiguous", "main", ["c", "a", "b"]],
    [{ last_message_chars: 10, tools: 4 }, "tools", "main", ["c", "a", "b"]],
    [{ last_message_chars: 2_001 }, "long", "main", ["c", "a", "b"]],
    [{ classifier_score: 0.49 }, "classifier", "small", ["d"]],
    [{ classifier_score: 0.5 }, "classifier", "main", ["c", "a", "b"]],
    [{ classifier_score: null }, "classifier_silent", "main", ["c", "a", "b"]],
  ])("%j: %s, %s", (facts, because, route, chain) => {
    const found = decided({ complexity: complexity() }, facts);
    expect(found).toMatchObject({ rule: "chain", route, chain, complexity: { because } });
    expect(found.ask).toBeUndefined();
  });

  test("asks a classifier only where its word would decide", () => {
    const route = { complexity: complexity({ classifier }) };
    expect(decided(route).ask).toEqual(classifier);
    expect(decided(route, { last_message_chars: 10 }).ask).toBeUndefined();
    expect(decided(route, { classifier_score: 0.1 }).ask).toBeUndefined();
    expect(decided(route, {}, { rules: [rule("everybody")] }).ask).toBeUndefined();
    expect(decided({ ...route, tenantOverrides: new Map([["acme", ["d"]]]) }).ask).toBeUndefined();
  });

  test("is no way around the caller's permissions", () => {
    const tenants = [aTenant("acme", { models: { allow: ["main"], deny: [] } })];
    const found = decided({ complexity: complexity() }, { last_message_chars: 1 }, { tenants });
    expect(found).toMatchObject({ route: "main", chain: ["a", "b"], complexity: { verdict: "cheap", to: "main" } });
  });

  test("is no way around a tenant's own chain at the other alias", () => {
    const small = aRoute("small", ["d"], { tenantOverrides: new Map([["acme", ["b"]]]) });
    const main = aRoute("main", ["a", "b"], { complexity: complexity() });
    const found = decided({ complexity: complexity() }, { last_message_chars: 1 }, { routes: [main, small] });
    expect(found).toMatchObject({ route: "small", rule: "override", chain: ["b"], complexity: { to: "small" } });
    const facts = { last_message_chars: 1, tenant: "other" };
    const others = decided({}, facts, { routes: [main, small], tenants: [aTenant("other")] });
    expect(others).toMatchObject({ route: "small", rule: "chain", chain: ["d"] });
  });

  test("counts failures over the window of the route that serves", () => {
    const health = { errorCeiling: 0.1, windowMs: 7_000 };
    const routes = [aRoute("main", ["a"], { complexity: complexity() }), aRoute("small", ["d", "b"], { health })];
    const asked: number[] = [];
    const input = anInput(configOf({}, { routes }), someFacts({ last_message_chars: 1 }));
    decide({
      ...input,
      health(one, scored, windowMs) {
        asked.push(windowMs);
        return input.health(one, scored, windowMs);
      },
    });
    expect(asked).toEqual([7_000, 7_000]);
  });

  test("is for the conversations that are in no arm", () => {
    const canary = [{ deployment: "next", percent: 100, variant: "next", flag: null }];
    const found = decided({ complexity: complexity(), canary }, { last_message_chars: 1 });
    expect(found).toMatchObject({ route: "main", rule: "canary", chain: ["next", "a", "b"] });
  });

  test("means nothing to what is no conversation", () => {
    const found = decided({ complexity: complexity() }, { operation: "embeddings", last_message_chars: 1 });
    expect(found).toMatchObject({ route: "main", chain: ["a", "b"] });
    expect(found.complexity).toBeUndefined();
  });
});

describe("the gates", () => {
  const regions = new Map([["eu", ["eu-west"]]]);

  test("take out what a rule or a chain lists in spite of them", () => {
    const mixed = [...deployments, aDeployment("us", { region: "us-east" })];
    const found = decided({ chain: ["us", "a"] }, { residency: "eu" }, { deployments: mixed, regions });
    expect(found).toMatchObject({ residency: "eu", chain: ["a"] });
    expect(found.candidates[1]).toMatchObject({ deployment: "us", kept: false, gate: "residency" });
  });

  test("hold for the replica itself, before anything is looked at", () => {
    const here = aConfig({ deployments, routes: [aRoute("main", ["a"])], regions });
    const elsewhere = { ...here, gateway: { ...here.gateway, region: "us-east" } };
    const nowhere = { ...here, gateway: { ...here.gateway, region: null } };
    const facts = someFacts({ residency: "eu" });
    expect(decide(anInput(here, facts)).chain).toEqual(["a"]);
    for (const config of [elsewhere, nowhere]) {
      expect(decide(anInput(config, facts))).toMatchObject({ chain: [], refused: { gate: "residency" } });
      expect(decide(anInput(config, someFacts())).chain).toEqual(["a"]);
    }
  });

  test("hold for denied deployments", () => {
    const tenants = [aTenant("acme", { models: { allow: "*", deny: ["deployment:a"] } })];
    const found = decided({}, {}, { tenants });
    expect(found.candidates).toEqual([
      { deployment: "b", kept: true, reason: "the only one left" },
      { deployment: "a", kept: false, gate: "permission", reason: "denied to this key" },
    ]);
  });

  test("let drop what the route lets drop", () => {
    const facts = { lost: { a: ["stop"] } };
    expect(decided({}, facts).candidates[1]).toMatchObject({
      deployment: "a",
      gate: "expressibility",
      fields: ["stop"],
    });
    expect(decided({ dropUnsupported: true }, facts).chain).toEqual(["a", "b"]);
  });
});

describe("health", () => {
  const later = 1_000_000 + 60_000;
  const failed = (requests: number, failures: number) => ({ requests, failures });
  test.each<[string, Record<string, Partial<HealthFacts>>, string[]]>([
    ["is well", {}, ["a", "b", "c"]],
    ["an open circuit", { a: { circuit: "open", retryAt: later } }, ["b", "c", "a"]],
    ["a probe that is out", { a: { circuit: "half_open", retryAt: later } }, ["b", "c", "a"]],
    ["a probe that is due", { a: { circuit: "open", retryAt: 999_999 } }, ["a", "b", "c"]],
    [
      "a probe that is due after many failures",
      { a: { circuit: "open", retryAt: 1, ...failed(10, 9) } },
      ["a", "b", "c"],
    ],
    ["a cooldown", { a: { coolingUntil: later } }, ["b", "c", "a"]],
    ["a cooldown that is over", { a: { coolingUntil: 999_999 } }, ["a", "b", "c"]],
    [
      "all down: the soonest first",
      { a: { coolingUntil: later }, b: { circuit: "open", retryAt: later - 2 }, c: { coolingUntil: later - 1 } },
      ["b", "c", "a"],
    ],
    ["slow", { a: { degraded: true } }, ["b", "c", "a"]],
    ["errors over the ceiling", { a: { requests: 10, failures: 2 } }, ["b", "c", "a"]],
    ["errors at the ceiling", { a: { requests: 10, failures: 1 } }, ["a", "b", "c"]],
    ["too few calls to tell", { a: { requests: 4, failures: 4 } }, ["a", "b", "c"]],
    ["slow goes before failing", { a: { requests: 10, failures: 2 }, b: { degraded: true } }, ["c", "b", "a"]],
    [
      "all fail: the best first",
      { a: { requests: 10, failures: 5 }, b: { requests: 10, failures: 2 }, c: { requests: 10, failures: 3 } },
      ["b", "c", "a"],
    ],
    ["recovered, takes nothing yet", { a: { ramp: 0 } }, ["b", "c", "a"]],
  ])("%s", (_, health, chain) => {
    expect(decided({ chain: ["a", "b", "c"] }, {}, { health }).chain).toEqual(chain);
  });

  test("gives a recovering one its share, call by call", () => {
    const snapshot = configOf({});
    let first = 0;
    for (let i = 0; i < 4_000; i++) {
      const found = decide(anInput(snapshot, someFacts({ draw: i / 4_000 }), { a: { ramp: 0.25 } }));
      if (found.chain[0] === "a") first++;
    }
    expect(Math.abs(first - 1_000)).toBeLessThan(5 * Math.sqrt(4_000 * 0.25 * 0.75));
  });
});

describe("affinity", () => {
  const chain = ["a", "b", "c", "d"];
  const route: Partial<Route> = { chain, affinity: "session" };
  /** Where sessions begin, whatever is drawn. */
  const firsts = (changes: Partial<Route> = {}, health: Record<string, Partial<HealthFacts>> = {}) => {
    const snapshot = configOf({ ...route, ...changes });
    let draw = 0;
    return (session: string): string => {
      draw = (draw + 0.37) % 1;
      return decide(anInput(snapshot, someFacts({ session, draw }), health)).chain[0] ?? "";
    };
  };

  test("spreads sessions over the chain, and each stays", () => {
    const sessions = Array.from({ length: 400 }, (_, i) => `s${i}`);
    const firstOf = firsts();
    const shares = new Map<string, number>();
    for (const session of sessions) {
      const first = firstOf(session);
      shares.set(first, (shares.get(first) ?? 0) + 1);
      expect(firstOf(session)).toBe(first);
    }
    for (const name of chain) expect(Math.abs((shares.get(name) ?? 0) - 100)).toBeLessThan(5 * Math.sqrt(400 * 0.1875));
  });

  test("moves only those whose deployment is gone, and brings them back", () => {
    const up = firsts();
    const ill = firsts({}, { a: { circuit: "open", retryAt: 2_000_000 } });
    for (let i = 0; i < 200; i++) {
      const before = up(`s${i}`);
      const during = ill(`s${i}`);
      if (before === "a") expect(during).not.toBe("a");
      else expect(during).toBe(before);
    }
  });

  test("follows weights, and keeps a weight of 0 out", () => {
    const firstOf = firsts({ strategy: "weighted", weights: [3, 1, 0, 0] });
    let heavy = 0;
    for (let i = 0; i < 1_000; i++) {
      const first = firstOf(`s${i}`);
      expect(["a", "b"]).toContain(first);
      if (first === "a") heavy++;
    }
    expect(Math.abs(heavy - 750)).toBeLessThan(5 * Math.sqrt(1_000 * 0.1875));
  });

  test("is nothing to a tenant's own chain, and to a request that says no session", () => {
    const firstOf = firsts({ tenantOverrides: new Map([["acme", ["d", "c"]]]) });
    for (let i = 0; i < 20; i++) expect(firstOf(`s${i}`)).toBe("d");
    expect(decided(route).chain).toEqual(chain);
  });

  test("keeps sessions of different tenants apart", () => {
    const tenants = [aTenant("acme"), aTenant("other")];
    const differ = Array.from({ length: 50 }, (_, i) => {
      const [one, two] = ["acme", "other"].map(
        (tenant) => decided(route, { tenant, session: `s${i}` }, { tenants }).chain[0],
      );
      return one !== two;
    });
    expect(differ).toContain(true);
  });
});
