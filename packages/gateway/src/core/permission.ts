/** Which names a caller may use; `ModelPolicy` of the config says in which words. */
interface Policy {
  allow: "*" | readonly string[];
  deny: readonly string[];
}

/** What of a deployment a policy can name. */
interface Named {
  name: string;
  provider: string;
  model: string;
}

/** Why a name is not allowed. */
export type Denial = "no_policy" | "denied" | "not_in_allow_list";

/**
 * Whether policies allow a name (ruling 6): deny wins, every policy must allow, no policy refuses.
 * `*` means every alias; a raw name (`provider/model`, `deployment:NAME`) needs a pattern of its own.
 */
export function denialOf(policies: readonly (Policy | null)[], name: string, raw: boolean): Denial | null {
  if (policies.length === 0 || policies.includes(null)) return "no_policy";
  for (const policy of policies) if (policy && anyMatches(policy.deny, name, raw)) return "denied";
  for (const policy of policies) {
    const allowed = policy && (policy.allow === "*" ? !raw : anyMatches(policy.allow, name, raw));
    if (!allowed) return "not_in_allow_list";
  }
  return null;
}

function anyMatches(patterns: readonly string[], name: string, raw: boolean): boolean {
  for (const pattern of patterns) if (matches(pattern, name, raw)) return true;
  return false;
}

/** Deny lists may name deployments, or what they call (`provider/model`, `provider/*`): such a deployment leaves every chain. */
export function deniesDeployment(policies: readonly (Policy | null)[], { name, provider, model }: Named): boolean {
  const denies = (pattern: string): boolean =>
    pattern === `deployment:${name}` ||
    pattern === name ||
    (pattern.includes("/") && matches(pattern, `${provider}/${model}`, true));
  return policies.some((policy) => policy?.deny.some(denies));
}

function matches(pattern: string, name: string, raw: boolean): boolean {
  if (pattern === name) return true;
  if (pattern === "*") return !raw;
  return pattern.endsWith("/*") && raw && name.startsWith(pattern.slice(0, -1)) && !name.startsWith("deployment:");
}
