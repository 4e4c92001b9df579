import { hash } from "node:crypto";
import { isFloating } from "../config/build/floating-model.ts";
import type { Deployment, Route } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { type Crossing, openCrossing, translates } from "../protocols/translate.ts";
import { type Provider, spokenBy } from "../providers/provider.ts";
import { fieldOf, type Gate, lackedBy, type Overflow, type Window, windowGate } from "../routing/gates.ts";
import { deniesDeployment } from "../routing/permission.ts";
import type { Caller } from "./authenticate.ts";
import { policiesOf, type Target } from "./authorize.ts";
import { emptied } from "./empty-chain.ts";
import type { Runtime } from "./plane.ts";

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
}

/** A deployment that was considered and left out, and which gate said so. */
export interface Removed {
  deployment: string;
  gate: Gate;
  reason: string;
  /** What it lacks or cannot express, in the client's words. */
  fields?: string[];
  /** By how much the call is too long for it. */
  overflow?: Overflow;
}

/** Where a call goes: ordered deployments, and why the others are not among them. */
export interface Plan {
  /** The alias that serves, or the raw name. */
  route: string;
  /** What decided: the route's own chain, or a raw name. */
  rule: "chain" | "raw";
  settings: Omit<Route, "alias" | "chain">;
  hops: readonly [Hop, ...Hop[]];
  /** The first deployment has no endpoint for counting tokens: the gateway counts them itself. */
  countsHere: boolean;
  removed: Removed[];
}

/**
 * Alias → ordered deployments. Static gates only: a deployment the caller is denied leaves the chain, and so does one whose
 * provider has no such endpoint or does not speak the client's protocol. Throws when the chain is emptied, naming the gate.
 */
export function route(runtime: Runtime, caller: Caller, client: Protocol, call: Call, target: Target): Plan {
  const { snapshot } = runtime;
  const found = snapshot.routes.get(target.name);
  const deployments = found
    ? found.chain.flatMap((name) => snapshot.deployments.get(name) ?? [])
    : [rawDeployment(runtime, target)];
  const settings = found ?? snapshot.rawRoute;
  // Decoded for translation once, and only when somebody in the chain needs it.
  let crossing: Crossing | null | undefined;
  const asked: Asked = {
    client,
    call,
    tooLong: windowGate(call),
    dropUnsupported: settings.dropUnsupported,
    crossing: () => {
      if (crossing === undefined) crossing = openCrossing(client, call);
      return crossing;
    },
  };
  const removed: Removed[] = [];
  const hops: Hop[] = [];
  for (const deployment of deployments) {
    const hop = gate(runtime, caller, asked, deployment);
    if ("reason" in hop) removed.push(hop);
    else hops.push(hop);
  }
  const [first, ...rest] = hops;
  if (!first) throw emptied(call, removed);
  const countsHere = !speaks(first);
  return {
    route: target.name,
    rule: target.raw ? "raw" : "chain",
    settings,
    hops: [first, ...(countsHere ? [] : rest.filter(speaks))],
    countsHere,
    removed,
  };
}

/** A client can send any number of fields that a deployment has no word for; an error names some. */
const LOST_NAMED_MAX = 16;
const LOST_CHARS_MAX = 120;

function namesOf(lost: readonly string[]): string {
  const named = lost.slice(0, LOST_NAMED_MAX).map((name) => name.slice(0, LOST_CHARS_MAX));
  return named.join(", ") + (lost.length > named.length ? ` and ${lost.length - named.length} more` : "");
}

/** What the gates look at. */
interface Asked {
  client: Protocol;
  call: Call;
  tooLong: (deployment: Window) => Overflow | null;
  dropUnsupported: boolean;
  crossing: () => Crossing | null;
}

