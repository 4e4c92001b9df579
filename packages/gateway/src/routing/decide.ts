import type { CanaryArm, Route, Strategy } from "../config/snapshot.ts";
import { denialOf } from "../core/permission.ts";
import { regionWithin } from "../core/placement.ts";
import { arranged } from "./arrange.ts";
import { armOf, STABLE } from "./canary.ts";
import { complexityOf, needsClassifier } from "./complexity.ts";
import type { DecideInput, Decision, Removed, RouteSettings } from "./decision.ts";
import { type Placement, placementOf } from "./gates.ts";
import { rawName, tableOf } from "./route-tables.ts";
import { speaksOf } from "./rules.ts";
import { type Sifted, sift } from "./sift.ts";

/** Which chain a request follows, before anything is ordered. */
export interface Way {
  route: string;
  rule: string;
  strategy: Strategy;
  settings: RouteSettings;
  variant: string | null;
  sifted: Sifted;
  /** Goes first, whatever the strategy says. */
  first: { deployment: string; reason: string } | null;
  /** Deployments on trial, which conversations outside of the trial see last. */
  onTrial: readonly string[];
  affinity: Route["affinity"];
  weights: ReadonlyMap<string, number> | undefined;
}

/** What was seen on the way to a decision. */
type Notes = Pick<Decision, "shadow" | "passed" | "complexity" | "ask">;

/**
 * Where a request goes, and why: pure, and the same function for requests, explain and what-if. In this order: a tenant's own
 * chain, outside of which nothing serves it; the first rule that matches and whose chain the static gates leave anything of;
 * and only then the route's own chain with its experiment and its complexity. Health orders what is left, and never takes part
 * in what came before (ruling 6). An empty chain says by its candidates which gate took which deployment.
 */
export function decide(input: DecideInput): Decision {
  const { facts, snapshot } = input;
  const placement = placementOf(facts, snapshot);
  const notes: Notes = {};
  const { residency } = placement;
  if (residency !== null && !regionWithin(snapshot.regions, residency, snapshot.gateway.region)) {
    return refusedHere(input, placement);
  }
  return decisionOf(input, placement, wayOf(input, placement, notes), notes);
}

function wayOf(input: DecideInput, placement: Placement, notes: Notes): Way {
  const { facts, snapshot } = input;
  const route = snapshot.routes.get(facts.alias);
  if (!route) {
    const names = [rawName(snapshot, facts.alias)];
    return plainWay(input, placement, { route: facts.alias, rule: "raw", settings: snapshot.rawRoute, names });
  }
  return (
    overrideOf(input, placement, route) ??
    ruledWay(input, placement, route, notes) ??
    chainWay(input, placement, route, notes)
  );
}

/** The tenant's own chain at an alias: nothing outside of it serves the tenant there. Null: it has none. */
function overrideOf(input: DecideInput, placement: Placement, route: Route): Way | null {
  const { alias, tenantOverrides } = route;
  const names = tenantOverrides.size > 0 ? tenantOverrides.get(input.facts.tenant) : undefined;
  return names ? plainWay(input, placement, { route: alias, rule: "override", settings: route, names }) : null;
}

interface Wanted {
  route: string;
  rule: string;
  settings: RouteSettings;
  names: readonly string[];
}

/** A chain in the order it is written in. */
function plainWay(input: DecideInput, placement: Placement, { names, ...wanted }: Wanted): Way {
  return {
    ...wanted,
    strategy: "ordered",
    variant: null,
    sifted: sift(input, placement, names, wanted.settings.dropUnsupported),
    first: null,
    onTrial: [],
    affinity: "none",
    weights: undefined,
  };
}

/** The first rule that matches and has anything left. Its chain is ordered by the route's strategy, but for weights, which it has none of. */
function ruledWay(input: DecideInput, placement: Placement, route: Route, notes: Notes): Way | null {
  const shadow: { rule: string; chain: readonly string[] }[] = [];
  const passed: { rule: string; candidates: readonly Removed[] }[] = [];
  let way: Way | null = null;
  for (const rule of tableOf(input.snapshot, route.alias).rules) {
    if (!speaksOf(rule, input.facts, placement.classification)) continue;
    const wanted = { route: route.alias, rule: rule.name, settings: route, names: rule.chain };
    const found = plainWay(input, placement, wanted);
    const { kept, removed } = found.sifted;
    if (kept.length === 0) passed.push({ rule: rule.name, candidates: removed });
    else if (rule.mode === "shadow") shadow.push({ rule: rule.name, chain: kept.map(({ name }) => name) });
    else {
      const strategy = route.strategy === "weighted" ? "ordered" : route.strategy;
      way = { ...found, strategy, affinity: route.affinity };
      break;
    }
  }
  if (shadow.length > 0) notes.shadow = shadow;
  if (passed.length > 0) notes.passed = passed;
  return way;
}

