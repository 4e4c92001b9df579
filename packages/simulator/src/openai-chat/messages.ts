import { isObject, type JsonObject } from "../json.ts";
import { refuse } from "../models/problem.ts";
import { tokensOfBytes } from "../models/text.ts";
import { missing, quoted, wrongType } from "../openai-refusals.ts";

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"];
const PART_TYPES = ["text", "image_url", "input_audio", "file", "refusal"];
/** What one image, sound or file is counted as. */
const MEDIA_TOKENS = 85;

/** What the behaviours need of a conversation. `text` is the last user message's. */
export interface Conversation {
  readonly text: string;
  readonly toolResult: string | null;
  readonly tokens: number;
}

interface Count {
  bytes: number;
  media: number;
}

/** Validates the messages and reads them; every fault is a 400 that names the place. */
export function readMessages(value: unknown): Conversation {
  if (value === undefined) missing("messages");
  if (!Array.isArray(value)) return wrongType("messages", "an array of objects", value);
  if (value.length === 0) {
    const message =
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
    refuse(message, "messages", "empty_array");
  }
  const count: Count = { bytes: 0, media: 0 };
  let text = "";
  let toolResult: string | null = null;
  const pending = new Set<string>();
  for (const [i, message] of (value as unknown[]).entries()) {
    const at = `messages[${i}]`;
    if (!isObject(message)) wrongType(at, "an object", message);
    checkRole(message.role, at);
    checkTurn(message, at, pending);
    const last = readContent(message, `${at}.content`, count);
    const { role } = message;
    if (role === "user") text = last;
    // What the system says behind a result does not make it read.
    if (role === "tool" || role === "function") toolResult = last;
    else if (role !== "system" && role !== "developer") toolResult = null;
    if (role === "assistant") noteCalls(message, at, pending, count);
  }
  if (pending.size > 0) unanswered(pending, `messages[${value.length - 1}]`);
  return { text, toolResult, tokens: tokensOfBytes(count.bytes) + count.media * MEDIA_TOKENS };
}

function checkRole(role: unknown, at: string): void {
  if (role === undefined) missing(`${at}.role`);
  if (typeof role !== "string" || !ROLES.includes(role)) {
    refuse(`Invalid value: '${role}'. Supported values are: ${quoted(ROLES)}.`, `${at}.role`, "invalid_value");
  }
}

/** Tool messages must answer the calls of the assistant message before them, all of them, before anyone else speaks. */
function checkTurn(message: JsonObject, at: string, pending: Set<string>): void {
  if (message.role !== "tool") {
    if (pending.size > 0) unanswered(pending, at);
    return;
  }
  const id = message.tool_call_id;
  if (id === undefined) missing(`${at}.tool_call_id`);
  if (typeof id !== "string") wrongType(`${at}.tool_call_id`, "a string", id);
  if (!pending.delete(id)) {
    const text =
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    refuse(text, `${at}.role`);
  }
}

function unanswered(pending: ReadonlySet<string>, at: string): never {
  const text = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...pending].join(", ")}`;
  return refuse(text, `${at}.role`);
}

function noteCalls(message: JsonObject, at: string, pending: Set<string>, count: Count): void {
  const calls = message.tool_calls;
  if (calls == null) return;
  if (!Array.isArray(calls)) wrongType(`${at}.tool_calls`, "an array of objects", calls);
  if (calls.length === 0) {
    const text = `Invalid '${at}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
    refuse(text, `${at}.tool_calls`, "empty_array");
  }
  for (const [i, call] of (calls as unknown[]).entries()) {
    const place = `${at}.tool_calls[${i}]`;
    if (!isObject(call)) wrongType(place, "an object", call);
    if (typeof call.id !== "string") missing(`${place}.id`);
    const kind = call.type === "custom" ? "custom" : "function";
    const made = call[kind];
    if (!isObject(made)) missing(`${place}.${kind}`);
    const input = kind === "custom" ? made.input : made.arguments;
    if (typeof made.name !== "string") missing(`${place}.${kind}.name`);
    if (typeof input !== "string") wrongType(`${place}.${kind}.arguments`, "a string", input);
    pending.add(call.id);
    count.bytes += Buffer.byteLength(made.name) + Buffer.byteLength(input);
  }
}

function readContent(message: JsonObject, at: string, count: Count): string {
  const { content } = message;
  if (typeof content === "string") {
    count.bytes += Buffer.byteLength(content);
    return content;
  }
  if (Array.isArray(content)) return content.map((part, i) => readPart(part, `${at}[${i}]`, count)).join("");
  const spoken = ["tool_calls", "function_call", "refusal", "audio"].some((key) => message[key] != null);
  if (message.role === "assistant" && content == null && spoken) return "";
  if (content === undefined) return missing(at);
  return refuse(
    `Invalid value for 'content': expected a string, got ${content === null ? "null" : typeof content}.`,
    at,
  );
}

function readPart(part: unknown, at: string, count: Count): string {
  if (!isObject(part)) return wrongType(at, "an object", part);
  if (part.type === undefined) return missing(`${at}.type`);
  if (part.type === "text" || part.type === "refusal") {
    const text = part[part.type];
    if (typeof text !== "string") return missing(`${at}.${part.type}`);
    count.bytes += Buffer.byteLength(text);
    return part.type === "text" ? text : "";
  }
  if (typeof part.type !== "string" || !PART_TYPES.includes(part.type)) {
    const text = `Invalid value: '${part.type}'. Supported values are: ${quoted(PART_TYPES)}.`;
    return refuse(text, at, "invalid_value");
  }
  const media = part[part.type];
  if (!isObject(media)) return missing(`${at}.${part.type}`);
  if (part.type === "image_url") checkImage(media.url, `${at}.image_url.url`);
  if (part.type === "input_audio" && typeof media.data !== "string") missing(`${at}.input_audio.data`);
  count.media += 1;
  return "";
}

function checkImage(url: unknown, at: string): void {
  if (typeof url !== "string") missing(at);
  if (!/^(https?:\/\/|data:image\/)/.test(url)) {
    refuse("Invalid image URL. Expected a valid URL or a data URL with an image.", at, "invalid_image_url");
  }
}
