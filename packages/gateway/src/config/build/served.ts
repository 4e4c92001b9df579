import { denialOf } from "../../core/permission.ts";
import { regionWithin } from "../../core/placement.ts";
import type { Path, Problems } from "../problems.ts";
import type { Route, RoutingRule, Tenant } from "../snapshot.ts";
import { type Entry, errorIn, warnIn } from "./entry.ts";
import { chainFaults, type Fault, type Placed, type World } from "./placement.ts";
import type { Sections } from "./read-sections.ts";

/** Reasons in one message; a chain may be long. */
const REASONS_MAX = 4;
const TENANTS_MAX = 3;

/**
 * Tells of aliases that a tenant may ask for and that nothing could ever answer: by permission, dedication, class and residency,
 * every deployment leaves the chain of its usual requests. A doubt only where the config is `incomplete`, something having been
 * left out for want of a secret: that may be what would have served.
 */
export function checkServed(sections: Sections, world: World, incomplete: boolean, problems: Problems): void {
  const places = placesOf(world);
  const usual = new Map([...world.tenants.values()].map((tenant) => [tenant, usualRequests(world, places, tenant)]));
  for (const route of world.routes.values()) {
    const entry = sections.routes.get(route.alias);
    if (!entry) continue;
    const own: { tenant: Tenant; faults: Fault[]; placed: Placed }[] = [];
    for (const [tenant, requests] of usual) {
      if (denialOf([tenant.models], route.alias, false) !== null) continue;
      const override = route.tenantOverrides.get(tenant.name);
      const found = unserved(world, tenant, requests, route, override);
      if (found && override) {
        tell(entry, ["tenant_overrides", tenant.name], [{ tenant, ...found }], route, incomplete, problems);
      } else if (found) own.push({ tenant, ...found });
    }
    if (own.length > 0) tell(entry, [], own, route, incomplete, problems);
  }
}

/** Tells of tenants whose requests this replica refuses, because it is not where they have to stay (ROUTE-5). */
export function warnOutside(sections: Sections, world: World, problems: Problems): void {
  const { region } = world.gateway;
  for (const { name, defaults } of world.tenants.values()) {
    const entry = sections.tenants?.get(name);
    const { residency } = defaults;
    if (!entry || residency === null || regionWithin(world.regions, residency, region)) continue;
    const where = region === null ? "`gateway.region` is not set" : `it runs in \`${region}\``;
    const message = `this gateway refuses requests of \`${name}\` that name no other residency: they must stay in \`${residency}\`, and ${where}`;
    warnIn(entry, ["defaults", "residency"], message, problems);
  }
}

function unserved(
  world: World,
  tenant: Tenant,
  requests: readonly Placed[],
  route: Route,
  override: readonly string[] | undefined,
): { faults: Fault[]; placed: Placed } | null {
  let first: { faults: Fault[]; placed: Placed } | null = null;
  for (const placed of requests) {
    const faults = chainFaults(world, tenant, override ?? route.chain, placed);
    if (faults === null) return null;
    const ruled = override ? [] : ruledChains(world.rules, tenant, route.alias, placed);
    if (ruled.some((chain) => chainFaults(world, tenant, chain, placed) === null)) return null;
    first ??= { faults, placed };
  }
  return first;
}

/** Every residency that leads somewhere. */
function placesOf({ regions, deployments }: World): string[] {
  const running = [...deployments.values()].flatMap(({ region }) => region ?? []);
  return [...new Set([...regions.keys(), ...running])];
}

/** What a tenant's requests are where they say nothing; where they have to say it, everything that they could. */
function usualRequests({ classifications }: World, places: readonly string[], { require, defaults }: Tenant): Placed[] {
  const classes =
    require.includes("classification") && classifications.length > 0 ? classifications : [defaults.classification];
  const residencies = require.includes("residency") ? places : [defaults.residency];
  return classes.flatMap((classification) => residencies.map((residency) => ({ classification, residency })));
}

/** Chains of the rules that such a request is sure to match. */
function ruledChains(
  rules: readonly RoutingRule[],
  tenant: Tenant,
  alias: string,
  { classification }: Placed,
): (readonly string[])[] {
  const facts: Record<string, string | null> = { tenant: tenant.name, alias, classification };
  const sure = (values: unknown, field: string): boolean => Array.isArray(values) && values.includes(facts[field]);
  return rules
    .filter(({ mode, when, unless }) => {
      const matches = Object.entries(when).every(([field, values]) => sure(values, field));
      return mode === "enforce" && unless === null && matches;
    })
    .map(({ chain }) => chain);
}

function tell(
  entry: Entry<unknown>,
  below: Path,
  found: readonly { tenant: Tenant; faults: Fault[]; placed: Placed }[],
  { alias }: Route,
  incomplete: boolean,
  problems: Problems,
): void {
  const [first] = found;
  if (!first) return;
  const names = found.slice(0, TENANTS_MAX).map(({ tenant }) => `\`${tenant.name}\``);
  const more = found.length > TENANTS_MAX ? ` and ${found.length - TENANTS_MAX} more` : "";
  const who = `${found.length === 1 ? "tenant" : "tenants"} ${names.join(", ")}${more}`;
  const reasons = first.faults
    .slice(0, REASONS_MAX)
    .map((fault) => fault())
    .join("; ");
  const others = first.faults.length > REASONS_MAX ? ` (and ${first.faults.length - REASONS_MAX} more)` : "";
  const why = reasons === "" ? "" : `: ${reasons}${others}`;
  const which = below.length === 0 ? "its chain" : "this chain";
  const message = `${who} may ask for \`${alias}\`, and nothing of ${which} may serve ${found.length === 1 ? "it" : "them"}${why}; add a deployment that may, or put the alias into \`models.deny\``;
  (incomplete ? warnIn : errorIn)(entry, below, message, problems);
}
