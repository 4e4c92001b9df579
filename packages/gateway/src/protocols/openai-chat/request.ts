import type { Call, Capability } from "../../core/call.ts";
import { quotedText } from "../../core/json-text.ts";
import type { Bytes } from "../../core/pieces.ts";
import { editBody, foundMembers, membersIn } from "../call-members.ts";
import {
  booleanAt,
  checkModel,
  type Fields,
  integerAt,
  isAbsent,
  isObject,
  missingField,
  numberAt,
  wrongField,
} from "../field-checks.ts";
import { parseJsonBody } from "../json-body.ts";
import { type Edit, editMembers, membersOf } from "../json-members.ts";
import type { MessageFacts } from "../message-facts.ts";
import { PLATFORM_MEMBERS, platformFields, sendsPlatformMember, takeLabel } from "../platform-fields.ts";
import type { ClientRequest, Quirks, Target } from "../protocol.ts";
import { readMessages } from "./messages.ts";
import { strictSplice } from "./strict.ts";

/** Bytes a token takes on average in English text and JSON; the estimate only has to be of the right size. */
const BYTES_PER_TOKEN = 4;
/** The output cap's two spellings; the first that is set counts. */
const CAP_FIELDS = ["max_completion_tokens", "max_tokens"] as const;
const NO_HEADERS = {};
const NOWHERE = { valueStart: 0, valueEnd: 0 };

/**
 * Decodes and checks a Chat Completions body. Known fields of the wrong type are refused with their path;
 * unknown ones stay in the bytes, for a provider that may know them.
 */
export function decodeRequest(request: ClientRequest): Call {
  const { raw, header, path } = request;
  const parsed = parseJsonBody(raw, header("content-type"));
  const { body } = parsed;
  // Refuses nesting that later code should not meet.
  const { members, modelAt } = foundMembers(raw, parsed);
  const alias = path.alias ?? checkModel(body);
  const facts = readMessages(body["messages"]);
  checkSampling(body);
  const stream = booleanAt("stream", body["stream"]);
  const streamOptions = checkStreamOptions(body);
  const maxOutputTokens = integerAt("max_completion_tokens", body["max_completion_tokens"]);
  const olderCap = integerAt("max_tokens", body["max_tokens"]);
  const platform = platformFields(body, request);
  const user = isAbsent(body["user"]) ? body["safety_identifier"] : body["user"];
  takeLabel(platform, "user", user);
  const call: Call = {
    dialect: "openai-chat",
    operation: "chat",
    alias,
    stream,
    needs: needsOf(body, facts),
    maxOutputTokens: maxOutputTokens ?? olderCap ?? null,
    choices: Math.max(1, integerAt("n", body["n"]) ?? 1),
    inputTokensEstimate: Math.max(1, Math.ceil((raw.length - facts.inlineDataChars) / BYTES_PER_TOKEN)),
    holdsToolResults: facts.holdsToolResults,
    reasons: asksForReasoning(body),
    // OpenRouter's own way to ask, or everybody's.
    showsUsage:
      streamOptions?.["include_usage"] === true || (isObject(body["usage"]) && body["usage"]["include"] === true),
    platform,
    path,
    dialectHeaders: NO_HEADERS,
    pinnedTo: null,
    raw,
    body,
    members,
    modelAt,
  };
  if (mayBeShortened(body)) call.mayBeShortened = true;
  return call;
}

/** The client's bytes for an upstream of the same protocol: model spliced, usage asked for, platform members taken out. */
export function passRequest(call: Call, target: Target, dropped?: Set<string>): Bytes {
  const edits = new Map<string, Edit>();
  const { maxTokensField, strict } = target.quirks;
  if (maxTokensField) renameCap(call.body, maxTokensField, edits);
  const held = strict?.["openai-chat"];
  if (held) strictSplice(call, held, edits, dropped ?? new Set());
  return spliceRequest(call, target, edits);
}

/** What both of OpenAI's streaming dialects change of a client's bytes, on top of `edits`. */
export function spliceRequest(call: Call, { model, quirks }: Target, edits: Map<string, Edit>): Bytes {
  const additions: string[] = [];
  // Azure's clients may name it in the path alone.
  if (call.body["model"] !== undefined) edits.set("model", { value: quotedText(model) });
  else additions.push(`"model":${quotedText(model)}`);
  if (sendsPlatformMember(call.body)) {
    for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  }
  if (call.stream) askForUsage(call, quirks, edits, additions);
  return editBody(call, edits, additions);
}

/** The output cap in the one spelling the upstream takes: the one that was counted, where the client sent both. */
function renameCap(body: Fields, field: string, edits: Map<string, Edit>): void {
  const given = CAP_FIELDS.find((key) => !isAbsent(body[key]));
  if (given === undefined) return;
  for (const key of CAP_FIELDS) if (key !== given && Object.hasOwn(body, key)) edits.set(key, null);
  if (given !== field) edits.set(given, { rename: field });
}

