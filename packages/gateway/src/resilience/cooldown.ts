import type { ErrorClass } from "@sluicegate/contract";

/** Failures that a deployment is left alone for, without being taken for broken (ruling 5). */
export const COOLING_CLASSES = ["rate_limited", "quota_exhausted", "auth_failed", "model_not_found"] as const;

/** One of COOLING_CLASSES. */
export type CoolingClass = (typeof COOLING_CLASSES)[number];

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** Without a word from the provider: doubling from the first to the second. */
const BACK_OFF_MS = SECOND_MS;
const BACK_OFF_MS_MAX = 30 * SECOND_MS;
const QUOTA_MS = 10 * MINUTE_MS;
const AUTH_MS = 5 * MINUTE_MS;
const MODEL_MS = 10 * MINUTE_MS;
/** A provider that asks for more is asked again after this: what it says may be wrong, or overtaken. */
const ADVISED_MS_MAX = 60 * MINUTE_MS;

/** No cooldown of a kind is longer, ms. */
export const COOLDOWN_MAX_MS: Readonly<Record<CoolingClass, number>> = {
  rate_limited: ADVISED_MS_MAX,
  quota_exhausted: ADVISED_MS_MAX,
  auth_failed: AUTH_MS,
  model_not_found: MODEL_MS,
};

/** Whether a failure of this class cools. */
export function cools(kind: ErrorClass): kind is CoolingClass {
  return (COOLING_CLASSES as readonly string[]).includes(kind);
}

/**
 * How long a deployment cools, ms. `strikes`: rate limits without advice before this one, in a row. A Retry-After of 0 is no
 * advice: obeyed, it would make every request an extra call for as long as the limit lasts.
 */
export function cooldownMs(kind: CoolingClass, retryAfterMs: number | null, strikes: number): number {
  const advised = Math.min(Math.max(retryAfterMs ?? 0, 0), ADVISED_MS_MAX);
  switch (kind) {
    case "rate_limited":
      return advised > 0 ? advised : Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** Math.min(strikes, 10));
    case "quota_exhausted":
      return Math.max(QUOTA_MS, advised);
    case "auth_failed":
      return AUTH_MS;
    case "model_not_found":
      return MODEL_MS;
  }
}

/** Until when a deployment cools for each reason, monotonic ms; 0: not for this one. */
export type Cooldowns = Record<CoolingClass, number>;

/** Cools for nothing. */
export function noCooldowns(): Cooldowns {
  return { rate_limited: 0, quota_exhausted: 0, auth_failed: 0, model_not_found: 0 };
}

/** The cooldown that ends last, if one is still running. */
export function longest(cooldowns: Cooldowns, now: number): { kind: CoolingClass; until: number } | null {
  let found: CoolingClass | null = null;
  for (const kind of COOLING_CLASSES) {
    if (cooldowns[kind] > now && (found === null || cooldowns[kind] > cooldowns[found])) found = kind;
  }
  return found && { kind: found, until: cooldowns[found] };
}
