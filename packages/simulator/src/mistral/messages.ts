import { isObject, type JsonObject } from "../json.ts";
import { tokensOfBytes } from "../models/text.ts";
import { checkMembers, invalid, listAt, misplaced, objectAt, textAt } from "./checks.ts";

/** What one image, document or sound is counted as. */
const MEDIA_TOKENS = 256;
const CALL_ID = /^[a-zA-Z0-9]{9}$/;
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "prefix"],
  tool: ["role", "content", "tool_call_id", "name"],
};
/** Members of a part, besides its type. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image_url: ["image_url"],
  document_url: ["document_url", "document_name"],
  file: ["file_id"],
  input_audio: ["input_audio"],
  thinking: ["thinking", "signature", "closed"],
  reference: ["reference_ids"],
};

/** What the behaviours need of a conversation. */
export interface Conversation {
  readonly text: string;
  readonly toolResult: string | null;
  readonly tokens: number;
}

interface Count {
  bytes: number;
  media: number;
}

/** Validates the messages, their order included, and reads them. */
export function readMessages(value: unknown): Conversation {
  const messages = listAt(value, "body.messages").map((message, i) => objectAt(message, `body.messages.${i}`));
  if (messages.length === 0) misplaced("Conversation must have at least one message");
  const count: Count = { bytes: 0, media: 0 };
  const calls = new Set<string>();
  let text = "";
  let toolResult: string | null = null;
  messages.forEach((message, i) => {
    const at = `body.messages.${i}`;
    const role = textAt(message.role, `${at}.role`);
    const members = MEMBERS[role];
    if (!members) invalid(`${at}.role`, "Input should be 'system', 'user', 'assistant' or 'tool'", "literal_error");
    checkMembers(message, members ?? [], at);
    checkOrder(role, messages[i - 1], i === messages.length - 1, message);
    const said = readContent(message.content, at, count);
    if (role === "assistant") noteCalls(message, at, calls, count);
    if (role === "tool") checkAnswer(textAt(message.tool_call_id, `${at}.tool_call_id`), calls);
    if (role === "user") text = said;
    toolResult = role === "tool" ? said : null;
  });
  return { text, toolResult, tokens: tokensOfBytes(count.bytes) + count.media * MEDIA_TOKENS };
}

function checkOrder(role: string, before: JsonObject | undefined, last: boolean, message: JsonObject): void {
  if (before?.role === "tool" && role !== "tool" && role !== "assistant") {
    misplaced(`Unexpected role '${role}' after role 'tool'`);
  }
  if (last && role === "assistant" && message.prefix !== true) {
    misplaced("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant");
  }
  const silent = message.content == null || message.content === "";
  if (role === "assistant" && silent && listAt(message.tool_calls, "tool_calls").length === 0) {
    misplaced("Assistant message must have either content or tool_calls, but not none.");
  }
}

function checkAnswer(id: string, calls: ReadonlySet<string>): void {
  checkId(id);
  if (!calls.has(id)) misplaced("Unexpected tool call id in tool results");
}

function checkId(id: string): void {
  if (CALL_ID.test(id)) return;
  misplaced(`Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`);
}

function readContent(content: unknown, at: string, count: Count): string {
  if (content == null) return "";
  if (typeof content === "string") {
    count.bytes += Buffer.byteLength(content);
    return content;
  }
  return listAt(content, `${at}.content`)
    .map((part, i) => readPart(objectAt(part, at), `${at}.content.${i}`, count))
    .join("");
}

function readPart(part: JsonObject, at: string, count: Count): string {
  const members = PARTS[textAt(part.type, `${at}.type`)];
  if (!members) return invalid(`${at}.type`, "Input tag does not match any of the expected tags", "union_tag_invalid");
  checkMembers(part, ["type", ...members], at);
  if (part.type === "text") {
    const text = textAt(part.text, `${at}.text`);
    count.bytes += Buffer.byteLength(text);
    return text;
  }
  if (part.type === "thinking") {
    const pieces = listAt(part.thinking, `${at}.thinking`).map((piece) => textAt(objectAt(piece, at).text, at));
    count.bytes += Buffer.byteLength(pieces.join(""));
    return "";
  }
  const given = part[String(part.type)] ?? part.file_id;
  if (part.type === "input_audio") textAt(given, `${at}.input_audio`);
  if (typeof given !== "string" && !isObject(given)) invalid(at, "Field required", "missing");
  count.media += 1;
  return "";
}

function noteCalls(message: JsonObject, at: string, calls: Set<string>, count: Count): void {
  for (const [i, given] of listAt(message.tool_calls, `${at}.tool_calls`).entries()) {
    const place = `${at}.tool_calls.${i}`;
    const call = objectAt(given, place);
    checkMembers(call, ["id", "type", "function", "index"], place);
    const id = textAt(call.id, `${place}.id`);
    checkId(id);
    calls.add(id);
    const made = objectAt(call.function, `${place}.function`);
    checkMembers(made, ["name", "arguments"], `${place}.function`);
    const input = isObject(made.arguments) ? JSON.stringify(made.arguments) : textAt(made.arguments, place);
    count.bytes += Buffer.byteLength(textAt(made.name, `${place}.function.name`)) + Buffer.byteLength(input);
  }
}
