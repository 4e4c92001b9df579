import { didYouMean } from "../nearest.ts";
import type { Path, Problems } from "../problems.ts";
import { type Entry, errorIn } from "./entry.ts";
import type { Sections } from "./read-sections.ts";

/** The only tenant of a config that declares none. */
export const DEFAULT_TENANT_NAME = "default";

/** Names of the config that objects of other sections use; broken and left-out ones are among them. */
export interface Known {
  tenants: ReadonlySet<string>;
  /** By tenant; null: part of the tenants could not be read, so no team can be called unknown. */
  teams: ReadonlyMap<string, readonly string[]> | null;
  aliases: ReadonlySet<string>;
  /** Declared ones. */
  deployments: ReadonlySet<string>;
  /** Ascending; empty: none are declared. Null: they could not be read. */
  classifications: readonly string[] | null;
  /** Empty: any may be used. Null: they could not be read. */
  taskClasses: readonly string[] | null;
  /** `flags` is there. */
  flags: boolean;
}

/** The names that stand in a config. */
export function knownNames(sections: Sections): Known {
  const tenants = [...(sections.tenants?.values() ?? [])];
  return {
    tenants: new Set(sections.tenants?.keys() ?? [DEFAULT_TENANT_NAME]),
    teams: tenants.some(({ value }) => value === null)
      ? null
      : new Map(tenants.map(({ name, value }) => [name, Object.keys(value?.teams ?? {})])),
    aliases: new Set(sections.routes.keys()),
    deployments: new Set(sections.deployments.keys()),
    classifications: sections.classifications === null ? [] : sections.classifications.value,
    taskClasses: sections.taskClasses === null ? [] : sections.taskClasses.value,
    flags: sections.flags !== null,
  };
}

/** Tells of a class of data that is not declared, or that means nothing because none are. */
export function checkClass(entry: Entry<unknown>, below: Path, name: string, known: Known, problems: Problems): void {
  const { classifications } = known;
  if (classifications === null || classifications.includes(name)) return;
  const message =
    classifications.length === 0
      ? `\`${name}\` has no meaning as long as \`classifications\` declares no classes`
      : `unknown classification \`${name}\`${didYouMean(name, classifications) || listOf(classifications)}`;
  errorIn(entry, below, message, problems);
}

/** Tells of a tenant that there is not. */
export function checkTenant(
  entry: Entry<unknown>,
  below: Path,
  name: string,
  { tenants }: Known,
  problems: Problems,
): void {
  if (tenants.has(name)) return;
  errorIn(entry, below, `unknown tenant \`${name}\`${didYouMean(name, tenants)}`, problems);
}

/** `; known are …`, where the names are few. */
export function listOf(names: readonly string[]): string {
  return names.length > 0 && names.length <= 8 ? `; known are ${names.map((name) => `\`${name}\``).join(", ")}` : "";
}
