import type { Problems } from "../problems.ts";
import type { Unresolved } from "../references.ts";
import type { ConfigNode, MapNode } from "../yaml/node.ts";
import { drop, type Entry } from "./entry.ts";
import { inUse } from "./in-use.ts";
import type { Sections } from "./read-sections.ts";

/** Sections whose missing values are left out one by one, because there is no named object to leave out. */
const SINGLES: readonly unknown[] = [
  ...["gateway", "ledger", "admin", "state", "flags", "classifications", "regions", "task_classes"],
];

/** What goes whole with a secret of its own, by the length of its path; a lone setting goes alone. */
const WHOLE: Readonly<Record<string, number>> = { "admin.keys": 3, "gateway.gate": 2 };

/** References that lead nowhere in sections of one object: refused, or with `allowMissing` taken out of the tree. */
export function settleSingles(
  root: MapNode,
  unresolved: readonly Unresolved[],
  allowMissing: boolean,
  problems: Problems,
): void {
  // Last first: taking an item out of a list moves those behind it.
  for (const found of unresolved.toReversed()) {
    if (!SINGLES.includes(found.path[0])) continue;
    if (!allowMissing) refuse(found, problems);
    else {
      const path = found.path.slice(0, WHOLE[`${found.path[0]}.${found.path[1]}`]);
      if (removeAt(root, path)) problems.warn(found.node.at, found.path, `left out, because ${reasonOf(found)}`);
    }
  }
}

/**
 * References that lead nowhere in named objects. Where the object is used that refuses the config, or with
 * `allowMissing` drops the object; where nothing leads to it, it is dropped with a warning either way.
 */
export function settleNamed(
  sections: Sections,
  unresolved: readonly Unresolved[],
  allowMissing: boolean,
  problems: Problems,
): void {
  const used = inUse(sections);
  for (const found of unresolved) {
    const [section, name] = found.path;
    const entry = SINGLES.includes(section) ? undefined : entryOf(sections, section, name);
    if (!entry) continue;
    const idle =
      (section === "providers" && !used.providers.has(entry.name)) ||
      (section === "deployments" && !used.deployments.has(entry.name));
    if (!allowMissing && !idle) refuse(found, problems);
    else if (entry.state !== "dropped")
      drop(entry, `${reasonOf(found)}${idle ? ", and nothing uses it" : ""}`, problems);
  }
}

function refuse(found: Unresolved, problems: Problems): void {
  const message = `the reference \`${found.node.origin}\` does not resolve: ${found.node.missing}`;
  problems.error(found.node.at, found.path, message);
}

function reasonOf(found: Unresolved): string {
  return `\`${found.node.origin}\` does not resolve: ${found.node.missing}`;
}

function entryOf(sections: Sections, section: unknown, name: unknown): Entry<unknown> | undefined {
  if (section === "keys") return sections.keys[Number(name)];
  if (section === "rules") return sections.rules[Number(name)];
  if (section === "alerts") return sections.alerts[Number(name)];
  if (section === "providers") return sections.providers.get(String(name));
  if (section === "deployments") return sections.deployments.get(String(name));
  if (section === "routes") return sections.routes.get(String(name));
  return section === "tenants" ? sections.tenants?.get(String(name)) : undefined;
}

function removeAt(root: ConfigNode, path: readonly (string | number)[]): boolean {
  const [head, ...rest] = path;
  if (root.kind === "map") {
    const below = root.entries.get(String(head));
    if (rest.length === 0) return root.entries.delete(String(head));
    return below !== undefined && removeAt(below.node, rest);
  }
  if (root.kind !== "list" || typeof head !== "number") return false;
  if (rest.length === 0) return root.items.splice(head, 1).length > 0;
  const item = root.items[head];
  return item !== undefined && removeAt(item, rest);
}