function gate(runtime: Runtime, caller: Caller, asked: Asked, deployment: Deployment): Hop | Removed {
  const { client, call } = asked;
  if (deniesDeployment(policiesOf(caller), deployment)) {
    return { deployment: deployment.name, gate: "permission", reason: "denied to this key" };
  }
  const provider = providerFor(runtime, caller.tenant.name, deployment.provider);
  // Any deployment's tokens can be counted, if need be by the gateway.
  const counter = client.translation?.family === "count" ? client : undefined;
  const protocol = provider && (protocolFor(spokenBy(provider, deployment), client, deployment.api) ?? counter);
  if (!provider || !protocol) {
    return {
      deployment: deployment.name,
      gate: "capability",
      reason: `its provider has no ${call.operation} endpoint`,
    };
  }
  if (call.pinnedTo !== null && call.pinnedTo !== deploymentToken(deployment, caller.tenant.name)) {
    return { deployment: deployment.name, gate: "permission", reason: "the ids in the request are another one's" };
  }
  if (
    runtime.snapshot.gateway.strictPins &&
    isMadeUp(runtime, deployment) &&
    isFloating(deployment.model, provider.config)
  ) {
    return { deployment: deployment.name, gate: "pin", reason: "its name may move, which strict pins refuse" };
  }
  const { crossing, lost } = laneTo(asked, provider, protocol, deployment);
  // What cannot even be said on the way is the next gate's business: a route may let it drop.
  const fieldNames = client.translation && "fieldNames" in client.translation ? client.translation.fieldNames : {};
  const lacked = lackedBy(deployment, call).filter((need) => !lost.includes(fieldOf(need, fieldNames)));
  if (lacked.length > 0) {
    const fields = lacked.map((need) => fieldOf(need, fieldNames));
    return { deployment: deployment.name, gate: "capability", reason: `lacks ${lacked.join(", ")}`, fields };
  }
  const overflow = asked.tooLong(deployment);
  if (overflow) {
    const reason = `its window of ${overflow.window} tokens is too small`;
    return { deployment: deployment.name, gate: "context", reason, overflow };
  }
  if (lost.length > 0 && !asked.dropUnsupported) {
    const reason = `the ${protocol.api} API cannot express ${namesOf(lost)}`;
    return { deployment: deployment.name, gate: "expressibility", reason, fields: lost.slice(0, LOST_NAMED_MAX) };
  }
  return { deployment, provider, protocol, crossing, ...keysOf(runtime, caller.tenant.name, deployment) };
}

/**
 * How a call gets to a deployment: as the client's own bytes (no crossing), or translated; and what of its meaning is lost on
 * the way. A server of the client's own dialect that is stricter than the dialect is asked what it takes, like any other.
 */
function laneTo(
  { client, call, crossing: open }: Asked,
  { quirks }: Provider,
  protocol: Protocol,
  { model, maxOutputTokens }: Deployment,
): { crossing: Crossing | null; lost: string[] } {
  const strict = quirks.strict?.[protocol.name];
  const own = protocol === client;
  const crossing = own && !strict ? null : open();
  if (!crossing) return { crossing, lost: [] };
  const passes = own && protocol.splices?.(call) !== false;
  const fields = crossing.inexpressible(protocol, { model, quirks, maxOutputTokens });
  const lost = passes && strict ? fields.filter((field) => !strict.keeps.test(field)) : fields;
  // What a route lets drop, the translation knows how to leave out.
  return { crossing: passes && lost.length === 0 ? null : crossing, lost };
}

/** The provider as this tenant calls it: with its own credentials, or the shared ones. */
export function providerFor(runtime: Runtime, tenant: string, name: string): Provider | undefined {
  return runtime.own.get(tenant)?.get(name) ?? runtime.providers.get(name);
}

/** Under which names a deployment's connections and its health are kept for this tenant. */
export function keysOf(runtime: Runtime, tenant: string, deployment: Deployment): Pick<Hop, "pool" | "health"> {
  const { name, provider } = deployment;
  const pool = runtime.snapshot.deployments.has(name) ? name : `${provider}/*`;
  return { pool, health: runtime.own.get(tenant)?.has(provider) ? ownHealth(pool, tenant) : pool };
}

/** Kept apart from the shared one: what a tenant's key meets is no news of anybody else's. */
export function ownHealth(pool: string, tenant: string): string {
  return `${pool} of ${tenant}`;
}

function speaks({ provider, protocol, deployment }: Hop): boolean {
  return spokenBy(provider, deployment).includes(protocol);
}

/** The provider's protocol for a client: the one the deployment names, the client's own, or the first it translates to. */
function protocolFor(protocols: readonly Protocol[], client: Protocol, api: string | null): Protocol | undefined {
  const own = protocols.find((protocol) => protocol === client);
  if (api === null) return own ?? protocols.find((protocol) => translates(client, protocol));
  const named = protocols.find((protocol) => protocol.api === api && translates(client, protocol));
  // What the named API has no say in (embeddings beside a chat API) stays what it is.
  return own?.api === api || !named ? own : named;
}

/**
 * An opaque, stable name for a deployment in one tenant's hands, for ids that have to find their way back to it (ruling 23): the
 * account and the deployment, since a provider's ids are its account's; the tenant, since what is kept there is its own.
 */
export function deploymentToken(deployment: Deployment, tenant: string): string {
  return hash("sha256", `${tenant}\n${deployment.provider}\n${deployment.name}`, "hex").slice(0, 12);
}

/** Made on the fly for a name that the config, whose pins are checked at load, does not list. */
function isMadeUp({ snapshot }: Runtime, { name }: Deployment): boolean {
  return !snapshot.deployments.has(name);
}

/** `deployment:NAME` as configured, or `provider/model` with the defaults. */
function rawDeployment(runtime: Runtime, target: Target): Deployment {
  const { deployments } = runtime.snapshot;
  const known = deployments.get(target.name) ?? deployments.get(target.name.replace(/^deployment:/, ""));
  if (known) return known;
  const slash = target.name.indexOf("/");
  return runtime.rawDeployment(target.name.slice(0, slash), target.name.slice(slash + 1));
}
