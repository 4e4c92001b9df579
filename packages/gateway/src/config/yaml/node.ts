import type { Path, Place } from "../problems.ts";

/** One value of the file. */
export interface ScalarNode {
  kind: "scalar";
  at: Place;
  value: string | number | boolean | null;
  /** As written, for messages; a reference stays a reference here. */
  raw: string;
  /** Where a reference took the value from: `env:NAME`, `file:PATH`; null for a literal. */
  origin: string | null;
  /** A reference that does not resolve, and why; `value` is then meaningless. */
  missing: string | null;
}

/** A list. */
interface ListNode {
  kind: "list";
  at: Place;
  items: ConfigNode[];
}

/** A map, in the order of the file. A Map, so that no key can be mistaken for a property of Object. */
export interface MapNode {
  kind: "map";
  at: Place;
  entries: Map<string, MapEntry>;
}

/** One key of a map with its value. */
export interface MapEntry {
  keyAt: Place;
  node: ConfigNode;
}

/** The config as written, every part with its place. */
export type ConfigNode = ScalarNode | ListNode | MapNode;

/** A literal value at a place. */
export function scalarNode(value: ScalarNode["value"], at: Place, raw: string = String(value)): ScalarNode {
  return { kind: "scalar", at, value, raw, origin: null, missing: null };
}

/** A key without a value, or `null` itself. */
export function isNull(node: ConfigNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

/** What stands at a path below `node`, or undefined. */
export function nodeAt(node: ConfigNode, path: Path): ConfigNode | undefined {
  let current: ConfigNode | undefined = node;
  for (const part of path) {
    if (current?.kind === "map") current = current.entries.get(String(part))?.node;
    else if (current?.kind === "list") current = typeof part === "number" ? current.items[part] : undefined;
    else return undefined;
  }
  return current;
}

/**
 * The place of the value at a path, or of the nearest thing around it that is there. A map or list that begins on
 * another line than its key is found at the key: its own first line is about something else.
 */
export function placeAt(node: ConfigNode, path: Path): Place {
  for (let length = path.length; length > 0; length--) {
    const found = nodeAt(node, path.slice(0, length));
    if (!found) continue;
    const parent = nodeAt(node, path.slice(0, length - 1));
    const keyAt = parent?.kind === "map" ? parent.entries.get(String(path[length - 1]))?.keyAt : undefined;
    return keyAt && found.kind !== "scalar" && found.at.line !== keyAt.line ? keyAt : found.at;
  }
  return node.at;
}

/** The place of a key below `node`, else of the value around it. */
export function keyPlaceAt(node: ConfigNode, path: Path, key: string): Place {
  const parent = nodeAt(node, path);
  return (parent?.kind === "map" ? parent.entries.get(key)?.keyAt : undefined) ?? placeAt(node, path);
}

/** Every value of a tree with its path. */
export function* scalarsOf(node: ConfigNode, path: Path = []): Generator<{ node: ScalarNode; path: Path }> {
  if (node.kind === "scalar") yield { node, path };
  else if (node.kind === "list") for (const [i, item] of node.items.entries()) yield* scalarsOf(item, [...path, i]);
  else for (const [key, entry] of node.entries) yield* scalarsOf(entry.node, [...path, key]);
}

/** The tree as plain values. Maps become objects without a prototype. */
export function toValue(node: ConfigNode): unknown {
  if (node.kind === "scalar") return node.missing === null ? node.value : node.raw;
  if (node.kind === "list") return node.items.map(toValue);
  const value: Record<string, unknown> = Object.create(null);
  for (const [key, entry] of node.entries) value[key] = toValue(entry.node);
  return value;
}

/** A tree of plain values that come from no file. `undefined` members are left out. */
export function fromValue(value: unknown, at: Place): ConfigNode {
  if (Array.isArray(value)) return { kind: "list", at, items: value.map((item) => fromValue(item, at)) };
  if (typeof value === "object" && value !== null) {
    const entries = new Map<string, MapEntry>();
    for (const [key, member] of Object.entries(value)) {
      if (member !== undefined) entries.set(key, { keyAt: at, node: fromValue(member, at) });
    }
    return { kind: "map", at, entries };
  }
  return scalarNode(value as ScalarNode["value"], at);
}

/** The tree as text in which the same config is always the same: keys sorted, references not resolved. */
export function canonicalText(node: ConfigNode): string {
  if (node.kind === "scalar") return JSON.stringify(typeof node.value === "string" ? node.raw : node.value);
  if (node.kind === "list") return `[${node.items.map(canonicalText).join(",")}]`;
  const keys = [...node.entries.keys()].sort();
  const members = keys.map((key) => {
    const entry = node.entries.get(key);
    return `${JSON.stringify(key)}:${entry ? canonicalText(entry.node) : "null"}`;
  });
  return `{${members.join(",")}}`;
}
