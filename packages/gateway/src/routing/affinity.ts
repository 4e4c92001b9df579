import type { Route } from "../config/snapshot.ts";
import type { RouteFacts } from "./facts.ts";
import { unitOf } from "./stable-hash.ts";
import type { Ranked } from "./strategies.ts";

/** What a request is kept together with, inside its tenant; null: the route keeps nothing together, or the request does not say. */
export function affinityKey(affinity: Route["affinity"], { session, user, tenant }: RouteFacts): string | null {
  if (affinity === "none") return null;
  const id = affinity === "session" ? session : user;
  return id === undefined ? null : `${affinity}\n${tenant}\n${id}`;
}

/**
 * The deployment that a session or user stays with (ROUTE-12): the highest of a rendezvous hash over those that are well, by
 * weight where they have any. Nothing is remembered: who leaves takes only its own along, and who comes back gets them back.
 */
export function stayingWith(
  key: string,
  well: readonly Ranked[],
  weights?: ReadonlyMap<string, number>,
): Ranked | null {
  let chosen: Ranked | null = null;
  let soonest = Number.POSITIVE_INFINITY;
  for (const known of well) {
    const { name } = known.deployment;
    const wait = -Math.log(1 - unitOf(`affinity\n${key}\n${name}`)) / (weights?.get(name) ?? 1);
    if (wait < soonest) {
      soonest = wait;
      chosen = known;
    }
  }
  return chosen;
}

/** A number in [0, 1) by which a session comes back to a deployment that recovers, once and not to and fro. */
export function returnDraw(key: string, deployment: string): number {
  return unitOf(`return\n${key}\n${deployment}`);
}