/** The route's own chain: an arm of its experiment, or what its complexity says, or as it is. */
function chainWay(input: DecideInput, placement: Placement, route: Route, notes: Notes): Way {
  const tried = trialOf(input, placement, route);
  if (tried) return tried;
  const { complexity } = route;
  const seen = complexity && complexityOf(input.facts, complexity);
  if (!complexity || !seen) return ownWay(input, placement, route, null);
  const ask = needsClassifier(input.facts, complexity);
  if (ask) notes.ask = ask;
  const branch = complexity[seen.verdict];
  const target = branch.kind === "alias" ? input.snapshot.routes.get(branch.name) : undefined;
  // An alias that the caller may not use serves it in no way.
  const open = branch.kind === "deployment" || (target && denialOf(input.policies, branch.name, false) === null);
  notes.complexity = { ...seen, to: open ? branch.name : route.alias };
  if (!open) return ownWay(input, placement, route, null);
  if (target) {
    // Whoever has a chain of its own there gets it, as if it had asked for that alias.
    return (
      overrideOf(input, placement, target) ??
      trialOf(input, placement, target) ??
      ownWay(input, placement, target, null)
    );
  }
  return ownWay(input, placement, route, { deployment: branch.name, reason: `the ${seen.verdict} one` });
}

/** The way of a conversation in an arm of the route's experiment; null: in none, or the gates keep it from the arm's deployment. */
function trialOf(input: DecideInput, placement: Placement, route: Route): Way | null {
  const arm: CanaryArm | null = armOf(route, input.facts);
  if (!arm) return null;
  const way = ownWay(input, placement, route, { deployment: arm.deployment, reason: `variant ${arm.variant}` });
  if (way.sifted.kept[0]?.name !== arm.deployment) return null;
  const onTrial = way.onTrial.filter((name) => name !== arm.deployment);
  return { ...way, rule: "canary", variant: arm.variant, onTrial };
}

function ownWay(input: DecideInput, placement: Placement, route: Route, first: Way["first"]): Way {
  const { alias, chain, strategy, canary, dropUnsupported } = route;
  const names = first ? [first.deployment, ...chain.filter((name) => name !== first.deployment)] : chain;
  return {
    route: alias,
    rule: "chain",
    strategy,
    settings: route,
    first,
    variant: canary.length > 0 ? STABLE : null,
    sifted: sift(input, placement, names, dropUnsupported),
    onTrial: canary.map(({ deployment }) => deployment),
    affinity: route.affinity,
    weights: strategy === "weighted" ? tableOf(input.snapshot, alias).weights : undefined,
  };
}

function decisionOf(input: DecideInput, placement: Placement, way: Way, notes: Notes): Decision {
  const { route, rule, strategy, variant, settings, sifted } = way;
  const kept = arranged(input, way);
  const candidates = sifted.removed.length === 0 ? kept : [...kept, ...sifted.removed];
  // In one literal, its rare members added after: spread together, it would be slow to make and slow to read.
  const decision: Decision = {
    alias: input.facts.alias,
    route,
    rule,
    strategy,
    variant,
    classification: placement.classification,
    residency: placement.residency,
    candidates,
    chain: kept.map(({ deployment }) => deployment),
    settings,
  };
  return isEmpty(notes) ? decision : Object.assign(decision, notes);
}

function isEmpty(notes: Notes): boolean {
  for (const _ in notes) return false;
  return true;
}

/** The replica itself is a place where data is (ROUTE-5). */
function refusedHere({ facts, snapshot }: DecideInput, placement: Placement): Decision {
  const { region } = snapshot.gateway;
  const where = region === null ? "this gateway has no region" : `this gateway is in ${region}`;
  const found = snapshot.routes.get(facts.alias);
  return {
    ...placement,
    alias: facts.alias,
    route: facts.alias,
    rule: found ? "chain" : "raw",
    strategy: found?.strategy ?? "ordered",
    variant: null,
    candidates: [],
    chain: [],
    settings: found ?? snapshot.rawRoute,
    refused: { gate: "residency", reason: `${where}, and the data has to stay in ${placement.residency}` },
  };
}
