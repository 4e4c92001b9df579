import { hash } from "node:crypto";
import type { KeyEntry, Tenant } from "../../src/config/snapshot.ts";
import type { Template } from "./template.ts";

/** Who asks, in every world of chance. */
export const TENANTS = ["acme", "bolt", "coda"] as const;

/** They may ask for all there is. */
export function tenantsOf({ tenant }: Template): Tenant[] {
  return TENANTS.map((name) => ({ ...tenant, name, allow: ["hedge", "priority_high"] }));
}

/** A tenant's key, and how the config knows it. */
export function keyOf(tenant: string): { key: string; entry: KeyEntry } {
  const key = `sg_${tenant}_${"5a".repeat(32)}`;
  const entry: KeyEntry = {
    ...{ id: `key-${tenant}`, hash: hash("sha256", key), tenant, team: null, application: null, name: null },
    ...{ models: null, expiresAt: null, source: "config" },
  };
  return { key, entry };
}
