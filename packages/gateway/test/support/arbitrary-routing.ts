import fc from "fast-check";
import { aDeployment, aRoute, aTenant } from "../../src/config/fixtures/parts.ts";
import type {
  CanaryArm,
  ComplexityConfig,
  Deployment,
  KeyEntry,
  ProviderConfig,
  Route,
  RoutingRule,
  Snapshot,
  Strategy,
  Tenant,
} from "../../src/config/snapshot.ts";
import { CAPABILITIES, type Capability } from "../../src/core/call.ts";
import { type HealthFacts, UNKNOWN_HEALTH } from "../../src/core/health.ts";
import { Secret } from "../../src/core/secret.ts";
import { aConfig } from "../../src/routing/fixtures/config.ts";

/** The moment of these tests, epoch ms. */
export const NOW = 1_800_000_000_000;

const CLASSES = ["public", "internal", "restricted"];
const REGIONS = ["eu-west", "us-east"];
const TASKS = ["reasoning", "extraction"];
const TENANTS = ["acme", "other"];
const DEPLOYMENTS = ["a", "b", "c", "d", "e"];
const ALIASES = ["main", "small"];
const STRATEGIES: Strategy[] = ["ordered", "weighted", "cheapest", "fastest", "least_busy", "health"];

const provider = (name: string, kind: ProviderConfig["kind"], baseUrl: string): ProviderConfig => ({
  ...{ name, kind, preset: null, baseUrl, apiKey: new Secret("k", "a test"), auth: null, headers: {} },
  ...{ forwardHeaders: [], connections: 8, tls: null, proxy: null },
});

/** Providers of two dialects, so that something gets lost between them. */
export const PROVIDERS = [
  provider("openai", "openai", "http://127.0.0.1:9/v1"),
  provider("anthropic", "anthropic", "http://127.0.0.1:9"),
];

/** Most of the time the usual, so that most requests are served. */
function mostly<T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

const price = fc.integer({ min: 0, max: 30 }).map((usd) => {
  const rate = usd * 1e9;
  const rates = { input: rate, cachedInput: rate, cacheWrite: rate, cacheWrite1h: rate, output: rate };
  return [{ fromMs: 0, price: { ...rates, tiers: [], source: "config" as const } }];
});

const deployment = (name: string): fc.Arbitrary<Deployment> =>
  fc
    .record(
      {
        provider: fc.constantFrom("openai", "openai", "anthropic"),
        model: fc.constantFrom("m-1", "m-2"),
        region: mostly<string | null>("eu-west", fc.constantFrom(null, ...REGIONS)),
        capacity: fc.constantFrom("payg" as const, "provisioned" as const, "self_hosted" as const),
        maxOutputTokens: fc.constantFrom(null, 200),
        capabilities: mostly<readonly Capability[]>(
          CAPABILITIES,
          fc.subarray(["tools", "json_schema", "n", "logprobs"] as const),
        ),
        contextWindow: mostly(100_000, fc.constantFrom(20, 100)),
        maxClassification: mostly("restricted", fc.constantFrom(...CLASSES)),
        tenants: mostly(TENANTS, fc.subarray(TENANTS)),
        expectedLatencyMs: fc.integer({ min: 1, max: 3_000 }),
        prices: price,
      },
      { requiredKeys: ["provider", "model", "region", "capacity", "maxOutputTokens", "prices"] },
    )
    .map((changes) => aDeployment(name, changes));

const chain = fc.subarray(DEPLOYMENTS, { minLength: 1 }).chain((names) => fc.shuffledSubarray(names, { minLength: 1 }));
const values = (of: readonly string[]) => fc.subarray([...of], { minLength: 1 });

const when = fc.record(
  {
    classification: values(CLASSES),
    task_class: values(TASKS),
    tenant: values(TENANTS),
    alias: values(ALIASES),
    agent: values(["bot"]),
    tags: fc.constantFrom({ tier: ["gold"] }, { tier: ["gold", "tin"], team: ["x"] }),
  },
  { requiredKeys: [] },
);

const rules: fc.Arbitrary<RoutingRule[]> = fc
  .array(
    fc.record({
      priority: fc.integer({ min: 0, max: 3 }),
      when,
      unless: fc.option(when),
      chain,
      mode: fc.constantFrom("enforce" as const, "enforce" as const, "shadow" as const),
    }),
    { maxLength: 4 },
  )
  .map((all) => all.map((rule, i) => ({ ...rule, name: `rule-${i}` })).sort((x, y) => x.priority - y.priority));

const canary: fc.Arbitrary<CanaryArm[]> = fc
  .array(fc.record({ deployment: fc.constantFrom(...DEPLOYMENTS), percent: fc.integer({ min: 0, max: 50 }) }), {
    maxLength: 2,
  })
  .map((arms) => arms.map((arm, i) => ({ ...arm, variant: `v${i}`, flag: i === 1 ? "second" : null })));

const branch = fc.oneof(
  fc.constantFrom(...DEPLOYMENTS).map((name) => ({ kind: "deployment" as const, name })),
  fc.constant({ kind: "alias" as const, name: "small" }),
);
const complexity: fc.Arbitrary<ComplexityConfig> = fc.record({
  ...{ cheap: branch, capable: branch, shortChars: fc.constant(20), longChars: fc.constant(200) },
  ...{ tools: fc.constant(1), cut: fc.constant(0.5), budgetMs: fc.constant(50) },
  classifier: fc.constantFrom(null, { kind: "http" as const, url: "http://127.0.0.1:9" }),
});

