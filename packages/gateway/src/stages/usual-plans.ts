import { LIMITS } from "../core/limits.ts";
import type { RouteFacts } from "../routing/facts.ts";
import { type Gate, mayOverflow } from "../routing/gates.ts";
import { tableOf } from "../routing/route-tables.ts";
import type { Caller } from "./authenticate.ts";
import type { Planning } from "./plan.ts";
import type { Runtime } from "./plane.ts";
import type { Hop, Plan } from "./route.ts";

/** A plan in which nothing of the request took part but whose it is, its alias, its dialect and what it needs. */
interface UsualPlan extends Omit<Plan, "facts"> {
  client: Planning["visit"]["protocol"];
  operation: RouteFacts["operation"];
  needs: RouteFacts["needs"];
}

/** By who gives the permissions (a tenant, or a key that narrows them), then by alias. */
interface Memory {
  plans: WeakMap<object, Map<string, UsualPlan[]>>;
  /** Plans kept since it was last empty. */
  count: number;
}

/** They belong to a runtime and go with it. */
const MEMORIES = new WeakMap<Runtime, Memory>();

/** Gates that look at a deployment before the call's way to it is known. */
const BEFORE_REACH: readonly Gate[] = ["permission", "tenants", "residency", "classification"];

/**
 * The plan that such a request got the last time: what routing would say again while every deployment of it is well.
 * Undefined: routing has to be asked. So it is for all that say where their data may be, or that may be too long for anybody.
 */
export function usualPlan(planning: Planning): Plan | undefined {
  const { runtime, caller, facts } = planning;
  const known = MEMORIES.get(runtime)?.plans.get(subjectOf(caller))?.get(facts.alias);
  if (!known || !isUsual(runtime, facts)) return undefined;
  const found = find(known, planning);
  if (!found) return undefined;
  const { route, rule, settings, hops, countsHere, decision } = found;
  return { route, rule, settings, hops, countsHere, decision, facts };
}

/** Keeps a plan that routing has made for the next such request, if it is a usual one. */
export function rememberPlan(planning: Planning, plan: Plan): void {
  const { runtime, caller, facts, visit } = planning;
  const client = visit.protocol;
  if (!isUsual(runtime, facts) || !isRepeatable(runtime, client, plan)) return;
  let memory = MEMORIES.get(runtime);
  // Forgetting costs only that routing is asked again.
  if (!memory || memory.count >= LIMITS.usualPlansMax) {
    memory = { plans: new WeakMap(), count: 0 };
    MEMORIES.set(runtime, memory);
  }
  const subject = subjectOf(caller);
  const aliases = memory.plans.get(subject) ?? new Map<string, UsualPlan[]>();
  memory.plans.set(subject, aliases);
  const known = aliases.get(facts.alias) ?? [];
  aliases.set(facts.alias, known);
  if (known.length >= LIMITS.usualPlansOfAlias || find(known, planning)) return;
  const { route, rule, settings, hops, countsHere, decision } = plan;
  const { operation, needs } = facts;
  known.push({ client, operation, needs, route, rule, settings, hops, countsHere, decision });
  memory.count++;
}

function subjectOf({ key, tenant }: Caller): object {
  return key.models === null ? tenant : key;
}

function find(known: readonly UsualPlan[], { visit, facts }: Planning): UsualPlan | undefined {
  for (const usual of known) {
    if (usual.client !== visit.protocol || usual.operation !== facts.operation) continue;
    if (sameNeeds(usual.needs, facts.needs)) return usual;
  }
  return undefined;
}

function sameNeeds(a: RouteFacts["needs"], b: RouteFacts["needs"]): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((need, i) => need === b[i]);
}

function isUsual({ snapshot }: Runtime, facts: RouteFacts): boolean {
  if (facts.classification !== undefined || facts.residency !== undefined || facts.pinned_to !== undefined)
    return false;
  const { plain, smallestWindow } = tableOf(snapshot, facts.alias);
  return plain && !mayOverflow(facts, smallestWindow);
}

/** Every deployment of it is configured, gets the client's own bytes and was well; none was left out for what the call says. */
function isRepeatable({ snapshot }: Runtime, client: UsualPlan["client"], { decision, hops, facts }: Plan): boolean {
  if (facts.health !== undefined || hops.length !== decision.chain.length) return false;
  const takesOwnBytes = ({ protocol, provider, deployment }: Hop): boolean =>
    protocol === client &&
    provider.quirks.strict?.[client.name] === undefined &&
    snapshot.deployments.get(deployment.name) === deployment;
  return (
    hops.every(takesOwnBytes) &&
    decision.candidates.every((candidate) => candidate.kept || BEFORE_REACH.includes(candidate.gate))
  );
}
