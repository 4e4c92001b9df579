import type { Ceiling } from "../core/ceiling.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import { amountOf, credited, debited, drawn, type Pair, refilled, unused } from "./bucket.ts";
import { fullness, type Levels, refusalOf, type Sizes, sizesOf, tooLarge, worse } from "./judge.ts";
import type { ReserveRequest, ReserveResult } from "./state.ts";

/** Two levels and the time they were true at. Absent levels are full. */
export interface Slot {
  requests: number | undefined;
  tokens: number | undefined;
  at: number;
}

interface Entry {
  shared: Slot;
  floors: Map<string, Slot>;
  /** Holders and when their slots come back by themselves. */
  leases: Map<string, number>;
  /** When the first of them may do so: nothing is looked at before. */
  soonest: number;
}

/** What one ceiling gave to one holder. */
export interface Draw {
  requests: Pair | null;
  tokens: Pair | null;
}

/** An outcome of a reservation: what was drawn of each ceiling, in their order, or the refusal. */
export type Reserved = { ok: true; draws: Draw[] } | Extract<ReserveResult, { ok: false }>;

/** An idle entry is worth nothing once it is full again, debts included. */
const IDLE_MS = 120_000;

/** Ceilings as one process keeps them. Times are ms of any clock that the caller sticks to. */
export class LocalCeilings {
  readonly #entries = new Map<string, Entry>();
  #share = 1;

  /** Makes every ceiling so much smaller: what one of several replicas stands in for. */
  set share(part: number) {
    this.#share = part;
  }

