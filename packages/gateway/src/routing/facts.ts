import type { ErrorClass } from "@sluicegate/contract";
import type { Capability, Operation } from "../core/call.ts";
import { type Circuit, type HealthFacts, UNKNOWN_HEALTH } from "../core/health.ts";

/**
 * Exactly what the routing function looks at, besides the config and the caller's permissions: as JSON on the request's row,
 * so that a decision can be explained and taken again under another config. What is null, empty or usual is left out.
 */
export interface RouteFacts {
  /** When, epoch ms: prices have their days. */
  at: number;
  /** Of the config under which it was decided. */
  revision: string;
  /** What the client asked for: an alias, or a raw name. */
  alias: string;
  operation: Operation;
  dialect: string;
  stream?: true;
  needs?: readonly Capability[];
  /** Tokens of input by the usual estimate. */
  input_tokens: number;
  /** The fewest it can be. Absent: nothing in the config was small enough for that to matter. */
  input_tokens_min?: number;
  may_be_shortened?: true;
  max_output_tokens?: number;
  tenant: string;
  team?: string;
  application?: string;
  agent?: string;
  user?: string;
  session?: string;
  task_class?: string;
  /** As the request said it: the tenant's default is the config's to say. */
  classification?: string;
  residency?: string;
  tags?: Readonly<Record<string, string>>;
  priority?: "high" | "low";
  hedge?: boolean;
  fallback?: boolean;
  side_effecting?: boolean;
  latency_budget_ms?: number;
  /** The token of the deployment that alone can serve it (ruling 23). */
  pinned_to?: string;
  /** Tools it offers. */
  tools?: number;
  /** Characters of the last message of the user's. */
  last_message_chars?: number;
  /** What the classifier said, 0 to 1; null: it was asked and did not answer in time. */
  classifier_score?: number | null;
  /** Feature flags that were asked, and what they said. */
  flags?: Readonly<Record<string, boolean>>;
  /** By deployment: fields of meaning that get lost on the way to it, in the client's words. */
  lost?: Readonly<Record<string, readonly string[]>>;
  /** The one random number, in [0, 1), that strategies draw from. */
  draw: number;
  /** By deployment, where it could matter. */
  health?: Readonly<Record<string, KnownHealth>>;
}

/** What was known of a deployment's health. Times are ms from `at`; what is as usual is left out. */
export interface KnownHealth {
  circuit?: Circuit;
  retry_ms?: number;
  cooling_ms?: number;
  cooling_for?: ErrorClass;
  requests?: number;
  failures?: number;
  p50_ms?: number;
  ttft_p50_ms?: number;
  in_flight?: number;
  saturation?: number;
  ramp?: number;
  degraded?: true;
}

/** Health as it is put on a row; null: nothing is known. */
export function knownHealth(health: HealthFacts, atMs: number): KnownHealth | null {
  if (health === UNKNOWN_HEALTH) return null;
  const known: KnownHealth = {};
  if (health.circuit !== "closed") {
    known.circuit = health.circuit;
    known.retry_ms = Math.ceil(health.retryAt - atMs);
  }
  if (health.coolingUntil > atMs) {
    known.cooling_ms = Math.ceil(health.coolingUntil - atMs);
    if (health.coolingFor !== null) known.cooling_for = health.coolingFor;
  }
  if (health.requests > 0) known.requests = health.requests;
  if (health.failures > 0) known.failures = health.failures;
  if (health.p50Ms !== null) known.p50_ms = health.p50Ms;
  if (health.ttftP50Ms !== null) known.ttft_p50_ms = health.ttftP50Ms;
  if (health.inFlight > 0) known.in_flight = health.inFlight;
  if (health.saturation > 0) known.saturation = health.saturation;
  if (health.ramp !== 1) known.ramp = health.ramp;
  if (health.degraded) known.degraded = true;
  return known;
}

/** Health as the row of a request tells it: of a deployment that is not there, nothing is known. */
export function recordedHealth({ health, at }: Pick<RouteFacts, "health" | "at">, deployment: string): HealthFacts {
  const known = health && Object.hasOwn(health, deployment) ? health[deployment] : undefined;
  if (!known) return UNKNOWN_HEALTH;
  return {
    circuit: known.circuit ?? "closed",
    retryAt: known.retry_ms === undefined ? 0 : at + known.retry_ms,
    coolingUntil: known.cooling_ms === undefined ? 0 : at + known.cooling_ms,
    coolingFor: known.cooling_for ?? null,
    requests: known.requests ?? 0,
    failures: known.failures ?? 0,
    p50Ms: known.p50_ms ?? null,
    p95Ms: null,
    ttftP50Ms: known.ttft_p50_ms ?? null,
    inFlight: known.in_flight ?? 0,
    saturation: known.saturation ?? 0,
    ramp: known.ramp ?? 1,
    degraded: known.degraded === true,
  };
}

/** Whether what a row holds are facts: those of an older build say less, and rows of the gateway's own calls say none. */
export function isRouteFacts(facts: Record<string, unknown> | null): facts is Record<string, unknown> & RouteFacts {
  if (facts === null) return false;
  const texts = ["revision", "alias", "operation", "dialect", "tenant"].every(
    (name) => typeof facts[name] === "string",
  );
  return texts && ["at", "draw", "input_tokens"].every((name) => typeof facts[name] === "number");
}
