import type { Deployment } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import type { Ceiling } from "../core/ceiling.ts";
import { type HealthFacts, type ReadHealth, UNKNOWN_HEALTH } from "../core/health.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Crossing } from "../protocols/translate.ts";
import { type Provider, spokenBy } from "../providers/provider.ts";
import { decide } from "../routing/decide.ts";
import type { Decision, Reach, RouteSettings } from "../routing/decision.ts";
import { knownHealth, type RouteFacts } from "../routing/facts.ts";
import { isAtEase } from "../routing/order-by-health.ts";
import type { Caller } from "./authenticate.ts";
import { policiesOf } from "./authorize.ts";
import { refusalOf } from "./empty-chain.ts";
import { crossingOnDemand, fieldNamesOf, laneTo, protocolTo } from "./lane.ts";
import type { Runtime } from "./plane.ts";

export { deploymentToken } from "../routing/deployment-token.ts";

/** One deployment of a plan, with everything needed to call it. */
export interface Hop {
  deployment: Deployment;
  provider: Provider;
  protocol: Protocol;
  /** The call on its way to another dialect; null when the client's bytes go on. */
  crossing: Crossing | null;
  /** Bounded name under which its connections are kept: raw models of one provider share one. */
  pool: string;
  /** The same for its retry budget and its health: a tenant's with a key of its own are its own. */
  health: string;
  /** What its calls are held to. */
  ceilings: readonly Ceiling[];
  /** With what the ids of its answers were last dressed: the plans of a tenant have the same hops again. */
  tokens?: Tokens;
}

/** Opaque names for a tenant's ids to find their way back by. */
export interface Tokens {
  tenant: string;
  deployment: string;
  account: string;
}

/** Where a call goes: ordered deployments, and why those and not others. */
export interface Plan {
  /** The alias that serves, or the raw name. */
  route: string;
  /** What decided: `chain`, `override`, `canary`, `raw`, or the name of a rule. */
  rule: string;
  settings: RouteSettings;
  hops: readonly [Hop, ...Hop[]];
  /** The first deployment has no endpoint for counting tokens: the gateway counts them itself. */
  countsHere: boolean;
  decision: Decision;
  /** What it was decided by. */
  facts: RouteFacts;
}

/**
 * Alias → ordered deployments: looks up what the routing function asks for, and makes hops of what it decides. What it looked
 * up is added to `facts`. Throws when the gates leave nothing, naming them.
 */
export function route(
  runtime: Runtime,
  caller: Caller,
  client: Protocol,
  call: Call,
  facts: RouteFacts,
  read: ReadHealth = unknown,
): Plan {
  const asked = { client, call, open: crossingOnDemand(client, call) };
  const hops = new Map<string, Hop>();
  const decision = decide({
    facts,
    policies: policiesOf(caller),
    snapshot: runtime.snapshot,
    deployment: (name) => deploymentOf(runtime, name),
    reach(deployment): Reach {
      const provider = providerFor(runtime, caller.tenant.name, deployment.provider);
      const protocol = provider && protocolTo(client, provider, deployment);
      if (!provider || !protocol) return noEndpoint(call.operation);
      const { crossing, lost } = laneTo(asked, provider, protocol, deployment);
      if (lost.length > 0) facts.lost = { ...facts.lost, [deployment.name]: lost };
      const { pool, health, ceilings } = keysOf(runtime, caller.tenant.name, deployment);
      hops.set(deployment.name, { deployment, provider, protocol, crossing, pool, health, ceilings });
      return { ok: true, api: protocol.api, lost, fieldNames: fieldNamesOf(client) };
    },
    health(deployment, scored, windowMs): HealthFacts {
      const { health: key, ceilings } = hops.get(deployment.name) ?? keysOf(runtime, caller.tenant.name, deployment);
      const health = read(key, windowMs, ceilings);
      if (scored || !isAtEase({ health })) note(facts, deployment.name, health);
      return health;
    },
  });
  return planOf(call, facts, decision, hops);
}

function planOf(call: Call, facts: RouteFacts, decision: Decision, hops: ReadonlyMap<string, Hop>): Plan {
  const chained: Hop[] = [];
  let countsHere = false;
  for (const name of decision.chain) {
    const hop = hops.get(name);
    if (!hop) continue;
    if (chained.length === 0) countsHere = !speaks(hop);
    else if (countsHere || !speaks(hop)) continue;
    chained.push(hop);
  }
  if (!isSome(chained)) throw refusalOf(call, decision);
  const { route, rule, settings } = decision;
  return { route, rule, settings, hops: chained, countsHere, decision, facts };
}

function isSome(hops: Hop[]): hops is [Hop, ...Hop[]] {
  return hops.length > 0;
}

/** What is as usual is not worth a word on every row. */
function note(facts: RouteFacts, deployment: string, health: HealthFacts): void {
  const known = knownHealth(health, facts.at);
  if (known !== null) facts.health = { ...facts.health, [deployment]: known };
}

function unknown(): HealthFacts {
  return UNKNOWN_HEALTH;
}

/** Said of a deployment whose provider does not do what is asked. */
export function noEndpoint(operation: Call["operation"]): Reach {
  return { ok: false, gate: "capability", reason: `its provider has no ${operation} endpoint` };
}

/** The provider as this tenant calls it: with its own credentials, or the shared ones. */
export function providerFor(
  runtime: Pick<Runtime, "own" | "providers">,
  tenant: string,
  name: string,
): Provider | undefined {
  return runtime.own.get(tenant)?.get(name) ?? runtime.providers.get(name);
}

/** Under which names a deployment's connections and its health are kept for this tenant, and what its calls are held to. */
export function keysOf(
  runtime: Runtime,
  tenant: string,
  deployment: Deployment,
): Pick<Hop, "pool" | "health" | "ceilings"> {
  const { name, provider } = deployment;
  const pool = runtime.snapshot.deployments.has(name) ? name : `${provider}/*`;
  const own = runtime.own.get(tenant)?.has(provider) === true;
  return {
    pool,
    health: own ? ownHealth(pool, tenant) : pool,
    ceilings: runtime.ceilings(deployment, own ? tenant : null),
  };
}

/** Kept apart from the shared one: what a tenant's key meets is no news of anybody else's. */
export function ownHealth(pool: string, tenant: string): string {
  return `${pool} of ${tenant}`;
}

function speaks({ provider, protocol, deployment }: Hop): boolean {
  return spokenBy(provider, deployment).includes(protocol);
}

/** As configured, or `provider/model` with the defaults; undefined: no such provider. */
export function deploymentOf(
  { snapshot, rawDeployment }: Pick<Runtime, "snapshot" | "rawDeployment">,
  name: string,
): Deployment | undefined {
  const known = snapshot.deployments.get(name);
  if (known) return known;
  const slash = name.indexOf("/");
  return slash > 0 && snapshot.providers.has(name.slice(0, slash))
    ? rawDeployment(name.slice(0, slash), name.slice(slash + 1))
    : undefined;
}
