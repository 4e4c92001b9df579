import { describe, expect, test } from "vitest";
import type { Route, Snapshot } from "./snapshot.ts";
import { SIM } from "./test/expect-refused.ts";
import { lines, loadText } from "./test/load-text.ts";

/** Loads a config that has to be good, with these warnings. */
async function load(text: string, warnings: string[] = []): Promise<Snapshot> {
  const loaded = await loadText(text);
  expect(lines(loaded)).toEqual(warnings);
  if (!loaded.snapshot) throw new Error("it was refused");
  return loaded.snapshot;
}

/** A route `r` with these options, beside an alias `other`. */
async function route(options: string, rest = ""): Promise<Route | undefined> {
  const text = `${SIM}routes:\n  r: { chain: [sim/a, sim/b], ${options} }\n  other: { chain: [sim/c] }\n${rest}`;
  return (await load(text)).routes.get("r");
}

describe("options of a route", () => {
  test.each<[written: string, read: Partial<Route>]>([
    ["strategy: cheapest, latency_slo: 2s", { strategy: "cheapest", latencySloMs: 2_000 }],
    ["strategy: least_busy", { strategy: "least_busy" }],
    ["health: { error_ceiling: 0.2 }", { health: { errorCeiling: 0.2, windowMs: 60_000 } }],
    ["health: { window: 5m }", { health: { errorCeiling: 0.1, windowMs: 300_000 } }],
    ["hedge: {}", { hedge: { after: "p95", maxExtra: 0.1 } }],
    ["hedge: { after: 0ms, max_extra: 1 }", { hedge: { after: 0, maxExtra: 1 } }],
    ["hedge: { after: 300ms }", { hedge: { after: 300, maxExtra: 0.1 } }],
    ["slow_stream: { tokens_per_second: 5 }", { slowStream: { tokensPerSecond: 5, windowMs: 10_000, abort: false } }],
    [
      "slow_stream: { tokens_per_second: 0.5, window: 3s, abort: true }",
      { slowStream: { tokensPerSecond: 0.5, windowMs: 3_000, abort: true } },
    ],
    ["when_all_open: least_bad, when_all_cooling: refuse", { whenAllOpen: "least_bad", whenAllCooling: "refuse" }],
    ["context_fallback: true, affinity: session", { contextFallback: true, affinity: "session" }],
    ["queue: { on: [] }", { queue: { maxWaitMs: 5_000, maxDepth: 200, on: [] } }],
  ])("%s", async (written, read) => {
    expect(await route(written)).toMatchObject(read);
  });

  test("a queue, where something can be full", async () => {
    const text = `providers: { sim: { kind: simulator, limits: { rpm: 5, concurrency: 2 } } }
routes: { r: { chain: [sim/a], queue: { max_wait: 1s, max_depth: 3, on: [rate, concurrency, rate] } } }
`;
    const { routes, providers } = await load(text);
    expect(routes.get("r")?.queue).toEqual({ maxWaitMs: 1_000, maxDepth: 3, on: ["rate", "concurrency"] });
    expect(providers.get("sim")?.limits).toEqual({ rpm: 5, tpm: null, concurrency: 2 });
  });

  test("weights, one for each of the chain", async () => {
    const text = `${SIM}routes:
  r: { strategy: weighted, chain: [{ deployment: sim/a, weight: 0.9 }, { deployment: sim/b, weight: 0 }] }
  even: { strategy: weighted, chain: [sim/a, sim/b] }
`;
    const { routes } = await load(text);
    expect(routes.get("r")).toMatchObject({ chain: ["sim/a", "sim/b"], weights: [0.9, 0] });
    expect(routes.get("even")).not.toHaveProperty("weights");
  });

  test("weights of what is left of a chain stay with their deployments", async () => {
    const text = `providers: { sim: { kind: simulator }, gone: { kind: openai, api_key: env:MISSING } }
routes:
  r: { strategy: weighted, chain: [{ deployment: gone/gpt-4o-2024-11-20, weight: 1 }, { deployment: sim/b, weight: 3 }] }
  s: { strategy: weighted, chain: [{ deployment: gone/gpt-4o-2024-11-20, weight: 1 }, { deployment: sim/b, weight: 0 }] }
`;
    const { snapshot } = await loadText(text, { allowMissingSecrets: true });
    expect(snapshot?.routes.get("r")).toMatchObject({ chain: ["sim/b"], weights: [3] });
    expect(snapshot?.routes.get("s")).not.toHaveProperty("weights");
  });

  test("an experiment: one arm, or several", async () => {
    const flags = "flags: {}\n";
    const arm = { deployment: "sim/n", percent: 5, variant: "next", flag: "canary" };
    expect(
      (await route("canary: { deployment: sim/n, percent: 5, variant: next, flag: canary }", flags))?.canary,
    ).toEqual([arm]);
    const two =
      "canary: [{ deployment: sim/n, percent: 33.4, variant: one }, { deployment: sim/a, percent: 66.6, variant: two }]";
    expect((await route(two))?.canary).toEqual([
      { deployment: "sim/n", percent: 33.4, variant: "one", flag: null },
      { deployment: "sim/a", percent: 66.6, variant: "two", flag: null },
    ]);
  });

  test("complexity, to deployments or aliases", async () => {
    expect((await route("complexity: { cheap: other, capable: sim/big }"))?.complexity).toEqual({
      cheap: { kind: "alias", name: "other" },
      capable: { kind: "deployment", name: "sim/big" },
      ...{ shortChars: 200, longChars: 2_000, tools: 3, cut: 0.5, budgetMs: 50, classifier: null },
    });
    const all =
      "complexity: { cheap: sim/a, capable: sim/b, short: 10, long: 20, tools: 0, cut: 0.7, budget: 80ms, classifier: { alias: other } }";
    expect((await route(all))?.complexity).toMatchObject({
      ...{ shortChars: 10, longChars: 20, tools: 0, cut: 0.7, budgetMs: 80 },
      classifier: { kind: "alias", alias: "other" },
    });
    const http = "complexity: { cheap: sim/a, capable: sim/b, classifier: { url: http://judge/score } }";
    expect((await route(http))?.complexity?.classifier).toEqual({ kind: "http", url: "http://judge/score" });
  });

  test("a branch is the deployment where an alias has the same name", async () => {
    const text = `${SIM}deployments: { other: { provider: sim, model: m } }
routes: { r: { chain: [sim/a], complexity: { cheap: other, capable: sim/b } }, other: { chain: [sim/c] } }
`;
    expect((await load(text)).routes.get("r")?.complexity?.cheap).toEqual({ kind: "deployment", name: "other" });
  });

  test("overrides, one deployment alone too", async () => {
    const tenants = 'tenants: { t: { models: "*" }, u: { models: "*" } }\n';
    const overrides = (await route("tenant_overrides: { t: [sim/own], u: [sim/b, sim/a] }", tenants))?.tenantOverrides;
    expect(overrides).toEqual(
      new Map([
        ["t", ["sim/own"]],
        ["u", ["sim/b", "sim/a"]],
      ]),
    );
  });

  test("where no tenants are declared there is `default`", async () => {
    expect((await route("tenant_overrides: { default: [sim/own] }"))?.tenantOverrides.get("default")).toEqual([
      "sim/own",
    ]);
  });

  test("what only these lead to is made, and counts as used", async () => {
    const text = `${SIM}deployments:
  arm: { provider: sim, model: arm }
  branch: { provider: sim, model: branch }
  ruled: { provider: sim, model: ruled }
  pinned: { provider: sim, model: pinned }
routes:
  r:
    chain: [sim/a]
    canary: [{ deployment: arm, percent: 1, variant: v }, { deployment: sim/arm2, percent: 1, variant: w }]
    complexity: { cheap: branch, capable: sim/branch2 }
    tenant_overrides: { t: [pinned, sim/pinned2] }
rules: [{ name: x, when: { task_class: [code] }, chain: [ruled, sim/ruled2] }]
tenants: { t: { models: "*" }, u: { models: "*" } }
`;
    expect([...(await load(text)).deployments.keys()].sort()).toEqual([
      ...["arm", "branch", "pinned", "ruled"],
      ...["sim/a", "sim/arm2", "sim/branch2", "sim/pinned2", "sim/ruled2"],
    ]);
  });

  test("complexity that leads to what was left out is not used, and an override that was stays, empty", async () => {
    const text = `providers: { sim: { kind: simulator }, gone: { kind: openai, api_key: env:MISSING } }
routes:
  r: { chain: [sim/a, sim/b], complexity: { cheap: lost, capable: sim/b } }
  lost: { chain: [gone/gpt-4o-2024-11-20] }
  s: { chain: [sim/a], tenant_overrides: { t: [gone/gpt-4o-2024-11-20] } }
tenants: { t: { models: "*" } }
`;
    const loaded = await loadText(text, { allowMissingSecrets: true });
    expect(loaded.snapshot?.routes.get("r")?.complexity).toBeNull();
    expect(lines(loaded)).toContainEqual(
      "3:43 warning routes.r.complexity: `complexity` is not used, because `lost` was left out",
    );
    expect(loaded.snapshot?.routes.get("s")?.tenantOverrides.get("t")).toEqual([]);
  });
});

