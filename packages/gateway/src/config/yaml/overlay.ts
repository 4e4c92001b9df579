import { didYouMean } from "../nearest.ts";
import type { Path, Problems } from "../problems.ts";
import { type ConfigNode, isNull, type MapNode } from "./node.ts";

/** An overlay laid over a config: maps merge, lists and values replace, null deletes. Neither input is changed. */
export function overlaid(base: MapNode, overlay: MapNode, problems: Problems, path: Path = []): MapNode {
  const entries = new Map(base.entries);
  for (const [key, entry] of overlay.entries) {
    const below = base.entries.get(key);
    const at = [...path, key];
    if (entry.node.kind === "scalar" && entry.node.value === null) {
      if (!entries.delete(key)) {
        const hint = didYouMean(key, base.entries.keys());
        problems.error(entry.keyAt, at, `null deletes \`${key}\`, which the config below does not have${hint}`);
      }
    } else if (below?.node.kind === "map" && entry.node.kind === "map") {
      entries.set(key, { keyAt: below.keyAt, node: overlaid(below.node, entry.node, problems, at) });
    } else {
      entries.set(key, entry);
    }
  }
  return { kind: "map", at: base.at, entries };
}

/** What is left without a value is refused: an empty key is a line half written, or an overlay's null in the wrong file. */
export function refuseNulls(node: ConfigNode, problems: Problems, path: Path = []): void {
  if (node.kind === "list") {
    for (const [i, item] of node.items.entries()) {
      if (isNull(item)) problems.error(item.at, [...path, i], "this entry has no value; give one or remove it");
      else refuseNulls(item, problems, [...path, i]);
    }
  } else if (node.kind === "map") {
    for (const [key, { keyAt, node: value }] of node.entries) {
      const message = `\`${key}\` has no value; give one or remove the key (null deletes only in an overlay)`;
      if (isNull(value)) problems.error(keyAt, [...path, key], message);
      else refuseNulls(value, problems, [...path, key]);
    }
  }
}
