import type { Route } from "../config/snapshot.ts";
import { isOverCeiling, type Known, scoreOf } from "./health-score.ts";
import type { Ranked } from "./strategies.ts";

/** How well a deployment is, best first: a lower number goes before a higher one, whatever the strategy says. */
const WELL = 0;
const DEGRADED = 1;
const RAMPING = 2;
const OVER_CEILING = 3;
const UNAVAILABLE = 4;

/** What the order by health looks at. */
export interface HealthView {
  settings: Route["health"];
  atMs: number;
  stream: boolean;
  /** A number in [0, 1): a deployment that gets its traffic back step by step takes the call when it is below its share. */
  rampDraw: (deployment: string) => number;
}

/**
 * Puts what is well before what is not (ruling 6: health orders, and takes nothing out). The order of the strategy stays among
 * those that are equally well; those over the error ceiling go by their score, the best first, and what cannot be called now
 * goes last, by when it can.
 */
export function orderedByHealth(order: Ranked[], view: HealthView): Ranked[] {
  if (order.every(isAtEase)) return order;
  const tiers = new Map(order.map((known) => [known, tierOf(known, view)]));
  const over = order.filter((known) => tiers.get(known) === OVER_CEILING);
  const key = (known: Ranked): number => {
    const tier = tiers.get(known);
    if (tier === OVER_CEILING) return -scoreOf(known, over, view.stream);
    return tier === UNAVAILABLE ? callableAt(known) : 0;
  };
  return order
    .map((known) => ({ known, tier: tiers.get(known) ?? WELL, key: key(known) }))
    .sort((a, b) => a.tier - b.tier || a.key - b.key)
    .map(({ known, tier }) =>
      tier === WELL ? known : { ...known, reason: `${wordsOf(known, tier, view)}; ${known.reason}` },
    );
}

/** True for one that takes this call as any other does: what affinity, and a look at the unknown, may go to. */
export function isWell(known: Known, view: HealthView): boolean {
  return isAtEase(known) || tierOf(known, view) === WELL;
}

/** Nothing is wrong with it, by a look. */
export function isAtEase({ health }: Pick<Known, "health">): boolean {
  return (
    health.failures === 0 &&
    health.circuit === "closed" &&
    health.coolingUntil === 0 &&
    health.ramp === 1 &&
    !health.degraded
  );
}

function tierOf(known: Known, { settings, atMs, rampDraw }: HealthView): number {
  const { health, deployment } = known;
  if (callableAt(known) > atMs) return UNAVAILABLE;
  // A probe is due: it keeps its place, so that one call goes there and shows whether it is well again.
  if (health.circuit !== "closed") return WELL;
  if (isOverCeiling(known, settings)) return OVER_CEILING;
  if (health.ramp < 1 && rampDraw(deployment.name) >= health.ramp) return RAMPING;
  return health.degraded ? DEGRADED : WELL;
}

/** When its circuit lets a probe through and its cooldown is over, epoch ms; 0: now. */
function callableAt({ health }: Known): number {
  return Math.max(health.circuit === "closed" ? 0 : health.retryAt, health.coolingUntil);
}

function wordsOf(known: Known, tier: number, { atMs }: HealthView): string {
  const { health } = known;
  if (tier === DEGRADED) return "slower than usual";
  if (tier === RAMPING) return `recovering, takes ${Math.round(health.ramp * 100)} % of its share`;
  if (tier === OVER_CEILING) return `${health.failures} of ${health.requests} calls failed`;
  const seconds = Math.ceil((callableAt(known) - atMs) / 1_000);
  if (health.coolingUntil > atMs) return `cools for ${seconds} s (${health.coolingFor ?? "asked to"})`;
  return `its circuit is open, a probe is due in ${seconds} s`;
}
