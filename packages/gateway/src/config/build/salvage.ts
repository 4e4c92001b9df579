import type { z } from "zod";

/** Keys without which nothing else is checked differently, so that leaving them out raises no false alarm. */
const HARMLESS: ReadonlySet<unknown> = new Set([
  ...["timeouts", "retries", "keepalive", "fallback", "price", "capacity", "pool", "expires", "require", "defaults"],
  ...[
    "latency_slo",
    "health",
    "slow_stream",
    "hedge",
    "when_all_open",
    "when_all_cooling",
    "context_fallback",
    "affinity",
  ],
  ...["queue", "drop_unsupported", "expected_latency", "limits", "breaker"],
  ...["body_limit", "drain_delay", "drain_timeout", "expose", "fsync", "spool"],
]);

/**
 * An object without its faulty parts, so that the rest can be checked in the same go; null when what is faulty is what
 * the rest is about. `value` is changed.
 */
export function salvage(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  for (const issue of issues) {
    const [first] = issue.path;
    if (issue.code === "unrecognized_keys") {
      const holder = at(value, issue.path);
      for (const key of issue.keys) delete holder?.[key];
    } else if (HARMLESS.has(first)) {
      const holder = at(value, []);
      if (holder) delete holder[String(first)];
    } else {
      return null;
    }
  }
  return value;
}

function at(value: unknown, path: readonly PropertyKey[]): Record<string, unknown> | null {
  let current = value;
  for (const part of path) {
    if (typeof current !== "object" || current === null) return null;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return typeof current === "object" && current !== null ? (current as Record<string, unknown>) : null;
}
