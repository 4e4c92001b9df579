import { type Breaker, CLOSED, type Hand, isHeld } from "./breaker.ts";
import { COOLDOWN_MAX_MS, type CoolingClass, longest } from "./cooldown.ts";
import { handOf } from "./health-details.ts";
import type { KeyHealth } from "./key-health.ts";
import type { BoardRecord } from "./shared-board.ts";

/** What this replica tells the others of a key. `epochMs`: what a monotonic time is on the wall clock. */
export function recordOf(health: KeyHealth, by: string, now: number, epochMs: (at: number) => number): BoardRecord {
  const { breaker, version, term, lifted, credentials } = health;
  const open = breaker.circuit !== "closed";
  const cooling = longest(health.cooldowns, now);
  const endless = breaker.until === Number.POSITIVE_INFINITY;
  return {
    circuit: breaker.circuit,
    openedAt: open ? epochMs(breaker.openedAt) : 0,
    until: open ? (endless ? null : epochMs(breaker.until)) : 0,
    why: breaker.why,
    probesWell: breaker.probesWell,
    coolingUntil: cooling ? epochMs(cooling.until) : 0,
    coolingFor: cooling?.kind ?? null,
    hand: breaker.hand && isHeld(breaker, now) ? handOf(breaker.hand, epochMs) : null,
    ...{ term, lifted, credentials, by, version },
  };
}

/** What another replica's record changes here. */
export interface Merged {
  /** The circuit to take over; null: this one's holds. */
  breaker: Breaker | null;
  /** What it cools for longer now. */
  cooled: CoolingClass | null;
  /** The others have to hear that what holds here still does. */
  answer: boolean;
}

/**
 * Takes over what another replica says, where it knows more. Of circuits: set by hand wins, then the later term, then open,
 * then the later end; of cooldowns the longer. Nothing heard lasts longer than this replica itself would make it: neither a wrong
 * clock nor an old message shuts a circuit for ever. `shiftMs`: from epoch to monotonic.
 */
export function mergeRecord(health: KeyHealth, record: BoardRecord, now: number, shiftMs: number): Merged {
  const theirs = circuitOf(health, record, now, shiftMs);
  const wins = knowsMore(theirs, record, health, now);
  const answer = !wins && record.term > health.term;
  if (record.lifted > health.lifted) {
    health.lifted = record.lifted;
    health.forget(false);
  }
  if (record.credentials > health.credentials) {
    health.credentials = record.credentials;
    health.lift("auth_failed");
  }
  const cooled = coolAs(health, record, now, shiftMs);
  health.look(now);
  health.term = Math.max(health.term, record.term);
  health.version = Math.max(health.version, record.version);
  return { breaker: wins ? theirs : null, cooled, answer };
}

function circuitOf({ breaker, config }: KeyHealth, record: BoardRecord, now: number, shiftMs: number): Breaker {
  const hand: Hand | null = record.hand && {
    ...record.hand,
    until: record.hand.until === null ? Number.POSITIVE_INFINITY : record.hand.until + shiftMs,
  };
  if (record.circuit === "closed") {
    // By hand it is well at once; by probes it gets its traffic back step by step.
    const recovered = record.hand || record.lifted === record.term ? null : now;
    return { ...CLOSED, closedAt: breaker.circuit === "closed" ? breaker.closedAt : recovered, hand };
  }
  const asked = record.until === null ? Number.POSITIVE_INFINITY : record.until + shiftMs;
  return {
    ...{ circuit: "open", closedAt: null, hand, why: record.why, probesWell: record.probesWell },
    openedAt: Math.min(now, record.openedAt + shiftMs),
    until: hand?.set === "open" ? asked : Math.min(asked, now + config.recoveryMs),
  };
}

function knowsMore(theirs: Breaker, record: BoardRecord, health: KeyHealth, now: number): boolean {
  const ours = health.breaker;
  const theirHand = isHeld(theirs, now) ? theirs.hand : null;
  const ourHand = isHeld(ours, now) ? ours.hand : null;
  // Only another hand takes a hand's setting away.
  if (ourHand && !theirHand) return record.lifted >= ourHand.term;
  if (theirHand && !ourHand) return theirHand.term > health.lifted;
  if (theirHand && ourHand) return isLater(theirHand, ourHand);
  const open = theirs.circuit === "open";
  const newer =
    record.term === health.term
      ? open && (ours.circuit === "closed" || theirs.until > ours.until)
      : record.term > health.term;
  // The probe that is out decides, unless somebody has heard of a later failure.
  return newer && (!open || health.probe === null || theirs.until > now);
}

/** Of two hands at once all replicas have to obey the same one. */
function isLater(one: Hand, other: Hand): boolean {
  if (one.term !== other.term) return one.term > other.term;
  if (one.set !== other.set) return one.set === "open";
  return one.until === other.until ? one.by > other.by : one.until > other.until;
}

function coolAs(health: KeyHealth, record: BoardRecord, now: number, shiftMs: number): CoolingClass | null {
  const kind = record.coolingFor;
  if (!kind || record.term < health.lifted) return null;
  // Its writer has not heard of the new credential.
  if (kind === "auth_failed" && record.credentials < health.credentials) return null;
  const until = Math.min(record.coolingUntil + shiftMs, now + COOLDOWN_MAX_MS[kind]);
  return until > now && health.coolUntil(kind, until) ? kind : null;
}
