import type { ErrorClass } from "@sluicegate/contract";
import type { BreakerConfig } from "../config/snapshot.ts";
import type { Circuit } from "../core/health.ts";
import type { OpenedFor } from "./shared-board.ts";

/** Windows in a row that have to be slow before it is called sustained (ruling 5). */
const SLOW_WINDOWS = 3;

/** What a hand last did. Times are monotonic ms, Infinity: until somebody changes it. */
export interface Hand {
  /** Held open, held closed, or closed and left to itself. */
  set: "open" | "closed" | "free";
  until: number;
  reason: string | null;
  by: string;
  /** The term that began with it. */
  term: number;
}

/** Where one circuit stands. A value: it is replaced, never changed. Times are monotonic ms. */
export interface Breaker {
  readonly circuit: Circuit;
  readonly openedAt: number;
  /** When a probe may go; Infinity: not before somebody says so. Means nothing while closed. */
  readonly until: number;
  readonly why: OpenedFor | null;
  /** Probes in a row that went well. */
  readonly probesWell: number;
  /** When it closed after having been open; null: it was not, or long ago. */
  readonly closedAt: number | null;
  /** The last one, also when it no longer holds. */
  readonly hand: Hand | null;
}

/** One that nothing has happened to. */
export const CLOSED: Breaker = Object.freeze({
  circuit: "closed",
  openedAt: 0,
  until: 0,
  why: null,
  probesWell: 0,
  closedAt: null,
  hand: null,
});

/** Failures that say that a deployment is broken (ruling 5). */
const BREAKING: readonly ErrorClass[] = [
  "overloaded",
  "provider_error",
  "timeout",
  "connection_failed",
  "invalid_response",
];

/** Whether a failure of this class counts towards opening. */
export function breaks(kind: ErrorClass): boolean {
  return BREAKING.includes(kind);
}

/** What moves a circuit. */
export type BreakerEvent =
  | { kind: "tripped"; why: OpenedFor }
  /** A probe has gone out. */
  | { kind: "probe_out" }
  | { kind: "probe_well" }
  | { kind: "probe_failed" }
  /** It told nothing: its client left, or the failure was not the deployment's. */
  | { kind: "probe_lost" }
  | { kind: "forced"; hand: Hand };

/** What the trip rules look at. */
export interface TripFacts {
  /** Failures in a row. */
  streak: number;
  /** Of the window. */
  calls: number;
  failures: number;
  slowWindows: number;
}

/** Which rule opens a closed circuit, if one does (RES-6). */
export function trips(config: BreakerConfig, facts: TripFacts): OpenedFor | null {
  if (facts.streak >= config.consecutive) return "consecutive";
  if (facts.calls >= config.minRequests && facts.failures > 0 && facts.failures >= config.errorRate * facts.calls) {
    return "error_rate";
  }
  return facts.slowWindows >= SLOW_WINDOWS ? "latency" : null;
}

/** Whether a hand holds it now. */
export function isHeld(breaker: Breaker, now: number): boolean {
  return breaker.hand !== null && breaker.hand.set !== "free" && breaker.hand.until > now;
}

/** The next state (pure). An event that cannot happen in a state leaves it as it is. */
export function advance(breaker: Breaker, event: BreakerEvent, config: BreakerConfig, now: number): Breaker {
  switch (event.kind) {
    case "forced":
      return forced(event.hand, now);
    case "tripped":
      if (breaker.circuit !== "closed" || isHeld(breaker, now)) return breaker;
      return opened(breaker, config, event.why, now);
    case "probe_out":
      if (breaker.circuit === "closed" || breaker.until > now) return breaker;
      return { ...breaker, circuit: "half_open" };
    case "probe_well":
      if (breaker.circuit !== "half_open") return breaker;
      return wentWell(breaker, config, now);
    case "probe_failed":
      if (breaker.circuit !== "half_open") return breaker;
      return { ...opened(breaker, config, "probe", now), openedAt: breaker.openedAt };
    case "probe_lost":
      if (breaker.circuit !== "half_open") return breaker;
      return { ...breaker, circuit: "open", until: now };
  }
}

/** How much of its share of traffic it gets, 0 to 1: step by step over one recovery period after it was open. */
export function rampOf({ circuit, closedAt }: Breaker, config: BreakerConfig, now: number): number {
  if (circuit !== "closed" || closedAt === null) return 1;
  return Math.min(1, Math.max(RAMP_MIN, (now - closedAt) / config.recoveryMs));
}

/** With less, nobody would find out that it is well. */
const RAMP_MIN = 0.1;

function opened({ hand }: Breaker, config: BreakerConfig, why: OpenedFor, now: number): Breaker {
  return { ...CLOSED, circuit: "open", openedAt: now, until: now + config.recoveryMs, why, hand };
}

function wentWell(breaker: Breaker, config: BreakerConfig, now: number): Breaker {
  const probesWell = breaker.probesWell + 1;
  if (probesWell >= config.probes) return { ...CLOSED, closedAt: now, hand: breaker.hand };
  return { ...breaker, circuit: "open", until: now, probesWell };
}

function forced(hand: Hand, now: number): Breaker {
  if (hand.set !== "open") return { ...CLOSED, hand };
  return { ...CLOSED, circuit: "open", openedAt: now, until: hand.until, why: "hand", hand };
}
