import { type Fields, isAbsent, isObject, missingField, wordOf, wrongField } from "../field-checks.ts";
import { addCallId, checkAnswer, type MessageFacts, messagePath, type Reading, readEach } from "../message-facts.ts";

/**
 * Checks `messages` and learns what they need. Throws invalid_request with the path of what is wrong, and for a tool result
 * that answers no call (its id is named). Block types nobody knows stay as they are, for a provider that may.
 */
export function readMessages(messages: unknown): MessageFacts {
  return readEach(messages, "user or assistant", readMessage);
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

function readMessage(message: Fields, _role: string, index: number, reading: Reading): void {
  const { content } = message;
  if (typeof content === "string") return;
  const path = messagePath(index);
  if (isAbsent(content)) throw missingField(`${path}.content`, "a string or an array of blocks");
  if (!Array.isArray(content)) throw wrongField(`${path}.content`, "a string or an array of blocks");
  let calls = 0;
  for (let i = 0; i < content.length; i++) {
    const at = `${path}.content[${i}]`;
    const block = checkBlock(content[i], at);
    addCallId(block["id"], reading);
    if (block["type"] === "tool_use") calls++;
    readBlock(block, at, reading);
  }
  if (calls > 1) reading.needs.add("parallel_tools");
}

function readBlock(block: Fields, path: string, reading: Reading): void {
  switch (block["type"]) {
    case "text":
      return checkString(block, "text", path);
    case "image":
      reading.needs.add("vision");
      return readSource(block["source"], `${path}.source`, reading);
    case "document":
      reading.needs.add("documents");
      return readSource(block["source"], `${path}.source`, reading);
    case "thinking":
      countSealed(block["signature"], reading);
      return checkString(block, "thinking", path);
    case "redacted_thinking":
      countSealed(block["data"], reading);
      return checkString(block, "data", path);
    case "web_search_tool_result":
      if (!Array.isArray(block["content"])) return;
      for (const found of block["content"] as unknown[])
        if (isObject(found)) countSealed(found["encrypted_content"], reading);
      return;
    case "tool_use":
      checkString(block, "id", path);
      checkString(block, "name", path);
      if (!isObject(block["input"])) throw wrongField(`${path}.input`, "an object");
      return;
    case "tool_result":
      checkAnswer(block["tool_use_id"], `${path}.tool_use_id`, "block", reading);
      return readContent(block["content"], `${path}.content`, reading);
  }
}

/** What only its maker can read is no text. */
function countSealed(value: unknown, facts: MessageFacts): void {
  if (typeof value === "string") facts.inlineDataChars += value.length;
}

function readSource(source: unknown, path: string, reading: Reading): void {
  if (!isObject(source)) throw wrongField(path, "an object with a type");
  switch (source["type"]) {
    case "base64":
      checkString(source, "media_type", path);
      checkString(source, "data", path);
      reading.inlineDataChars += wordOf(source["data"]).length;
      return;
    case "url":
      return checkString(source, "url", path);
    case "file":
      return checkString(source, "file_id", path);
    case "text":
      return checkString(source, "data", path);
    case "content":
      return readContent(source["content"], `${path}.content`, reading);
  }
  if (typeof source["type"] !== "string") throw wrongField(`${path}.type`, "a string");
}

/** Content inside a block: nothing, a string, or blocks. */
function readContent(content: unknown, path: string, reading: Reading): void {
  if (isAbsent(content) || typeof content === "string") return;
  if (!Array.isArray(content)) throw wrongField(path, "a string or an array of blocks");
  content.forEach((inner: unknown, index) => {
    const at = `${path}[${index}]`;
    const block = checkBlock(inner, at);
    // No calls and no results stand inside a block.
    if (block["type"] === "text") checkString(block, "text", at);
    else if (block["type"] === "image" || block["type"] === "document") readBlock(block, at, reading);
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
