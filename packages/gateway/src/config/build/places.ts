import { didYouMean } from "../nearest.ts";
import type { Problems } from "../problems.ts";
import type { Deployment } from "../snapshot.ts";
import { placeAt } from "../yaml/node.ts";
import { type Entry, errorIn, warnIn } from "./entry.ts";
import { listOf } from "./known.ts";
import type { Sections } from "./read-sections.ts";

/** The classes of data, ascending; the same twice is told. */
export function classesOf(entry: Entry<string[]> | null, problems: Problems): string[] {
  const names = entry?.value ?? [];
  for (const [i, name] of names.entries()) {
    if (entry && names.indexOf(name) < i) errorIn(entry, [i], `\`${name}\` stands here twice`, problems);
  }
  return [...new Set(names)];
}

/**
 * Groups of regions with the members of groups inside them. A group that leads back to itself is told, and so is a member
 * where nothing runs but something nearly of that name does.
 */
export function regionGroups(
  sections: Sections,
  inUse: ReadonlySet<string>,
  problems: Problems,
): Map<string, readonly string[]> {
  const entry = sections.regions;
  const groups = new Map(Object.entries(entry?.value ?? {}));
  const flat = new Map<string, readonly string[]>();
  for (const [name, members] of groups) {
    if (!entry) continue;
    for (const [i, member] of members.entries()) {
      if (within(groups, member).has(name)) {
        const message = `\`${member}\` leads back to the group \`${name}\``;
        problems.error(placeAt(entry.node, [name, i]), [...entry.path, name, i], message);
      } else if (!inUse.has(member) && !groups.has(member)) {
        const hint = didYouMean(member, inUse);
        if (hint !== "") warnIn(entry, [name, i], `nothing runs in \`${member}\`${hint}`, problems);
      }
    }
    flat.set(name, [...new Set(members.flatMap((member) => [...within(groups, member)]))]);
  }
  return flat;
}

/** A region, or a group with all that is in it. */
function within(groups: ReadonlyMap<string, readonly string[]>, name: string): Set<string> {
  const found = new Set([name]);
  // A set is walked to its end, also to what is added on the way.
  for (const one of found) for (const member of groups.get(one) ?? []) found.add(member);
  return found;
}

/** Regions where something runs. */
export function regionsInUse(gatewayRegion: string | null, deployments: Iterable<Deployment>): Set<string> {
  const regions = [gatewayRegion, ...[...deployments].map(({ region }) => region)];
  return new Set(regions.filter((region) => region !== null));
}

/** Tells of a residency that names neither a group nor a region that anything of this config is in. */
export function checkResidency(
  entry: Entry<unknown>,
  residency: string,
  groups: ReadonlyMap<string, readonly string[]>,
  inUse: ReadonlySet<string>,
  problems: Problems,
): void {
  const known = new Set([...groups.keys(), ...[...groups.values()].flat(), ...inUse]);
  if (known.has(residency)) return;
  const hint = didYouMean(residency, known) || listOf([...known]);
  const message = `unknown region \`${residency}\`: no deployment runs there, and no group of \`regions\` has this name${hint}`;
  errorIn(entry, ["defaults", "residency"], message, problems);
}
