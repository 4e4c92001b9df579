import type { Clock } from "../core/clock.ts";
import { openLedgerReaderThread } from "./reader-thread.ts";

const LOOK_BACK_MS = 30 * 86_400_000;

/** Tenants that have used these deployments in the last 30 days, by deployment. Read on a thread that ends with the answer. */
export async function deploymentUsers(
  path: string,
  clock: Clock,
  deployments: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const wanted = new Set(deployments);
  const users = new Map<string, string[]>();
  const reader = openLedgerReaderThread(path);
  try {
    const now = clock.now();
    const range = { from: new Date(now - LOOK_BACK_MS).toISOString(), to: new Date(now + 1).toISOString() };
    const { data } = await reader.spend({ by: ["deployment", "tenant"], ...range });
    for (const { deployment, tenant } of data) {
      // What nobody caused, such as a probe, has no tenant.
      if (typeof deployment !== "string" || typeof tenant !== "string" || tenant === "") continue;
      if (wanted.has(deployment)) users.set(deployment, [...(users.get(deployment) ?? []), tenant]);
    }
    return users;
  } finally {
    await reader.close();
  }
}
