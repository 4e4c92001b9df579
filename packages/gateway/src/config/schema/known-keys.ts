import type { Path } from "../problems.ts";
import { configSchema } from "./config.ts";

/** The parts of a zod definition that are walked here. */
interface Definition {
  type: string;
  shape?: Record<string, Walkable>;
  innerType?: Walkable;
  in?: Walkable;
  element?: Walkable;
  valueType?: Walkable;
  options?: readonly Walkable[];
}

interface Walkable {
  def: unknown;
}

/** Keys the schema knows for the map at a path of the config; empty where names are free or nothing is known. */
export function knownKeys(path: Path): readonly string[] {
  return keysBelow(configSchema, path);
}

function keysBelow(schema: Walkable | undefined, path: Path): readonly string[] {
  const def = schema?.def as Definition | undefined;
  if (!def) return [];
  if (def.options) return firstKnown(def.options, path);
  if (def.type === "object") {
    const [head, ...rest] = path;
    return head === undefined ? Object.keys(def.shape ?? {}) : keysBelow(def.shape?.[String(head)], rest);
  }
  if (def.type === "array" || def.type === "record") {
    return path.length === 0 ? [] : keysBelow(def.element ?? def.valueType, path.slice(1));
  }
  return keysBelow(def.innerType ?? def.in, path);
}

function firstKnown(options: readonly Walkable[], path: Path): readonly string[] {
  for (const option of options) {
    const keys = keysBelow(option, path);
    if (keys.length > 0) return keys;
  }
  return [];
}
