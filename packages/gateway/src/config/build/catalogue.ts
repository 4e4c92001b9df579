import { didYouMean } from "../nearest.ts";
import type { Problems } from "../problems.ts";
import type { RouteInput } from "../schema/routes.ts";
import type { Deployment, ProviderConfig, Route } from "../snapshot.ts";
import { buildDeployment, impliedDeployment, impliedDoubts, type PriceContext, tellFloating } from "./deployments.ts";
import { drop, type Entry, errorIn, warnIn } from "./entry.ts";
import { inUse } from "./in-use.ts";
import { type ModelNames, splitRaw } from "./model-names.ts";
import type { Sections } from "./read-sections.ts";
import { buildRoute, type FindDeployment } from "./routes.ts";

/** What can be asked for, and what answers. */
export interface Catalogue {
  deployments: Map<string, Deployment>;
  routes: Map<string, Route>;
  /** Every name that exists, broken and left-out ones too. */
  names: ModelNames;
}

/** Deployments declared and implied, and the routes that lead to them. */
export function buildCatalogue(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  context: PriceContext,
  problems: Problems,
): Catalogue {
  const deployments = declaredDeployments(sections, providers, context, problems);
  const find = deploymentFinder(sections, providers, deployments, context, problems);
  const routes = new Map<string, Route>();
  for (const entry of sections.routes.values()) {
    const route = entry.value && buildRoute(entry, entry.value, find, problems);
    if (route) routes.set(route.alias, route);
  }
  warnIdle(sections, deployments, problems);
  const names = {
    providers: new Set(sections.providers.keys()),
    deployments: new Set([...sections.deployments.keys(), ...deployments.keys()]),
    aliases: new Set(sections.routes.keys()),
  };
  return { deployments, routes, names };
}

function declaredDeployments(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
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
      deployments.set(entry.name, buildDeployment(entry, input, provider, context, pin, problems));
    }
    const raw = splitRaw(entry.name);
    if (raw && sections.providers.has(raw.provider) && raw.provider !== input.provider) {
      const message = `\`${entry.name}\` reads as a model of provider \`${raw.provider}\`, but its provider is \`${input.provider}\``;
      errorIn(entry, [], message, problems);
    }
  }
  return deployments;
}

/** Entries of chains: declared deployments by name, else `provider/model`, which is added to `deployments`. */
function deploymentFinder(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  deployments: Map<string, Deployment>,
  context: PriceContext,
  problems: Problems,
): FindDeployment {
  const told = new Set<string>();
  return (written, entry, index) => {
    if (deployments.has(written)) {
      tellImplied(written, entry, index);
      return written;
    }
    const declared = sections.deployments.get(written);
    if (declared) return declared.state === "dropped" ? "left out" : null;
    const raw = splitRaw(written);
    const owner = raw && sections.providers.get(raw.provider);
    if (!raw || !owner) {
      errorIn(entry, ["chain", index], unknownDeployment(written, sections, deployments), problems);
      return null;
    }
    if (raw.model === "") {
      errorIn(entry, ["chain", index], `\`${written}\` names no model; write \`${raw.provider}/MODEL\``, problems);
      return null;
    }
    const provider = providers.get(raw.provider);
    if (!provider) return owner.state === "dropped" ? "left out" : null;
    addImplied(provider, raw.model, entry, index);
    tellImplied(written, entry, index);
    return written;
  };

  /** Once for a model, at the first route that does not say that its name may move. */
  function tellImplied(written: string, entry: Entry<RouteInput>, index: number): void {
    const raw = sections.deployments.has(written) ? null : splitRaw(written);
    const provider = raw && providers.get(raw.provider);
    if (!provider || told.has(written) || entry.value?.pin === "latest") return;
    told.add(written);
    tellFloating(entry, ["chain", index], raw.model, provider, { strict: isStrict(sections), aloud: false }, problems);
  }

  function addImplied(provider: ProviderConfig, model: string, entry: Entry<RouteInput>, index: number): void {
    const deployment = impliedDeployment(provider, model, context);
    deployments.set(deployment.name, deployment);
    for (const doubt of impliedDoubts(deployment, provider, context.nowMs)) {
      warnIn(entry, ["chain", index], doubt, problems);
    }
  }
}

function isStrict(sections: Sections): boolean {
  return sections.gateway.value?.strict_pins === true;
}

/** Every route that leads to it says `pin: latest`. */
function isMeantToMove(deployment: string, sections: Sections): boolean {
  const leading = [...sections.routes.values()].filter(({ value }) => value?.chain.includes(deployment));
  return leading.length > 0 && leading.every(({ value }) => value?.pin === "latest");
}

function unknownDeployment(written: string, sections: Sections, deployments: ReadonlyMap<string, Deployment>): string {
  const raw = splitRaw(written);
  const names = new Set([...sections.deployments.keys(), ...deployments.keys()]);
  if (raw) {
    const hint = didYouMean(written, names) || didYouMean(raw.provider, sections.providers.keys());
    return `unknown deployment \`${written}\`, and no provider is named \`${raw.provider}\`${hint}`;
  }
  if (sections.routes.has(written))
    return `\`${written}\` is an alias; a chain holds deployments or \`provider/model\``;
  if (sections.providers.has(written)) return `\`${written}\` is a provider; write \`${written}/MODEL\``;
  return `unknown deployment \`${written}\`${didYouMean(written, names)}`;
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
