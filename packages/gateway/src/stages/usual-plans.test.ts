import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyBody, anyConfig, anyHealth, anyKey, NOW, PROVIDERS } from "../../test/support/arbitrary-routing.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { aDeployment, aRoute, aTenant } from "../config/fixtures/parts.ts";
import type { Deployment, KeyEntry, Route, Snapshot, Tenant } from "../config/snapshot.ts";
import { CAPABILITIES, type Capability } from "../core/call.ts";
import { Cancel } from "../core/cancel.ts";
import { GatewayError } from "../core/errors.ts";
import { type HealthFacts, UNKNOWN_HEALTH } from "../core/health.ts";
import { LIMITS } from "../core/limits.ts";
import { offlineRuntime } from "../offline-runtime.ts";
import { protocolNamed } from "../protocols/registry.ts";
import type { Decision } from "../routing/decision.ts";
import { aConfig } from "../routing/fixtures/config.ts";
import { isAtEase } from "../routing/order-by-health.ts";
import { plan } from "./plan.ts";
import type { DataPlane, Runtime } from "./plane.ts";
import { type Plan, route } from "./route.ts";
import { routeFacts } from "./route-facts.ts";
import type { Visit } from "./visit.ts";

const RUNS = { numRuns: 500 };

/** What has a say beside gates and health, in configs that are plain but for it. */
const SAYS = ["nothing", "rules", "strategy", "affinity", "canary", "complexity"] as const;
type Say = (typeof SAYS)[number];

/** Nothing but gates and health decides, and this: what most configs are, and what plans are remembered for. */
function plain(snapshot: Snapshot, say: Say): Snapshot {
  const routes = [...snapshot.routes].map(([alias, each]): [string, Route] => {
    const { weights: _, ...rest } = each;
    const least: Route = { ...rest, strategy: "ordered", affinity: "none", canary: [], complexity: null };
    if (say === "strategy") return [alias, { ...least, strategy: each.strategy }];
    if (say === "affinity") return [alias, { ...least, affinity: each.affinity }];
    // The arm that no flag is asked for.
    if (say === "canary") return [alias, { ...least, canary: each.canary.slice(0, 1) }];
    return [alias, say === "complexity" ? { ...least, complexity: each.complexity } : least];
  });
  const deployments = [...snapshot.deployments].map(([name, each]): [string, Deployment] => {
    return [name, name === "e" ? each : { ...each, provider: "openai" }];
  });
  const rules = say === "rules" ? snapshot.rules : [];
  return { ...snapshot, rules, routes: new Map(routes), deployments: new Map(deployments) };
}

/** Asks for what most requests ask for. */
function modest({ n: _n, logprobs: _l, ...body }: Record<string, unknown>): Record<string, unknown> {
  return { ...body, model: "main" };
}

/** And says nothing to the gateway. */
function bare(body: Record<string, unknown>): Record<string, unknown> {
  const { gateway: _, ...rest } = modest(body);
  return rest;
}

interface Request {
  body: Record<string, unknown>;
  who: number;
  dialect: string;
  health: Record<string, HealthFacts>;
  draw: number;
}

const WELL: Record<string, HealthFacts> = {};
const sent = fc.record({
  body: fc.oneof(anyBody, anyBody.map(modest), anyBody.map(bare), anyBody.map(bare)),
  dialect: fc.constantFrom("openai-chat", "openai-chat", "openai-responses"),
});
const moment = fc.record({
  which: fc.nat({ max: 2 }),
  who: fc.nat({ max: 2 }),
  health: fc.oneof(fc.constant(WELL), anyHealth),
  draw: fc.integer({ min: 0, max: 999 }).map((i) => i / 1_000),
});
/** Requests of three kinds, again and again. */
const requests: fc.Arbitrary<Request[]> = fc
  .tuple(fc.tuple(sent, sent, sent), fc.array(moment, { minLength: 4, maxLength: 16 }))
  .map(([kinds, moments]) => moments.map(({ which, ...rest }) => ({ ...(kinds[which] ?? kinds[0]), ...rest })));
