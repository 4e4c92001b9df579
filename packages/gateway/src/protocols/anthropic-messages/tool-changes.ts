import type { Tool } from "../../core/message.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { textOf } from "./canonical-blocks.ts";

/** Blocks that make a tool available, or not, from their place in the conversation on. */
const CHANGES: ReadonlySet<string> = new Set(["tool_addition", "tool_removal"]);

/** Does the block change the tools? */
export function isToolChange(block: Fields): boolean {
  return CHANGES.has(textOf(block["type"]));
}

/** The tool a change is about, where it names one of the client's: by reference, or by its whole definition. */
export function changedTool(block: Fields): { name: string; definition: Fields | null } | null {
  const tool = isObject(block["tool"]) ? block["tool"] : {};
  const definition = tool["type"] === "tool_definition" && isObject(tool["definition"]) ? tool["definition"] : null;
  const named = definition ?? (tool["type"] === "tool_reference" ? tool : {});
  return typeof named["name"] === "string" ? { name: named["name"], definition } : null;
}

/**
 * The tools as they stand at the end of the conversation, which is where the model is asked: other dialects cannot change
 * them on the way. `read` makes a tool of a definition.
 */
export function toolsAtEnd(tools: readonly Tool[], messages: unknown, read: (definition: Fields) => Tool): Tool[] {
  const added = new Map<string, Tool>();
  const withdrawn = new Set<string>();
  for (const block of changesIn(messages)) {
    const changed = changedTool(block);
    if (!changed) continue;
    if (block["type"] === "tool_removal") withdrawn.add(changed.name);
    else {
      withdrawn.delete(changed.name);
      if (changed.definition) added.set(changed.name, read(changed.definition));
    }
  }
  if (added.size === 0 && withdrawn.size === 0) return [...tools];
  const kept = tools.filter((tool) => !added.has(nameOf(tool)));
  return [...kept, ...added.values()].filter((tool) => !withdrawn.has(nameOf(tool)));
}

function changesIn(messages: unknown): Fields[] {
  const contents = (Array.isArray(messages) ? messages : []).map((message) =>
    isObject(message) ? message["content"] : null,
  );
  return contents.flatMap((content) => (Array.isArray(content) ? content.filter(isObject).filter(isToolChange) : []));
}

function nameOf(tool: Tool): string {
  return tool.type === "hosted" ? textOf((tool.value as Fields)["name"]) : tool.name;
}
