import type { Path } from "./problems.ts";

/**
 * Keys that INTERFACE.md names and this build does not implement, by where they stand (`*` is any name or position).
 * They are refused with those words rather than as misspelt. A key that gets implemented moves from here to the schema.
 */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  "": ["config", "cache", "timezone", "auth", "budgets", "guardrails", "telemetry"],
  gateway: ["workers", "cors", "tls"],
  ledger: ["retention"],
  "routes.*": ["cache", "prompt_cache", "prompt", "guardrails"],
  "tenants.*": ["limits", "budgets", "runaway", "content_log"],
  "tenants.*.teams.*": ["limits", "budgets"],
  "tenants.*.applications.*": ["limits", "budgets"],
  "keys.*": ["limits", "budgets"],
  admin: ["listen", "oidc"],
  "alerts.*": ["latency"],
};

/** The same for values of closed sets. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "tenants.*.require.*": ["cache_policy", "cache_class", "cache_floor"],
  "tenants.*.allow.*": ["cache_force"],
};

/** Keys that may stand in the map at `path` one day. */
export function unimplementedKeys(path: Path): readonly string[] {
  return lookUp(KEYS, path);
}

/** Values that may stand at `path` one day. */
export function unimplementedValues(path: Path): readonly string[] {
  return lookUp(VALUES, path);
}

function lookUp(table: Readonly<Record<string, readonly string[]>>, path: Path): readonly string[] {
  for (const [pattern, names] of Object.entries(table)) {
    const parts = pattern === "" ? [] : pattern.split(".");
    if (parts.length === path.length && parts.every((part, i) => part === "*" || part === path[i])) return names;
  }
  return [];
}
