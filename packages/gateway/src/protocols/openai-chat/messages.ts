import { type Fields, isAbsent, isObject, missingField, wrongField } from "../field-checks.ts";
import { addCallId, checkAnswer, type MessageFacts, messagePath, type Reading, readEach } from "../message-facts.ts";

/**
 * Checks the `messages` array and learns what it needs. Throws invalid_request with the path of what is wrong,
 * and for a tool result that answers no call (its id is named).
 */
export function readMessages(messages: unknown): MessageFacts {
  return readEach(messages, "system, user, assistant or tool", readMessage);
}

function readMessage(message: Fields, role: string, index: number, reading: Reading): void {
  const { content } = message;
  if (typeof content !== "string") readContent(content, role, messagePath(index), reading);
  if (role === "assistant") {
    const { tool_calls: calls, reasoning_details: details } = message;
    if (!isAbsent(calls)) readToolCalls(calls, `${messagePath(index)}.tool_calls`, reading);
    countSealed(details, reading);
  }
  if (role === "tool") {
    checkAnswer(message["tool_call_id"], `${messagePath(index)}.tool_call_id`, "message", reading);
  }
  if (role === "function") reading.holdsToolResults = true;
}

/** What is no plain text. */
function readContent(content: unknown, role: string, path: string, facts: MessageFacts): void {
  if (isAbsent(content)) {
    // An assistant turn may hold nothing but calls; providers differ on the other roles, so only absence is refused there.
    if (role === "assistant" || role === "function") return;
    throw missingField(`${path}.content`, "a string or an array of parts");
  }
  if (!Array.isArray(content)) throw wrongField(`${path}.content`, "a string or an array of parts");
  for (let i = 0; i < content.length; i++) readPart(content[i], `${path}.content[${i}]`, facts);
}

function readPart(part: unknown, path: string, facts: MessageFacts): void {
  if (!isObject(part)) throw wrongField(path, "an object with a type");
  const type = part["type"];
  if (typeof type !== "string") throw wrongField(`${path}.type`, "a string");
  if (type === "text") {
    if (typeof part["text"] !== "string") throw wrongField(`${path}.text`, "a string");
  } else if (type === "image_url") {
    const image = part["image_url"];
    const url = isObject(image) ? image["url"] : image;
    if (typeof url !== "string") throw wrongField(`${path}.image_url.url`, "a string: an http URL or a data URL");
    if (url.startsWith("data:")) facts.inlineDataChars += url.length;
    facts.needs.add("vision");
  } else if (type === "input_audio") {
    const audio = part["input_audio"];
    if (!isObject(audio) || typeof audio["data"] !== "string")
      throw wrongField(`${path}.input_audio.data`, "base64 data");
    facts.inlineDataChars += audio["data"].length;
    facts.needs.add("audio");
  } else if (type === "file") {
    const file = part["file"];
    if (!isObject(file)) throw wrongField(`${path}.file`, "an object with file_data or file_id");
    if (typeof file["file_data"] === "string") facts.inlineDataChars += file["file_data"].length;
    facts.needs.add("documents");
  } else {
    // What only some servers know, such as video_url: its data is no text either.
    const media = part[type];
    const url = isObject(media) ? media["url"] : null;
    if (typeof url === "string" && url.startsWith("data:")) facts.inlineDataChars += url.length;
  }
}

/** Thoughts that came back sealed, or signed, are no text. */
function countSealed(details: unknown, facts: MessageFacts): void {
  if (!Array.isArray(details)) return;
  for (const detail of details as unknown[]) {
    if (!isObject(detail)) continue;
    for (const key of ["data", "signature"]) {
      const value = detail[key];
      if (typeof value === "string") facts.inlineDataChars += value.length;
    }
  }
}

function readToolCalls(calls: unknown, path: string, reading: Reading): void {
  if (!Array.isArray(calls)) throw wrongField(path, "an array");
  if (calls.length > 1) reading.needs.add("parallel_tools");
  calls.forEach((call: unknown, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(call)) throw wrongField(at, "an object");
    addCallId(call["id"], reading);
    const named = call["function"];
    if (call["type"] === "function" && !isObject(named)) throw missingField(`${at}.function`, "{ name, arguments }");
    if (isObject(named) && typeof named["name"] !== "string") throw wrongField(`${at}.function.name`, "a string");
  });
}
