import type { Block, ForeignField, Message, OpaqueBlock } from "../../core/message.ts";
import type { Signature } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import {
  documentBlocks,
  imageBlock,
  searchResult,
  textBlock,
  textOf,
  thought,
  toolCall,
  toolResult,
} from "./canonical-blocks.ts";
import { changedTool, isToolChange } from "./tool-changes.ts";
import { NAME } from "./wire.ts";

/**
 * `system` and `messages` in canonical form: system text in front, tool results in messages of their own before the rest of
 * their turn. What only this dialect can say stays as opaque blocks.
 */
export function canonicalMessages(body: Fields, foreign: ForeignField[]): Message[] {
  const messages: Message[] = [];
  const system = systemBlocks(body["system"]);
  if (system.length > 0) messages.push({ role: "system", blocks: system });
  const names = new Map<string, string>();
  const given = Array.isArray(body["messages"]) ? body["messages"] : [];
  given.forEach((message: unknown, index) => {
    if (isObject(message)) readMessage(message, `messages[${index}]`, names, foreign, messages);
  });
  return messages;
}

function systemBlocks(system: unknown): Block[] {
  if (typeof system === "string") return system === "" ? [] : [{ type: "text", text: system }];
  return Array.isArray(system) ? system.filter(isObject).map(textBlock) : [];
}

function readMessage(
  message: Fields,
  path: string,
  names: Map<string, string>,
  foreign: ForeignField[],
  into: Message[],
): void {
  const role = message["role"];
  if (role !== "user" && role !== "assistant" && role !== "system") {
    foreign.push({ path: `${path}.role`, meaning: true });
    return;
  }
  const content = message["content"];
  if (typeof content === "string") {
    into.push({ role, blocks: [{ type: "text", text: content }] });
    return;
  }
  const results: Block[] = [];
  const blocks: Block[] = [];
  let ofCall: Signature | null = null;
  (Array.isArray(content) ? content.filter(isObject) : []).forEach((block, index) => {
    const at = `${path}.content[${index}]`;
    const type = textOf(block["type"]);
    if (type === "tool_result") {
      results.push(toolResult(block, names));
    } else if (type === "tool_use") {
      const name = textOf(block["name"]);
      names.set(textOf(block["id"]), name);
      blocks.push(toolCall(block, name, ofCall));
      ofCall = null;
    } else if (type === "thinking" || type === "redacted_thinking") {
      const read = thought(block);
      ofCall = read.ofCall ?? ofCall;
      if (read.block) blocks.push(read.block);
    } else if (isToolChange(block)) {
      if (!changedTool(block)) foreign.push({ path: at, meaning: type === "tool_removal" });
    } else {
      blocks.push(...plainBlocks(block, type, at));
    }
  });
  if (results.length > 0) into.push({ role: "tool", blocks: results });
  if (blocks.length > 0 || results.length === 0) into.push({ role, blocks });
}

function plainBlocks(block: Fields, type: string, path: string): Block[] {
  const opaque: OpaqueBlock = { type: "opaque", dialect: NAME, path, value: block };
  switch (type) {
    case "text":
      return [textBlock(block)];
    case "image":
      return [imageBlock(block) ?? opaque];
    case "document":
      return documentBlocks(block) ?? [opaque];
    case "search_result":
      return [searchResult(block)];
  }
  return [opaque];
}
