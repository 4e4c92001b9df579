import type { Ceiling } from "../core/ceiling.ts";

/**
 * Token buckets of a ceiling: one that everybody shares, and one for each tenant with a floor. A bucket holds one minute's
 * worth and fills by elapsed time. scripts.ts says the same in Lua, operation for operation: both come to the same numbers.
 */
const MINUTE_MS = 60_000;
/** Sums of fractions miss their mark by less: what lacks so little is there. */
export const ALMOST = 1e-6;

/** A number for the tenant's own bucket and one for the shared one: levels, sizes, or what is drawn. */
export interface Pair {
  floor: number;
  shared: number;
}

/** How large the buckets of a tenant are, for one of the two rates. */
export function capsOf(ceiling: Ceiling, rate: "rpm" | "tpm", tenant: string): Pair | null {
  const total = ceiling[rate];
  if (total === null) return null;
  let floors = 0;
  for (const floor of ceiling.floors.values()) floors += floor[rate] ?? 0;
  return { floor: ceiling.floors.get(tenant)?.[rate] ?? 0, shared: Math.max(0, total - floors) };
}

/** A level brought up to now. A clock that went back fills nothing. */
export function refilled(level: number | undefined, at: number, cap: number, now: number): number {
  if (level === undefined) return cap;
  return Math.min(cap, level + (Math.max(0, now - at) * cap) / MINUTE_MS);
}

/** What a tenant can draw: its own, debts included, and of the shared one what is there. */
export function available(levels: Pair): number {
  return levels.floor + Math.max(0, levels.shared);
}

/** What is taken of buckets of this size: one that asks for more than they hold takes a full one. */
export function amountOf(wanted: number, caps: Pair): number {
  return Math.min(wanted, caps.floor + caps.shared);
}

/** Whether so much may be drawn. Nothing may be drawn on no bucket at all. */
export function covers(levels: Pair, caps: Pair, amount: number): boolean {
  return caps.floor + caps.shared > 0 && available(levels) >= amount - ALMOST;
}

/** How an amount is split: the tenant's own first. */
export function drawn(levels: Pair, amount: number): Pair {
  const floor = Math.min(amount, Math.max(0, levels.floor));
  return { floor, shared: amount - floor };
}

/** What goes back of a draw of which less was used: the shared part first, as if only that had been drawn. */
export function unused(draw: Pair, used: number): Pair {
  const back = Math.max(0, draw.floor + draw.shared - used);
  const shared = Math.min(back, draw.shared);
  return { floor: back - shared, shared };
}

/** Levels after giving back, at most full. */
export function credited(levels: Pair, caps: Pair, back: Pair): Pair {
  return {
    floor: Math.min(caps.floor, levels.floor + back.floor),
    shared: Math.min(caps.shared, levels.shared + back.shared),
  };
}

/** Levels after taking what nobody had reserved: what is there first, then debt, the tenant's own first, one size deep. */
export function debited(levels: Pair, caps: Pair, extra: number): Pair {
  const ownThere = Math.min(extra, Math.max(0, levels.floor));
  const sharedThere = Math.min(extra - ownThere, Math.max(0, levels.shared));
  const owed = extra - ownThere - sharedThere;
  const floor = levels.floor - ownThere;
  const ownDebt = Math.min(owed, Math.max(0, floor + caps.floor));
  return {
    floor: floor - ownDebt,
    shared: Math.max(-caps.shared, levels.shared - sharedThere - (owed - ownDebt)),
  };
}

/** Milliseconds until so much can be drawn, at least 1: both buckets fill in straight lines until they are full. */
export function waitMs(levels: Pair, caps: Pair, wanted: number): number {
  const amount = wanted - ALMOST;
  const at = (ms: number): number =>
    available({
      floor: refilled(levels.floor, 0, caps.floor, ms),
      shared: refilled(levels.shared, 0, caps.shared, ms),
    });
  const corners = [levels.floor, levels.shared]
    .flatMap((level, i) => {
      const cap = i === 0 ? caps.floor : caps.shared;
      return cap > 0 ? [(-level * MINUTE_MS) / cap, ((cap - level) * MINUTE_MS) / cap] : [];
    })
    .filter((ms) => ms > 0)
    .sort((a, b) => a - b);
  let from = 0;
  for (const to of corners) {
    const [low, high] = [at(from), at(to)];
    if (high >= amount) return Math.max(1, Math.ceil(from + ((amount - low) * (to - from)) / (high - low)));
    from = to;
  }
  return Math.max(1, Math.ceil(from || MINUTE_MS));
}
