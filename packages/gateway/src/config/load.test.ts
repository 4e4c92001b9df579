import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { lines, loadText } from "./test/load-text.ts";

const fixture = (name: string): string => readFileSync(join(import.meta.dirname, "fixtures", name), "utf8");

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

function loadFull() {
  return loadText(fixture("full.yaml"), {
    variables: {
      OPENAI_API_KEY: "sk-openai",
      ALERT_WEBHOOK: "https://hooks.slack.com/services/T/B/x",
      GROQ_API_KEY: "gsk-groq",
      ROUTE_TOKEN: "t1",
      TILL_KEY: "sg_till-7_0123456789abcdef",
      SLUICEGATE_ADMIN_KEY: "an-admin-key-long-enough",
    },
    files: { "secrets/bank.key": "bank-secret\n", "secrets/ca.pem": PEM },
  });
}

describe("the small config of INTERFACE", () => {
  test("loads without a word", async () => {
    const loaded = await loadText(fixture("small.yaml"), { variables: { OPENAI_API_KEY: "sk-x" } });
    expect(lines(loaded)).toEqual([]);
    const { snapshot } = loaded;
    expect([...(snapshot?.deployments.keys() ?? [])]).toEqual([
      "openai/gpt-4o-2024-11-20",
      "local/llama3.2",
      "openai/gpt-4o-mini-2024-07-18",
    ]);
    expect(snapshot?.routes.get("default")).toEqual({
      alias: "default",
      chain: ["openai/gpt-4o-2024-11-20", "local/llama3.2"],
      fallback: true,
      timeouts: { hopMs: null, totalMs: null, streamMaxMs: 600_000 },
      retries: { attempts: 2, baseMs: 500, capMs: 8_000, budget: 0.2 },
      keepaliveMs: 15_000,
      dropUnsupported: false,
      strategy: "ordered",
      latencySloMs: null,
      health: { errorCeiling: 0.1, windowMs: 60_000 },
      tenantOverrides: new Map(),
      canary: [],
      complexity: null,
      slowStream: null,
      hedge: null,
      whenAllOpen: "refuse",
      whenAllCooling: "wait",
      contextFallback: false,
      affinity: "none",
      queue: { maxWaitMs: 5_000, maxDepth: 200, on: ["concurrency"] },
    });
    expect(snapshot?.deployments.get("local/llama3.2")).toMatchObject({
      provider: "local",
      model: "llama3.2",
      region: null,
      capacity: "self_hosted",
      timeouts: { connectMs: 5_000, firstTokenMs: null, idleMs: 30_000 },
    });
    expect(snapshot?.tenants.get("default")?.models).toEqual({ allow: "*", deny: [] });
    expect(snapshot?.gateway).toEqual({
      listen: { host: "127.0.0.1", port: 8080 },
      portFixed: false,
      region: null,
      bodyLimitBytes: 33_554_432,
      drainDelayMs: 0,
      drainTimeoutMs: 30_000,
      secretRefreshMs: 300_000,
      expose: "full",
      strictPins: false,
      gate: null,
    });
    expect(snapshot?.ledger).toEqual({
      path: null,
      fsync: false,
      spool: { maxBytes: 1_073_741_824, onFull: "refuse" },
    });
    expect(snapshot?.rawRoute).toMatchObject({ fallback: true, keepaliveMs: 15_000 });
  });

  test("is frozen, and the same text gives the same revision", async () => {
    const one = await loadText(fixture("small.yaml"), { variables: { OPENAI_API_KEY: "sk-x" } });
    const two = await loadText(`# a comment\n${fixture("small.yaml")}`, { variables: { OPENAI_API_KEY: "sk-y" } });
    expect(one.snapshot?.revision).toMatch(/^[0-9a-f]{12}$/);
    expect(two.snapshot?.revision).toBe(one.snapshot?.revision);
    expect(two.fingerprint).not.toBe(one.fingerprint);
    expect(Object.isFrozen(one.snapshot)).toBe(true);
    expect(Object.isFrozen(one.snapshot?.routes.get("fast")?.chain)).toBe(true);
    expect(Object.isFrozen(one.snapshot?.providers.get("openai"))).toBe(true);
  });
});

