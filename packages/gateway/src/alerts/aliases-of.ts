import type { Snapshot } from "../config/snapshot.ts";

/** Aliases through which a deployment may be called: by chain, override, canary, complexity branch or rule. */
export function aliasesOf({ routes, rules }: Pick<Snapshot, "routes" | "rules">, deployment: string): string[] {
  const ruled = rules.filter(({ chain, mode }) => mode === "enforce" && chain.includes(deployment));
  const found: string[] = [];
  for (const { alias, chain, tenantOverrides, canary, complexity } of routes.values()) {
    const branches = complexity ? [complexity.cheap, complexity.capable] : [];
    const leads =
      chain.includes(deployment) ||
      [...tenantOverrides.values()].some((override) => override.includes(deployment)) ||
      canary.some((arm) => arm.deployment === deployment) ||
      branches.some(({ kind, name }) => kind === "deployment" && name === deployment) ||
      ruled.some(({ when }) => when.alias === undefined || when.alias.includes(alias));
    if (leads) found.push(alias);
  }
  return found;
}
