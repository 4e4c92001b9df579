import { type Fields, isObject, wordOf } from "../field-checks.ts";

/** A tool as the client offers it. */
export interface Offered {
  tool: Fields;
  /** Its place in the body: `tools[0]`, `input[2].tools[1]`. */
  path: string;
  /** The namespace it stands in; null for none. */
  namespace: string | null;
}

/** Items of the input that bring tools along: agents add to what they offer without breaking the provider's cache. */
const CARRIERS = new Set(["additional_tools", "tool_search_output"]);

/** The lists of tools in a body, checked or not: its own, then those of its items, in order. */
export function toolLists(body: Fields): { tools: unknown; path: string }[] {
  const lists = [{ tools: body["tools"], path: "tools" }];
  const input = Array.isArray(body["input"]) ? body["input"] : [];
  for (let i = 0; i < input.length; i++) {
    const item: unknown = input[i];
    if (isObject(item) && CARRIERS.has(wordOf(item["type"])))
      lists.push({ tools: item["tools"], path: `input[${i}].tools` });
  }
  return lists;
}

/** Every tool of a body, out of its namespace. */
export function offeredTools(body: Fields): Offered[] {
  return toolLists(body).flatMap(({ tools, path }) => opened(tools, path, null));
}

function opened(tools: unknown, path: string, namespace: string | null): Offered[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown, index): Offered[] => {
    const at = `${path}[${index}]`;
    if (!isObject(tool)) return [];
    if (tool["type"] !== "namespace") return [{ tool, path: at, namespace }];
    return opened(tool["tools"], `${at}.tools`, typeof tool["name"] === "string" ? tool["name"] : "");
  });
}

/** The search for tools that the client runs itself: to the model a function like others, with items of its own. */
export function isClientSearch({ type, execution }: Fields): boolean {
  return type === "tool_search" && execution === "client";
}

/** The name of that function. */
export const TOOL_SEARCH = "tool_search";
