import type { RoutingRule, RuleMatch } from "../config/snapshot.ts";
import type { RouteFacts } from "./facts.ts";

/** Whether a rule speaks of this request (ROUTE-3): all its `when` holds, and not all of its `unless`. */
export function speaksOf(rule: RoutingRule, facts: RouteFacts, classification: string | null): boolean {
  if (!holds(rule.when, facts, classification)) return false;
  return rule.unless === null || !holds(rule.unless, facts, classification);
}

/** Every field given must hold one of its values; what the request does not say holds none. */
function holds(match: RuleMatch, facts: RouteFacts, classification: string | null): boolean {
  return (
    isOneOf(match.alias, facts.alias) &&
    isOneOf(match.tenant, facts.tenant) &&
    isOneOf(match.classification, classification) &&
    isOneOf(match.task_class, facts.task_class) &&
    isOneOf(match.team, facts.team) &&
    isOneOf(match.application, facts.application) &&
    isOneOf(match.agent, facts.agent) &&
    (match.tags === undefined || tagsHold(match.tags, facts.tags))
  );
}

function isOneOf(values: readonly string[] | undefined, value: string | null | undefined): boolean {
  return values === undefined || (typeof value === "string" && values.includes(value));
}

function tagsHold(wanted: Readonly<Record<string, readonly string[]>>, tags: RouteFacts["tags"]): boolean {
  return Object.entries(wanted).every(
    ([name, values]) => tags !== undefined && Object.hasOwn(tags, name) && isOneOf(values, tags[name]),
  );
}
