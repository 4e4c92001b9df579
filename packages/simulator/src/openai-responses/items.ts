import { isObject, type JsonObject } from "../json.ts";
import type { Heard } from "../models/mirror.ts";
import { ProblemError, problem, refuse } from "../models/problem.ts";
import { missing, wrongType } from "../openai-refusals.ts";
import type { State } from "../state.ts";
import { notAmong, readContent } from "./content.ts";
import { type Conversation, emptyConversation, hear, said } from "./conversation.ts";
import { unseal } from "./seal.ts";

const ROLES = ["assistant", "system", "developer", "user"];
const CALL_ID_CHARS_MAX = 64;
/** Items of the vendor's own tools: taken as they are. */
const HOSTED = `web_search_call file_search_call computer_call computer_call_output image_generation_call
  code_interpreter_call local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call
  apply_patch_call_output mcp_list_tools mcp_approval_request mcp_approval_response mcp_call tool_search_call
  tool_search_output additional_tools program program_output`.split(/\s+/);
const OWN = ["message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"];
const TYPES = [...OWN, "reasoning", "item_reference", "compaction", ...HOSTED];
const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  custom_tool_call: "ctc",
  reasoning: "rs",
};

/** Reads a conversation: items of earlier turns, then those given now, `at` naming the latter in messages. */
export function readItems(earlier: readonly JsonObject[], given: readonly unknown[], state: State): Conversation {
  const talk = emptyConversation();
  // What was accepted once is not checked again, but its calls may be answered now.
  for (const item of earlier) readItem(talk, item, "previous", state);
  for (const [i, item] of given.entries()) {
    const at = `input[${i}]`;
    if (isObject(item)) readItem(talk, dereferenced(item, at, state), at, state);
    else wrongType(at, "an object", item);
  }
  checkFollowed(given);
  for (const [id, kind] of talk.pending) refuse(`No tool output found for ${kind} ${id}.`, "input");
  return talk;
}

function readItem(talk: Conversation, item: JsonObject, at: string, state: State): void {
  const type = item.type ?? (item.role === undefined ? undefined : "message");
  if (type === undefined) return missing(`${at}.type`);
  if (typeof type !== "string" || !TYPES.includes(type)) return notAmong(type, TYPES.slice(0, OWN.length + 3), at);
  checkId(item.id, type, at);
  if (type === "message") return readMessage(talk, item, at);
  if (type === "function_call") return readCall(talk, item, at, "arguments", "function call");
  if (type === "custom_tool_call") return readCall(talk, item, at, "input", "custom tool call");
  if (type === "function_call_output") return readOutput(talk, item, at, "function call");
  if (type === "custom_tool_call_output") return readOutput(talk, item, at, "custom tool call");
  if (type === "reasoning") return readReasoning(talk, item, at, state);
  if (type === "compaction") checkSealed(item.encrypted_content, `${at}.encrypted_content`, state);
}

function dereferenced(item: JsonObject, at: string, state: State): JsonObject {
  if (item.type !== "item_reference") return item;
  if (typeof item.id !== "string") return missing(`${at}.id`);
  return state.responses.item(item.id) ?? lost(item.id);
}

function checkId(id: unknown, type: string, at: string): void {
  const prefix = ID_PREFIXES[type];
  if (id == null || prefix === undefined) return;
  if (typeof id !== "string") wrongType(`${at}.id`, "a string", id);
  if (!id.startsWith(prefix)) {
    refuse(`Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`, `${at}.id`, "invalid_value");
  }
}

function readMessage(talk: Conversation, { role, content }: JsonObject, at: string): void {
  if (role === undefined) missing(`${at}.role`);
  if (typeof role !== "string" || !ROLES.includes(role)) notAmong(role, ROLES, `${at}.role`);
  const read = readContent(content, `${at}.content`, role === "assistant");
  hear(talk, String(role), read);
}

function readCall(talk: Conversation, item: JsonObject, at: string, field: string, kind: string): void {
  const id = callId(item, at);
  for (const needed of ["name", field]) {
    if (item[needed] === undefined) missing(`${at}.${needed}`);
    if (typeof item[needed] !== "string") wrongType(`${at}.${needed}`, "a string", item[needed]);
  }
  talk.pending.set(id, kind);
  talk.calls.set(id, kind);
  said(talk, "tool_call", `${item.name}${item[field]}`);
}

function readOutput(talk: Conversation, item: JsonObject, at: string, kind: string): void {
  const id = callId(item, at);
  const read = readContent(item.output, `${at}.output`, false);
  if (talk.calls.get(id) !== kind) refuse(`No tool call found for ${kind} output with call_id ${id}.`, "input");
  talk.pending.delete(id);
  hear(talk, "tool", { ...read, kinds: ["tool_result"] });
  talk.results.push({ id, text: read.text, error: false } satisfies Heard["tool_results"][number]);
}

function callId({ call_id: id }: JsonObject, at: string): string {
  if (id === undefined) return missing(`${at}.call_id`);
  if (typeof id !== "string") return wrongType(`${at}.call_id`, "a string", id);
  if (id === "") return refuse(`Invalid '${at}.call_id': empty string.`, `${at}.call_id`, "empty_string");
  if (id.length > CALL_ID_CHARS_MAX) {
    const text = `Invalid '${at}.call_id': string too long. Expected a string with maximum length ${CALL_ID_CHARS_MAX}, but got a string with length ${id.length} instead.`;
    return refuse(text, `${at}.call_id`, "string_above_max_length");
  }
  return id;
}

/** Reasoning is known by its sealed content, or else by an id that is kept here. */
function readReasoning(talk: Conversation, item: JsonObject, at: string, state: State): void {
  if (item.summary === undefined) missing(`${at}.summary`);
  if (!Array.isArray(item.summary)) wrongType(`${at}.summary`, "an array of objects", item.summary);
  if (item.encrypted_content != null) checkSealed(item.encrypted_content, `${at}.encrypted_content`, state);
  else if (typeof item.id !== "string") missing(`${at}.id`);
  else if (at !== "previous" && state.responses.item(item.id) === undefined) lost(item.id);
  said(talk, "reasoning", "");
}

function checkSealed(content: unknown, at: string, state: State): void {
  if (typeof content !== "string") return content === undefined ? missing(at) : wrongType(at, "a string", content);
  if (unseal(state.account, content) !== null) return;
  const text = `The encrypted content ${content.slice(0, 12)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
  refuse(text, null, "invalid_encrypted_content");
}

/** Reasoning leads to something the model did; it may neither stand at the end nor before what others say. */
function checkFollowed(given: readonly unknown[]): void {
  for (const [i, item] of given.entries()) {
    if (!isObject(item) || item.type !== "reasoning") continue;
    const next = given[i + 1];
    const follows =
      isObject(next) && (next.role === "assistant" || /(_call|reasoning|reference|program)$/.test(`${next.type}`));
    if (follows) continue;
    refuse(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`, "input");
  }
}

function lost(id: string): never {
  const text = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  throw new ProblemError(problem("not_found", 404, text, { param: "input" }));
}
