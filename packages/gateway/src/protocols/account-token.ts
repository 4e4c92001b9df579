import { hash } from "node:crypto";

/** A short, opaque, stable name of an account at a vendor, by its provider's name: for what only that account can read again. */
export function accountToken(provider: string): string {
  return hash("sha256", `account\n${provider}`).slice(0, 8);
}
