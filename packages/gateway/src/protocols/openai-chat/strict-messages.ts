import { createHash } from "node:crypto";
import type { ReasoningBlock } from "../../core/message.ts";
import { type Fields, isAbsent, isObject, wordOf } from "../field-checks.ts";
import type { StrictMessages } from "../protocol.ts";
import { readReasoning } from "./reasoning.ts";

const CHAT = "openai-chat";
/** Said for the model where somebody speaks right behind a tool's result. */
const ACKNOWLEDGED = "OK";
const THOUGHTS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_details"];

/**
 * A conversation as a strict server of the family takes it (WIRE B7): members it does not know are left out and thoughts put
 * where it reads them, ids of calls have its form (the same for the same id, in calls and results), and results are followed by
 * the model. Null where it all fits as it is. Hints that go lost are added to `dropped`, by their canonical names.
 */
export function strictMessages(
  messages: readonly unknown[],
  rules: StrictMessages,
  dropped: Set<string>,
): unknown[] | null {
  const fitted: unknown[] = [];
  let before: unknown;
  for (const message of messages) {
    const role = isObject(message) ? message["role"] : undefined;
    if (before === "tool" && role !== "tool" && role !== "assistant") {
      fitted.push({ role: "assistant", content: ACKNOWLEDGED });
    }
    const fits = isObject(message) ? fit(message, rules, dropped) : message;
    // Refused, and nothing is lost with it.
    if (isObject(fits) && saysNothing(fits)) continue;
    fitted.push(fits);
    before = role;
  }
  const last = fitted.at(-1);
  if (isObject(last) && goesOn(last)) fitted[fitted.length - 1] = { ...last, prefix: true };
  const same = fitted.length === messages.length && fitted.every((message, at) => message === messages[at]);
  return same ? null : fitted;
}

function saysNothing({ role, content, tool_calls: calls }: Fields): boolean {
  const silent = isAbsent(content) || content === "" || (Array.isArray(content) && content.length === 0);
  return role === "assistant" && silent && !(Array.isArray(calls) && calls.length > 0);
}

/** The beginning of an answer has to be said to be one. */
function goesOn({ role, prefix, tool_calls: calls }: Fields): boolean {
  return role === "assistant" && prefix !== true && !(Array.isArray(calls) && calls.length > 0);
}

/** One message: the same object where nothing of it had to change. */
function fit(message: Fields, rules: StrictMessages, dropped: Set<string>): Fields {
  const role = message["role"] === "developer" ? "system" : wordOf(message["role"]);
  const known = rules.members[role];
  if (!known) return message;
  const fitted: Fields = {};
  for (const [key, value] of Object.entries(message)) {
    if (known.has(key)) fitted[key] = value;
    else drop(key, value, dropped);
  }
  if (role !== message["role"]) fitted["role"] = role;
  if (role === "assistant") fitAnswer(message, fitted, rules, dropped);
  if (typeof fitted["tool_call_id"] === "string") fitted["tool_call_id"] = callId(fitted["tool_call_id"], rules);
  if (Array.isArray(fitted["content"])) fitted["content"] = fitParts(fitted["content"], dropped);
  const keys = Object.keys(fitted);
  const same = keys.length === Object.keys(message).length && keys.every((key) => fitted[key] === message[key]);
  return same ? message : fitted;
}

function drop(key: string, value: unknown, dropped: Set<string>): void {
  if (isAbsent(value) || value === "") return;
  // These are told of where they are read.
  if (THOUGHTS.includes(key) || key === "refusal") return;
  dropped.add(key === "prompt_cache_breakpoint" ? "cache_control" : key);
}

