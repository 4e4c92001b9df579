import type { Path } from "./problems.ts";

/**
 * Keys that INTERFACE.md names and this build does not implement, by where they stand (`*` is any name or position).
 * They are refused with those words rather than as misspelt. A key that gets implemented moves from here to the schema.
 */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  "": [
    ...[
      "state",
      "config",
      "classifications",
      "regions",
      "task_classes",
      "cache",
      "timezone",
      "rules",
      "auth",
      "budgets",
    ],
    ...["guardrails", "alerts", "telemetry", "flags"],
  ],
  gateway: ["workers", "cors", "tls", "gate"],
  ledger: ["retention"],
  "providers.*": ["limits"],
  "deployments.*": [...["expected_latency", "max_classification", "tenants", "limits", "breaker"]],
  "routes.*": [
    ...[
      "strategy",
      "latency_slo",
      "health",
      "tenant_overrides",
      "canary",
      "complexity",
      "slow_stream",
      "hedge",
      "cache",
    ],
    ...["when_all_open", "when_all_cooling", "context_fallback", "affinity", "queue", "prompt_cache"],
    ...["prompt", "guardrails"],
  ],
  "routes.*.chain.*": ["weight"],
  "tenants.*": ["limits", "budgets", "runaway", "allow", "content_log"],
  "tenants.*.defaults": ["residency"],
  "tenants.*.teams.*": ["limits", "budgets"],
  "tenants.*.applications.*": ["limits", "budgets"],
  "keys.*": ["limits", "budgets"],
  admin: ["listen", "oidc"],
};

/** The same for values of closed sets. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "tenants.*.require.*": ["residency", "cache_policy", "cache_class", "cache_floor", "hedge", "priority"],
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
