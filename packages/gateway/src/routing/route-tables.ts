import type { Route, RoutingRule, Snapshot } from "../config/snapshot.ts";

/** What of a config matters to one alias, looked up once. */
export interface RouteTable {
  /** Rules that may match, by priority. */
  rules: readonly RoutingRule[];
  /** The smallest window of a deployment it may lead to; infinite: none is known. */
  smallestWindow: number;
  /** Feature flags that its experiments ask. */
  flags: readonly string[];
  /** By deployment; undefined: all alike. */
  weights: ReadonlyMap<string, number> | undefined;
  /** Nothing but the gates and health has a say in who is asked: no rules, experiments, draws or sessions. */
  plain: boolean;
}

/** Tables belong to a snapshot and go with it. */
const TABLES = new WeakMap<Snapshot, Map<string, RouteTable>>();
const NOTHING: RouteTable = {
  rules: [],
  smallestWindow: Number.POSITIVE_INFINITY,
  flags: [],
  weights: undefined,
  plain: false,
};

/** The table of an alias; that of a raw name is empty. */
export function tableOf(snapshot: Snapshot, alias: string): RouteTable {
  let tables = TABLES.get(snapshot);
  if (!tables) {
    tables = new Map();
    TABLES.set(snapshot, tables);
  }
  const known = tables.get(alias);
  if (known) return known;
  const route = snapshot.routes.get(alias);
  // Names that are no aliases come from callers, and are not kept.
  if (!route) return NOTHING;
  const made = makeTable(snapshot, route);
  tables.set(alias, made);
  return made;
}

/** The deployment that a raw name means: `deployment:NAME` as configured, or `provider/model`. */
export function rawName({ deployments }: Pick<Snapshot, "deployments">, alias: string): string {
  return deployments.has(alias) ? alias : alias.replace(/^deployment:/, "");
}

function makeTable(snapshot: Snapshot, route: Route): RouteTable {
  const rules = snapshot.rules.filter(({ when }) => when.alias === undefined || when.alias.includes(route.alias));
  const routes = [route, ...branches(snapshot, route)];
  const names = new Set(rules.flatMap(({ chain }) => chain));
  for (const each of routes) for (const name of namesIn(each)) names.add(name);
  const windows = [...names].flatMap((name) => snapshot.deployments.get(name)?.contextWindow ?? []);
  return {
    rules,
    smallestWindow: Math.min(Number.POSITIVE_INFINITY, ...windows),
    flags: [...new Set(routes.flatMap(({ canary }) => canary.flatMap(({ flag }) => flag ?? [])))],
    weights: route.weights && new Map(route.chain.map((name, i) => [name, route.weights?.[i] ?? 1])),
    plain: rules.length === 0 && isPlain(route),
  };
}

function isPlain({ strategy, canary, complexity, affinity }: Route): boolean {
  return strategy === "ordered" && canary.length === 0 && complexity === null && affinity === "none";
}

/** The routes that complexity may lead to. */
function branches(snapshot: Snapshot, { complexity }: Route): Route[] {
  if (complexity === null) return [];
  return [complexity.cheap, complexity.capable].flatMap(({ kind, name }) =>
    kind === "alias" ? (snapshot.routes.get(name) ?? []) : [],
  );
}

function namesIn({ chain, tenantOverrides, canary, complexity }: Route): string[] {
  const branched = complexity ? [complexity.cheap, complexity.capable] : [];
  return [
    ...chain,
    ...[...tenantOverrides.values()].flat(),
    ...canary.map(({ deployment }) => deployment),
    ...branched.flatMap(({ kind, name }) => (kind === "deployment" ? name : [])),
  ];
}
