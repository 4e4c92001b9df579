import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KeyEntry, Snapshot } from "../src/config/snapshot.ts";
import { GatewayError } from "../src/core/errors.ts";
import { type HealthFacts, UNKNOWN_HEALTH } from "../src/core/health.ts";
import { deniesDeployment } from "../src/core/permission.ts";
import { offlineRuntime } from "../src/offline-runtime.ts";
import { protocolNamed } from "../src/protocols/registry.ts";
import type { RouteFacts } from "../src/routing/facts.ts";
import { authorize } from "../src/stages/authorize.ts";
import { decideAgain } from "../src/stages/decide-again.ts";
import { type Plan, route } from "../src/stages/route.ts";
import { routeFacts } from "../src/stages/route-facts.ts";
import { anyBody, anyConfig, anyHealth, anyKey, NOW } from "./support/arbitrary-routing.ts";
import { VirtualClock } from "./support/virtual-clock.ts";

const RUNS = { numRuns: 1_000 };

interface Asked {
  snapshot: Snapshot;
  key: KeyEntry;
  body: Record<string, unknown>;
  health: Record<string, HealthFacts>;
  draw: number;
  flags: Record<string, boolean>;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  ...{ snapshot: anyConfig, key: anyKey, body: anyBody, health: anyHealth },
  draw: fc.integer({ min: 0, max: 999 }).map((i) => i / 1_000),
  flags: fc.constantFrom({}, { second: false }),
});

/** A request as the data plane takes it through authorize and route: its plan, or its refusal, and its facts. */
function routed({ snapshot, key, body, health, draw, flags }: Asked) {
  const runtime = { ...offlineRuntime(snapshot, new VirtualClock()), madeDeployments: () => [], ceilings: () => [] };
  const tenant = snapshot.tenants.get(key.tenant);
  const client = protocolNamed("openai-chat");
  if (!tenant || !client) throw new Error("these are always there");
  const caller = { tenant, key };
  const raw = Buffer.from(JSON.stringify(body));
  const header = (name: string) => (name === "content-type" ? "application/json" : undefined);
  const call = client.decodeRequest({ raw, header, path: { query: "" } });
  const facts: RouteFacts = { ...routeFacts(runtime, caller, call, { at: NOW, draw }), flags };
  let plan: Plan | GatewayError;
  try {
    authorize(snapshot, caller, call);
    plan = route(runtime, caller, client, call, facts, (name) => health[name] ?? UNKNOWN_HEALTH);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    plan = thrown;
  }
  return { runtime, facts, plan, caller };
}

const throughJson = (facts: RouteFacts): RouteFacts => JSON.parse(JSON.stringify(facts)) as RouteFacts;

describe("over any config and request", () => {
  test("the plan, and the same decision taken from the row's facts, agree", () => {
    let plans = 0;
    fc.assert(
      fc.property(asked, (all) => {
        const { runtime, facts, plan } = routed(all);
        const again = decideAgain(runtime, throughJson(facts), { key: all.key });
        if (plan instanceof GatewayError) {
          expect(again.refused).toEqual({ code: plan.code, message: plan.message });
          return;
        }
        plans++;
        expect(again.refused).toBeNull();
        expect(again.decision).toEqual(plan.decision);
        expect(plan.hops.map(({ deployment }) => deployment.name)).toEqual(plan.decision.chain);
      }),
      RUNS,
    );
    // Most of what is asked is served: the property is not about refusals alone.
    expect(plans).toBeGreaterThan(RUNS.numRuns / 4);
  });

  test("health changes neither what decides, nor who is in the chain", () => {
    fc.assert(
      fc.property(asked, (all) => {
        const [ill, well] = [routed(all).plan, routed({ ...all, health: {} }).plan];
        if (ill instanceof GatewayError || well instanceof GatewayError) {
          expect(ill).toEqual(well);
          return;
        }
        const { rule, route: served, variant, chain } = well.decision;
        expect(ill.decision).toMatchObject({ rule, route: served, variant });
        expect(ill.decision.chain.toSorted()).toEqual(chain.toSorted());
      }),
      RUNS,
    );
  });

  test("a tenant's own chain is never left, and nobody is sent to a deployment that is denied or kept for others", () => {
    fc.assert(
      fc.property(asked, (all) => {
        const { plan, caller } = routed(all);
        if (plan instanceof GatewayError) return;
        const own = all.snapshot.routes.get(plan.decision.alias)?.tenantOverrides.get(caller.tenant.name);
        const policies = [caller.tenant.models, caller.key.models].filter((policy) => policy !== null);
        for (const { deployment } of plan.hops) {
          if (own) expect(own).toContain(deployment.name);
          expect(deniesDeployment(policies, deployment)).toBe(false);
          expect(deployment.tenants ?? [caller.tenant.name]).toContain(caller.tenant.name);
        }
        if (own) expect(plan.rule).toBe("override");
      }),
      RUNS,
    );
  });

  test("the chain and its reasons name every deployment once, and what is kept comes first", () => {
    fc.assert(
      fc.property(asked, (all) => {
        const { plan } = routed(all);
        if (plan instanceof GatewayError) return;
        const { candidates, chain } = plan.decision;
        expect(candidates.slice(0, chain.length).map(({ deployment }) => deployment)).toEqual(chain);
        expect(candidates.map(({ kept }) => kept)).toEqual(candidates.map((_, i) => i < chain.length));
        expect(new Set(candidates.map(({ deployment }) => deployment)).size).toBe(candidates.length);
        for (const { reason } of candidates) expect(reason).not.toBe("");
      }),
      RUNS,
    );
  });
});
