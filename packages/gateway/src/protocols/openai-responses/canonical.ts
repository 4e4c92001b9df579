import type { Call } from "../../core/call.ts";
import type {
  CanonicalRequest,
  ForeignField,
  Reasoning,
  ResponseFormat,
  Tool,
  ToolChoice,
} from "../../core/message.ts";
import { type Fields, isAbsent, isObject, wordOf } from "../field-checks.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import { itemMessages } from "./canonical-items.ts";
import { canonicalTools } from "./canonical-tools.ts";
import { asksForLogprobs } from "./request.ts";
import { flatName } from "./tool-names.ts";

/** Fields that are read into the canonical form, or say nothing that another dialect would have to know. */
const KNOWN = new Set([
  ...["model", "input", "instructions", "max_output_tokens", "temperature", "top_p", "top_logprobs", "tools"],
  ...["tool_choice", "parallel_tool_calls", "text", "reasoning", "include", "stream", "metadata", "service_tier"],
  ...["user", "safety_identifier", "prompt_cache_key", "frequency_penalty", "presence_penalty"],
  ...PLATFORM_MEMBERS,
]);
/** Fields that change the answer, by the values that do not. Everything else that is unknown is a hint. */
const MEANING: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ["previous_response_id", []],
  ["conversation", []],
  ["prompt", []],
  ["moderation", []],
  ["background", [false]],
  // Nobody else keeps answers; by default a client does not count on it.
  ["store", [false]],
  ["truncation", ["disabled"]],
]);
/** Meaning fields that are listed rather than refused: what they ask for is a way of serving, not another answer. */
const TOLERATED = new Set(["truncation"]);

/** The client's call in canonical form (WIRE A2.1). Throws invalid_request with the path of what makes no sense. */
export function toCanonical(call: Call): CanonicalRequest {
  const { body } = call;
  const foreign: ForeignField[] = [];
  const tools = canonicalTools(body, foreign);
  const messages = itemMessages(body, foreign);
  const user = isAbsent(body["user"]) ? body["safety_identifier"] : body["user"];
  const text = isObject(body["text"]) ? body["text"] : {};
  readForeign(body, foreign);
  return {
    messages,
    tools,
    toolChoice: toolChoiceOf(body["tool_choice"], tools, foreign),
    parallelToolCalls: typeof body["parallel_tool_calls"] === "boolean" ? body["parallel_tool_calls"] : null,
    responseFormat: formatOf(text["format"]),
    maxOutputTokens: call.maxOutputTokens,
    temperature: numberOf(body["temperature"]),
    topP: numberOf(body["top_p"]),
    topK: null,
    // Not in OpenAI's own API; others that speak it take them.
    frequencyPenalty: numberOf(body["frequency_penalty"]) || null,
    presencePenalty: numberOf(body["presence_penalty"]) || null,
    seed: null,
    n: 1,
    logprobs: asksForLogprobs(body) ? { top: numberOf(body["top_logprobs"]) ?? 0 } : null,
    stop: [],
    reasoning: reasoningOf(body["reasoning"]),
    user: stringOf(user),
    metadata: isObject(body["metadata"]) && Object.keys(body["metadata"]).length > 0 ? body["metadata"] : null,
    serviceTier: stringOf(body["service_tier"]),
    verbosity: stringOf(text["verbosity"]),
    promptCacheKey: stringOf(body["prompt_cache_key"]),
    stream: call.stream,
    foreign,
  };
}

function readForeign(body: Fields, foreign: ForeignField[]): void {
  for (const key of Object.keys(body)) {
    if (KNOWN.has(key) || isAbsent(body[key])) continue;
    const harmless = MEANING.get(key);
    if (harmless?.includes(body[key])) continue;
    foreign.push({ path: key, meaning: harmless !== undefined && !TOLERATED.has(key) });
  }
  const reasoning = isObject(body["reasoning"]) ? body["reasoning"] : {};
  for (const key of ["context", "mode"]) {
    if (!isAbsent(reasoning[key])) foreign.push({ path: `reasoning.${key}`, meaning: false });
  }
  const include = Array.isArray(body["include"]) ? body["include"] : [];
  include.forEach((name, index) => {
    // The one is what signatures travel in, whoever makes them; the other is `logprobs`.
    if (name === "reasoning.encrypted_content" || name === "message.output_text.logprobs") return;
    foreign.push({ path: `include[${index}]`, meaning: false });
  });
  const { user, safety_identifier: identifier } = body;
  if (!isAbsent(user) && !isAbsent(identifier) && user !== identifier)
    foreign.push({ path: "safety_identifier", meaning: false });
}

function toolChoiceOf(choice: unknown, tools: readonly Tool[], foreign: ForeignField[]): ToolChoice | null {
  if (isAbsent(choice)) return null;
  if (choice === "auto" || choice === "none" || choice === "required") return { type: choice };
  if (isObject(choice)) {
    const name = choiceName(choice);
    if (name !== null) return { type: "named", name };
    if (choice["type"] === "allowed_tools") {
      const listed = Array.isArray(choice["tools"]) ? choice["tools"] : [];
      const names = listed.flatMap((tool) => (isObject(tool) ? (choiceName(tool) ?? []) : []));
      // Hosted tools that are allowed and were only offered are as good as absent.
      const lost = listed.length > 0 && names.length === 0;
      if (!lost) return { type: "allowed", mode: choice["mode"] === "required" ? "required" : "auto", names };
    }
    // The hosted tool itself is already said to be out of reach.
    if (tools.some((tool) => tool.type === "hosted")) return null;
  }
  foreign.push({ path: "tool_choice", meaning: true });
  return null;
}

function choiceName(tool: Fields): string | null {
  if (tool["type"] !== "function" && tool["type"] !== "custom") return null;
  if (typeof tool["name"] !== "string") return null;
  return flatName(tool["name"], typeof tool["namespace"] === "string" ? tool["namespace"] : null);
}

function formatOf(format: unknown): ResponseFormat | null {
  if (!isObject(format)) return null;
  if (format["type"] === "json_object") return { type: "json_object" };
  if (format["type"] !== "json_schema" || !isObject(format["schema"])) return null;
  return {
    type: "json_schema",
    name: wordOf(format["name"]),
    ...(typeof format["description"] === "string" && { description: format["description"] }),
    schema: format["schema"],
    ...(typeof format["strict"] === "boolean" && { strict: format["strict"] }),
  };
}

function reasoningOf(reasoning: unknown): Reasoning | null {
  if (!isObject(reasoning)) return null;
  const effort = stringOf(reasoning["effort"]);
  const summary = reasoning["summary"] ?? reasoning["generate_summary"];
  const visible = typeof summary === "string" ? summary !== "none" : null;
  return effort === null && visible === null ? null : { effort, budgetTokens: null, visible };
}

function stringOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
