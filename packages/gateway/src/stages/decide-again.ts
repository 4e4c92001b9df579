import type { ErrorCode } from "@sluicegate/contract";
import type { Deployment, KeyEntry, Snapshot } from "../config/snapshot.ts";
import type { PlatformFields } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import type { HealthFacts } from "../core/health.ts";
import { protocolNamed } from "../protocols/registry.ts";
import { decide } from "../routing/decide.ts";
import type { Decision, Reach } from "../routing/decision.ts";
import { type RouteFacts, recordedHealth } from "../routing/facts.ts";
import type { Caller } from "./authenticate.ts";
import { authorize, policiesOf } from "./authorize.ts";
import { refusalOf } from "./empty-chain.ts";
import { fieldNamesOf, protocolTo } from "./lane.ts";
import type { Runtime } from "./plane.ts";
import { deploymentOf, noEndpoint, providerFor } from "./route.ts";
import { PLATFORM_FACTS } from "./route-facts.ts";

/** What a decision can be taken with: a gateway's runtime, or what a config alone gives. */
export type Deciding = Pick<Runtime, "snapshot" | "providers" | "own" | "rawDeployment">;

/** Whom a decision is taken for, beyond the facts. */
export interface Whose {
  /** Null: any key of the tenant. */
  key: KeyEntry | null;
  /** How a deployment is; absent: as the facts tell. */
  health?: (deployment: Deployment) => HealthFacts;
}

/** A decision, and what the client is told where nothing serves it. */
export interface Again {
  /** Null: it was refused before routing. */
  decision: Decision | null;
  refused: { code: ErrorCode; message: string } | null;
}

/**
 * Takes a decision from facts, as it is taken for a request: with the same function, which is told by the facts what a request
 * tells by itself. Under another config, what gets lost on the way to a deployment is that of the same model at the same kind
 * of provider.
 */
export function decideAgain(runtime: Deciding, facts: RouteFacts, { key, health }: Whose): Again {
  const { snapshot } = runtime;
  const tenant = snapshot.tenants.get(facts.tenant);
  if (!tenant) {
    return {
      decision: null,
      refused: { code: "invalid_api_key", message: `tenant ${JSON.stringify(facts.tenant)} is not configured` },
    };
  }
  const caller: Caller = { tenant, key: key ?? anyKey(facts) };
  const client = protocolNamed(facts.dialect);
  try {
    authorize(snapshot, caller, { alias: facts.alias, platform: platformOf(facts) });
  } catch (thrown) {
    return { decision: null, refused: toldBy(thrown) };
  }
  const decision = decide({
    facts,
    policies: policiesOf(caller),
    snapshot,
    deployment: (name) => deploymentOf(runtime, name),
    reach(deployment): Reach {
      const provider = providerFor(runtime, facts.tenant, deployment.provider);
      const protocol = client && provider && protocolTo(client, provider, deployment);
      if (!client || !protocol) return noEndpoint(facts.operation);
      return {
        ok: true,
        api: protocol.api,
        lost: lostTo(snapshot, facts, deployment),
        fieldNames: fieldNamesOf(client),
      };
    },
    health: health ?? ((deployment) => recordedHealth(facts, deployment.name)),
  });
  const { alias, pinned_to } = facts;
  const refused =
    decision.chain.length > 0 ? null : toldBy(refusalOf({ alias, pinnedTo: pinned_to ?? null }, decision));
  return { decision, refused };
}

function anyKey({ tenant, team }: RouteFacts): KeyEntry {
  return {
    ...{ id: `of ${tenant}`, hash: "", tenant, name: null, models: null, expiresAt: null, source: "created" },
    ...{ team: team ?? null, application: null },
  };
}

/** What the facts do not tell of, because routing does not look at it, is taken as said. */
function platformOf(facts: RouteFacts): PlatformFields {
  const platform: PlatformFields = {
    ...{ template_version: "", cacheable: true, retry_after_tool_results: false },
    priority: facts.priority ?? "normal",
  };
  if (facts.session !== undefined) platform.session_id = facts.session;
  if (facts.tags !== undefined) platform.tags = { ...facts.tags };
  for (const name of PLATFORM_FACTS) if (facts[name] !== undefined) Object.assign(platform, { [name]: facts[name] });
  return platform;
}

function toldBy(thrown: unknown): NonNullable<Again["refused"]> {
  if (!(thrown instanceof GatewayError)) throw thrown;
  return { code: thrown.code, message: thrown.message };
}

const NOTHING: readonly string[] = [];

function lostTo(snapshot: Snapshot, { lost }: RouteFacts, deployment: Deployment): readonly string[] {
  if (lost === undefined) return NOTHING;
  if (Object.hasOwn(lost, deployment.name)) return lost[deployment.name] ?? NOTHING;
  const lane = laneOf(snapshot, deployment);
  for (const [name, fields] of Object.entries(lost)) {
    const other = snapshot.deployments.get(name);
    if (other && laneOf(snapshot, other) === lane) return fields;
  }
  return NOTHING;
}

/** Two deployments with the same one are told a call in the same words. */
function laneOf({ providers }: Snapshot, { provider, model, api, maxOutputTokens }: Deployment): string {
  const config = providers.get(provider);
  return JSON.stringify([config?.kind, config?.preset, model, api, maxOutputTokens]);
}
