import type { CanaryArm, Route } from "../config/snapshot.ts";
import type { RouteFacts } from "./facts.ts";
import { unitOf } from "./stable-hash.ts";

/** The variant of conversations that are in no arm. */
export const STABLE = "stable";

/**
 * The arm a conversation is in, or null for `stable` (ROUTE-9). Its bucket is a hash of route, experiment and session, else
 * tenant: it never flips, whatever else changes, and what another experiment does says nothing about it. An experiment is known by
 * the variants of its arms. An arm whose flag is off gives its share to `stable`.
 */
export function armOf({ alias, canary }: Pick<Route, "alias" | "canary">, facts: RouteFacts): CanaryArm | null {
  if (canary.length === 0) return null;
  const experiment = canary.map(({ variant }) => variant).join(",");
  const bucket = 100 * unitOf(`canary\n${alias}\n${experiment}\n${facts.session ?? facts.tenant}`);
  let end = 0;
  for (const arm of canary) {
    end += arm.percent;
    if (bucket < end) return isOn(arm, facts) ? arm : null;
  }
  return null;
}

function isOn({ flag }: CanaryArm, { flags }: RouteFacts): boolean {
  return flag === null || flags === undefined || !Object.hasOwn(flags, flag) || flags[flag] !== false;
}
