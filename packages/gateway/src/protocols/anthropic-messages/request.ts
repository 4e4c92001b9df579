import type { Call, Capability, Operation } from "../../core/call.ts";
import type { Bytes } from "../../core/pieces.ts";
import { editBody, foundMembers } from "../call-members.ts";
import { bodyJson, keepTexts } from "../exact-json.ts";
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
import type { Edit } from "../json-members.ts";
import type { MessageFacts } from "../message-facts.ts";
import { PLATFORM_MEMBERS, platformFields, takeLabel } from "../platform-fields.ts";
import type { ClientRequest, Target } from "../protocol.ts";
import { dialectHeaders } from "./headers.ts";
import { checkSystem, readMessages } from "./messages.ts";
import { withoutForeignProof } from "./own-history.ts";
import { FOREIGN_MARK, INPUTS, NAME } from "./wire.ts";

/** Bytes a token takes on average in English text and JSON; the estimate only has to be of the right size. */
const BYTES_PER_TOKEN = 4;
/** Claude Code names its session in a header. */
const SESSION_HEADER = "x-claude-code-session-id";

/**
 * Decodes and checks a Messages body (WIRE A3.1). Known fields of the wrong type are refused with their path; unknown ones
 * stay in the bytes, for a provider that may know them.
 */
export function decodeRequest(request: ClientRequest): Call {
  const call = decodeBody(request, NAME, "chat");
  if (call.maxOutputTokens === null) throw missingField("max_tokens", "the most tokens the answer may have");
  return call;
}

/** What `count_tokens` and `messages` share: the same body, without the need of a cap. */
export function decodeBody(request: ClientRequest, dialect: string, operation: Operation): Call {
  const { raw, header, path } = request;
  const parsed = parseJsonBody(raw, header("content-type"));
  const { body } = parsed;
  // Refuses nesting that later code should not meet.
  const { members, modelAt } = foundMembers(raw, parsed);
  const alias = path.alias ?? checkModel(body);
  const facts = readMessages(body["messages"]);
  checkSystem(body["system"]);
  checkFields(body);
  const maxOutputTokens = checkInteger(body, "max_tokens");
  if (maxOutputTokens !== null && maxOutputTokens < 0) throw wrongField("max_tokens", "a whole number, at least 0");
  return {
    dialect,
    operation,
    alias,
    stream: operation === "chat" && checkBoolean(body, "stream"),
    needs: needsOf(body, facts),
    maxOutputTokens,
    choices: 1,
    inputTokensEstimate: Math.max(1, Math.ceil((raw.length - facts.inlineDataChars) / BYTES_PER_TOKEN)),
    // Context management clears, or sums up, what is too long.
    ...(isObject(body["context_management"]) && { mayBeShortened: true }),
    holdsToolResults: facts.holdsToolResults,
    reasons: asksForReasoning(body),
    // The dialect always shows it.
    showsUsage: true,
    platform: platformOf(body, request),
    path,
    dialectHeaders: dialectHeaders(header),
    pinnedTo: null,
    raw,
    body,
    members,
    modelAt,
  };
}

/** The client's bytes for an upstream of the same protocol: model spliced, platform members and foreign proofs taken out. */
export function passRequest(call: Call, { model }: Target): Bytes {
  const edits = new Map<string, Edit>([["model", { value: JSON.stringify(model) }]]);
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  if (call.raw.includes(FOREIGN_MARK)) {
    const messages = withoutForeignProof(call.body["messages"]);
    if (messages) {
      const texts = keepTexts(call.body, () => call.raw, INPUTS);
      edits.set("messages", { value: bodyJson(messages, texts) });
    }
  }
  return editBody(call, edits, []);
}

function platformOf(body: Fields, request: ClientRequest): Call["platform"] {
  const platform = platformFields(body, request);
  const metadata = body["metadata"];
  const user = isObject(metadata) ? metadata["user_id"] : null;
  takeLabel(platform, "user", user);
  takeLabel(platform, "session_id", request.header(SESSION_HEADER));
  return platform;
}

function checkFields(body: Fields): void {
  // Types only: which values a model takes is the provider's to say, and changes with every model.
  for (const key of ["temperature", "top_p"]) checkNumber(body, key);
  checkInteger(body, "top_k");
  for (const key of ["metadata", "thinking", "output_config", "output_format", "tool_choice"]) {
    if (!isAbsent(body[key]) && !isObject(body[key])) throw wrongField(key, "an object");
  }
  for (const key of ["thinking", "tool_choice"]) {
    const value = body[key];
    if (isObject(value) && typeof value["type"] !== "string") throw wrongField(`${key}.type`, "a string");
  }
  const stop = body["stop_sequences"];
  if (!isAbsent(stop) && !(Array.isArray(stop) && stop.every((entry) => typeof entry === "string"))) {
    throw wrongField("stop_sequences", "an array of strings");
  }
  const format = formatOf(body);
  if (format && format.value["type"] === "json_schema" && !isObject(format.value["schema"])) {
    throw missingField(`${format.path}.schema`, "the JSON schema of the answer");
  }
  checkTools(body["tools"]);
}

function checkTools(tools: unknown): void {
  if (isAbsent(tools)) return;
  if (!Array.isArray(tools)) throw wrongField("tools", "an array");
  tools.forEach((tool: unknown, index) => {
    const path = `tools[${index}]`;
    if (!isObject(tool)) throw wrongField(path, "an object");
    // Tools of another type are Anthropic's own; some have no name.
    if (!isAbsent(tool["type"]) && tool["type"] !== "custom") return;
    if (typeof tool["name"] !== "string" || tool["name"] === "") throw wrongField(`${path}.name`, "a non-empty string");
    if (!isObject(tool["input_schema"])) throw wrongField(`${path}.input_schema`, "a JSON schema");
  });
}

/** The answer's format, where it stands today or where the beta had it; null where none is asked for. */
export function formatOf(body: Fields): { path: string; value: Fields } | null {
  const config = body["output_config"];
  if (isObject(config) && isObject(config["format"])) return { path: "output_config.format", value: config["format"] };
  return isObject(body["output_format"]) ? { path: "output_format", value: body["output_format"] } : null;
}

function needsOf(body: Fields, facts: MessageFacts): Set<Capability> {
  const needs = new Set<Capability>(facts.needs);
  if (Array.isArray(body["tools"]) && body["tools"].length > 0) needs.add("tools");
  if (formatOf(body)?.value["type"] === "json_schema") needs.add("json_schema");
  return needs;
}

function asksForReasoning({ thinking, output_config: config }: Fields): boolean {
  if (isObject(thinking)) return thinking["type"] !== "disabled";
  return isObject(config) && typeof config["effort"] === "string";
}
