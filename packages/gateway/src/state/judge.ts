import type { Ceiling } from "../core/ceiling.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import { amountOf, available, capsOf, covers, type Pair, waitMs } from "./bucket.ts";
import type { ReserveRequest, ReserveResult } from "./state.ts";

/** Where a ceiling stands for one tenant, brought up to now. Null: it has no such rate. */
export interface Levels {
  requests: Pair | null;
  tokens: Pair | null;
  /** Calls on their way. */
  running: number;
}

/** What a ceiling gives one tenant. */
export interface Sizes {
  requests: Pair | null;
  tokens: Pair | null;
  concurrency: number | null;
  /** This tenant has a floor here, and buckets of its own. */
  own: boolean;
}

type Refusal = Extract<ReserveResult, { ok: false }>;

/** What a ceiling gives a tenant; `share`: the part of it that this replica stands in for. One call at a time stays. */
export function sizesOf(ceiling: Ceiling, tenant: string, share: number): Sizes {
  return {
    requests: scaled(capsOf(ceiling, "rpm", tenant), share),
    tokens: scaled(capsOf(ceiling, "tpm", tenant), share),
    concurrency: ceiling.concurrency === null ? null : Math.max(1, Math.floor(ceiling.concurrency * share)),
    own: ceiling.floors.has(tenant),
  };
}

function scaled(caps: Pair | null, share: number): Pair | null {
  return caps === null || share === 1 ? caps : { floor: caps.floor * share, shared: caps.shared * share };
}

/** The refusal of a request whose input no waiting makes fit, or null. */
export function tooLarge(request: ReserveRequest): Refusal | null {
  for (const ceiling of request.ceilings) {
    const caps = capsOf(ceiling, "tpm", request.tenant);
    if (caps === null) continue;
    const size = caps.floor + caps.shared;
    if (size === 0 || request.inputTokens <= size) continue;
    return { ok: false, scope: ceiling.scope, dimension: "tokens", retryAfterMs: 60_000, tooLarge: true };
  }
  return null;
}

/** Of a ceiling that does not take a request, the part that has to be waited for the longest; null: it takes it. */
export function refusalOf(ceiling: Ceiling, sizes: Sizes, levels: Levels, tokens: number): Refusal | null {
  const found = [
    rateRefusal("requests", sizes.requests, levels.requests, 1),
    rateRefusal("tokens", sizes.tokens, levels.tokens, tokens),
    sizes.concurrency !== null && levels.running >= sizes.concurrency
      ? { dimension: "concurrency" as const, retryAfterMs: STATE_BOUNDS.slotRetryMs }
      : null,
  ].filter((part) => part !== null);
  const [worst] = found.sort((a, b) => b.retryAfterMs - a.retryAfterMs);
  return worst ? { ok: false, scope: ceiling.scope, ...worst } : null;
}

function rateRefusal(dimension: "requests" | "tokens", caps: Pair | null, levels: Pair | null, wanted: number) {
  if (caps === null || levels === null) return null;
  const amount = amountOf(wanted, caps);
  if (covers(levels, caps, amount)) return null;
  return { dimension, retryAfterMs: waitMs(levels, caps, amount) };
}

/** The refusal that has to be waited for the longest. */
export function worse(a: Refusal | null, b: Refusal | null): Refusal | null {
  if (a === null || b === null) return a ?? b;
  return b.retryAfterMs > a.retryAfterMs ? b : a;
}

/** How full a ceiling is, 0 to 1, by its fullest part, without anybody's floor. */
export function fullness(sizes: Sizes, levels: Levels): number {
  const rate = (caps: Pair | null, pair: Pair | null): number =>
    caps === null || pair === null || caps.shared === 0 ? 0 : 1 - available({ ...pair, floor: 0 }) / caps.shared;
  const slots = sizes.concurrency === null ? 0 : levels.running / sizes.concurrency;
  return Math.min(1, Math.max(0, rate(sizes.requests, levels.requests), rate(sizes.tokens, levels.tokens), slots));
}
