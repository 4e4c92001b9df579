import type { ErrorClass } from "@sluicegate/contract";
import type { Ceiling } from "./ceiling.ts";

/** Where a circuit stands (RES-6). */
export type Circuit = "closed" | "open" | "half_open";

/**
 * What is known of one deployment's health, as routing reads it and explain shows it. Times are epoch ms, durations ms;
 * null: not known yet. `ramp` is 1 for one that was not ill lately, less for one that gets its traffic back step by step.
 */
export interface HealthFacts {
  circuit: Circuit;
  /** When the next probe of an open circuit may go; 0 while closed. */
  retryAt: number;
  /** When its cooldown ends; 0: it does not cool. */
  coolingUntil: number;
  /** What cools it. */
  coolingFor: ErrorClass | null;
  /** Calls that count, and failures among them, in its window. */
  requests: number;
  failures: number;
  p50Ms: number | null;
  p95Ms: number | null;
  ttftP50Ms: number | null;
  /** Calls on their way. */
  inFlight: number;
  /** How much of its ceilings is used, 0 to 1; 0 where it has none. */
  saturation: number;
  ramp: number;
  /** Slow by its own measure, and not down: it loses preference only. */
  degraded: boolean;
}

/** A deployment that nothing is known of: well, until it shows otherwise. */
export const UNKNOWN_HEALTH: HealthFacts = Object.freeze({
  circuit: "closed",
  retryAt: 0,
  coolingUntil: 0,
  coolingFor: null,
  requests: 0,
  failures: 0,
  p50Ms: null,
  p95Ms: null,
  ttftP50Ms: null,
  inFlight: 0,
  saturation: 0,
  ramp: 1,
  degraded: false,
});

/**
 * Reads a deployment's health by the name it is kept under: its counts over `windowMs` (default: the breaker's own window),
 * how full its ceilings are. Cheap: asked several times a request.
 */
export type ReadHealth = (key: string, windowMs?: number, ceilings?: readonly Ceiling[]) => HealthFacts;
