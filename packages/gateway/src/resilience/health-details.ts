import type { HealthFacts } from "../core/health.ts";
import { type Hand, isHeld } from "./breaker.ts";
import type { KeyHealth } from "./key-health.ts";
import type { HandRecord, OpenedFor } from "./shared-board.ts";

/** A key's health for people: times are epoch ms, null where there is none. */
export interface HealthDetails extends HealthFacts {
  openedAt: number | null;
  /** What opened it. */
  openedFor: OpenedFor | null;
  /** The setting by hand that holds now. */
  hand: HandRecord | null;
  /** A probe of this replica is out. */
  probing: boolean;
  /** Null while there are no calls. */
  errorRate: number | null;
  ttftP95Ms: number | null;
}

/** Everything that is known of a key; `health` undefined: nothing. `epochMs`: what a monotonic time is on the wall clock. */
export function detailsOf(
  health: KeyHealth | undefined,
  facts: HealthFacts,
  now: number,
  epochMs: (at: number) => number,
): HealthDetails {
  const breaker = health?.breaker;
  const open = breaker !== undefined && breaker.circuit !== "closed";
  return {
    ...facts,
    openedAt: open ? epochMs(breaker.openedAt) : null,
    openedFor: open ? breaker.why : null,
    hand: breaker?.hand && isHeld(breaker, now) ? handOf(breaker.hand, epochMs) : null,
    probing: health?.probe != null,
    errorRate: facts.requests === 0 ? null : facts.failures / facts.requests,
    ttftP95Ms: health?.p95Ms(true) ?? null,
  };
}

/** A setting by hand as it is told. */
export function handOf(hand: Hand, epochMs: (at: number) => number): HandRecord {
  return { ...hand, until: hand.until === Number.POSITIVE_INFINITY ? null : epochMs(hand.until) };
}