describe("options of a deployment", () => {
  test("who may use it, for what, how much of it, and when it is broken", async () => {
    const text = `classifications: [public, secret]
providers: { sim: { kind: simulator } }
deployments:
  d:
    provider: sim
    model: m
    region: eu-west
    expected_latency: 700ms
    max_classification: secret
    tenants: [t, t]
    limits: { rpm: 500, tpm: 150000, concurrency: 64, floors: { t: { tpm: 50000 }, u: { rpm: 1 } } }
    breaker: { consecutive: 2, error_rate: 1, min_requests: 9, window: 30s, latency_factor: 1.5, recovery: 5s, probes: 3 }
routes: { r: { chain: [d] } }
tenants: { t: { models: "*" }, u: {} }
`;
    expect((await load(text)).deployments.get("d")).toMatchObject({
      ...{ expectedLatencyMs: 700, maxClassification: "secret", tenants: ["t"] },
      limits: {
        ...{ rpm: 500, tpm: 150_000, concurrency: 64 },
        floors: new Map([
          ["t", { rpm: null, tpm: 50_000 }],
          ["u", { rpm: 1, tpm: null }],
        ]),
      },
      breaker: {
        ...{ consecutive: 2, errorRate: 1, minRequests: 9, windowMs: 30_000 },
        ...{ latencyFactor: 1.5, recoveryMs: 5_000, probes: 3 },
      },
    });
  });

  test("nothing of it is there unless it is written, and breakers are as documented", async () => {
    const { deployments, rawDeployment } = await load(`${SIM}routes: { r: { chain: [sim/a] } }\n`);
    const breaker = {
      ...{ consecutive: 5, errorRate: 0.5, minRequests: 5, windowMs: 60_000 },
      ...{ latencyFactor: 3, recoveryMs: 30_000, probes: 1 },
    };
    expect(deployments.get("sim/a")).toEqual({
      ...{ name: "sim/a", provider: "sim", model: "a", region: null, capacity: "payg", api: null },
      ...{ maxOutputTokens: null, prices: expect.any(Array), breaker },
      timeouts: { connectMs: 5_000, firstTokenMs: null, idleMs: 30_000 },
    });
    expect(rawDeployment.breaker).toEqual(breaker);
  });
});

