import type { Problems } from "../problems.ts";
import type { Capacity, Deployment, Route, Snapshot } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { allocationOf, allocations } from "./capacity.ts";
import { type Entry, warnIn } from "./entry.ts";
import type { Sections } from "./read-sections.ts";

/** Waits of a stream where nothing else is said (ruling 4), ms. */
const FIRST_TOKEN_MS = 10_000;
const HOP_MS = 15_000;
const TOTAL_MS = 60_000;

type Parts = Pick<Snapshot, "routes" | "deployments" | "providers">;

/** Tells of routes whose options cannot do what they are there for. */
export function warnRoutes(sections: Sections, parts: Parts, problems: Problems): void {
  for (const route of parts.routes.values()) {
    const entry = sections.routes.get(route.alias);
    if (!entry) continue;
    warnHeadroom(entry, route, parts, problems);
    warnQueue(entry, route, parts, problems);
  }
}

/** A chain whose first deployment, when it hangs, leaves the second no time (RES-2). */
function warnHeadroom(entry: Entry<unknown>, route: Route, { deployments }: Parts, problems: Problems): void {
  const [first, second] = route.chain.map((name) => deployments.get(name));
  if (!first || !second || !route.fallback) return;
  const { hopMs, totalMs } = route.timeouts;
  const total = totalMs ?? TOTAL_MS;
  const hang = Math.min(hopMs ?? HOP_MS, first.timeouts.firstTokenMs ?? FIRST_TOKEN_MS);
  // The answer of a JSON call comes whole, so that only the hop bounds it; without one it may take as long as the chain.
  const hangs = { "a stream": hang, "a call without streaming": hopMs };
  const needed = second.expectedLatencyMs ?? 0;
  for (const [what, ms] of Object.entries(hangs)) {
    if (ms === null || ms + needed < total) continue;
    const takes = needed === 0 ? "" : ` \`${second.name}\` is expected to take ${seconds(needed)},`;
    const message = `no time is left for a fallback: ${what} may hang ${seconds(ms)} at \`${first.name}\`,${takes} and the whole chain has ${seconds(total)}; make \`hop\` or \`first_token\` shorter, or \`total\` longer`;
    const key = totalMs !== null ? "total" : "hop";
    warnIn(entry, nodeAt(entry.node, ["timeouts", key]) ? ["timeouts", key] : [], message, problems);
    return;
  }
}

/** A queue at deployments that are never full. */
function warnQueue(entry: Entry<unknown>, route: Route, { deployments, providers }: Parts, problems: Problems): void {
  if (!nodeAt(entry.node, ["queue"]) || route.queue.on.length === 0) return;
  const chains = [route.chain, ...route.tenantOverrides.values(), route.canary.map(({ deployment }) => deployment)];
  const held = allocations(deployments);
  const limited = (deployment: Deployment | undefined): boolean => {
    const ceilings = [
      deployment && held.get(allocationOf(deployment)),
      providers.get(deployment?.provider ?? "")?.limits,
    ];
    return ceilings.some((limits) => limits !== undefined && route.queue.on.some((what) => hasLimit(limits, what)));
  };
  if (chains.flat().some((name) => limited(deployments.get(name)))) return;
  const what = route.queue.on.includes("rate") ? "`concurrency`, `rpm` or `tpm`" : "`concurrency`";
  const message = `\`queue\` waits for nothing: no deployment of this route, and no provider of one, has \`limits\` with ${what}`;
  warnIn(entry, ["queue"], message, problems);
}

function hasLimit(limits: Capacity, what: "concurrency" | "rate"): boolean {
  return what === "concurrency" ? limits.concurrency !== null : limits.rpm !== null || limits.tpm !== null;
}

function seconds(ms: number): string {
  return `${ms / 1_000}s`;
}
