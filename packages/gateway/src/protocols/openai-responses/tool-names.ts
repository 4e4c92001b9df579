import { hash } from "node:crypto";
import type { Fields } from "../field-checks.ts";
import { isClientSearch, offeredTools, TOOL_SEARCH } from "./offered-tools.ts";

/** What a client's tool is called on its own side. */
export interface ToolName {
  name: string;
  /** The namespace it stands in; null for a tool at the top. */
  namespace: string | null;
  /** It takes free text. */
  custom: boolean;
  /** It is the client's search for tools. */
  search?: true;
}

/** The longest name every provider takes. */
const NAME_CHARS_MAX = 64;

/**
 * The client's tools by the name other dialects know them under: a tool in a namespace is flat there. Built from the
 * request alone, so that an answer finds its way back without state.
 */
export function toolNames(body: Fields): ReadonlyMap<string, ToolName> {
  const names = new Map<string, ToolName>();
  for (const { tool, namespace } of offeredTools(body)) {
    const { name, type } = tool;
    if (isClientSearch(tool))
      names.set(TOOL_SEARCH, { name: TOOL_SEARCH, namespace: null, custom: false, search: true });
    if ((type !== "function" && type !== "custom") || typeof name !== "string") continue;
    names.set(flatName(name, namespace), { name, namespace, custom: type === "custom" });
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
