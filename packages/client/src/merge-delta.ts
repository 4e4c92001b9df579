import { asObject, type JsonObject } from "./json-value.ts";

/** Members whose strings come in pieces; every other string comes whole, and a later one replaces it. */
const IN_PIECES = new Set([
  "content",
  "refusal",
  "reasoning",
  "reasoning_content",
  "text",
  "summary",
  "signature",
  "data",
  "transcript",
  "arguments",
  "input",
]);

/**
 * Adds a streamed delta to what came before it, in place. Null, and the empty string for what comes whole, say nothing.
 * Lists grow, but items with the same `index` are one item in pieces.
 */
export function mergeDelta(into: JsonObject, delta: JsonObject): void {
  for (const [member, value] of Object.entries(delta)) {
    if (member === "__proto__") continue;
    const before = into[member];
    if (value === null || value === undefined) {
      if (before === undefined) into[member] = value;
    } else if (typeof value === "string") {
      if (IN_PIECES.has(member) && typeof before === "string") into[member] = before + value;
      else if (value !== "" || !before) into[member] = value;
    } else if (Array.isArray(value)) {
      into[member] = mergeLists(Array.isArray(before) ? before : [], value);
    } else {
      into[member] = mergeValues(before, value);
    }
  }
}

function mergeLists(into: unknown[], items: unknown[]): unknown[] {
  for (const item of items) {
    const index = asObject(item)?.["index"];
    const same = index === undefined ? undefined : into.find((other) => asObject(other)?.["index"] === index);
    if (same === undefined) into.push(mergeValues(undefined, item));
    else mergeValues(same, item);
  }
  return into;
}

function mergeValues(before: unknown, value: unknown): unknown {
  const object = asObject(value);
  if (object === undefined) return value;
  const into = asObject(before) ?? {};
  mergeDelta(into, object);
  return into;
}
