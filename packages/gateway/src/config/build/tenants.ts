import type { Problems } from "../problems.ts";
import type { ModelsInput, TenantInput } from "../schema/access.ts";
import type { ModelPolicy, Tenant } from "../snapshot.ts";
import { keyPlaceAt } from "../yaml/node.ts";
import { type Entry, errorIn } from "./entry.ts";
import { checkClass, DEFAULT_TENANT_NAME, type Known } from "./known.ts";
import { type ModelNames, readPermission } from "./model-names.ts";
import { checkPlainName } from "./read-sections.ts";

/** The only tenant of a config that declares none. */
export const DEFAULT_TENANT: Tenant = {
  name: DEFAULT_TENANT_NAME,
  models: { allow: "*", deny: [] },
  require: [],
  defaults: { classification: null, residency: null },
  allow: null,
  teams: [],
  applications: [],
};

/** A tenant ready for use, its permissions checked. */
export function buildTenant(
  entry: Entry<TenantInput>,
  input: TenantInput,
  names: ModelNames,
  known: Known,
  problems: Problems,
): Tenant {
  const { classification = null, residency = null } = input.defaults;
  if (classification !== null && known.classifications?.length !== 0) {
    checkClass(entry, ["defaults", "classification"], classification, known, problems);
  }
  if (input.models && input.models.allow === undefined) {
    errorIn(
      entry,
      ["models"],
      "`allow` is missing: without it nothing is allowed, and `deny` has nothing to take away",
      problems,
    );
  }
  for (const section of ["teams", "applications"] as const) {
    for (const name of Object.keys(input[section])) {
      checkPlainName(name, keyPlaceAt(entry.node, [section], name), [...entry.path, section, name], problems);
    }
  }
  return {
    name: entry.name,
    models: policyOf(entry, input.models, [], names, problems),
    require: [...new Set<string>(input.require)],
    defaults: { classification, residency },
    allow: [...new Set(input.allow)],
    teams: Object.keys(input.teams),
    applications: Object.keys(input.applications),
  };
}

/** A model policy, every name in it known; null when there is none. `absent` stands in for a missing `allow`. */
export function policyOf(
  entry: Entry<unknown>,
  models: ModelsInput | undefined,
  absent: ModelPolicy["allow"],
  names: ModelNames,
  problems: Problems,
): ModelPolicy | null {
  if (!models) return null;
  const { allow = absent, deny } = models;
  const check = (list: "allow" | "deny", written: string, i: number): void => {
    const read = readPermission(written, names);
    if ("fault" in read) errorIn(entry, ["models", list, i], read.fault, problems);
    else if (read.kind === "every alias" && list === "deny") {
      errorIn(entry, ["models", list, i], "`*` in `deny` leaves nothing; take names out of `allow` instead", problems);
    }
  };
  if (models.allow !== undefined && models.allow !== "*")
    for (const [i, name] of models.allow.entries()) check("allow", name, i);
  for (const [i, name] of deny.entries()) check("deny", name, i);
  return { allow, deny };
}