const keys = fc.tuple(anyKey, anyKey, anyKey);
const configs = fc
  .tuple(anyConfig, fc.constantFrom(null, ...SAYS, "nothing" as const))
  .map(([config, say]) => unasked(say === null ? config : plain(config, say)));

/** Nobody is asked for a word on complexity: that takes time. */
function unasked(snapshot: Snapshot): Snapshot {
  const routes = [...snapshot.routes].map(([alias, each]): [string, Route] => {
    const { complexity } = each;
    return [alias, { ...each, complexity: complexity && { ...complexity, classifier: null } }];
  });
  return { ...snapshot, routes: new Map(routes) };
}

function runtimeOf(snapshot: Snapshot): Runtime {
  return { ...offlineRuntime(snapshot, new VirtualClock()), madeDeployments: () => [], ceilings: () => [] };
}

/** What a request is planned with, made anew: routing adds to the facts. */
function planningOf(runtime: Runtime, key: KeyEntry, { body, dialect, draw }: Request) {
  const client = protocolNamed(dialect);
  const tenant = runtime.snapshot.tenants.get(key.tenant);
  if (!client || !tenant) throw new Error("these are always there");
  const { model, messages, gateway } = body;
  const sent = dialect === "openai-responses" ? { model, input: messages, gateway } : body;
  const raw = Buffer.from(JSON.stringify(sent));
  const header = (name: string) => (name === "content-type" ? "application/json" : undefined);
  const call = client.decodeRequest({ raw, header, path: { query: "" } });
  const caller = { key, tenant };
  const facts = routeFacts(runtime, caller, call, { at: NOW, draw });
  return { runtime, visit: { protocol: client } as Visit, caller, call, facts };
}

function planeOf(health: Record<string, HealthFacts>): DataPlane {
  const read = (name: string): HealthFacts => health[name] ?? UNKNOWN_HEALTH;
  return {
    clock: new VirtualClock(),
    health: { read, isWell: (name: string) => isAtEase({ health: read(name) }) },
    metrics: { shadowed() {} },
    flags: { read: () => ({}) },
  } as unknown as DataPlane;
}

