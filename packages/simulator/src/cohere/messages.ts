import { isObject, type JsonObject } from "../json.ts";
import { tokensOfBytes } from "../models/text.ts";
import { checkMembers, listAt, objectAt, textAt, wrong } from "./checks.ts";

/** What one image is counted as. */
const IMAGE_TOKENS = 256;

/** What the behaviours need of a conversation. */
export interface Conversation {
  readonly text: string;
  readonly toolResult: string | null;
  readonly tokens: number;
}

interface Count {
  bytes: number;
  images: number;
}

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "tool_plan", "citations"],
  tool: ["role", "content", "tool_call_id"],
};
const PARTS: Readonly<Record<string, readonly string[]>> = {
  system: ["text"],
  user: ["text", "image_url", "document"],
  assistant: ["text", "thinking"],
  tool: ["text", "document"],
};

/** Validates the messages and reads them. */
export function readMessages(value: unknown): Conversation {
  const messages = listAt(value, "messages");
  if (messages.length === 0) wrong("messages must not be empty");
  const count: Count = { bytes: 0, images: 0 };
  const calls = new Set<string>();
  let text = "";
  let toolResult: string | null = null;
  for (const [i, given] of messages.entries()) {
    const at = `messages[${i}]`;
    const message = objectAt(given, at);
    const role = textAt(message.role, `${at}.role`);
    const members = MEMBERS[role];
    if (!members) wrong(`${at}.role must be one of system, user, assistant, tool`);
    checkMembers(message, members ?? [], `${at}.`);
    const said = readContent(message, role, at, count);
    if (role === "assistant") noteCalls(message, at, calls, count);
    if (role === "tool" && !calls.has(textAt(message.tool_call_id, `${at}.tool_call_id`))) {
      wrong(`${at}: no tool call with id ${String(message.tool_call_id)} was made before`);
    }
    if (role === "user") text = said;
    toolResult = role === "tool" ? said : role === "system" ? toolResult : null;
  }
  return { text, toolResult, tokens: tokensOfBytes(count.bytes) + count.images * IMAGE_TOKENS };
}

function readContent(message: JsonObject, role: string, at: string, count: Count): string {
  const { content } = message;
  if (content === undefined) {
    const speaks = role === "assistant" && Array.isArray(message.tool_calls) && message.tool_calls.length > 0;
    return speaks ? "" : wrong(`${at}.content must be set`);
  }
  if (typeof content === "string") {
    count.bytes += Buffer.byteLength(content);
    return content;
  }
  const parts = listAt(content, `${at}.content`);
  if (parts.length === 0) wrong(`${at}.content must not be empty`);
  return parts.map((part, i) => readPart(objectAt(part, at), role, `${at}.content[${i}]`, count)).join("");
}

function readPart(part: JsonObject, role: string, at: string, count: Count): string {
  const type = textAt(part.type, `${at}.type`);
  if (PARTS[role]?.includes(type) !== true) wrong(`${at}.type ${type} is not allowed for the role ${role}`);
  checkMembers(part, ["type", type], `${at}.`);
  if (type === "image_url") {
    const image = objectAt(part.image_url, `${at}.image_url`);
    checkMembers(image, ["url", "detail"], `${at}.image_url.`);
    if (!/^(https?:\/\/|data:image\/)/.test(textAt(image.url, `${at}.image_url.url`))) wrong(`${at}: bad image URL`);
    count.images += 1;
    return "";
  }
  const given = type === "document" ? objectAt(part.document, at).data : part[type];
  const text = isObject(given) ? JSON.stringify(given) : textAt(given, `${at}.${type}`);
  if (text === "") wrong(`${at}.${type} must not be empty`);
  count.bytes += Buffer.byteLength(text);
  return type === "thinking" ? "" : text;
}

function noteCalls(message: JsonObject, at: string, calls: Set<string>, count: Count): void {
  for (const [i, given] of listAt(message.tool_calls, `${at}.tool_calls`).entries()) {
    const place = `${at}.tool_calls[${i}]`;
    const call = objectAt(given, place);
    checkMembers(call, ["id", "type", "function"], `${place}.`);
    if (call.type !== "function") wrong(`${place}.type must be function`);
    const made = objectAt(call.function, `${place}.function`);
    const input = textAt(made.arguments, `${place}.function.arguments`);
    try {
      JSON.parse(input);
    } catch {
      wrong(`${place}.function.arguments must be a JSON object`);
    }
    calls.add(textAt(call.id, `${place}.id`));
    count.bytes += Buffer.byteLength(textAt(made.name, `${place}.function.name`)) + Buffer.byteLength(input);
  }
  if (message.tool_plan !== undefined) count.bytes += Buffer.byteLength(textAt(message.tool_plan, `${at}.tool_plan`));
}
