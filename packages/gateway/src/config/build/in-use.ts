import type { ModelsInput } from "../schema/access.ts";
import type { RouteInput } from "../schema/routes.ts";
import { type ConfigNode, nodeAt } from "../yaml/node.ts";
import { splitRaw } from "./model-names.ts";
import type { Sections } from "./read-sections.ts";

/** Names that something in the config leads to. */
export interface InUse {
  providers: ReadonlySet<string>;
  deployments: ReadonlySet<string>;
}

/** What chains and permissions lead to: a provider or deployment outside these answers nobody. */
export function inUse(sections: Sections): InUse {
  const providers = new Set<string>();
  const deployments = new Set<string>();
  for (const name of namesAsked(sections)) {
    const declared = sections.deployments.get(name);
    if (declared) {
      deployments.add(name);
      const provider = providerOf(declared.node);
      if (provider !== null) providers.add(provider);
    } else {
      const raw = splitRaw(name);
      if (raw) providers.add(raw.provider);
    }
  }
  return { providers, deployments };
}

function* namesAsked(sections: Sections): Generator<string> {
  for (const { value } of sections.routes.values()) if (value) yield* namesOfRoute(value);
  for (const { value } of sections.rules) yield* value?.chain ?? [];
  for (const { value } of sections.tenants?.values() ?? []) yield* namesAllowed(value?.models);
  for (const { value } of sections.keys) yield* namesAllowed(value?.models);
}

/** Deployments that a route may lead to: in its chain, its overrides, its experiment, its branches. Aliases may be among them. */
export function* namesOfRoute(route: RouteInput): Generator<string> {
  for (const { deployment } of route.chain) yield deployment;
  for (const chain of Object.values(route.tenant_overrides)) yield* chain;
  for (const { deployment } of route.canary ?? []) yield deployment;
  if (route.complexity) yield* [route.complexity.cheap, route.complexity.capable];
}

function* namesAllowed(models: ModelsInput | undefined): Generator<string> {
  if (models?.allow === undefined || models.allow === "*") return;
  for (const name of models.allow) yield name.replace(/^deployment:/, "");
}

/** Read from the tree, because a deployment with a broken part still leads to its provider. */
function providerOf(node: ConfigNode): string | null {
  const provider = nodeAt(node, ["provider"]);
  return provider?.kind === "scalar" && typeof provider.value === "string" ? provider.value : null;
}
