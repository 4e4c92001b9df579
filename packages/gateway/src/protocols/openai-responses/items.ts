import type { Capability } from "../../core/call.ts";
import { type Fields, isAbsent, isObject, missingField, wordOf, wrongField } from "../field-checks.ts";

/** What the input of a request tells about it. */
export interface InputFacts {
  needs: Set<Capability>;
  holdsToolResults: boolean;
  /** Characters of base64 data inside the input: they are not text tokens. */
  inlineDataChars: number;
  /** Ids that only their maker can resolve, by path. */
  references: [path: string, id: string][];
}

/** Items that answer a call: repeating the request may repeat the call's effect. */
const RESULTS = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "shell_call_output",
  "apply_patch_call_output",
  "computer_call_output",
]);
const CALLS = new Set(["function_call", "custom_tool_call"]);

/** Checks the `input` of a request and learns what it needs. Throws invalid_request with the path of what is wrong. */
export function readInput(input: unknown): InputFacts {
  const facts: InputFacts = { needs: new Set(), holdsToolResults: false, inlineDataChars: 0, references: [] };
  if (isAbsent(input) || typeof input === "string") return facts;
  if (!Array.isArray(input)) throw wrongField("input", "a string or an array of items");
  let previous: unknown = null;
  for (let i = 0; i < input.length; i++) {
    const item: unknown = input[i];
    const path = `input[${i}]`;
    if (!isObject(item)) throw wrongField(path, "an object: a message, a call, a result of one");
    const type = item["type"] ?? "message";
    if (typeof type !== "string") throw wrongField(`${path}.type`, "a string");
    if (CALLS.has(type) && CALLS.has(wordOf(previous))) facts.needs.add("parallel_tools");
    previous = type;
    readItem(item, type, path, facts);
  }
  return facts;
}

function readItem(item: Fields, type: string, path: string, facts: InputFacts): void {
  if (RESULTS.has(type)) facts.holdsToolResults = true;
  switch (type) {
    case "message":
      return readMessage(item, path, facts);
    case "function_call":
      requireStrings(item, ["call_id", "name", "arguments"], path);
      return;
    case "custom_tool_call":
      requireStrings(item, ["call_id", "name", "input"], path);
      return;
    case "function_call_output":
    case "custom_tool_call_output":
      requireStrings(item, ["call_id"], path);
      if (isAbsent(item["output"])) throw missingField(`${path}.output`, "a string or an array of parts");
      if (typeof item["output"] !== "string") readParts(item["output"], `${path}.output`, facts);
      return;
    case "computer_call_output":
      facts.needs.add("vision");
      if (isObject(item["output"])) countInline(item["output"]["image_url"], facts);
      return;
    case "image_generation_call":
      countInline(item["result"], facts);
      return;
    case "compaction":
      countInline(item["encrypted_content"], facts);
      return;
    case "reasoning":
      countInline(item["encrypted_content"], facts);
      if (!isAbsent(item["summary"]) && !Array.isArray(item["summary"]))
        throw wrongField(`${path}.summary`, "an array");
      return;
    case "item_reference":
      requireStrings(item, ["id"], path);
      facts.references.push([`${path}.id`, wordOf(item["id"])]);
      return;
    case "mcp_approval_response":
      if (typeof item["approval_request_id"] === "string")
        facts.references.push([`${path}.approval_request_id`, item["approval_request_id"]]);
      return;
    default:
    // Hosted calls and whatever comes next: their provider knows.
  }
}

function readMessage(item: Fields, path: string, facts: InputFacts): void {
  const role = item["role"];
  // An item of another kind may lack its type nowhere but here; one without a role is no message at all.
  if (isAbsent(role)) throw missingField(`${path}.role`, "user, assistant, system or developer");
  if (typeof role !== "string") throw wrongField(`${path}.role`, "a string");
  const content = item["content"];
  if (isAbsent(content)) throw missingField(`${path}.content`, "a string or an array of parts");
  if (typeof content !== "string") readParts(content, `${path}.content`, facts);
}

function readParts(parts: unknown, path: string, facts: InputFacts): void {
  if (!Array.isArray(parts)) throw wrongField(path, "a string or an array of parts");
  parts.forEach((part: unknown, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(part)) throw wrongField(at, "an object with a type");
    readPart(part, at, facts);
  });
}

function readPart(part: Fields, path: string, facts: InputFacts): void {
  const type = part["type"];
  if (typeof type !== "string") throw wrongField(`${path}.type`, "a string");
  if (type === "input_text" || type === "output_text") {
    if (typeof part["text"] !== "string") throw wrongField(`${path}.text`, "a string");
  } else if (type === "input_image") {
    facts.needs.add("vision");
    countInline(part["image_url"], facts);
  } else if (type === "input_file") {
    facts.needs.add("documents");
    countInline(part["file_data"], facts);
  } else if (type === "input_audio") {
    facts.needs.add("audio");
    if (isObject(part["input_audio"])) countInline(part["input_audio"]["data"], facts);
  }
}

/** Base64 is long and says little: a data URL, or a file's bare data. */
function countInline(value: unknown, facts: InputFacts): void {
  if (typeof value === "string" && !/^https?:/i.test(value)) facts.inlineDataChars += value.length;
}

function requireStrings(item: Fields, keys: readonly string[], path: string): void {
  for (const key of keys) {
    if (isAbsent(item[key])) throw missingField(`${path}.${key}`, "a string");
    if (typeof item[key] !== "string") throw wrongField(`${path}.${key}`, "a string");
  }
}
