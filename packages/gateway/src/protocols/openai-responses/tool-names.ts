import { hash } from "node:crypto";
import { type Fields, isObject } from "../field-checks.ts";

/** What a client's tool is called on its own side. */
export interface ToolName {
  name: string;
  /** The namespace it stands in; null for a tool at the top. */
  namespace: string | null;
  /** It takes free text. */
  custom: boolean;
}

/** The longest name every provider takes. */
const NAME_CHARS_MAX = 64;

/**
 * The client's tools by the name other dialects know them under: a tool in a namespace is flat there. Built from the
 * request alone, so that an answer finds its way back without state.
 */
export function toolNames(tools: unknown): ReadonlyMap<string, ToolName> {
  const names = new Map<string, ToolName>();
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (!isObject(tool)) continue;
    if (tool["type"] === "namespace") {
      for (const inner of Array.isArray(tool["tools"]) ? tool["tools"] : []) {
        if (isObject(inner)) add(names, inner, typeof tool["name"] === "string" ? tool["name"] : "");
      }
    } else {
      add(names, tool, null);
    }
  }
  return names;
}

/** The name of a tool for a dialect without namespaces; clipped with a hash where it would be too long. */
export function flatName(name: string, namespace: string | null): string {
  if (namespace === null) return name;
  const full = `${namespace}__${name}`;
  if (full.length <= NAME_CHARS_MAX) return full;
  return `${full.slice(0, NAME_CHARS_MAX - 9)}_${hash("sha256", full).slice(0, 8)}`;
}

function add(names: Map<string, ToolName>, tool: Fields, namespace: string | null): void {
  const name = tool["name"];
  if ((tool["type"] !== "function" && tool["type"] !== "custom") || typeof name !== "string") return;
  names.set(flatName(name, namespace), { name, namespace, custom: tool["type"] === "custom" });
}
