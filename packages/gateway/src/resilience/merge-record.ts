import { type Breaker, CLOSED, type Hand } from "./breaker.ts";
import { COOLDOWN_MAX_MS, COOLING_CLASSES, type CoolingClass, longest } from "./cooldown.ts";
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
    hand: breaker.hand && handOf(breaker.hand, epochMs),
    ...{ term, lifted, credentials, by, version },
  };
}

/** Whether a record is one: another version of the gateway may have written anything. */
export function isReadable(record: BoardRecord): boolean {
  const { circuit, openedAt, until, coolingUntil, probesWell, term, lifted, credentials, version } = record;
  return (
    CIRCUITS.includes(circuit) &&
    [openedAt, until ?? 0, coolingUntil, probesWell, term, lifted, credentials, version].every(Number.isFinite) &&
    (record.coolingFor === null || COOLING_CLASSES.includes(record.coolingFor)) &&
    (record.hand === null || (SETTINGS.includes(record.hand?.set) && Number.isFinite(record.hand.term)))
  );
}

const CIRCUITS = ["closed", "open", "half_open"];
/** The more careful one last. */
const SETTINGS = ["free", "closed", "open"];

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
 * Takes over what another replica says, where it knows more. Of circuits: who has heard of the later hand wins, then the later
 * term, then open, then the later end; of cooldowns the longer. Nothing heard lasts longer than this replica itself would make
 * it: neither a wrong clock nor an old message shuts a circuit for ever. `shiftMs`: from epoch to monotonic.
 */
export function mergeRecord(health: KeyHealth, record: BoardRecord, now: number, shiftMs: number): Merged {
  const theirs: View = { breaker: circuitOf(health, record, now, shiftMs), term: record.term };
  const ours: View = { breaker: health.breaker, term: health.term };
  // The probe that is out here decides, unless somebody has heard of a later failure.
  const undecided = health.probe !== null && theirs.breaker.circuit === "open" && theirs.breaker.until <= now;
  const wins = !undecided && knowsMore(theirs, ours);
  const overtaken = record.version > health.version;
  const unlifted = record.lifted < health.lifted;
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
  // What was said here is written over, and was not heard by who wrote that.
  const unheard = unlifted || (!wins && knowsMore(ours, theirs)) || coolsLonger(health, record, now, shiftMs);
  return { breaker: wins ? theirs.breaker : null, cooled, answer: overtaken && unheard };
}

/** What one replica knows of a circuit. */
interface View {
  breaker: Breaker;
  term: number;
}

function circuitOf({ breaker, config }: KeyHealth, record: BoardRecord, now: number, shiftMs: number): Breaker {
  const hand: Hand | null = record.hand && {
    ...record.hand,
    until: record.hand.until === null ? Number.POSITIVE_INFINITY : record.hand.until + shiftMs,
  };
  if (record.circuit === "closed") {
    // By hand it is well at once; by probes it gets its traffic back step by step.
    const recovered = hand?.term === record.term ? null : now;
    return { ...CLOSED, closedAt: breaker.circuit === "closed" ? breaker.closedAt : recovered, hand };
  }
  const asked = record.until === null ? Number.POSITIVE_INFINITY : record.until + shiftMs;
  return {
    ...{ circuit: "open", closedAt: null, hand, why: record.why, probesWell: record.probesWell },
    openedAt: Math.min(now, record.openedAt + shiftMs),
    until: record.why === "hand" ? asked : Math.min(asked, now + config.recoveryMs),
  };
}

/** Times that went over a wall clock are not quite what they were, ms. */
const SAME_MS = 1_000;

/** A total order: all replicas have to come to the same. */
function knowsMore(one: View, other: View): boolean {
  // Who has not heard of a hand has found out what he did before it.
  const hands = compareHands(one.breaker.hand, other.breaker.hand);
  if (hands !== 0) return hands > 0;
  if (one.term !== other.term) return one.term > other.term;
  if (one.breaker.circuit === "closed") return false;
  return other.breaker.circuit === "closed" || one.breaker.until > other.breaker.until + SAME_MS;
}

function compareHands(one: Hand | null, other: Hand | null): number {
  if (!one || !other) return Number(one !== null) - Number(other !== null);
  // Of two at once the more careful one.
  const first = one.term - other.term || SETTINGS.indexOf(one.set) - SETTINGS.indexOf(other.set);
  if (first !== 0) return first;
  if (one.by !== other.by) return one.by > other.by ? 1 : -1;
  return Math.abs(one.until - other.until) > SAME_MS ? one.until - other.until : 0;
}

function coolAs(health: KeyHealth, record: BoardRecord, now: number, shiftMs: number): CoolingClass | null {
  const kind = record.coolingFor;
  // Its writer has not heard of the hand that ended all cooldowns, or of the new credential.
  if (!kind || record.lifted < health.lifted) return null;
  if (kind === "auth_failed" && record.credentials < health.credentials) return null;
  const asked = record.coolingUntil + shiftMs;
  // It is of the time before the reload.
  if (kind === "model_not_found" && asked - COOLDOWN_MAX_MS[kind] < health.reloadedAt) return null;
  const until = Math.min(asked, now + COOLDOWN_MAX_MS[kind]);
  return until > now && health.coolUntil(kind, until) ? kind : null;
}

/** Something cools it longer than the record says that concerns the other replicas as well. */
function coolsLonger({ cooldowns }: KeyHealth, record: BoardRecord, now: number, shiftMs: number): boolean {
  const until = Math.max(cooldowns.rate_limited, cooldowns.quota_exhausted);
  return until > now && until > record.coolingUntil + shiftMs + SAME_MS;
}
