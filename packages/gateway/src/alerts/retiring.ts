import type { Deployment, Snapshot } from "../config/snapshot.ts";
import type { Alert } from "./alert.ts";
import { aliasesOf } from "./aliases-of.ts";
import { ALERT_BOUNDS } from "./bounds.ts";

const DAY_MS = 86_400_000;

/** Tenants that have used a deployment lately, by its name. */
export type UsersOf = (deployments: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;

/** Deployments whose model ends within 30 days, or has ended. */
export function retiring({ deployments }: Pick<Snapshot, "deployments">, nowMs: number): Deployment[] {
  return [...deployments.values()].filter(({ retires }) => retires && retires.atMs - nowMs <= ALERT_BOUNDS.retiringMs);
}

/** What is said of one of them: when, and who still uses it (PROV-10). */
export function retiringAlert(
  snapshot: Snapshot,
  { name, model, retires }: Deployment,
  tenants: readonly string[],
  nowMs: number,
): Alert {
  const atMs = retires?.atMs ?? nowMs;
  const days = Math.ceil((atMs - nowMs) / DAY_MS);
  const day = new Date(atMs).toISOString().slice(0, 10);
  const when = days > 0 ? `retires on ${day}, in ${days} ${days === 1 ? "day" : "days"}` : `retired on ${day}`;
  const aliases = aliasesOf(snapshot, name);
  const users = [listed("alias", aliases, "aliases"), listed("tenant", tenants, "tenants")].filter(
    (text) => text !== "",
  );
  const used = users.length > 0 ? `still used by ${users.join("; ")}` : "used by no alias";
  return {
    kind: "model_retiring",
    subject: name,
    deployment: name,
    ...(aliases.length === 1 && aliases[0] !== undefined && { alias: aliases[0] }),
    value: days,
    threshold: ALERT_BOUNDS.retiringMs / DAY_MS,
    text: `${model} of deployment ${name} ${when}; ${used}: name its successor`,
    everyMs: ALERT_BOUNDS.retiringEveryMs,
  };
}

function listed(one: string, names: readonly string[], many: string): string {
  return names.length === 0 ? "" : `${names.length === 1 ? one : many} ${names.join(", ")}`;
}
