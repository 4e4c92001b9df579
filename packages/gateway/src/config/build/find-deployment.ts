import { didYouMean } from "../nearest.ts";
import type { Problems } from "../problems.ts";
import type { Deployment, ProviderConfig } from "../snapshot.ts";
import type { FindDeployment, Written } from "./chains.ts";
import { impliedDeployment, impliedDoubts, type PriceContext, tellFloating } from "./deployments.ts";
import { errorIn, warnIn } from "./entry.ts";
import { splitRaw } from "./model-names.ts";
import type { Sections } from "./read-sections.ts";

/** Finds declared deployments by name, else `provider/model`, which is added to `deployments`. */
export function deploymentFinder(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  deployments: Map<string, Deployment>,
  context: PriceContext,
  problems: Problems,
): FindDeployment {
  const told = new Set<string>();
  return (name, written) => {
    if (deployments.has(name)) {
      tellImplied(name, written);
      return name;
    }
    const declared = sections.deployments.get(name);
    if (declared) return declared.state === "dropped" ? "left out" : null;
    const { entry, below } = written;
    const raw = splitRaw(name);
    const owner = raw && sections.providers.get(raw.provider);
    if (!raw || !owner) {
      errorIn(entry, below, unknownDeployment(name, written, sections, deployments), problems);
      return null;
    }
    if (raw.model === "") {
      errorIn(entry, below, `\`${name}\` names no model; write \`${raw.provider}/MODEL\``, problems);
      return null;
    }
    const provider = providers.get(raw.provider);
    if (!provider) return owner.state === "dropped" ? "left out" : null;
    const deployment = impliedDeployment(provider, raw.model, context);
    deployments.set(deployment.name, deployment);
    for (const doubt of impliedDoubts(deployment, provider, context.nowMs)) warnIn(entry, below, doubt, problems);
    tellImplied(name, written);
    return name;
  };

  /** Once for a model, at the first place that does not say that its name may move. */
  function tellImplied(name: string, { entry, below, mayMove }: Written): void {
    const raw = sections.deployments.has(name) ? null : splitRaw(name);
    const provider = raw && providers.get(raw.provider);
    if (!provider || told.has(name) || mayMove) return;
    told.add(name);
    const strict = sections.gateway.value?.strict_pins === true;
    tellFloating(entry, below, raw.model, provider, { strict, aloud: false }, problems);
  }
}

function unknownDeployment(
  name: string,
  { orAlias = false }: Written,
  sections: Sections,
  deployments: ReadonlyMap<string, Deployment>,
): string {
  const raw = splitRaw(name);
  const names = new Set([...sections.deployments.keys(), ...deployments.keys()]);
  if (orAlias) for (const alias of sections.routes.keys()) names.add(alias);
  if (raw) {
    const hint = didYouMean(name, names) || didYouMean(raw.provider, sections.providers.keys());
    return `unknown deployment \`${name}\`, and no provider is named \`${raw.provider}\`${hint}`;
  }
  if (sections.routes.has(name)) return `\`${name}\` is an alias; a chain holds deployments or \`provider/model\``;
  if (sections.providers.has(name)) return `\`${name}\` is a provider; write \`${name}/MODEL\``;
  return `unknown deployment${orAlias ? " or alias" : ""} \`${name}\`${didYouMean(name, names)}`;
}
