import { at, type Json, listAt, textAt } from "./loose-json.ts";

/*
 * Would the provider take this body? What each dialect asks of a request of its own: members that must be there, turns in
 * order, results that answer calls. Each check throws at the first thing that its provider would refuse.
 */

/** Throws unless `holds`. */
function must(holds: unknown, what: string): asserts holds {
  if (!holds) throw new Error(`shape: ${what}`);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isJsonText(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const NAME = /^[\w-]{1,64}$/;
const SCHEMA = (schema: unknown): boolean => isObject(schema);

/** A chat completions body. */
export function chatBody(body: Json): void {
  must(textAt(body, "model") !== "", "model");
  const messages = listAt(body, "messages");
  must(messages.length > 0, "messages");
  const asked = new Set<string>();
  for (const message of messages) {
    const role = textAt(message, "role");
    const content = at(message, "content");
    const calls = listAt(message, "tool_calls");
    must(["system", "developer", "user", "assistant", "tool"].includes(role), `role ${role}`);
    const empty = content === null || content === undefined;
    must(!empty || (role === "assistant" && (calls.length > 0 || at(message, "refusal"))), `${role} without content`);
    must(!Array.isArray(content) || content.length > 0, `${role} with no parts`);
    for (const call of calls) {
      must(NAME.test(textAt(call, "function", "name") || textAt(call, "custom", "name")), "name of a call");
      must(at(call, "custom") || isJsonText(at(call, "function", "arguments")), "arguments are JSON");
      asked.add(textAt(call, "id"));
    }
    if (role === "tool") must(asked.has(textAt(message, "tool_call_id")), "a result answers a call");
  }
  must(!asked.has(""), "a call without an id");
  for (const tool of listAt(body, "tools")) {
    must(NAME.test(textAt(tool, "function", "name") || textAt(tool, "custom", "name")), "name of a tool");
    const parameters = at(tool, "function", "parameters");
    must(parameters === undefined || SCHEMA(parameters), "parameters are a schema");
  }
  must(at(body, "tool_choice") === undefined || listAt(body, "tools").length > 0, "tool_choice without tools");
}

/** A Responses body. */
export function responsesBody(body: Json): void {
  must(textAt(body, "model") !== "", "model");
  const input = listAt(body, "input");
  must(input.length > 0, "input");
  const asked = new Set<string>();
  for (const item of input) {
    const type = textAt(item, "type") || "message";
    const call = textAt(item, "call_id");
    if (type === "message") {
      must(["system", "developer", "user", "assistant"].includes(textAt(item, "role")), `role ${textAt(item, "role")}`);
      must(typeof at(item, "content") === "string" || listAt(item, "content").length > 0, "a message without content");
    } else if (type === "function_call" || type === "custom_tool_call") {
      must(call !== "" && textAt(item, "name") !== "", "a call has id and name");
      must(type === "custom_tool_call" || isJsonText(at(item, "arguments")), "arguments are JSON");
      asked.add(call);
    } else if (type.endsWith("_output")) {
      must(asked.has(call), "a result answers a call");
      must(typeof at(item, "output") === "string" || listAt(item, "output").length > 0, "a result says something");
    } else must(type === "reasoning", `item ${type}`);
  }
  for (const tool of listAt(body, "tools")) must(NAME.test(textAt(tool, "name")), "name of a tool");
  must(at(body, "tool_choice") === undefined || listAt(body, "tools").length > 0, "tool_choice without tools");
}

/** A Messages body. */
export function messagesBody(body: Json): void {
  must(textAt(body, "model") !== "", "model");
  must(Number.isInteger(at(body, "max_tokens")) && (at(body, "max_tokens") as number) > 0, "max_tokens");
  const temperature = at(body, "temperature");
  must(temperature === undefined || ((temperature as number) >= 0 && (temperature as number) <= 1), "temperature");
  const messages = listAt(body, "messages");
  must(messages.length > 0, "messages");
  let open = new Set<string>();
  messages.forEach((message, place) => {
    const role = textAt(message, "role");
    must(role === (place % 2 === 0 ? "user" : "assistant"), `turn ${place} is of role ${role}`);
    const content = at(message, "content");
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listAt(message, "content");
    must(blocks.length > 0, `turn ${place} is empty`);
    const answered = new Set<string>();
    const asked = new Set<string>();
    for (const block of blocks) messagesBlock(block, open, answered, asked);
    if (role === "user") must(answered.size === open.size, `turn ${place} leaves calls without results`);
    open = asked;
  });
  for (const tool of listAt(body, "tools")) {
    if (at(tool, "type") !== undefined && at(tool, "type") !== "custom") continue;
    must(/^[\w-]{1,128}$/.test(textAt(tool, "name")), "name of a tool");
    must(at(tool, "input_schema", "type") === "object", "input_schema is of an object");
  }
  must(at(body, "tool_choice") === undefined || listAt(body, "tools").length > 0, "tool_choice without tools");
}

function messagesBlock(block: unknown, open: Set<string>, answered: Set<string>, asked: Set<string>): void {
  const type = textAt(block, "type");
  if (type === "text") must(textAt(block, "text").trim() !== "", "an empty text");
  if (type === "tool_use") {
    must(/^[\w-]+$/.test(textAt(block, "id")) && textAt(block, "name") !== "", "a call has id and name");
    must(isObject(at(block, "input")), "the input of a call is an object");
    asked.add(textAt(block, "id"));
  }
  if (type === "tool_result") {
    must(open.has(textAt(block, "tool_use_id")), "a result answers a call of the turn before");
    answered.add(textAt(block, "tool_use_id"));
  }
}

/** A generateContent body. */
export function geminiBody(body: Json): void {
  const contents = listAt(body, "contents");
  must(contents.length > 0, "contents");
  let before = "";
  let asked: string[] = [];
  for (const content of contents) {
    const role = textAt(content, "role");
    must((role === "user" || role === "model") && role !== before, `role ${role} behind ${before}`);
    const parts = listAt(content, "parts");
    must(parts.length > 0, "a content without parts");
    const results = parts.filter((part) => at(part, "functionResponse") !== undefined);
    for (const part of results) {
      must(isObject(at(part, "functionResponse", "response")), "a result is an object");
      must(asked.includes(textAt(part, "functionResponse", "name")), "a result is of a call of the turn before");
    }
    if (role === "user") must(results.length === asked.length, "as many results as calls");
    const calls = parts.filter((part) => at(part, "functionCall") !== undefined);
    for (const part of calls) must(isObject(at(part, "functionCall", "args") ?? {}), "arguments are an object");
    asked = calls.map((part) => textAt(part, "functionCall", "name"));
    before = role;
  }
  for (const tool of listAt(body, "tools"))
    for (const one of listAt(tool, "functionDeclarations"))
      must(/^[a-zA-Z_][\w.:-]{0,127}$/.test(textAt(one, "name")), "name of a tool");
}
