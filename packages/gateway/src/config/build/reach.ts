import { denialOf, deniesDeployment } from "../../core/permission.ts";
import { classAllowed, regionWithin } from "../../core/placement.ts";
import type { Problems } from "../problems.ts";
import type { Deployment, RoutingRule, Tenant } from "../snapshot.ts";
import { type Entry, errorIn, warnIn } from "./entry.ts";
import { fieldsOf, type MatchFields, matchesApart, matchesInside, withoutAll } from "./match-space.ts";
import { chainFaults, type Fault, type World } from "./placement.ts";
import type { BuiltRule } from "./rules.ts";

/**
 * Tells of rules that no request can ever follow (ROUTE-4). Only doubts are told where the config is `incomplete`, something
 * having been left out for want of a secret.
 */
export function checkReach(rules: readonly BuiltRule[], world: World, incomplete: boolean, problems: Problems): void {
  const tell = incomplete ? warnIn : errorIn;
  const matched = matchedBy(rules, world);
  for (const [i, built] of rules.entries()) {
    const { entry, rule } = built;
    const scope = scopeOf(rule, world);
    if (scope.tenants.length === 0) {
      tell(entry, ["when"], whyNobody(rule), problems);
      continue;
    }
    const faults = neverServed(rule, scope, world);
    if (faults) {
      const message = `nothing of this chain may serve what the rule matches: ${faults.map((fault) => fault()).join("; ")}`;
      tell(entry, ["chain"], message, problems);
      continue;
    }
    const found = hiddenBy(built, rules.slice(0, i), scope, matched, world);
    if (found) (found.always ? tell : warnIn)(entry, [], found.message, problems);
  }
}

/** Who may be matched, and with data of which classes. */
interface Scope {
  tenants: readonly Tenant[];
  classes: readonly (string | null)[];
}

function scopeOf({ when, unless }: RoutingRule, world: World): Scope {
  const only = unless && Object.keys(unless).length === 1 ? unless : null;
  const tenants = [...world.tenants.values()].filter(
    (tenant) =>
      when.tenant?.includes(tenant.name) !== false &&
      only?.tenant?.includes(tenant.name) !== true &&
      mayCome(tenant, when.alias, world),
  );
  const classes = when.classification ?? (world.classifications.length > 0 ? world.classifications : [null]);
  return {
    tenants,
    classes: classes.filter((name) => name === null || only?.classification?.includes(name) !== true),
  };
}

/** Whether a tenant may ask for one of the aliases that no override of its own takes first. Rules say nothing of raw names. */
function mayCome(tenant: Tenant, aliases: readonly string[] | undefined, { routes }: World): boolean {
  const { models, name } = tenant;
  return [...routes.values()].some(
    ({ alias, tenantOverrides }) =>
      aliases?.includes(alias) !== false && denialOf([models], alias, false) === null && !tenantOverrides.has(name),
  );
}

function whyNobody({ when }: RoutingRule): string {
  const listed = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(" or ");
  const who = when.tenant ? `${listed(when.tenant)} may not` : "no tenant may";
  const what = when.alias ? listed(when.alias) : "any alias";
  return `this matches nothing: ${who} ask for ${what}, unless a \`tenant_overrides\` chain of its own comes first there`;
}

/** Why nothing of the rule's chain may serve anybody it matches, as it is for the first of them; null: something may. */
function neverServed({ chain }: RoutingRule, { tenants, classes }: Scope, world: World): Fault[] | null {
  let first: Fault[] | null = null;
  for (const tenant of tenants) {
    for (const classification of classes) {
      const faults = chainFaults(world, tenant, chain, { classification, residency: null });
      if (faults === null) return null;
      first ??= faults;
    }
  }
  return first;
}

/** What a rule matches: all that it says, and what of that is not said by its being there alone. */
interface Matched {
  when: MatchFields;
  telling: MatchFields;
  unless: MatchFields | null;
}

function matchedBy(
  rules: readonly BuiltRule[],
  { tenants, routes, classifications }: World,
): ReadonlyMap<RoutingRule, Matched> {
  const every = {
    tenant: new Set(tenants.keys()),
    alias: new Set(routes.keys()),
    // Every request has a class once there are any.
    ...(classifications.length > 0 && { classification: new Set(classifications) }),
  };
  const matched = ({ when, unless }: RoutingRule): Matched => {
    const fields = fieldsOf(when);
    return { when: fields, telling: withoutAll(fields, every), unless: unless && fieldsOf(unless) };
  };
  return new Map(rules.map(({ rule }) => [rule, matched(rule)]));
}

