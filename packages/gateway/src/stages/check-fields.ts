import { didYouMean } from "../config/nearest.ts";
import type { Snapshot, Tenant } from "../config/snapshot.ts";
import type { PlatformFields } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";

/**
 * Holds the platform fields against the config: names that it does not know would decide nothing, and what a tenant's clients
 * may not ask for is not ignored. Throws invalid_request with the nearest name, or permission_denied.
 */
export function checkFields(snapshot: Snapshot, tenant: Tenant, platform: PlatformFields): void {
  const { classification, task_class: taskClass, residency, hedge, priority } = platform;
  const { classifications, taskClasses } = snapshot;
  if (classification !== undefined && classifications.length > 0) {
    checkName("classification", classification, classifications);
  }
  if (taskClass !== undefined && taskClasses !== null) checkName("task_class", taskClass, taskClasses);
  if (residency !== undefined && !isPlace(snapshot, residency)) {
    checkName("residency", residency, placesOf(snapshot));
  }
  if (hedge === true) checkAllowed("hedge", "hedge", tenant);
  if (priority === "high") checkAllowed("priority", "priority_high", tenant);
}

function checkName(field: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  const hint = didYouMean(value, known) || (known.length > 0 ? `; known are ${known.slice(0, 20).join(", ")}` : "");
  throw new GatewayError("invalid_request", `gateway.${field}: there is no ${JSON.stringify(value)}${hint}`, {
    param: `gateway.${field}`,
  });
}

function isPlace({ gateway, regions, deployments }: Snapshot, name: string): boolean {
  if (regions.has(name) || gateway.region === name) return true;
  for (const { region } of deployments.values()) if (region === name) return true;
  return placesInGroups(regions).includes(name);
}

function placesOf({ gateway, regions, deployments }: Snapshot): string[] {
  const places = [
    ...regions.keys(),
    ...placesInGroups(regions),
    ...[...deployments.values()].map(({ region }) => region),
  ];
  return [...new Set([...places, gateway.region].filter((name) => name !== null))];
}

function placesInGroups(regions: Snapshot["regions"]): string[] {
  return [...regions.values()].flat();
}

function checkAllowed(field: string, permission: string, { name, allow }: Tenant): void {
  if (allow === null || allow.includes(permission)) return;
  throw new GatewayError(
    "permission_denied",
    `gateway.${field} may not be asked for by clients of tenant ${name}; its \`allow\` does not list ${permission}`,
    { param: `gateway.${field}` },
  );
}
