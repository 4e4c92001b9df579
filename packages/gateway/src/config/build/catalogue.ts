import { didYouMean } from "../nearest.ts";
import type { Problems } from "../problems.ts";
import type { DeploymentInput } from "../schema/deployments.ts";
import type { Deployment, ProviderConfig, Route } from "../snapshot.ts";
import { deploymentLimits } from "./capacity.ts";
import { buildDeployment, type PriceContext } from "./deployments.ts";
import { drop, type Entry, errorIn, warnIn } from "./entry.ts";
import { deploymentFinder } from "./find-deployment.ts";
import { inUse, namesOfRoute } from "./in-use.ts";
import { checkClass, checkTenant, type Known } from "./known.ts";
import { type ModelNames, splitRaw } from "./model-names.ts";
import type { Sections } from "./read-sections.ts";
import { buildRoute } from "./routes.ts";
import { type BuiltRule, buildRules } from "./rules.ts";

/** What can be asked for, and what answers. */
export interface Catalogue {
  deployments: Map<string, Deployment>;
  routes: Map<string, Route>;
  /** By priority, each with where it is written. */
  rules: readonly BuiltRule[];
  /** Every name that exists, broken and left-out ones too. */
  names: ModelNames;
}

/** Deployments declared and implied, and the routes that lead to them. */
export function buildCatalogue(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  known: Known,
  context: PriceContext,
  problems: Problems,
): Catalogue {
  const deployments = declaredDeployments(sections, providers, known, context, problems);
  const find = deploymentFinder(sections, providers, deployments, context, problems);
  const routeContext = { find, known, complex: complexAliases(sections) };
  const routes = new Map<string, Route>();
  for (const entry of sections.routes.values()) {
    const route = entry.value && buildRoute(entry, entry.value, routeContext, problems);
    if (route) routes.set(route.alias, route);
  }
  for (const route of routes.values()) {
    const entry = sections.routes.get(route.alias);
    if (entry && !problems.hasErrors()) routes.set(route.alias, withoutLost(entry, route, routes, problems));
  }
  const rules = buildRules(sections.rules, find, known, problems);
  warnIdle(sections, deployments, problems);
  const names = {
    providers: new Set(sections.providers.keys()),
    deployments: new Set([...sections.deployments.keys(), ...deployments.keys()]),
    aliases: new Set(sections.routes.keys()),
  };
  return { deployments, routes, rules, names };
}

function declaredDeployments(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  known: Known,
  context: PriceContext,
  problems: Problems,
): Map<string, Deployment> {
  const deployments = new Map<string, Deployment>();
  for (const entry of sections.deployments.values()) {
    const input = entry.value;
    if (!input) continue;
    const owner = sections.providers.get(input.provider);
    const provider = providers.get(input.provider);
    if (!owner) {
      const hint = didYouMean(input.provider, sections.providers.keys());
      errorIn(entry, ["provider"], `unknown provider \`${input.provider}\`${hint}`, problems);
    } else if (owner.state === "dropped") {
      drop(entry, `its provider \`${owner.name}\` was left out`, problems);
    } else if (provider) {
      const pin = { strict: isStrict(sections), aloud: isMeantToMove(entry.name, sections) };
      const deployment = buildDeployment(entry, input, provider, context, pin, problems);
      deployments.set(entry.name, { ...deployment, ...whoMayUse(entry, input, known, problems) });
    }
    const raw = splitRaw(entry.name);
    if (raw && sections.providers.has(raw.provider) && raw.provider !== input.provider) {
      const message = `\`${entry.name}\` reads as a model of provider \`${raw.provider}\`, but its provider is \`${input.provider}\``;
      errorIn(entry, [], message, problems);
    }
  }
  return deployments;
}

/** What says whom a deployment serves, with what data, and how much of it. */
function whoMayUse(
  entry: Entry<DeploymentInput>,
  { max_classification: ceiling, tenants, limits }: DeploymentInput,
  known: Known,
  problems: Problems,
): Pick<Deployment, "maxClassification" | "tenants" | "limits"> {
  if (ceiling !== undefined) checkClass(entry, ["max_classification"], ceiling, known, problems);
  for (const [i, tenant] of (tenants ?? []).entries()) checkTenant(entry, ["tenants", i], tenant, known, problems);
  return {
    ...(ceiling !== undefined && { maxClassification: ceiling }),
    ...(tenants && { tenants: [...new Set(tenants)] }),
    ...(limits && { limits: deploymentLimits(entry, limits, known, problems) }),
  };
}

/** A route whose complexity routing leads to an alias that was left out does without. */
function withoutLost(
  entry: Entry<unknown>,
  route: Route,
  routes: ReadonlyMap<string, Route>,
  problems: Problems,
): Route {
  const { complexity } = route;
  if (!complexity) return route;
  const { cheap, capable, classifier } = complexity;
  const aliases = [cheap, capable].flatMap(({ kind, name }) => (kind === "alias" ? name : []));
  if (classifier?.kind === "alias") aliases.push(classifier.alias);
  const lost = aliases.find((alias) => !routes.has(alias));
  if (lost === undefined) return route;
  warnIn(entry, ["complexity"], `\`complexity\` is not used, because \`${lost}\` was left out`, problems);
  return { ...route, complexity: null };
}

/** Aliases that have complexity routing of their own. */
function complexAliases(sections: Sections): Set<string> {
  return new Set([...sections.routes.values()].filter(({ value }) => value?.complexity).map(({ name }) => name));
}

function isStrict(sections: Sections): boolean {
  return sections.gateway.value?.strict_pins === true;
}

/** Every route that leads to it says `pin: latest`. */
function isMeantToMove(deployment: string, sections: Sections): boolean {
  const leading = [...sections.routes.values()].filter(
    ({ value }) => value && [...namesOfRoute(value)].includes(deployment),
  );
  return leading.length > 0 && leading.every(({ value }) => value?.pin === "latest");
}

function warnIdle(sections: Sections, deployments: ReadonlyMap<string, Deployment>, problems: Problems): void {
  // In a broken config what leads somewhere may be the very part that could not be read.
  if (problems.hasErrors()) return;
  const used = inUse(sections);
  const busy = new Set([...deployments.values()].map((deployment) => deployment.provider));
  for (const entry of sections.deployments.values()) {
    if (entry.value && !used.deployments.has(entry.name)) {
      warnIn(
        entry,
        [],
        `nothing leads to deployment \`${entry.name}\`: no chain holds it and no one may ask for it`,
        problems,
      );
    }
  }
  for (const entry of sections.providers.values()) {
    if (entry.value?.probe && !busy.has(entry.name) && used.providers.has(entry.name)) {
      const message = "`probe` has nothing to probe: no chain holds a deployment of this provider, and none has a name";
      warnIn(entry, ["probe"], message, problems);
    }
    if (entry.value && !used.providers.has(entry.name) && !busy.has(entry.name)) {
      warnIn(entry, [], `nothing leads to provider \`${entry.name}\``, problems);
    }
  }
}
