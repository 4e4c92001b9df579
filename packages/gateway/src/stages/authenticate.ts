import { hash } from "node:crypto";
import type { KeyEntry, Tenant } from "../config/snapshot.ts";
import { GatewayError } from "../core/errors.ts";
import type { Exchange } from "../http/exchange.ts";
import type { DataPlane, Runtime } from "./plane.ts";

/** Whose request this is. The tenant comes from the credential alone (SPEC LIFE-7). */
export interface Caller {
  key: KeyEntry;
  tenant: Tenant;
}

/** The longest credential looked at; a longer one is nobody's. */
const CREDENTIAL_CHARS_MAX = 4_096;

/**
 * Whose key is this? From `authorization: Bearer`, `x-api-key`, `api-key` or `x-goog-api-key`, else `inPath`, where the
 * path's dialect has it in the query (Gemini's `key`).
 * Throws invalid_api_key for none, an unknown, a revoked or an expired one. Never asks a database.
 */
export function authenticate(
  plane: DataPlane,
  runtime: Runtime,
  exchange: Pick<Exchange, "header">,
  inPath?: string,
): Caller {
  const credential = credentialOf(exchange) ?? (inPath?.trim() || null);
  if (credential === null) {
    throw new GatewayError("invalid_api_key", "no API key was sent; send authorization: Bearer sg_…");
  }
  // Only hashes are kept and looked up: what a lookup's time could tell is the hash of what the caller already has.
  const key = credential.length <= CREDENTIAL_CHARS_MAX ? plane.keys.find(hash("sha256", credential)) : undefined;
  if (!key) throw new GatewayError("invalid_api_key", "this API key is not known here; check it, or ask for a new one");
  if (key.expiresAt !== null && key.expiresAt <= plane.clock.now()) {
    throw new GatewayError("invalid_api_key", `key ${key.id} has expired; ask for a new one`);
  }
  const tenant = runtime.snapshot.tenants.get(key.tenant);
  if (!tenant)
    throw new GatewayError("invalid_api_key", `key ${key.id} belongs to a tenant that is no longer configured`);
  return { key, tenant };
}

function credentialOf(exchange: Pick<Exchange, "header">): string | null {
  const authorization = exchange.header("authorization");
  const token = authorization && tokenIn(authorization);
  if (token) return token;
  return (
    exchange.header("x-api-key")?.trim() ||
    exchange.header("api-key")?.trim() ||
    exchange.header("x-goog-api-key")?.trim() ||
    null
  );
}

function tokenIn(authorization: string): string | null {
  // As nearly everybody writes it.
  if (authorization.startsWith("Bearer ")) return authorization.slice("Bearer ".length).trim();
  const space = authorization.indexOf(" ");
  if (space <= 0 || authorization.slice(0, space).toLowerCase() !== "bearer") return null;
  return authorization.slice(space + 1).trim();
}