const route = (alias: string): fc.Arbitrary<Route> =>
  fc
    .tuple(
      chain,
      fc.record({
        strategy: fc.constantFrom(...STRATEGIES),
        latencySloMs: fc.constantFrom(null, 500),
        dropUnsupported: fc.boolean(),
        affinity: fc.constantFrom("none" as const, "none" as const, "session" as const, "user" as const),
        tenantOverrides: fc.option(chain).map((own) => new Map(own ? [["other", own]] : [])),
        canary,
        complexity: alias === "main" ? fc.option(complexity) : fc.constant(null),
      }),
      fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 5, maxLength: 5 }),
    )
    .map(([names, changes, weights]) =>
      aRoute(alias, names, { ...changes, weights: names.map((_, i) => (i === 0 ? 1 : (weights[i] ?? 1))) }),
    );

const tenant = (name: string): fc.Arbitrary<Tenant> =>
  fc
    .record({
      deny: fc.subarray(["deployment:a", "openai/m-2", "small"], { maxLength: 1 }),
      classification: mostly<string | null>(null, fc.constantFrom(...CLASSES)),
      residency: mostly<string | null>(null, fc.constant("eu")),
    })
    .map(({ deny, classification, residency }) =>
      aTenant(name, {
        models: { allow: ["*", "openai/*", "deployment:b"], deny },
        defaults: { classification, residency },
        allow: ["hedge", "priority_high"],
      }),
    );

/** Configs in which anything may be set, of two aliases and five deployments. */
export const anyConfig: fc.Arbitrary<Snapshot> = fc
  .record({
    deployments: fc.tuple(...DEPLOYMENTS.map(deployment)),
    routes: fc.tuple(...ALIASES.map(route)),
    tenants: fc.tuple(...TENANTS.map(tenant)),
    rules,
    classifications: fc.constantFrom([], CLASSES),
    strict: mostly(false, fc.constant(true)),
    region: mostly<string | null>("eu-west", fc.constantFrom(null, "us-east")),
  })
  .map(({ strict, region, ...rest }) => {
    const config = aConfig({ ...rest, providers: PROVIDERS, regions: new Map([["eu", ["eu-west"]]]) });
    return { ...config, gateway: { ...config.gateway, strictPins: strict, region } };
  });

/** Bodies of chat requests that ask for this and that, with their platform fields. */
export const anyBody: fc.Arbitrary<Record<string, unknown>> = fc
  .record(
    {
      model: fc.constantFrom("main", "main", "main", "small", "openai/m-2", "openai/gpt-new", "deployment:b"),
      content: fc.integer({ min: 0, max: 300 }).map((chars) => "word ".repeat(chars).slice(0, chars)),
      stream: fc.boolean(),
      max_completion_tokens: fc.constantFrom(10, 500),
      n: fc.constantFrom(1, 2),
      logprobs: fc.constant(true),
      stop: fc.constantFrom(["x"], ["a", "b", "c", "d"]),
      seed: fc.constant(1),
      tools: fc.integer({ min: 1, max: 3 }).map((count) => Array.from({ length: count }, (_, i) => toolNamed(`t${i}`))),
      gateway: fc.record(
        {
          classification: fc.constantFrom(...CLASSES),
          residency: mostly("eu", fc.constant("us-east")),
          task_class: fc.constantFrom(...TASKS),
          session_id: fc.integer({ min: 0, max: 50 }).map((i) => `s${i}`),
          user: fc.constantFrom("u1", "u2"),
          agent: fc.constant("bot"),
          tags: fc.constantFrom({ tier: "gold" }, { tier: "tin", team: "x" }),
          priority: fc.constantFrom("high", "normal", "low"),
          hedge: fc.boolean(),
          fallback: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ["model", "content"] },
  )
  .map(({ content, ...rest }) => ({ ...rest, messages: [{ role: "user", content }] }));

function toolNamed(name: string): object {
  return { type: "function", function: { name, parameters: { type: "object", properties: {} } } };
}

const healthOne: fc.Arbitrary<HealthFacts> = fc
  .record(
    {
      circuit: fc.constantFrom("open" as const, "half_open" as const),
      retryAt: fc.constantFrom(NOW - 1_000, NOW + 5_000, NOW + 9_000),
      coolingUntil: fc.constantFrom(NOW - 1_000, NOW + 7_000),
      coolingFor: fc.constantFrom("rate_limited" as const, null),
      requests: fc.integer({ min: 0, max: 40 }),
      failures: fc.integer({ min: 0, max: 10 }),
      p50Ms: fc.integer({ min: 1, max: 4_000 }).map((ms) => ms + 0.3),
      ttftP50Ms: fc.integer({ min: 1, max: 900 }),
      inFlight: fc.integer({ min: 0, max: 9 }),
      saturation: fc.constantFrom(0, 0.4, 1),
      ramp: fc.constantFrom(0.1, 0.7),
      degraded: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .map((changes) => {
    const health = { ...UNKNOWN_HEALTH, ...changes };
    return { ...health, failures: Math.min(health.failures, health.requests) };
  });

/** How the deployments are, by the name under which their health is kept. */
export const anyHealth: fc.Arbitrary<Record<string, HealthFacts>> = fc.dictionary(
  fc.constantFrom(...DEPLOYMENTS, "openai/*"),
  healthOne,
);

/** A key of one of the tenants. */
export const anyKey: fc.Arbitrary<KeyEntry> = fc
  .record({
    tenant: fc.constantFrom(...TENANTS),
    narrowed: mostly(false, fc.constant(true)),
    team: fc.constantFrom(null, "payments"),
  })
  .map(({ tenant: name, narrowed, team }) => ({
    ...{ id: "k1", hash: "", tenant: name, team, application: null, name: null, expiresAt: null, source: "config" },
    models: narrowed ? { allow: ["main", "openai/m-2"], deny: ["deployment:c"] } : null,
  }));