describe("the full config of INTERFACE, cut to this build", () => {
  test("loads, and warns only of what is doubtful", async () => {
    const loaded = await loadFull();
    expect(lines(loaded).filter((line) => line.includes("error"))).toEqual([]);
    expect(lines(loaded)).toEqual([]);
  });

  test("providers", async () => {
    const { snapshot } = await loadFull();
    const bank = snapshot?.providers.get("bank");
    expect(bank).toMatchObject({
      kind: "openai-compatible",
      preset: null,
      baseUrl: "https://llm.bank.example/v1",
      auth: { header: "x-api-key", prefix: "Key " },
      forwardHeaders: ["x-trace", "x-session"],
      connections: 32,
      proxy: "http://proxy.bank.example:3128",
      tls: { ca: PEM.trimEnd() },
    });
    expect(bank?.apiKey?.reveal()).toBe("bank-secret");
    expect(bank?.apiKey?.origin).toBe("file:secrets/bank.key");
    expect(bank?.headers["x-route-token"]?.reveal()).toBe("r-t1");
    expect(bank?.headers["x-route-token"]?.origin).toBe("env:ROUTE_TOKEN");
    expect(snapshot?.providers.get("vllm")?.baseUrl).toBe("http://127.0.0.1:8000/v1");
    expect(snapshot?.providers.get("groq")?.baseUrl).toBe("https://api.groq.com/openai/v1");
    expect(snapshot?.providers.get("sim")).toMatchObject({ kind: "simulator", baseUrl: null, apiKey: null });
    expect(JSON.stringify([...(snapshot?.providers.values() ?? [])])).not.toContain("bank-secret");
  });

  test("deployments and prices", async () => {
    const { snapshot } = await loadFull();
    const ptu = snapshot?.deployments.get("gpt-uae-ptu");
    const base = {
      input: 2_500_000_000,
      cachedInput: 1_250_000_000,
      cacheWrite: 2_500_000_000,
      cacheWrite1h: 4_000_000_000,
      output: 10_000_000_000,
    };
    expect(ptu).toMatchObject({
      contextWindow: 64_000,
      maxOutputTokens: 8_192,
      capabilities: ["tools", "vision", "json_schema"],
      retires: { atMs: Date.parse("2027-03-01T00:00:00Z"), announcedMs: null },
    });
    // Before the config's first price begins, the book's holds.
    expect(ptu?.prices.map(({ fromMs, price }) => [fromMs, price.source])).toEqual([
      [0, "book"],
      [Date.parse("2026-01-01T00:00:00Z"), "config"],
    ]);
    expect(ptu?.prices[1]?.price).toEqual({
      ...base,
      tiers: [
        {
          above: 200_000,
          rates: {
            input: 5_000_000_000,
            cachedInput: 2_500_000_000,
            cacheWrite: 5_000_000_000,
            cacheWrite1h: 5_000_000_000,
            output: 15_000_000_000,
          },
        },
      ],
      source: "config",
    });
    expect(ptu).toMatchObject({
      region: "uae-north",
      capacity: "provisioned",
      timeouts: { connectMs: 5_000, firstTokenMs: 10_000, idleMs: 30_000 },
    });
    const payg = snapshot?.deployments.get("gpt-uae-payg");
    expect(payg?.prices.map(({ fromMs }) => fromMs)).toEqual([0, Date.parse("2027-01-01T00:00:00Z")]);
    expect(payg?.prices[0]?.price).toMatchObject({ input: 3e9, cachedInput: 3e9, cacheWrite: 3e9, cacheWrite1h: 3e9 });
  });

  test("what decides where a request goes", async () => {
    const { snapshot } = await loadFull();
    expect(snapshot).toMatchObject({
      classifications: ["public", "internal", "confidential", "restricted"],
      regions: new Map([["gulf", ["uae-north", "qatar-central"]]]),
      taskClasses: ["reasoning", "classification", "extraction"],
      flags: { provider: "env", prefix: "BANK_FLAG_" },
      gateway: { gate: { kind: "command", command: "./evals.sh", timeoutMs: 600_000 } },
      state: { kind: "redis" },
      alerts: [{ format: "slack", kinds: ["breaker_opened", "model_drift"] }],
    });
    expect(snapshot?.rules.map(({ name, priority, mode }) => [name, priority, mode])).toEqual([
      ["restricted-stays-onshore", 10, "enforce"],
      ["cheap-classification", 20, "shadow"],
    ]);
    expect(snapshot?.deployments.get("gpt-uae-ptu")).toMatchObject({
      ...{ expectedLatencyMs: 700, maxClassification: "restricted", tenants: ["wholesale"] },
      limits: { rpm: 500, tpm: 150_000, concurrency: 64, floors: new Map([["wholesale", { rpm: null, tpm: 50_000 }]]) },
      breaker: {
        ...{ consecutive: 4, errorRate: 0.4, minRequests: 6, windowMs: 30_000 },
        ...{ latencyFactor: 2.5, recoveryMs: 20_000, probes: 2 },
      },
    });
    expect(snapshot?.routes.get("default")).toMatchObject({
      ...{ strategy: "cheapest", latencySloMs: 2_000, health: { errorCeiling: 0.2, windowMs: 30_000 } },
      tenantOverrides: new Map([["retail", ["gpt-uae-payg"]]]),
      canary: [{ deployment: "sim/next", percent: 5, variant: "next", flag: "route-canary-next" }],
      complexity: {
        cheap: { kind: "alias", name: "fast" },
        capable: { kind: "deployment", name: "gpt-uae-ptu" },
        ...{ shortChars: 100, longChars: 1_000, tools: 2, cut: 0.6, budgetMs: 40 },
        classifier: { kind: "alias", alias: "onshore" },
      },
      slowStream: { tokensPerSecond: 5, windowMs: 8_000, abort: true },
      hedge: { after: 300, maxExtra: 0.05 },
      ...{ whenAllOpen: "least_bad", whenAllCooling: "refuse", contextFallback: true, affinity: "session" },
      queue: { maxWaitMs: 2_000, maxDepth: 50, on: ["concurrency", "rate"] },
    });
    expect(snapshot?.routes.get("fast")).toMatchObject({ strategy: "weighted", weights: [0.9, 0.1, 0] });
    expect(snapshot?.providers.get("openai")?.limits).toEqual({ rpm: 10_000, tpm: 2_000_000, concurrency: null });
  });

  test("routes, tenants, keys", async () => {
    const { snapshot } = await loadFull();
    expect(snapshot?.routes.get("default")).toMatchObject({
      chain: ["gpt-uae-ptu", "gpt-uae-payg", "groq/llama-3.3-70b-versatile"],
      timeouts: { hopMs: 15_000, totalMs: 60_000, streamMaxMs: 600_000 },
    });
    expect(snapshot?.routes.get("fast")?.keepaliveMs).toBeNull();
    expect(snapshot?.routes.get("onshore")?.fallback).toBe(false);
    expect(snapshot?.tenants.get("wholesale")).toEqual({
      name: "wholesale",
      models: {
        allow: ["default", "fast", "openai/*", "deployment:llama-uae"],
        deny: ["onshore", "openai/gpt-4o-mini-2024-07-18"],
      },
      require: ["classification"],
      defaults: { classification: "internal", residency: "gulf" },
      allow: ["hedge", "priority_high"],
      teams: ["payments"],
      applications: ["bot"],
    });
    expect(snapshot?.keys[0]).toEqual({
      id: "ci",
      hash: "0123456789abcdef".repeat(4),
      tenant: "wholesale",
      team: "payments",
      application: "bot",
      name: "continuous integration",
      models: { allow: ["fast"], deny: [] },
      expiresAt: Date.parse("2027-01-01T00:00:00Z"),
      source: "config",
    });
    expect(snapshot?.keys[1]).toMatchObject({ id: "till-7", tenant: "retail", models: null, expiresAt: null });
    expect(snapshot?.keys[1]?.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(snapshot?.adminKeys.map(({ role, tenant }) => [role, tenant])).toEqual([
      ["admin", null],
      ["viewer", "wholesale"],
    ]);
  });
});

describe("policies", () => {
  const withModels = (models: string) => `providers: { sim: { kind: simulator } }
routes: { default: { chain: [sim/echo] } }
tenants: { a: { models: ${models} } }
`;

  test.each([
    ['"*"', { allow: "*", deny: [] }],
    ['{ allow: "*", deny: [default] }', { allow: "*", deny: ["default"] }],
    ['{ allow: ["*", "sim/*", "sim/org/*"] }', { allow: ["*", "sim/*", "sim/org/*"], deny: [] }],
    ["{ allow: [] }", { allow: [], deny: [] }],
    ['{ allow: ["deployment:sim/echo"] }', { allow: ["deployment:sim/echo"], deny: [] }],
  ])("models: %s", async (written, policy) => {
    const { snapshot, problems } = await loadText(withModels(written));
    expect(problems).toEqual([]);
    expect(snapshot?.tenants.get("a")?.models).toEqual(policy);
  });

  test("a tenant without models may use nothing", async () => {
    const { snapshot } = await loadText(`providers: { sim: { kind: simulator } }
routes: { default: { chain: [sim/echo] } }
tenants: { a: {} }
`);
    expect(snapshot?.tenants.get("a")?.models).toBeNull();
  });

  test("a key that only denies keeps the tenant's allow", async () => {
    const { snapshot, problems } = await loadText(`providers: { sim: { kind: simulator } }
routes: { default: { chain: [sim/echo] } }
tenants: { a: { models: { allow: [default, "sim/*"] } } }
keys: [ { id: k, hash: "sha256:${"0".repeat(64)}", tenant: a, models: { deny: ["sim/slow"] } } ]
`);
    expect(problems).toEqual([]);
    expect(snapshot?.keys[0]?.models).toEqual({ allow: ["default", "sim/*"], deny: ["sim/slow"] });
  });

  test("without routes, raw names are enough when someone may use them", async () => {
    const text = 'providers: { sim: { kind: simulator } }\ntenants: { a: { models: { allow: ["sim/*"] } } }\n';
    expect(lines(await loadText(text))).toEqual([]);
  });
});

describe("what the environment says", () => {
  const simple = "providers: { sim: { kind: simulator } }\nroutes: { default: { chain: [sim/echo] } }\n";

  test("SLUICEGATE_PORT, overruled by the command line, fixes the port", async () => {
    const variables = { SLUICEGATE_PORT: "9000" };
    const one = await loadText(simple, { variables });
    expect(one.snapshot?.gateway).toMatchObject({ listen: { host: "127.0.0.1", port: 9000 }, portFixed: true });
    const two = await loadText(simple, { variables, overrides: { port: 9001, host: "::1" } });
    expect(two.snapshot?.gateway).toMatchObject({ listen: { host: "::1", port: 9001 }, portFixed: true });
  });

  test("SLUICEGATE_PORT that is no port refuses", async () => {
    expect(lines(await loadText(simple, { variables: { SLUICEGATE_PORT: "80a" } }))).toEqual([
      "- error SLUICEGATE_PORT: `80a` is not a port: a number from 0 to 65535",
    ]);
  });

  test("SLUICEGATE_LEDGER stands over ledger.url", async () => {
    const { snapshot } = await loadText(simple, { variables: { SLUICEGATE_LEDGER: "sqlite:/tmp/x.sqlite" } });
    expect(snapshot?.ledger.path).toBe("/tmp/x.sqlite");
    const refused = await loadText(simple, { variables: { SLUICEGATE_LEDGER: "postgres://h/db" } });
    expect(lines(refused)[0]).toMatch(/^- error ledger.url: this build does not implement PostgreSQL/);
  });

  test("SLUICEGATE_STATE stands over state", async () => {
    const text = `${simple}state: redis://one:6379\n`;
    const memory = await loadText(text, { variables: { SLUICEGATE_STATE: "memory" } });
    expect([memory.problems, memory.snapshot?.state]).toEqual([[], { kind: "memory" }]);
    const { snapshot } = await loadText(text, { variables: { SLUICEGATE_STATE: "rediss://:pass@two:6380/1" } });
    const state = snapshot?.state;
    expect(state?.kind === "redis" && [state.url.reveal(), state.url.origin]).toEqual([
      "rediss://:pass@two:6380/1",
      "env:SLUICEGATE_STATE",
    ]);
    const refused = await loadText(simple, { variables: { SLUICEGATE_STATE: "http://:pass@h" } });
    expect(lines(refused)).toEqual([expect.stringMatching(/^- error state: `state` is neither `memory` nor a Redis/)]);
    expect(lines(refused).join()).not.toContain("pass");
  });

  test("a short admin key warns", async () => {
    const { snapshot, problems } = await loadText(simple, { variables: { SLUICEGATE_ADMIN_KEY: "short" } });
    expect(problems.map(({ severity, path }) => [severity, path])).toEqual([["warning", "SLUICEGATE_ADMIN_KEY"]]);
    expect(snapshot?.adminKeys).toHaveLength(1);
  });

  test("HTTPS_PROXY holds for https, except where NO_PROXY or loopback says otherwise", async () => {
    const text = `providers:
  a: { kind: openai, api_key: env:K }
  b: { kind: openai-compatible, base_url: https://llm.internal.example/v1 }
  c: { kind: openai-compatible, preset: ollama }
  d: { kind: openai, api_key: env:K, proxy: "http://own:1" }
routes: { default: { chain: [a/gpt-4o-2024-11-20, b/x, c/x, d/gpt-4o-2024-11-20] } }
`;
    const variables = { K: "k", HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "localhost, .internal.example" };
    const { snapshot } = await loadText(text, { variables });
    const proxies = [...(snapshot?.providers.values() ?? [])].map(({ name, proxy }) => [name, proxy]);
    expect(proxies).toEqual([
      ["a", "http://proxy:3128"],
      ["b", null],
      ["c", null],
      ["d", "http://own:1"],
    ]);
  });

  test("listening beyond loopback needs keys or tenants", async () => {
    const refused = await loadText(simple, { overrides: { host: "0.0.0.0" } });
    expect(lines(refused)[0]).toMatch(/^1:1 error gateway: listening on 0.0.0.0/);
    const key = `${simple}keys: [ { id: k, hash: "sha256:${"0".repeat(64)}" } ]\n`;
    expect((await loadText(key, { overrides: { host: "0.0.0.0" } })).snapshot?.gateway.listen.host).toBe("0.0.0.0");
    const tenants = `${simple}tenants: { a: { models: "*" } }\ngateway: { listen: "[::]:80" }\n`;
    expect((await loadText(tenants)).snapshot?.gateway.listen).toEqual({ host: "::", port: 80 });
  });
});
