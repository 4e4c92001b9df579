import type { Deployment, Snapshot } from "../config/snapshot.ts";
import type { Ceiling } from "../core/ceiling.ts";
import type { Circuit } from "../core/health.ts";
import type { HealthBoard } from "../resilience/health-board.ts";
import type { HealthDetails } from "../resilience/health-details.ts";

/** One deployment as GET /admin/deployments shows it; null where nothing is known. */
export interface DeploymentState {
  name: string;
  provider: string;
  model: string;
  region: string | null;
  capacity: Deployment["capacity"];
  circuit: Circuit;
  opened_at: string | null;
  /** What opened it, or who. */
  opened_by: string | null;
  cooldown_until: string | null;
  /** What cools it. */
  cooldown_for: string | null;
  error_rate: number | null;
  window: { requests: number; failures: number };
  p50_ms: number | null;
  p95_ms: number | null;
  ttft_p50_ms: number | null;
  in_flight: number;
  /** Of its ceilings, at least; null: there is none. */
  remaining: { rpm: number | null; tpm: number | null };
  /** How it is set by hand. */
  hand: { set: "open" | "closed"; until: string | null; reason: string | null; by: string } | null;
}

/** What can be done to a circuit by hand. */
export const CIRCUIT_ACTIONS = ["open", "close", "reset"] as const;

/** One of CIRCUIT_ACTIONS. */
export type CircuitAction = (typeof CIRCUIT_ACTIONS)[number];

/** How long, why, and who. `forMs` absent: until somebody changes it. */
export interface CircuitForce {
  forMs?: number;
  reason?: string;
  by: string;
}

/** The deployments as the control plane sees and sets them. */
export interface DeploymentSeat {
  /** Those of the config, then what else health is known of: names made on the fly, tenants' own credentials. */
  deployments(): DeploymentState[];
  /** One by its name; null: there is none. */
  deployment(name: string): DeploymentState | null;
  /** The circuits of those of the config, which says nothing of any tenant. */
  circuits(): { name: string; circuit: Circuit }[];
  /** Sets a circuit by hand, on every replica. Null: there is no such deployment. */
  force(name: string, action: CircuitAction, force: CircuitForce): DeploymentState | null;
}

/** What a seat is made from. */
export interface DeploymentSeatParts {
  board: Pick<HealthBoard, "keys" | "details" | "read" | "force">;
  snapshot(): Snapshot;
  /** What a deployment's calls with the shared credential are held to. */
  ceilings(deployment: Deployment): readonly Ceiling[];
  /** How much of a ceiling is used, 0 to 1. */
  used(ceiling: Ceiling): number;
}

/** The seat over a health board. */
export function deploymentSeat(parts: DeploymentSeatParts): DeploymentSeat {
  const { board, snapshot } = parts;
  const names = (): string[] => {
    const configured = [...snapshot().deployments.keys()];
    return [...new Set([...configured, ...board.keys().toSorted()])];
  };
  const stateOf = (name: string): DeploymentState => ({
    ...identityOf(name, snapshot()),
    ...healthOf(board.details(name)),
    remaining: remainingOf(name, parts),
  });
  const isKnown = (name: string): boolean => snapshot().deployments.has(name) || board.keys().includes(name);
  return {
    deployments: () => names().map(stateOf),
    deployment: (name) => (isKnown(name) ? stateOf(name) : null),
    circuits: () => [...snapshot().deployments.keys()].map((name) => ({ name, circuit: board.read(name).circuit })),
    force(name, action, force) {
      if (!isKnown(name)) return null;
      board.force(name, action, force);
      return stateOf(name);
    },
  };
}

/** A name that is not in the config is a tenant's own (`big of acme`), or one made on the fly (`openai/*`). */
function identityOf(
  name: string,
  { deployments, rawDeployment }: Snapshot,
): Pick<DeploymentState, "name" | "provider" | "model" | "region" | "capacity"> {
  const own = name.lastIndexOf(" of ");
  const base = deployments.get(name) ?? (own > 0 ? deployments.get(name.slice(0, own)) : undefined);
  if (base) {
    const { provider, model, region, capacity } = base;
    return { name, provider, model, region, capacity };
  }
  const slash = name.indexOf("/");
  const [provider, model] = slash < 0 ? [name, "*"] : [name.slice(0, slash), name.slice(slash + 1)];
  return { name, provider, model, region: rawDeployment.region, capacity: rawDeployment.capacity };
}

function healthOf(details: HealthDetails): Omit<DeploymentState, keyof ReturnType<typeof identityOf> | "remaining"> {
  const { hand } = details;
  return {
    circuit: details.circuit,
    opened_at: time(details.openedAt),
    opened_by: hand?.set === "open" ? hand.by : details.openedFor,
    cooldown_until: time(details.coolingUntil || null),
    cooldown_for: details.coolingFor,
    error_rate: details.errorRate,
    window: { requests: details.requests, failures: details.failures },
    p50_ms: details.p50Ms,
    p95_ms: details.p95Ms,
    ttft_p50_ms: details.ttftP50Ms,
    in_flight: details.inFlight,
    hand:
      hand && hand.set !== "free" ? { set: hand.set, until: time(hand.until), reason: hand.reason, by: hand.by } : null,
  };
}

/** By the fullest part of each ceiling: the others may have more. */
function remainingOf(name: string, { snapshot, ceilings, used }: DeploymentSeatParts): DeploymentState["remaining"] {
  const deployment = snapshot().deployments.get(name);
  const remaining: DeploymentState["remaining"] = { rpm: null, tpm: null };
  for (const ceiling of deployment ? ceilings(deployment) : []) {
    const free = Math.max(0, 1 - used(ceiling));
    for (const kind of ["rpm", "tpm"] as const) {
      const limit = ceiling[kind];
      if (limit !== null) remaining[kind] = Math.min(remaining[kind] ?? limit, Math.floor(limit * free));
    }
  }
  return remaining;
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
