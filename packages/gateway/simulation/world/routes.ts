import type { Route, RoutingRule, Strategy } from "../../src/config/snapshot.ts";
import type { Chance } from "../core/chance.ts";
import type { Template } from "./template.ts";

/** One to three aliases over these deployments, each with settings of its own. */
export function routesOf(chance: Chance, { route }: Template, names: readonly string[]): Map<string, Route> {
  const routes = Array.from({ length: chance.int(1, 3) }, (_, i): [string, Route] => {
    const alias = `alias${i}`;
    const own = chance.fork(alias);
    const chain = shuffled(names, own).slice(0, own.int(1, Math.min(4, names.length)));
    return [
      alias,
      {
        ...route,
        ...{ alias, chain },
        fallback: own.yes(0.9),
        timeouts: {
          hopMs: own.pick([null, null, 4_000, 12_000]),
          totalMs: own.pick([null, null, 9_000, 30_000]),
          streamMaxMs: own.pick([600_000, 20_000]),
        },
        retries: { ...route.retries, attempts: own.pick([1, 2, 2, 2, 3]), budget: own.pick([0.2, 1]) },
        keepaliveMs: own.pick([15_000, 2_000, null]),
        dropUnsupported: own.yes(0.3),
        ...orderOf(own, chain, names),
        ...mannersOf(own),
      },
    ];
  });
  return new Map(routes);
}

/** How a route orders its chain. */
function orderOf(chance: Chance, chain: readonly string[], names: readonly string[]): Partial<Route> {
  const strategy = chance.weighted<Strategy>({
    ...{ ordered: 6, weighted: 1, cheapest: 1, fastest: 1, least_busy: 1, health: 1 },
  });
  const percent = chance.pick([10, 50]);
  return {
    strategy,
    ...(strategy === "weighted" && { weights: chain.map((_, i) => i + 1) }),
    affinity: chance.pick(["none", "none", "session", "user"]),
    canary: chance.yes(0.2) ? [{ deployment: chance.pick(names), percent, variant: "trial", flag: null }] : [],
    tenantOverrides: chance.yes(0.1) ? new Map([["bolt", [chance.pick(names)]]]) : new Map(),
  };
}

/** What a route does under faults. */
function mannersOf(chance: Chance): Partial<Route> {
  return {
    hedge: chance.yes(0.2) ? { after: chance.pick([0, 300, "p95"]), maxExtra: chance.pick([0.1, 1]) } : null,
    whenAllOpen: chance.pick(["refuse", "refuse", "least_bad"]),
    whenAllCooling: chance.pick(["wait", "wait", "refuse"]),
    contextFallback: chance.yes(0.3),
    queue: {
      maxWaitMs: chance.pick([5_000, 500]),
      maxDepth: chance.pick([200, 2]),
      on: chance.yes(0.3) ? ["concurrency", "rate"] : ["concurrency"],
    },
    slowStream: chance.yes(0.15) ? { tokensPerSecond: 5, windowMs: 2_000, abort: chance.yes(0.5) } : null,
  };
}

/** Rules over what callers are: at most two. `ruled`: there are some, and nothing shadows them. */
export function rulesOf(chance: Chance, names: readonly string[], ruled: boolean): RoutingRule[] {
  if (!chance.yes(0.3) && !ruled) return [];
  const chain = (): string[] => shuffled(names, chance).slice(0, 2);
  const batch: RoutingRule = {
    ...{ name: "batches", priority: 10, unless: null, mode: chance.pick(["enforce", "shadow"]), chain: chain() },
    when: { task_class: ["batch"] },
  };
  const gold: RoutingRule = {
    ...{ name: "gold", priority: 20, mode: "enforce", chain: chain() },
    when: { tags: { tier: ["gold"] } },
    unless: { tenant: ["coda"] },
  };
  return [batch, gold];
}

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  const left = [...list];
  const order: T[] = [];
  while (left.length > 0) order.push(...left.splice(chance.int(0, left.length - 1), 1));
  return order;
}
