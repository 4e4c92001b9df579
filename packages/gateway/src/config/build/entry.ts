import type { Path, Place, Problems } from "../problems.ts";
import { type ConfigNode, keyPlaceAt, placeAt } from "../yaml/node.ts";

/**
 * One named object of the config. `broken`: its faults are told; what could be read may still be looked at for more.
 * `dropped`: left out on purpose for want of a secret, and so is what needs it.
 */
export interface Entry<T> {
  name: string;
  path: Path;
  keyAt: Place;
  node: ConfigNode;
  state: "ok" | "broken" | "dropped";
  /** Null when it was dropped, or is too broken to be looked at. */
  value: T | null;
}

/** Tells of a fault at a place inside an entry. */
export function errorIn(entry: Entry<unknown>, below: Path, message: string, problems: Problems): void {
  problems.error(below.length === 0 ? entry.keyAt : placeAt(entry.node, below), [...entry.path, ...below], message);
}

/** The same where the key itself is at fault. */
export function errorAtKey(entry: Entry<unknown>, below: Path, key: string, message: string, problems: Problems): void {
  problems.error(keyPlaceAt(entry.node, below, key), [...entry.path, ...below, key], message);
}

/** The same for what is only doubtful. */
export function warnIn(entry: Entry<unknown>, below: Path, message: string, problems: Problems): void {
  problems.warn(below.length === 0 ? entry.keyAt : placeAt(entry.node, below), [...entry.path, ...below], message);
}

/** Leaves an entry out, aloud. */
export function drop(entry: Entry<unknown>, reason: string, problems: Problems): void {
  entry.state = "dropped";
  entry.value = null;
  problems.warn(entry.keyAt, entry.path, `left out, because ${reason}`);
}

/** Whether a reference inside leads nowhere. */
export function isIncomplete(node: ConfigNode): boolean {
  if (node.kind === "scalar") return node.missing !== null;
  if (node.kind === "list") return node.items.some(isIncomplete);
  return [...node.entries.values()].some((entry) => isIncomplete(entry.node));
}