async function outcomeOf<T>(make: () => T | Promise<T>): Promise<T | GatewayError> {
  try {
    return await make();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

const names = ({ hops }: Plan): string[] =>
  hops.map(({ deployment, provider, protocol, crossing, pool, health }) =>
    [deployment.name, provider.config.name, protocol.name, crossing !== null, pool, health].join(" "),
  );

describe("a request like one before it", () => {
  it("gets the plan that routing would make, whatever came between", async () => {
    let remembered = 0;
    await fc.assert(
      fc.asyncProperty(configs, keys, requests, async (snapshot, all, each) => {
        const runtime = runtimeOf(snapshot);
        const seen = new Set<Decision>();
        for (const asked of each) {
          const key = all[asked.who] as KeyEntry;
          const planned = await outcomeOf(() => planningOf(runtime, key, asked));
          // Refused before it is routed.
          if (planned instanceof GatewayError) continue;
          const { facts, caller, call, visit } = planningOf(runtime, key, asked);
          const plane = planeOf(asked.health);
          const got = await outcomeOf(() => plan(plane, planned, new Cancel()));
          if (planned.facts.flags) facts.flags = planned.facts.flags;
          const wanted = await outcomeOf(() => route(runtime, caller, visit.protocol, call, facts, plane.health.read));
          if (wanted instanceof GatewayError || got instanceof GatewayError) {
            expect(got).toEqual(wanted);
            continue;
          }
          expect(got.decision).toEqual(wanted.decision);
          expect(names(got)).toEqual(names(wanted));
          expect({ ...got, hops: [], decision: null }).toEqual({ ...wanted, hops: [], decision: null });
          expect(got.facts).toBe(planned.facts);
          if (seen.has(got.decision)) {
            remembered++;
            // What was read of another call is not this one's.
            expect(got.hops.every(({ crossing }) => crossing === null)).toBe(true);
          }
          seen.add(got.decision);
        }
      }),
      RUNS,
    );
    // Enough of them were not routed again for the property to be about that.
    expect(remembered).toBeGreaterThan(RUNS.numRuns / 5);
  });
});

describe("what is kept", () => {
  const configOf = (change: Partial<Route> = {}, rules: Snapshot["rules"] = []): Snapshot => ({
    ...aConfig({
      deployments: ["a", "b"].map((name) => aDeployment(name, { provider: "openai" })),
      routes: [aRoute("main", ["a", "b"], change)],
      providers: PROVIDERS,
    }),
    rules,
  });
  const body = { model: "main", messages: [{ role: "user", content: "hi" }] };
  const asked: Request = { body, dialect: "openai-chat", who: 0, health: WELL, draw: 0 };
  const key = { id: "k", tenant: "acme", models: null, team: null, application: null } as KeyEntry;

  function planner(config = configOf()) {
    const runtime = runtimeOf(config);
    const plane = planeOf(WELL);
    const one = planningOf(runtime, key, asked);
    /** The decision that a request gets; the same object again where it was remembered. */
    return (change: { tenant?: object; needs?: readonly Capability[]; pinned_to?: string } = {}): Decision => {
      const { tenant = one.caller.tenant, ...said } = change;
      const caller = { key, tenant: tenant as Tenant };
      const facts = { ...one.facts, ...said };
      const got = plan(plane, { ...one, caller, facts }, new Cancel());
      if (got instanceof Promise) throw new Error("nobody is asked");
      return got.decision;
    };
  }

  it("is one plan for all that are alike, and a few for those that are not", () => {
    const decisionFor = planner();
    const all = CAPABILITIES.flatMap((one) => CAPABILITIES.map((other) => [one, other]));
    const first = all.slice(0, LIMITS.usualPlansOfAlias).map((needs) => decisionFor({ needs }));
    const again = all.slice(0, LIMITS.usualPlansOfAlias).map((needs) => decisionFor({ needs }));
    for (const [i, decision] of again.entries()) expect(decision).toBe(first[i]);
    const tooMany = { needs: all[LIMITS.usualPlansOfAlias] ?? [] };
    expect(decisionFor(tooMany)).not.toBe(decisionFor(tooMany));
  });

  it("is nothing to a route in which something else has a say", () => {
    const branch = { kind: "deployment" as const, name: "b" };
    const complexity = {
      ...{ cheap: branch, capable: branch, shortChars: 20, longChars: 200, tools: 1, cut: 0.5, budgetMs: 50 },
      classifier: null,
    };
    const rule = { name: "r", priority: 1, when: {}, unless: null, chain: ["b"], mode: "shadow" as const };
    const configs = [
      configOf({ strategy: "cheapest" }),
      configOf({ affinity: "session" }),
      configOf({ canary: [{ deployment: "b", percent: 50, variant: "v", flag: null }] }),
      configOf({ complexity }),
      configOf({}, [rule]),
    ];
    for (const config of configs) {
      const decisionFor = planner(config);
      expect(decisionFor()).not.toBe(decisionFor());
    }
  });

  it("is nothing to a request that only one deployment can serve", () => {
    const decisionFor = planner();
    decisionFor();
    expect(() => decisionFor({ pinned_to: "nobody" })).toThrow(GatewayError);
  });

  it("is forgotten when it is too much", () => {
    const decisionFor = planner();
    const known = decisionFor();
    expect(decisionFor()).toBe(known);
    for (let i = 0; i < LIMITS.usualPlansMax; i++) decisionFor({ tenant: { ...aTenant("acme") } });
    expect(decisionFor()).not.toBe(known);
    expect(decisionFor()).toEqual(known);
  });
});
