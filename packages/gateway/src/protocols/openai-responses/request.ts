import type { Call, Capability } from "../../core/call.ts";
import { foundMembers } from "../call-members.ts";
import {
  checkBoolean,
  checkInteger,
  checkModel,
  checkNumber,
  type Fields,
  isAbsent,
  isObject,
  missingField,
  wrongField,
} from "../field-checks.ts";
import { parseJsonBody } from "../json-body.ts";
import { platformFields, takeLabel } from "../platform-fields.ts";
import type { ClientRequest } from "../protocol.ts";
import { type InputFacts, readInput } from "./items.ts";
import { toolLists } from "./offered-tools.ts";
import { pinOf } from "./pin.ts";

/** Bytes a token takes on average in English text and JSON; the estimate only has to be of the right size. */
const BYTES_PER_TOKEN = 4;
/** What may stand in the place of `input`: the conversation lies at the provider. */
const STORED = ["previous_response_id", "conversation", "prompt"] as const;
const FLAGS = ["store", "background", "parallel_tool_calls"] as const;
const NO_HEADERS = {};

/**
 * Decodes and checks a Responses body (WIRE A2.1). Known fields of the wrong type are refused with their path; unknown
 * ones stay in the bytes, for a provider that may know them. Ids that only one deployment can resolve pin the call to it.
 */
export function decodeRequest(request: ClientRequest): Call {
  const { raw, header, path } = request;
  const parsed = parseJsonBody(raw, header("content-type"));
  const { body } = parsed;
  // Refuses nesting that later code should not meet.
  const { members, modelAt } = foundMembers(raw, parsed);
  const alias = path.alias ?? checkModel(body);
  const facts = readInput(body["input"]);
  if (isAbsent(body["input"]) && STORED.every((key) => isAbsent(body[key]))) {
    throw missingField("input", "a string or an array of items");
  }
  checkFields(body);
  const platform = platformFields(body, request);
  const user = isAbsent(body["user"]) ? body["safety_identifier"] : body["user"];
  takeLabel(platform, "user", user);
  return {
    dialect: "openai-responses",
    operation: "chat",
    alias,
    stream: checkBoolean(body, "stream"),
    needs: needsOf(body, facts),
    maxOutputTokens: checkInteger(body, "max_output_tokens"),
    choices: 1,
    inputTokensEstimate: Math.max(1, Math.ceil((raw.length - facts.inlineDataChars) / BYTES_PER_TOKEN)),
    ...(mayBeShortened(body) && { mayBeShortened: true }),
    holdsToolResults: facts.holdsToolResults,
    reasons: asksForReasoning(body),
    // Usage is part of every answer.
    showsUsage: true,
    platform,
    path,
    dialectHeaders: NO_HEADERS,
    pinnedTo: pinOf(body, facts.references),
    raw,
    body,
    members,
    modelAt,
  };
}

function checkFields(body: Fields): void {
  // Types only: which values a model takes is the provider's to say, and changes with every model.
  for (const key of ["temperature", "top_p", "frequency_penalty", "presence_penalty"]) checkNumber(body, key);
  for (const key of ["top_logprobs", "max_tool_calls"]) checkInteger(body, key);
  for (const key of FLAGS) checkBoolean(body, key);
  for (const key of ["instructions", "truncation", "service_tier", "prompt_cache_key", "previous_response_id"]) {
    if (!isAbsent(body[key]) && typeof body[key] !== "string") throw wrongField(key, "a string");
  }
  for (const key of ["reasoning", "text", "metadata", "prompt", "stream_options"]) {
    if (!isAbsent(body[key]) && !isObject(body[key])) throw wrongField(key, "an object");
  }
  const include = body["include"];
  if (!isAbsent(include) && !(Array.isArray(include) && include.every((name) => typeof name === "string"))) {
    throw wrongField("include", "an array of strings");
  }
  checkFormat(body["text"]);
  for (const { tools, path } of toolLists(body)) checkTools(tools, path);
  const choice = body["tool_choice"];
  if (!isAbsent(choice) && typeof choice !== "string" && !(isObject(choice) && typeof choice["type"] === "string")) {
    throw wrongField("tool_choice", "a string or an object with a type");
  }
}

function checkFormat(text: unknown): void {
  const format = isObject(text) ? text["format"] : null;
  if (isAbsent(format)) return;
  if (!isObject(format) || typeof format["type"] !== "string") throw wrongField("text.format", "an object with a type");
  if (format["type"] !== "json_schema") return;
  if (typeof format["name"] !== "string") throw missingField("text.format.name", "a name for the schema");
  if (!isObject(format["schema"])) throw missingField("text.format.schema", "the schema, flat: { type, name, schema }");
}

function checkTools(tools: unknown, path: string): void {
  if (isAbsent(tools)) return;
  if (!Array.isArray(tools)) throw wrongField(path, "an array");
  tools.forEach((tool: unknown, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(tool)) throw wrongField(at, "an object");
    if (typeof tool["type"] !== "string") throw missingField(`${at}.type`, "function, custom, or a hosted tool");
    if (tool["type"] === "namespace") checkTools(tool["tools"], `${at}.tools`);
    if (tool["type"] !== "function" && tool["type"] !== "custom") return;
    if (typeof tool["name"] === "string" && tool["name"] !== "") return;
    if (isObject(tool["function"])) throw missingField(`${at}.name`, "the function flat: { type, name, parameters }");
    throw wrongField(`${at}.name`, "a non-empty string");
  });
}

function needsOf(body: Fields, facts: InputFacts): Set<Capability> {
  const { needs } = facts;
  if (toolLists(body).some(({ tools }) => Array.isArray(tools) && tools.length > 0)) needs.add("tools");
  const format = isObject(body["text"]) ? body["text"]["format"] : null;
  if (isObject(format) && format["type"] === "json_schema") needs.add("json_schema");
  if (asksForLogprobs(body)) needs.add("logprobs");
  return needs;
}

/** The provider leaves out, or sums up, what is too long. */
function mayBeShortened({ truncation, context_management: management }: Fields): boolean {
  return truncation === "auto" || (Array.isArray(management) && management.length > 0);
}

/** Token probabilities are asked for by number or by name. */
export function asksForLogprobs(body: Fields): boolean {
  const include = body["include"];
  const top = body["top_logprobs"];
  return (
    (typeof top === "number" && top > 0) || (Array.isArray(include) && include.includes("message.output_text.logprobs"))
  );
}

function asksForReasoning(body: Fields): boolean {
  const { reasoning } = body;
  return isObject(reasoning) && reasoning["effort"] !== "none";
}