function askForUsage(call: Call, quirks: Quirks, edits: Map<string, Edit>, additions: string[]): void {
  const { body, raw } = call;
  if (!Object.hasOwn(body, "stream_options")) {
    if (quirks.streamOptions) additions.push('"stream_options":{"include_usage":true}');
    return;
  }
  if (!quirks.streamOptions) {
    edits.set("stream_options", null);
    return;
  }
  const given = body["stream_options"];
  if (!isObject(given)) {
    edits.set("stream_options", { value: '{"include_usage":true}' });
  } else if (given["include_usage"] !== true) {
    // The last of a repeated member is the one that holds. What else it says keeps its bytes.
    const { valueStart, valueEnd } = membersIn(call).findLast((member) => member.key === "stream_options") ?? NOWHERE;
    const options = raw.subarray(valueStart, valueEnd);
    const asked = Object.hasOwn(given, "include_usage");
    const edit = new Map<string, Edit>(asked ? [["include_usage", { value: "true" }]] : []);
    const value = editMembers(options, membersOf(options), edit, asked ? [] : ['"include_usage":true']);
    edits.set("stream_options", { value: value.toString("utf8") });
  }
}

function checkSampling(body: Fields): void {
  // Types only: which values a model takes is the provider's to say, and changes with every model.
  numberAt("temperature", body["temperature"]);
  numberAt("top_p", body["top_p"]);
  numberAt("frequency_penalty", body["frequency_penalty"]);
  numberAt("presence_penalty", body["presence_penalty"]);
  integerAt("top_logprobs", body["top_logprobs"]);
  integerAt("seed", body["seed"]);
  booleanAt("logprobs", body["logprobs"]);
  booleanAt("parallel_tool_calls", body["parallel_tool_calls"]);
  checkStop(body["stop"]);
  const format = body["response_format"];
  if (!isAbsent(format) && (!isObject(format) || typeof format["type"] !== "string")) {
    throw wrongField("response_format", "an object with a type");
  }
  if (isObject(format) && format["type"] === "json_schema" && !isObject(format["json_schema"])) {
    throw missingField("response_format.json_schema", "the schema as { name, schema }");
  }
  checkTools(body["tools"]);
}

/** Checks `stop`: a text or texts, or nothing. */
export function checkStop(stop: unknown): void {
  if (isAbsent(stop) || typeof stop === "string") return;
  if (Array.isArray(stop) && stop.every((each) => typeof each === "string")) return;
  throw wrongField("stop", "a string or an array of strings");
}

function checkTools(tools: unknown): void {
  if (isAbsent(tools)) return;
  if (!Array.isArray(tools)) throw wrongField("tools", "an array");
  tools.forEach((tool: unknown, index) => {
    if (!isObject(tool)) throw wrongField(`tools[${index}]`, "an object");
    if (tool["type"] !== "function") return;
    const definition = tool["function"];
    if (!isObject(definition)) throw missingField(`tools[${index}].function`, "the function as { name, parameters }");
    if (typeof definition["name"] !== "string" || definition["name"] === "") {
      throw wrongField(`tools[${index}].function.name`, "a non-empty string");
    }
  });
}

/** Checks and returns `stream_options`; null for none. */
export function checkStreamOptions(body: Fields): Fields | null {
  const options = body["stream_options"];
  if (isAbsent(options)) return null;
  if (!isObject(options)) throw wrongField("stream_options", "an object");
  booleanAt("stream_options.include_usage", options["include_usage"]);
  return options;
}

function needsOf(body: Fields, facts: MessageFacts): Set<Capability> {
  const { needs } = facts;
  if (isNonEmpty(body["tools"]) || isNonEmpty(body["functions"])) needs.add("tools");
  const modalities = body["modalities"];
  if (Array.isArray(modalities) && modalities.includes("audio")) needs.add("audio");
  const format = body["response_format"];
  if (isObject(format) && format["type"] === "json_schema") needs.add("json_schema");
  if (body["logprobs"] === true) needs.add("logprobs");
  if (typeof body["n"] === "number" && body["n"] > 1) needs.add("n");
  return needs;
}

function isNonEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** OpenRouter, Together, Fireworks and vLLM leave out some of a long conversation where they are asked to. */
function mayBeShortened(body: Fields): boolean {
  const { transforms, plugins, context_length_exceeded_behavior: behaviour } = body;
  if (isNonEmpty(transforms)) return true;
  if (Array.isArray(plugins) && plugins.some((plugin) => isObject(plugin) && plugin["id"] === "context-compression"))
    return true;
  if (behaviour === "truncate") return true;
  return !isAbsent(body["prompt_truncate_len"]) || !isAbsent(body["truncate_prompt_tokens"]);
}

function asksForReasoning(body: Fields): boolean {
  const { reasoning_effort: effort, reasoning, thinking } = body;
  if (typeof effort === "string" && effort !== "none") return true;
  if (isObject(reasoning)) return reasoning["effort"] !== "none" && reasoning["enabled"] !== false;
  return isObject(thinking) && thinking["type"] !== "disabled";
}
