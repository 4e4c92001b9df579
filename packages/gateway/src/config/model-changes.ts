import type { RuleMatch, Snapshot } from "./snapshot.ts";

/** A model as it is called. */
export interface CalledModel {
  deployment: string;
  provider: string;
  model: string;
  /** What the provider calls it, where that is another name. */
  sent_as?: string;
}

/** Everything that an alias may lead to. */
export interface AliasModels {
  chain: CalledModel[];
  tenant_overrides: Record<string, CalledModel[]>;
  canary: { variant: string; percent: number; model: CalledModel[] }[];
  /** Absent: no complexity routing. A branch is an alias or a model. */
  complexity?: { cheap: string | CalledModel[]; capable: string | CalledModel[] };
  rules: { name: string; when: RuleMatch; unless: RuleMatch | null; chain: CalledModel[] }[];
}

/** An alias that would lead elsewhere. `before` null: it is new. */
export interface ModelChange {
  alias: string;
  before: AliasModels | null;
  after: AliasModels;
}

/** What a gate is asked, as it is sent. */
export interface GateQuestion {
  /** Revisions of the config that is served, and of the one that would be. */
  from: string;
  to: string;
  changes: ModelChange[];
}

/** The aliases of a config that lead elsewhere than they do now. One that is gone leads nowhere, and is none of them. */
export function modelChanges(before: Snapshot, after: Snapshot): ModelChange[] {
  return [...after.routes.keys()].flatMap((alias) => {
    const [was, is] = [modelsOf(before, alias), modelsOf(after, alias)];
    return is === null || JSON.stringify(was) === JSON.stringify(is) ? [] : [{ alias, before: was, after: is }];
  });
}

function modelsOf(snapshot: Snapshot, alias: string): AliasModels | null {
  const route = snapshot.routes.get(alias);
  if (!route) return null;
  const { chain, tenantOverrides, canary, complexity } = route;
  const called = (names: readonly string[]): CalledModel[] => names.flatMap((name) => calledModel(snapshot, name));
  const branch = ({ kind, name }: { kind: string; name: string }) => (kind === "alias" ? name : called([name]));
  const rules = snapshot.rules.filter(({ mode, when }) => mode === "enforce" && when.alias?.includes(alias) !== false);
  return {
    chain: called(chain),
    tenant_overrides: Object.fromEntries([...tenantOverrides].map(([tenant, names]) => [tenant, called(names)])),
    canary: canary.map(({ variant, percent, deployment }) => ({ variant, percent, model: called([deployment]) })),
    ...(complexity && { complexity: { cheap: branch(complexity.cheap), capable: branch(complexity.capable) } }),
    rules: rules.map((rule) => ({
      ...{ name: rule.name, when: { ...rule.when, alias: [alias] }, unless: rule.unless, chain: called(rule.chain) },
    })),
  };
}

function calledModel({ deployments }: Snapshot, name: string): CalledModel[] {
  const found = deployments.get(name);
  if (!found) return [];
  const { provider, model, sentAs } = found;
  return [{ deployment: name, provider, model, ...(sentAs !== undefined && { sent_as: sentAs }) }];
}
