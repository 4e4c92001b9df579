import { hash } from "node:crypto";
import type { Deployment } from "../config/snapshot.ts";

/**
 * An opaque, stable name for a deployment in one tenant's hands, for ids that have to find their way back to it (ruling 23): the
 * account and the deployment, since a provider's ids are its account's; the tenant, since what is kept there is its own.
 */
export function deploymentToken(deployment: Pick<Deployment, "name" | "provider">, tenant: string): string {
  return hash("sha256", `${tenant}\n${deployment.provider}\n${deployment.name}`, "hex").slice(0, 12);
}
