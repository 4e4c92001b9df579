import type { ErrorClass } from "@sluicegate/contract";
import type { Cancel } from "../core/cancel.ts";
import { expectedMs, fitsBudget } from "../resilience/latency-gate.ts";
import type { NoPermit, Permit } from "../resilience/permit.ts";
import type { Grip } from "./attempt-record.ts";
import { type Hold, isFull, type Refusal } from "./ceilings.ts";
import type { Standing, Work } from "./execute.ts";
import type { DataPlane } from "./plane.ts";
import type { Hop } from "./route.ts";

/** What an attempt takes with it into a deployment. */
export interface Entered {
  ok: true;
  grip: Pick<Grip, "permit" | "hold">;
  /** What is left of the chain's deadline, ms. */
  remainingMs: number;
  /** When it entered, monotonic ms. */
  at: number;
}

/** Why a deployment was passed over. */
export interface Skipped {
  hop: Hop;
  /** late: no time is left, or less of the latency budget than it is expected to take; full: a ceiling of its own. */
  why: "late" | "open" | "cooling" | "full";
  /** When it may be called again, epoch ms. */
  retryAt: number;
  /** What it cools for. */
  coolingFor: ErrorClass | null;
  /** Which ceiling is full. */
  refusal: Refusal | null;
}

/** Timers may come a millisecond early: what they leave of the deadline is no time for a call. */
const TIME_MS_MIN = 2;

/** May an attempt enter? */
export type Entry = Entered | { ok: false; skipped: Skipped };

/**
 * May this deployment be called now? In the latency budget (RES-2), by its breaker and cooldown (ruling 5), and within its
 * ceilings (LIMIT-4), in this order: each costs more than the one before. Answers at once where nobody has to be asked.
 */
export function enter(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  standing: Standing,
  cancel: Cancel,
): Entry | Promise<Entry> {
  const now = plane.clock.monotonic();
  const remainingMs = standing.deadline - now;
  if (remainingMs < TIME_MS_MIN || isLate(plane, work, hop)) return skip(hop, { why: "late" });
  const permit = standing.forced ? plane.health.pass(hop.health) : plane.health.permit(hop.health);
  if (!(permit instanceof Promise)) {
    if (!permit.ok) return skip(hop, permit);
    if (hop.ceilings.length === 0) return { ok: true, grip: { permit, hold: null }, remainingMs, at: now };
  }
  return enterFull(plane, work, hop, { permit, deadline: standing.deadline }, cancel);
}

async function enterFull(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  asked: { permit: Permit | NoPermit | Promise<Permit | NoPermit>; deadline: number },
  cancel: Cancel,
): Promise<Entry> {
  const permit = await asked.permit;
  if (!permit.ok) return skip(hop, permit);
  const entered = (hold: Hold | null): Entered => {
    const at = plane.clock.monotonic();
    return { ok: true, grip: { permit, hold }, remainingMs: asked.deadline - at, at };
  };
  if (cancel.cancelled || hop.ceilings.length === 0) return entered(null);
  let hold: Hold | Refusal | null = null;
  try {
    hold = await plane.ceilings.take(work, hop, cancel);
  } finally {
    if (!hold || isFull(hold)) permit.done(UNUSED);
  }
  if (!isFull(hold)) return entered(hold);
  return skip(hop, { why: "full", retryAtMs: plane.clock.now() + hold.retryAfterMs, refusal: hold });
}

/** A permit that was given back: no call was made. */
export const UNUSED = { class: null, neutral: true, retryAfterMs: null, ttftMs: null, latencyMs: 0 } as const;

/** Lets go of a deployment that was entered and not called. */
export function giveBack(plane: DataPlane, { permit, hold }: Entered["grip"]): void {
  permit.done(UNUSED);
  if (hold) plane.ceilings.settle(hold, null);
}

function isLate({ clock, health }: DataPlane, { visit, call, lease }: Work, hop: Hop): boolean {
  const budgetMs = call.platform.latency_budget_ms;
  // The first hop is clipped by the budget, the later ones are gated by it (ruling 4).
  if (budgetMs === undefined || lease.attempts.length === 0) return false;
  const remainingMs = visit.arrivedAt + budgetMs - clock.monotonic();
  const prior = hop.deployment.expectedLatencyMs ?? null;
  return !fitsBudget(remainingMs, expectedMs(prior, health.read(hop.health), call.stream));
}

interface Why {
  why: "late" | "full" | "open" | "cooling" | "probing";
  retryAtMs?: number;
  class?: ErrorClass | null;
  refusal?: Refusal;
}

/** A probe that is out makes the deployment as good as open. */
function skip(hop: Hop, { why, retryAtMs = 0, class: coolingFor, refusal }: Why): Entry {
  const skipped = { hop, why: why === "probing" ? ("open" as const) : why, retryAt: retryAtMs };
  return { ok: false, skipped: { ...skipped, coolingFor: coolingFor ?? null, refusal: refusal ?? null } };
}
