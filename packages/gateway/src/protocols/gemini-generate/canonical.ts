import type { Call } from "../../core/call.ts";
import type { CanonicalRequest, ForeignField, Message, Tool, ToolChoice } from "../../core/message.ts";
import { keepTexts } from "../exact-json.ts";
import { type Fields, isObject, wordOf } from "../field-checks.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import { canonicalConfig } from "./canonical-config.ts";
import { readContents } from "./contents.ts";
import { camelCase, DIALECT, enumWord, pick, pickList, pickObject, pickString, spelling } from "./fields.ts";
import { ARGUMENTS, generationConfigOf } from "./request.ts";
import { jsonSchemaOf } from "./schema.ts";

/** Members of the body that are read below. */
const READ = new Set([
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "generationConfig",
  "serviceTier",
  "model",
]);
/** Members without which the answer is another one: a cache holds part of the prompt, Model Armor guards it. */
const MEANING = new Set(["cachedContent", "modelArmorConfig", "continuationToken"]);
const MODES = ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"];

/** A generateContent call in canonical form (WIRE B4). Throws invalid_request with the path of what makes no sense. */
export function toCanonical(call: Call): CanonicalRequest {
  keepTexts(call.body, () => call.raw, ARGUMENTS);
  return canonicalBody(call.body, call.stream);
}

/** The same for a body that stands inside another (`generateContentRequest`). */
export function canonicalBody(body: Fields, stream: boolean): CanonicalRequest {
  const foreign: ForeignField[] = [];
  for (const key of Object.keys(body)) {
    const name = camelCase(key);
    if (READ.has(name) || PLATFORM_MEMBERS.includes(key) || body[key] === null) continue;
    foreign.push({ path: key, meaning: MEANING.has(name) });
  }
  const tier = pickString(body, "serviceTier");
  return {
    messages: [...systemMessage(body, foreign), ...readContents(pickList(body, "contents"))],
    tools: pickList(body, "tools").flatMap((tool, index) => readTool(tool, `tools[${index}]`, foreign)),
    toolChoice: readToolChoice(body, foreign),
    parallelToolCalls: null,
    ...canonicalConfig(generationConfigOf(body), spelling(body, "generationConfig"), foreign),
    user: null,
    metadata: null,
    serviceTier: tier === undefined ? null : tier.toLowerCase(),
    verbosity: null,
    promptCacheKey: null,
    stream,
    foreign,
  };
}

/** A content, or, as the API also takes, its parts or bare text. A picture among them is for Google alone. */
function systemMessage(body: Fields, foreign: ForeignField[]): Message[] {
  const given = pick(body, "systemInstruction");
  if (given === undefined) return [];
  const parts = isObject(given) ? pickList(given, "parts") : Array.isArray(given) ? given : [given];
  const blocks = parts.flatMap((part: unknown, index) => {
    const text = typeof part === "string" ? part : isObject(part) ? part["text"] : undefined;
    if (typeof text === "string") return [{ type: "text" as const, text }];
    foreign.push({ path: `${spelling(body, "systemInstruction")}.parts[${index}]`, meaning: true });
    return [];
  });
  return blocks.length === 0 ? [] : [{ role: "system", blocks }];
}

/** One entry of `tools` holds any number of functions, and beside them tools that Google runs itself. */
function readTool(tool: unknown, path: string, foreign: ForeignField[]): Tool[] {
  if (!isObject(tool)) return [];
  const found: Tool[] = [];
  for (const [key, value] of Object.entries(tool)) {
    if (value === null) continue;
    if (camelCase(key) !== "functionDeclarations") {
      found.push({ type: "hosted", dialect: DIALECT, path: `${path}.${key}`, value: { [key]: value } });
      continue;
    }
    pickList(tool, "functionDeclarations").forEach((declaration, index) => {
      if (isObject(declaration)) found.push(readFunction(declaration, `${path}.${key}[${index}]`, foreign));
    });
  }
  return found;
}

function readFunction(declaration: Fields, path: string, foreign: ForeignField[]): Tool {
  const description = pickString(declaration, "description");
  const openApi = pickObject(declaration, "parameters");
  const parameters = pickObject(declaration, "parametersJsonSchema") ?? (openApi ? jsonSchemaOf(openApi) : null);
  for (const key of Object.keys(declaration)) {
    // What the function answers with is told to the model alone; a call that does not block is another protocol.
    if (["response", "responseJsonSchema", "behavior"].includes(camelCase(key))) {
      foreign.push({ path: `${path}.${key}`, meaning: false });
    }
  }
  const name = wordOf(declaration["name"]);
  return { type: "function", name, ...(description !== undefined && { description }), parameters };
}

function readToolChoice(body: Fields, foreign: ForeignField[]): ToolChoice | null {
  const config = pickObject(body, "toolConfig");
  if (!config) return null;
  const path = spelling(body, "toolConfig");
  for (const key of Object.keys(config)) {
    if (camelCase(key) !== "functionCallingConfig") foreign.push({ path: `${path}.${key}`, meaning: false });
  }
  const calling = pickObject(config, "functionCallingConfig");
  if (!calling) return null;
  const names = pickList(calling, "allowedFunctionNames").filter((name) => typeof name === "string");
  switch (enumWord(pick(calling, "mode"), MODES)) {
    case "NONE":
      return { type: "none" };
    case "ANY":
      if (names.length === 0) return { type: "required" };
      return names.length === 1 && names[0] !== undefined
        ? { type: "named", name: names[0] }
        : { type: "allowed", mode: "required", names };
    case "AUTO":
    case "VALIDATED":
      return names.length === 0 ? { type: "auto" } : { type: "allowed", mode: "auto", names };
    default:
      return null;
  }
}
