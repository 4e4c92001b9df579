import type { Call } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import type { Ceiling } from "../core/ceiling.ts";
import type { HealthFacts } from "../core/health.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { RouteFacts } from "../routing/facts.ts";
import { tableOf } from "../routing/route-tables.ts";
import type { Caller } from "./authenticate.ts";
import { classify } from "./classify.ts";
import type { DataPlane, Runtime } from "./plane.ts";
import { type Hop, type Plan, route } from "./route.ts";
import { rememberPlan, usualPlan } from "./usual-plans.ts";
import type { Visit } from "./visit.ts";

/** What a plan is made for. */
export interface Planning {
  runtime: Runtime;
  visit: Visit;
  caller: Caller;
  call: Call;
  facts: RouteFacts;
}

/**
 * The plan of a request. What the decision counts on and only somebody else can say is asked first, and put among the facts:
 * feature flags, and the word of a classifier where the cheap signs leave it open. Answers at once where nobody is asked, and
 * without routing where that would only say again what it has said of the same before.
 */
export function plan(plane: DataPlane, planning: Planning, cancel: Cancel): Plan | Promise<Plan> {
  const { runtime, call } = planning;
  const usual = usualPlan(planning);
  if (usual && areWell(plane, usual.hops)) return usual;
  const { snapshot } = runtime;
  const flags = snapshot.routes.has(call.alias) ? tableOf(snapshot, call.alias).flags : NONE;
  if (flags.length > 0) return flagged(plane, planning, flags, cancel);
  const first = routed(plane, planning);
  if (first.decision.ask) return classified(plane, planning, first, cancel);
  rememberPlan(planning, first);
  return first;
}

/** Nothing is wrong with any of them. One alone is not asked how it is. */
function areWell({ health, clock }: DataPlane, hops: readonly Hop[]): boolean {
  if (hops.length < 2) return true;
  const now = clock.monotonic();
  for (const hop of hops) if (!health.isWell(hop.health, now)) return false;
  return true;
}

const NONE: readonly string[] = [];

async function flagged(plane: DataPlane, planning: Planning, names: readonly string[], cancel: Cancel): Promise<Plan> {
  const { facts } = planning;
  const { tenant, team = null, application = null, alias, session = null } = facts;
  facts.flags = await plane.flags.read(names, {
    tenant,
    team,
    application,
    alias,
    session,
    environment: plane.environment,
  });
  const first = routed(plane, planning);
  return first.decision.ask ? classified(plane, planning, first, cancel) : first;
}

/** Once more, with the classifier's word. */
async function classified(plane: DataPlane, planning: Planning, { decision }: Plan, cancel: Cancel): Promise<Plan> {
  const complexity = planning.runtime.snapshot.routes.get(decision.alias)?.complexity;
  if (!decision.ask || !complexity) throw new Error("a decision asks for a classifier that its route does not have");
  const doubt = { ...planning, classifier: decision.ask, budgetMs: complexity.budgetMs };
  planning.facts.classifier_score = await classify(plane, doubt, cancel);
  return routed(plane, planning);
}

function routed(plane: DataPlane, { runtime, visit, caller, call, facts }: Planning): Plan {
  const client: Protocol = visit.protocol;
  const plan = route(runtime, caller, client, call, facts, (key, windowMs, ceilings) =>
    withSaturation(plane, plane.health.read(key, windowMs), ceilings),
  );
  if (plan.decision.shadow) for (const { rule } of plan.decision.shadow) plane.metrics.shadowed(rule);
  return plan;
}

/** How full a deployment's ceilings are changes with every moment: it is looked up, where there are any. */
function withSaturation(plane: DataPlane, health: HealthFacts, ceilings: readonly Ceiling[] = []): HealthFacts {
  if (ceilings.length === 0) return health;
  return Object.assign({}, health, { saturation: plane.ceilings.used(ceilings) });
}