function fitAnswer(message: Fields, fitted: Fields, rules: StrictMessages, dropped: Set<string>): void {
  const { tool_calls: calls, refusal } = message;
  if (Array.isArray(calls)) fitted["tool_calls"] = fitCalls(calls, rules, dropped);
  const thoughts = THOUGHTS.some((key) => !isAbsent(message[key])) ? thoughtsOf(message, dropped) : [];
  const refused = typeof refusal === "string" && refusal !== "" ? [textPart(refusal)] : [];
  if (thoughts.length === 0 && refused.length === 0) return;
  const { content } = message;
  const said = typeof content === "string" ? (content === "" ? [] : [textPart(content)]) : (content ?? []);
  fitted["content"] = [...thoughts, ...(said as Fields[]), ...refused];
}

/** Thoughts as pieces of content. What another maker has signed is of no use here. */
function thoughtsOf(message: Fields, dropped: Set<string>): Fields[] {
  const { blocks, calls } = readReasoning(message, new Set(idsOf(message["tool_calls"])));
  const own = blocks.filter((block) => block.text !== "" && isOwn(block));
  if (own.length < blocks.length || calls.size > 0) dropped.add("reasoning_history");
  return own.map(({ text, signature }) => ({
    type: "thinking",
    thinking: [textPart(text)],
    ...(signature && { signature: signature.value }),
  }));
}

function isOwn({ signature, encrypted }: ReasoningBlock): boolean {
  return !encrypted && (signature === undefined || signature.dialect === CHAT);
}

function idsOf(calls: unknown): string[] {
  return Array.isArray(calls) ? calls.filter(isObject).map((call) => wordOf(call["id"])) : [];
}

function fitCalls(calls: readonly unknown[], rules: StrictMessages, dropped: Set<string>): unknown {
  let same = true;
  const fitted = calls.map((call) => {
    if (!isObject(call)) return call;
    const id = typeof call["id"] === "string" ? callId(call["id"], rules) : call["id"];
    const extra = Object.keys(call).filter((key) => !["id", "type", "function", "index"].includes(key));
    if (id === call["id"] && extra.length === 0) return call;
    same = false;
    if (extra.includes("extra_content")) dropped.add("reasoning_history");
    if (extra.includes("cache_control")) dropped.add("cache_control");
    const { type, function: called } = call;
    return { id, ...(type !== undefined && { type }), function: called };
  });
  return same ? calls : fitted;
}

function callId(id: string, { callId: form }: StrictMessages): string {
  return form.fits.test(id) ? id : hashed(id, form.chars);
}

/** Letters and digits that stand for an id: the same for the same one, whoever asks. */
function hashed(id: string, chars: number): string {
  const digits = BigInt(`0x${createHash("sha256").update(id).digest("hex")}`).toString(36);
  return digits.slice(-chars);
}

function fitParts(parts: readonly unknown[], dropped: Set<string>): unknown {
  let same = true;
  const fitted = parts.map((part) => {
    const fits = isObject(part) ? fitPart(part, dropped) : part;
    same &&= fits === part;
    return fits;
  });
  return same ? parts : fitted;
}

/** OpenAI's parts in the server's own form. */
function fitPart(part: Fields, dropped: Set<string>): Fields {
  const { cache_control: marker, prompt_cache_breakpoint: breakpoint, ...bare } = part;
  const marked = marker !== undefined || breakpoint !== undefined;
  if (marked) dropped.add("cache_control");
  const { type, refusal, file, input_audio: audio } = bare;
  if (type === "refusal") return textPart(wordOf(refusal));
  if (type === "file" && isObject(file)) return documentPart(file);
  if (type === "input_audio" && isObject(audio)) return { type, input_audio: audio["data"] };
  return marked ? bare : part;
}

function documentPart({ file_data: data, file_id: id, filename }: Fields): Fields {
  if (typeof data !== "string") return { type: "file", file_id: id };
  const url = /^[a-z][a-z0-9+.-]*:/i.test(data) ? data : `data:application/pdf;base64,${data}`;
  return { type: "document_url", document_url: url, ...(typeof filename === "string" && { document_name: filename }) };
}

function textPart(text: string): Fields {
  return { type: "text", text };
}
