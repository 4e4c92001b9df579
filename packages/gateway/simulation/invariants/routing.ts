import type { RoutingRule, RuleMatch, Snapshot } from "../../src/config/snapshot.ts";
import type { Remains } from "../world/run.ts";
import { type Case, nameOf } from "./cases.ts";

/** What a request IS decides its rule, whatever anybody's health; and a conversation stays in its arm. */
export function checkRouting({ plan, findings }: Remains, cases: readonly Case[]): void {
  const arms = new Map<string, string>();
  for (const one of cases) {
    const { booked, route } = one;
    // An answer that is given again was routed when it was first given.
    if (!booked || booked.row.rule === null) continue;
    const { rule, variant, tenant, session, alias } = booked.row;
    const wanted = ruleFor(one, plan.snapshot, tenant);
    if (wanted !== null && rule !== wanted)
      findings.add("health never changes the rule", `${nameOf(one)}: ${rule} instead of ${wanted}`);
    if (wanted === null && rule !== "chain" && rule !== "canary")
      findings.add("health never changes the rule", `${nameOf(one)}: ${rule} instead of the chain`);
    if (wanted !== null || route.canary.length === 0) continue;
    const conversation = JSON.stringify([alias, session ?? tenant]);
    const arm = String(variant);
    const known = arms.get(conversation);
    if (known !== undefined && known !== arm)
      findings.add("a conversation never flips", `${nameOf(one)}: ${arm}, and ${known} before`);
    arms.set(conversation, arm);
  }
}

/** The override, or the first rule that speaks of it; null: its route's own chain. */
function ruleFor({ spec, route }: Case, { rules }: Snapshot, tenant: string): string | null {
  if (route.tenantOverrides.has(tenant)) return "override";
  const rule = rules.find((one) => one.mode === "enforce" && speaksOf(one, spec.platform, tenant));
  return rule?.name ?? null;
}

function speaksOf({ when, unless }: RoutingRule, platform: Readonly<Record<string, unknown>>, tenant: string): boolean {
  const holds = (match: RuleMatch): boolean => {
    const tags = platform["tags"] as Record<string, string> | undefined;
    if (match.tenant && !match.tenant.includes(tenant)) return false;
    if (match.task_class && !match.task_class.includes(String(platform["task_class"]))) return false;
    return Object.entries(match.tags ?? {}).every(([name, values]) => values.includes(tags?.[name] ?? ""));
  };
  return holds(when) && !(unless && holds(unless));
}