/** An earlier rule that takes everything which this one matches: always, or all but what nothing of its own chain can serve. */
function hiddenBy(
  { rule }: BuiltRule,
  earlier: readonly BuiltRule[],
  scope: Scope,
  matched: ReadonlyMap<RoutingRule, Matched>,
  world: World,
): { always: boolean; message: string } | null {
  const own = matched.get(rule);
  for (const { rule: before, entry: at } of earlier) {
    const theirs = matched.get(before);
    if (before.mode !== "enforce" || !own || !theirs || !takesAll(theirs, own)) continue;
    const where = `rule \`${before.name}\`${lineOf(at)}`;
    const chain = deploymentsOf(before, world);
    const always = deploymentsOf(rule, world).every((deployment) =>
      chain.some((other) => other === deployment || servesAll(other, deployment, scope, world)),
    );
    if (always) {
      const message = `\`${rule.name}\` is never reached: ${where} comes first, matches all that it matches, and can serve all that it can; narrow that one, or put this one before it`;
      return { always, message };
    }
    if (chain.some((deployment) => holdsAll(deployment, scope, world))) {
      const message = `\`${rule.name}\` is reached only by requests that nothing of the chain of ${where} can serve: that one comes first and matches all that it matches`;
      return { always, message };
    }
  }
  return null;
}

/** Everything that `later` matches is matched by `earlier`, too. */
function takesAll({ telling, unless }: Matched, later: Matched): boolean {
  if (!matchesInside(later.when, telling)) return false;
  if (unless === null || matchesApart(unless, later.when)) return true;
  return later.unless !== null && matchesInside(unless, later.unless);
}

/** Whether `other` may serve, and is able to serve, every request in scope that `deployment` may and is able to. */
function servesAll(other: Deployment, deployment: Deployment, scope: Scope, world: World): boolean {
  const { classifications } = world;
  const people = scope.tenants.every((tenant) => {
    const served = isServed(deployment, tenant);
    return !served || isServed(other, tenant);
  });
  const classes = scope.classes.every(
    (name) =>
      !classAllowed(classifications, deployment.maxClassification, name) ||
      classAllowed(classifications, other.maxClassification, name),
  );
  return people && classes && isAsNear(other, deployment, world) && isAsAble(other, deployment);
}

function isServed(deployment: Deployment, { name, models }: Tenant): boolean {
  return !deniesDeployment([models], deployment) && deployment.tenants?.includes(name) !== false;
}

/** Whether every residency that one is inside of holds the other. */
function isAsNear(other: Deployment, { region }: Deployment, { regions }: World): boolean {
  if (region === null || region === other.region) return true;
  return [region, ...regions.keys()].every(
    (residency) => !regionWithin(regions, residency, region) || regionWithin(regions, residency, other.region),
  );
}

/** What two deployments can do is compared only where they speak alike. */
function isAsAble(other: Deployment, deployment: Deployment): boolean {
  const sameWords = other.provider === deployment.provider && other.api === deployment.api;
  const can = other.capabilities;
  const able = !can || deployment.capabilities?.every((capability) => can.includes(capability)) === true;
  const window =
    other.contextWindow === undefined || other.contextWindow >= (deployment.contextWindow ?? Number.POSITIVE_INFINITY);
  // A request is cut down to what a model can write before it is held against the window.
  const output =
    (other.maxOutputTokens ?? Number.POSITIVE_INFINITY) <= (deployment.maxOutputTokens ?? Number.POSITIVE_INFINITY);
  return sameWords && able && window && (other.contextWindow === undefined || output);
}

/** Whether it may hold everything that everybody in scope may send, as long as they ask for no residency. */
function holdsAll(deployment: Deployment, { tenants, classes }: Scope, { classifications }: World): boolean {
  return (
    tenants.every((tenant) => isServed(deployment, tenant)) &&
    classes.every((name) => classAllowed(classifications, deployment.maxClassification, name))
  );
}

function deploymentsOf({ chain }: RoutingRule, { deployments }: World): Deployment[] {
  return chain.flatMap((name) => deployments.get(name) ?? []);
}

function lineOf({ keyAt }: Entry<unknown>): string {
  return keyAt.line === null ? "" : ` (line ${keyAt.line})`;
}
