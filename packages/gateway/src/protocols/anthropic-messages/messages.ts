import type { Capability } from "../../core/call.ts";
import { GatewayError } from "../../core/errors.ts";
import { type Fields, isAbsent, isObject, missingField, wordOf, wrongField } from "../field-checks.ts";

/** What the messages of a request tell about it. */
export interface MessageFacts {
  needs: Set<Capability>;
  holdsToolResults: boolean;
  /** Characters of base64 data inside the messages: they are not text tokens. */
  inlineDataChars: number;
}

/**
 * Checks `messages` and learns what they need. Throws invalid_request with the path of what is wrong, and for a tool result
 * that answers no call (its id is named). Block types nobody knows stay as they are, for a provider that may.
 */
export function readMessages(messages: unknown): MessageFacts {
  if (isAbsent(messages)) throw missingField("messages", "an array with at least one message");
  if (!Array.isArray(messages)) throw wrongField("messages", "an array");
  if (messages.length === 0) throw wrongField("messages", "an array with at least one message");
  const facts: MessageFacts = { needs: new Set(), holdsToolResults: false, inlineDataChars: 0 };
  const callIds = new Set<string>();
  for (let i = 0; i < messages.length; i++) readMessage(messages[i], `messages[${i}]`, facts, callIds);
  return facts;
}

/** Checks `system`: a string, or blocks of text. */
export function checkSystem(system: unknown): void {
  if (isAbsent(system) || typeof system === "string") return;
  if (!Array.isArray(system)) throw wrongField("system", "a string or an array of text blocks");
  system.forEach((block: unknown, index) => {
    const path = `system[${index}]`;
    checkBlock(block, path);
    checkString(block, "text", path);
  });
}

function readMessage(message: unknown, path: string, facts: MessageFacts, callIds: Set<string>): void {
  if (!isObject(message)) throw wrongField(path, "an object with role and content");
  const role = message["role"];
  if (isAbsent(role)) throw missingField(`${path}.role`, "user or assistant");
  if (typeof role !== "string") throw wrongField(`${path}.role`, "a string");
  const content = message["content"];
  if (isAbsent(content)) throw missingField(`${path}.content`, "a string or an array of blocks");
  if (typeof content === "string") return;
  if (!Array.isArray(content)) throw wrongField(`${path}.content`, "a string or an array of blocks");
  let calls = 0;
  for (let i = 0; i < content.length; i++) {
    const at = `${path}.content[${i}]`;
    const block = checkBlock(content[i], at);
    if (typeof block["id"] === "string") callIds.add(block["id"]);
    if (block["type"] === "tool_use") calls++;
    readBlock(block, at, facts, callIds);
  }
  if (calls > 1) facts.needs.add("parallel_tools");
}

function readBlock(block: Fields, path: string, facts: MessageFacts, callIds: Set<string>): void {
  switch (block["type"]) {
    case "text":
      return checkString(block, "text", path);
    case "image":
      facts.needs.add("vision");
      return readSource(block["source"], `${path}.source`, facts);
    case "document":
      facts.needs.add("documents");
      return readSource(block["source"], `${path}.source`, facts);
    case "thinking":
      countSealed(block["signature"], facts);
      return checkString(block, "thinking", path);
    case "redacted_thinking":
      countSealed(block["data"], facts);
      return checkString(block, "data", path);
    case "web_search_tool_result":
      if (!Array.isArray(block["content"])) return;
      for (const found of block["content"] as unknown[])
        if (isObject(found)) countSealed(found["encrypted_content"], facts);
      return;
    case "tool_use":
      checkString(block, "id", path);
      checkString(block, "name", path);
      if (!isObject(block["input"])) throw wrongField(`${path}.input`, "an object");
      return;
    case "tool_result":
      return readResult(block, path, facts, callIds);
  }
}

/** What only its maker can read is no text. */
function countSealed(value: unknown, facts: MessageFacts): void {
  if (typeof value === "string") facts.inlineDataChars += value.length;
}

function readSource(source: unknown, path: string, facts: MessageFacts): void {
  if (!isObject(source)) throw wrongField(path, "an object with a type");
  switch (source["type"]) {
    case "base64":
      checkString(source, "media_type", path);
      checkString(source, "data", path);
      facts.inlineDataChars += wordOf(source["data"]).length;
      return;
    case "url":
      return checkString(source, "url", path);
    case "file":
      return checkString(source, "file_id", path);
    case "text":
      return checkString(source, "data", path);
    case "content":
      return readContent(source["content"], `${path}.content`, facts);
  }
  if (typeof source["type"] !== "string") throw wrongField(`${path}.type`, "a string");
}

function readResult(block: Fields, path: string, facts: MessageFacts, callIds: Set<string>): void {
  facts.holdsToolResults = true;
  const id = block["tool_use_id"];
  if (isAbsent(id)) throw missingField(`${path}.tool_use_id`, "the id of the call this block answers");
  if (typeof id !== "string") throw wrongField(`${path}.tool_use_id`, "a string");
  if (!callIds.has(id)) {
    throw new GatewayError(
      "invalid_request",
      `${path}.tool_use_id ${JSON.stringify(id.slice(0, 80))} answers no tool call of an earlier assistant message`,
      { param: `${path}.tool_use_id` },
    );
  }
  readContent(block["content"], `${path}.content`, facts);
}

/** Content inside a block: nothing, a string, or blocks. */
function readContent(content: unknown, path: string, facts: MessageFacts): void {
  if (isAbsent(content) || typeof content === "string") return;
  if (!Array.isArray(content)) throw wrongField(path, "a string or an array of blocks");
  content.forEach((inner: unknown, index) => {
    const at = `${path}[${index}]`;
    const block = checkBlock(inner, at);
    // No calls and no results stand inside a block.
    if (block["type"] === "text") checkString(block, "text", at);
    else if (block["type"] === "image" || block["type"] === "document") readBlock(block, at, facts, new Set());
  });
}

function checkBlock(block: unknown, path: string): Fields {
  if (!isObject(block)) throw wrongField(path, "an object with a type");
  if (typeof block["type"] !== "string") throw wrongField(`${path}.type`, "a string");
  return block;
}

function checkString(from: unknown, key: string, path: string): void {
  if (!isObject(from) || typeof from[key] !== "string") throw wrongField(`${path}.${key}`, "a string");
}
