import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node, type Pair } from "yaml";
import { ownText } from "../../core/own-text.ts";
import { BOUNDS } from "../bounds.ts";
import type { Path, Place, Problems } from "../problems.ts";
import type { ConfigNode, MapEntry, MapNode } from "./node.ts";
import { scalarNode } from "./node.ts";
import type { PlaceOf } from "./place-of.ts";

interface Walk {
  placeOf: PlaceOf;
  problems: Problems;
  anchors: Map<string, Node>;
  /** Aliases being expanded, outermost first: meeting one again is a circle. */
  expanding: Set<Node>;
  nodes: number;
}

/** The tree of a parsed document, aliases expanded; null when the document is not a map or too large. */
export function toTree(document: Document, placeOf: PlaceOf, problems: Problems): MapNode | null {
  const root = document.contents;
  const start = placeOf(0);
  if (root === null || (isScalar(root) && root.value === null)) return { kind: "map", at: start, entries: new Map() };
  const walk: Walk = { placeOf, problems, anchors: new Map(), expanding: new Set(), nodes: 0 };
  const tree = convert(root, walk, []);
  if (walk.nodes > BOUNDS.nodesMax) {
    problems.error(start, "", `holds over ${BOUNDS.nodesMax} values once its aliases are expanded`);
    return null;
  }
  if (tree?.kind === "map") return problems.hasErrors() ? null : tree;
  if (tree) problems.error(tree.at, "", "is not a map: a config begins with keys such as `providers:` and `routes:`");
  return null;
}

function convert(node: Node, walk: Walk, path: Path): ConfigNode | null {
  if (++walk.nodes > BOUNDS.nodesMax) return null;
  const at = walk.placeOf(node.range?.[0] ?? 0);
  if (isAlias(node)) return expand(node.source, at, walk, path);
  if (node.anchor !== undefined) walk.anchors.set(node.anchor, node);
  if (path.length > BOUNDS.depthMax) {
    walk.problems.error(at, path, `is nested deeper than ${BOUNDS.depthMax} levels`);
    return null;
  }
  if (isMap(node)) return { kind: "map", at, entries: mapEntries(node.items, walk, path) };
  if (isSeq(node)) {
    const items = node.items.map((item, i) => (isNode(item) ? convert(item, walk, [...path, i]) : null));
    return { kind: "list", at, items: items.filter((item) => item !== null) };
  }
  if (!isScalar(node)) return null;
  return scalarNode(plainValue(node.value), at, node.source ?? String(node.value));
}

function expand(anchor: string, at: Place, walk: Walk, path: Path): ConfigNode | null {
  const target = walk.anchors.get(anchor);
  if (!target || walk.expanding.has(target)) {
    const reason = target ? "holds itself" : `names no anchor \`&${anchor}\` above it`;
    walk.problems.error(at, path, `the alias \`*${anchor}\` ${reason}`);
    return null;
  }
  walk.expanding.add(target);
  const tree = convert(target, walk, path);
  walk.expanding.delete(target);
  return tree;
}

function mapEntries(pairs: Pair[], walk: Walk, path: Path): Map<string, MapEntry> {
  const entries = new Map<string, MapEntry>();
  for (const pair of pairs) {
    const key = keyOf(pair.key, walk, path);
    if (!key) continue;
    const first = entries.get(key.name);
    if (first) {
      const message = `duplicate key \`${key.name}\`; it stands on line ${first.keyAt.line} already`;
      walk.problems.error(key.at, [...path, key.name], message);
      continue;
    }
    const node = isNode(pair.value) ? convert(pair.value, walk, [...path, key.name]) : scalarNode(null, key.at, "");
    if (node) entries.set(key.name, { keyAt: key.at, node });
  }
  return entries;
}

/** A key is taken as written, so that a tenant `007` stays `007`. */
function keyOf(key: unknown, walk: Walk, path: Path): { name: string; at: Place } | null {
  const at = walk.placeOf(isNode(key) ? (key.range?.[0] ?? 0) : 0);
  const name = isScalar(key) && key.value !== null ? (typeof key.value === "string" ? key.value : key.source) : null;
  const refuse = (message: string): null => {
    walk.problems.error(at, path, message);
    return null;
  };
  if (typeof name !== "string" || name === "") return refuse("a key must be a text that is not empty");
  if (name === "__proto__") return refuse("`__proto__` cannot be used as a key");
  if (name === "<<") return refuse("merge keys (`<<`) are not part of YAML 1.2; repeat the keys or use an overlay");
  if (isScalar(key) && key.anchor !== undefined) walk.anchors.set(key.anchor, key);
  return { name: ownText(name), at };
}

function plainValue(value: unknown): string | number | boolean | null {
  // Not a piece of the file: requests are held against the values of the config all the time.
  if (typeof value === "string") return ownText(value);
  if (typeof value === "number" || typeof value === "boolean") return value;
  return value === null || value === undefined ? null : String(value);
}
