import { hash, timingSafeEqual } from "node:crypto";
import type { AdminKey } from "../config/snapshot.ts";
import { GatewayError } from "../core/errors.ts";

/** Who asks the control plane. A tenant binds: everything else does not exist for them. */
export interface Principal {
  role: AdminKey["role"];
  tenant: string | null;
  /** sha256 of the admin key, lower-case hex; null for one who came by a console link. */
  keyHash: string | null;
}

const KEY_CHARS_MAX = 4_096;

/** Whose admin key this is; null for nobody's. Takes the same time whichever key it is. */
export function principalOf(keys: readonly AdminKey[], credential: string): Principal | null {
  if (credential === "" || credential.length > KEY_CHARS_MAX) return null;
  const given = hash("sha256", credential, "buffer");
  let found: AdminKey | null = null;
  for (const key of keys) {
    const known = Buffer.from(key.hash, "hex");
    if (known.length === given.length && timingSafeEqual(known, given)) found ??= key;
  }
  return found && { role: found.role, tenant: found.tenant, keyHash: found.hash };
}

/** Who sends this `authorization` header. Throws GatewayError invalid_api_key. */
export function authenticate(keys: readonly AdminKey[], authorization: string | undefined): Principal {
  if (keys.length === 0) {
    throw new GatewayError(
      "invalid_api_key",
      "this gateway has no admin key; set SLUICEGATE_ADMIN_KEY, or list one under admin.keys in its config",
    );
  }
  const credential = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
  if (credential === undefined) {
    throw new GatewayError("invalid_api_key", "no admin key was sent; send authorization: Bearer <admin key>");
  }
  const principal = principalOf(keys, credential);
  if (!principal) throw new GatewayError("invalid_api_key", "this is not an admin key of this gateway");
  return principal;
}

/** The tenant to look at, undefined for all. Throws permission_denied where a bound key asks for another. */
export function tenantScope(principal: Principal, asked: string | undefined): string | undefined {
  if (principal.tenant === null) return asked;
  if (asked === undefined || asked === principal.tenant) return principal.tenant;
  throw new GatewayError("permission_denied", `this key sees tenant ${principal.tenant} only`);
}

/** For what tells of all tenants at once. Throws permission_denied for a key bound to one. */
export function requireUnbound(principal: Principal): void {
  if (principal.tenant === null) return;
  throw new GatewayError(
    "permission_denied",
    `this key sees tenant ${principal.tenant} only, and this tells of all of them`,
  );
}

/** For what keeps it running: circuits and the like. Throws permission_denied. */
export function requireOperator(principal: Principal): void {
  requireUnbound(principal);
  requireOperatorRole(principal);
}

/** The same for what may be bound to a tenant. */
export function requireOperatorRole(principal: Principal): void {
  if (principal.role === "viewer")
    throw new GatewayError("permission_denied", "this needs the role operator or admin; this key is viewer");
}

/** For changes of the gateway itself. Throws permission_denied. */
export function requireAdmin(principal: Principal): void {
  requireUnbound(principal);
  if (principal.role !== "admin")
    throw new GatewayError("permission_denied", `this needs the role admin; this key is ${principal.role}`);
}