  /** Takes all of every ceiling or nothing of any. */
  reserve(request: ReserveRequest, now: number): Reserved {
    const large = tooLarge(request);
    if (large) return large;
    const steps = request.ceilings.map((ceiling) => {
      const sizes = sizesOf(ceiling, request.tenant, this.#share);
      const entry = this.#entry(ceiling.key, now);
      return { ceiling, sizes, entry, levels: levelsOf(entry, sizes, request.tenant, now) };
    });
    let refusal: Extract<ReserveResult, { ok: false }> | null = null;
    for (const { ceiling, sizes, levels } of steps) {
      refusal = worse(refusal, refusalOf(ceiling, sizes, levels, request.tokens));
    }
    if (refusal) return refusal;
    return { ok: true, draws: steps.map(({ sizes, entry, levels }) => take(request, sizes, entry, levels, now)) };
  }

  /** Ends a reservation: what was drawn of each ceiling is set right by what was used. Without a draw only slots come free. */
  settle(request: ReserveRequest, draws: readonly (Draw | undefined)[], usedTokens: number | null, now: number): void {
    const { holder, tenant } = request;
    request.ceilings.forEach((ceiling, i) => {
      const draw = draws[i];
      const entry = this.#entry(ceiling.key, now);
      entry.leases.delete(holder);
      if (!draw) return;
      const sizes = sizesOf(ceiling, tenant, this.#share);
      const levels = levelsOf(entry, sizes, tenant, now);
      const requests = settled(levels.requests, sizes.requests, draw.requests, usedTokens === null ? 0 : 1);
      const tokens = settled(levels.tokens, sizes.tokens, draw.tokens, usedTokens ?? 0);
      put(entry, sizes.own ? tenant : null, requests, tokens, now);
    });
  }

  /** How full a ceiling is, 0 to 1. */
  used(ceiling: Ceiling, now: number): number {
    const entry = this.#entries.get(ceiling.key);
    if (!entry) return 0;
    const sizes = sizesOf(ceiling, "", this.#share);
    return fullness(sizes, levelsOf(entry, sizes, "", now));
  }

  /** Puts a ceiling where another place knew it to be. */
  seed(
    key: string,
    state: { shared: Slot; floors: Map<string, Slot>; leases: Map<string, number> },
    now: number,
  ): void {
    const entry = this.#entry(key, now);
    entry.shared = state.shared;
    entry.floors = state.floors;
    entry.leases = state.leases;
    entry.soonest = 0;
  }

  /** The buckets of a ceiling as they stand: the shared one under "", and one a tenant with a floor that has drawn. */
  slots(key: string): ReadonlyMap<string, Slot> {
    const entry = this.#entries.get(key);
    return entry ? new Map([["", entry.shared], ...entry.floors]) : new Map();
  }

  clear(): void {
    this.#entries.clear();
  }

  #entry(key: string, now: number): Entry {
    let entry = this.#entries.get(key);
    if (!entry) {
      if (this.#entries.size >= STATE_BOUNDS.ceilingsMax) this.#sweep(now);
      entry = {
        shared: { requests: undefined, tokens: undefined, at: now },
        floors: new Map(),
        leases: new Map(),
        soonest: 0,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** Forgets what says nothing any more; then the oldest. */
  #sweep(now: number): void {
    for (const [key, entry] of this.#entries) {
      const last = Math.max(entry.shared.at, ...[...entry.floors.values()].map((slot) => slot.at));
      if (now - last >= IDLE_MS && runningOf(entry, now) === 0) this.#entries.delete(key);
    }
    for (const key of this.#entries.keys()) {
      if (this.#entries.size < STATE_BOUNDS.ceilingsMax) break;
      this.#entries.delete(key);
    }
  }
}

function runningOf(entry: Entry, now: number): number {
  if (now >= entry.soonest) {
    entry.soonest = Number.POSITIVE_INFINITY;
    for (const [holder, until] of entry.leases) {
      if (until <= now) entry.leases.delete(holder);
      else entry.soonest = Math.min(entry.soonest, until);
    }
  }
  return entry.leases.size;
}

function levelsOf(entry: Entry, sizes: Sizes, tenant: string, now: number): Levels {
  const own = entry.floors.get(tenant);
  const level = (kind: "requests" | "tokens"): Pair | null => {
    const caps = sizes[kind];
    if (caps === null) return null;
    return {
      floor: refilled(own?.[kind], own?.at ?? now, caps.floor, now),
      shared: refilled(entry.shared[kind], entry.shared.at, caps.shared, now),
    };
  };
  return {
    requests: level("requests"),
    tokens: level("tokens"),
    running: sizes.concurrency === null ? 0 : runningOf(entry, now),
  };
}

function take(request: ReserveRequest, sizes: Sizes, entry: Entry, levels: Levels, now: number): Draw {
  const draw = {
    requests: sizes.requests && levels.requests && drawn(levels.requests, amountOf(1, sizes.requests)),
    tokens: sizes.tokens && levels.tokens && drawn(levels.tokens, amountOf(request.tokens, sizes.tokens)),
  };
  const tenant = sizes.own ? request.tenant : null;
  put(entry, tenant, less(levels.requests, draw.requests), less(levels.tokens, draw.tokens), now);
  if (sizes.concurrency !== null) {
    entry.leases.set(request.holder, now + request.leaseMs);
    entry.soonest = Math.min(entry.soonest, now + request.leaseMs);
  }
  return draw;
}

function less(levels: Pair | null, draw: Pair | null): Pair | null {
  return levels && draw && { floor: levels.floor - draw.floor, shared: levels.shared - draw.shared };
}

/** Levels of a bucket after a draw on it has ended. */
function settled(levels: Pair | null, caps: Pair | null, draw: Pair | null, used: number): Pair | null {
  if (!levels || !caps || !draw) return levels;
  const reserved = draw.floor + draw.shared;
  return used <= reserved ? credited(levels, caps, unused(draw, used)) : debited(levels, caps, used - reserved);
}

/** Only a tenant with a floor has a bucket of its own: the others are not remembered by name. */
function put(entry: Entry, own: string | null, requests: Pair | null, tokens: Pair | null, now: number): void {
  entry.shared = { requests: requests?.shared, tokens: tokens?.shared, at: now };
  if (own !== null) entry.floors.set(own, { requests: requests?.floor, tokens: tokens?.floor, at: now });
}