describe("the installation", () => {
  test("classes, task classes, groups of regions", async () => {
    const snapshot = await load(`${SIM}deployments: { d: { provider: sim, model: m, region: eu-west } }
routes: { r: { chain: [d] } }
classifications: [public, internal]
task_classes: [code, chat]
regions: { emea: [eu, me-south], eu: [eu-west, eu-north] }
`);
    expect(snapshot.classifications).toEqual(["public", "internal"]);
    expect(snapshot.taskClasses).toEqual(["code", "chat"]);
    // What is in a group is in every group around it.
    expect(snapshot.regions).toEqual(
      new Map([
        ["emea", ["eu", "eu-west", "eu-north", "me-south"]],
        ["eu", ["eu-west", "eu-north"]],
      ]),
    );
  });

  test("nothing of it unless it is written", async () => {
    expect(await load(`${SIM}routes: { r: { chain: [sim/a] } }\n`)).toMatchObject({
      ...{ classifications: [], taskClasses: null, regions: new Map(), rules: [], alerts: [], flags: null },
      state: { kind: "memory" },
      gateway: { gate: null },
    });
  });

  test("alerts and flags", async () => {
    const snapshot = await load(`${SIM}routes: { r: { chain: [sim/a] } }
alerts:
  - { url: "http://hook/1" }
  - { url: "https://hook/2", format: json, kinds: [breaker_opened, model_drift, breaker_opened] }
  - { url: "https://hook/3", kinds: "*" }
  - { url: "https://hook/4", kinds: [model_drift, "*"] }
flags: { prefix: FF_ }
`);
    expect(snapshot.alerts.map(({ url, format, kinds }) => [url.reveal(), format, kinds])).toEqual([
      ["http://hook/1", "json", "*"],
      ["https://hook/2", "json", ["breaker_opened", "model_drift"]],
      ["https://hook/3", "json", "*"],
      ["https://hook/4", "json", "*"],
    ]);
    expect(snapshot.flags).toEqual({ provider: "env", prefix: "FF_" });
  });

  test.each([
    "redis://localhost",
    "redis://user:p%40ss@10.0.0.1:6379/3",
    "redis://[::1]:6379",
    "rediss://cache.example.com:6380",
    "redis+sentinel://h1:26379,h2/mymaster",
    "redis+sentinel://:pass@h1,h2,h3/mymaster/2",
    "redis+cluster://h1,h2:7001",
    "rediss+cluster://:pass@h1",
    "rediss+sentinel://h1/mymaster?sentinel_password=pass",
    "redis+cluster://:pass@h1/",
  ])("state: %s", async (url) => {
    const { snapshot } = await loadText(`${SIM}routes: { r: { chain: [sim/a] } }\nstate: env:STATE\n`, {
      variables: { STATE: url },
    });
    const state = snapshot?.state;
    expect(state?.kind === "redis" && [state.url.reveal(), state.url.origin, String(state.url)]).toEqual([
      url,
      "env:STATE",
      "***",
    ]);
  });

  test("a gate: a command or a webhook", async () => {
    const gate = async (written: string) =>
      (await load(`gateway: { gate: ${written} }\n${SIM}routes: { r: { chain: [sim/a] } }\n`)).gateway.gate;
    expect(await gate("{ command: ./evals.sh }")).toEqual({
      kind: "command",
      command: "./evals.sh",
      timeoutMs: 300_000,
    });
    const webhook = await gate("{ webhook: https://ci/gate, timeout: 30s }");
    expect(webhook).toMatchObject({ kind: "webhook", timeoutMs: 30_000 });
    expect(webhook?.kind === "webhook" && webhook.url.reveal()).toBe("https://ci/gate");
  });

  test("secrets in addresses are hidden in what is shown, and told of where they are literal", async () => {
    const loaded = await loadText(`${SIM}routes: { r: { chain: [sim/a] } }
state: redis://:hunter22@cache
alerts: [{ url: "https://hooks.slack.com/services/T0/B0/tok", format: slack }]
gateway: { gate: { webhook: "https://ci/gate?token=abc" } }
`);
    expect(lines(loaded)).toEqual([
      "3:8 warning state: `state` holds a literal password; write env:NAME or file:PATH instead",
      "4:17 warning alerts[0].url: `url` is a literal secret; write env:NAME or file:PATH instead",
    ]);
    const shown = [3, 4, 5].map((line) => loaded.frame("sluicegate.yaml", line, 1)?.text);
    expect(shown).toEqual([
      "state: ***",
      'alerts: [{ url: "***", format: slack }]',
      'gateway: { gate: { webhook: "***" } }',
    ]);
  });

  test("a secret that is missing takes its alert or its gate along, where that is allowed", async () => {
    const text = `${SIM}routes: { r: { chain: [sim/a] } }
gateway: { gate: { webhook: env:NOWHERE, timeout: 5s } }
alerts: [{ url: env:NOWHERE }, { url: "http://hook" }]
state: env:NOWHERE
`;
    expect((await loadText(text)).snapshot).toBeNull();
    const { snapshot } = await loadText(text, { allowMissingSecrets: true });
    expect(snapshot?.gateway.gate).toBeNull();
    expect(snapshot?.alerts.map(({ url }) => url.reveal())).toEqual(["http://hook"]);
    expect(snapshot?.state).toEqual({ kind: "memory" });
  });
});

describe("tenants", () => {
  test("defaults, and what their clients may ask for", async () => {
    const { tenants } = await load(`classifications: [public, internal]
providers: { sim: { kind: simulator } }
gateway: { region: eu-west }
deployments: { d: { provider: sim, model: m, region: eu-west, max_classification: internal } }
routes: { r: { chain: [d] } }
tenants:
  t:
    models: "*"
    allow: [hedge, priority_high, hedge]
    require: [residency, hedge, priority]
    defaults: { residency: eu-west, classification: internal }
  u: { models: "*" }
`);
    expect(tenants.get("t")).toMatchObject({
      allow: ["hedge", "priority_high"],
      require: ["residency", "hedge", "priority"],
      defaults: { residency: "eu-west", classification: "internal" },
    });
    expect(tenants.get("u")).toMatchObject({ allow: [], defaults: { residency: null, classification: null } });
  });

  test("where none are declared, everything may be asked for", async () => {
    const { tenants } = await load(`${SIM}routes: { r: { chain: [sim/a] } }\n`);
    expect(tenants.get("default")?.allow).toBeNull();
  });
});
