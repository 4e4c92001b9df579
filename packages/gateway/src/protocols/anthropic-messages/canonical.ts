import type { Call } from "../../core/call.ts";
import type {
  CanonicalRequest,
  ForeignField,
  Reasoning,
  ResponseFormat,
  Tool,
  ToolChoice,
} from "../../core/message.ts";
import { keepTexts } from "../exact-json.ts";
import { type Fields, isAbsent, isObject } from "../field-checks.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import { cacheOf, textOf } from "./canonical-blocks.ts";
import { canonicalMessages } from "./canonical-messages.ts";
import { formatOf } from "./request.ts";
import { toolsAtEnd } from "./tool-changes.ts";
import { INPUTS, NAME } from "./wire.ts";

/** Members that the canonical form has a place for, or that say nothing of their own. */
const KNOWN: ReadonlySet<string> = new Set([
  ...[
    "model",
    "max_tokens",
    "messages",
    "system",
    "thinking",
    "output_config",
    "output_format",
    "tools",
    "tool_choice",
  ],
  ...["stop_sequences", "temperature", "top_p", "top_k", "metadata", "service_tier", "stream", "anthropic_version"],
  ...PLATFORM_MEMBERS,
]);
/** Members that change the answer, or where it is made. All others that are not known are hints. */
const MEANING: ReadonlySet<string> = new Set(["container", "mcp_servers", "inference_geo"]);
/** What a tool of the client's own may hold. */
const TOOL_FIELDS: ReadonlySet<string> = new Set([
  ...["type", "name", "description", "input_schema", "strict", "cache_control"],
]);
/** A tool choice that is not of these types is one nobody knows. */
const CHOICES: Readonly<Record<string, "auto" | "required" | "none">> = { auto: "auto", any: "required", none: "none" };

/**
 * A Messages body in canonical form; a `count_tokens` body too, which has no `max_tokens`. The call has passed
 * `decodeRequest`, so that the shapes of all known fields hold.
 */
export function toCanonical(call: Call): CanonicalRequest {
  const { body } = call;
  keepTexts(body, () => call.raw, INPUTS);
  const foreign: ForeignField[] = [];
  const choice = isObject(body["tool_choice"]) ? body["tool_choice"] : null;
  const request: CanonicalRequest = {
    messages: canonicalMessages(body, foreign),
    tools: toolsOf(body, foreign),
    toolChoice: choiceOf(choice, foreign),
    parallelToolCalls:
      typeof choice?.["disable_parallel_tool_use"] === "boolean" ? !choice["disable_parallel_tool_use"] : null,
    responseFormat: responseFormatOf(body, foreign),
    maxOutputTokens: call.maxOutputTokens,
    temperature: numberOf(body["temperature"]),
    topP: numberOf(body["top_p"]),
    topK: numberOf(body["top_k"]),
    frequencyPenalty: null,
    presencePenalty: null,
    seed: null,
    n: 1,
    logprobs: null,
    stop: Array.isArray(body["stop_sequences"]) ? (body["stop_sequences"] as string[]) : [],
    reasoning: reasoningOf(body),
    user: userOf(body["metadata"], foreign),
    metadata: null,
    serviceTier: tierOf(body["service_tier"]),
    verbosity: null,
    promptCacheKey: null,
    stream: call.stream,
    foreign,
  };
  noteForeign(call, foreign);
  return request;
}

function noteForeign({ body, dialectHeaders }: Call, foreign: ForeignField[]): void {
  for (const key in body) {
    if (KNOWN.has(key) || isAbsent(body[key])) continue;
    const value = body[key];
    if (Array.isArray(value) && value.length === 0) continue;
    foreign.push({ path: key, meaning: MEANING.has(key) });
  }
  const config = isObject(body["output_config"]) ? body["output_config"] : {};
  for (const key in config) {
    if (key === "effort" || key === "format" || isAbsent(config[key])) continue;
    foreign.push({ path: `output_config.${key}`, meaning: false });
  }
  if (dialectHeaders["anthropic-beta"] !== undefined) foreign.push({ path: "anthropic-beta", meaning: false });
}

function toolsOf(body: Fields, foreign: ForeignField[]): Tool[] {
  const hints = new Set<string>();
  const read = (tool: Fields, path: string): Tool => {
    if (!isAbsent(tool["type"]) && tool["type"] !== "custom")
      return { type: "hosted", dialect: NAME, path, value: tool };
    for (const key in tool) if (!TOOL_FIELDS.has(key) && !isAbsent(tool[key])) hints.add(key);
    const cache = cacheOf(tool);
    return {
      type: "function",
      name: textOf(tool["name"]),
      ...(typeof tool["description"] === "string" && { description: tool["description"] }),
      parameters: isObject(tool["input_schema"]) ? tool["input_schema"] : null,
      ...(typeof tool["strict"] === "boolean" && { strict: tool["strict"] }),
      ...(cache && { cache }),
    };
  };
  const given = Array.isArray(body["tools"]) ? body["tools"].filter(isObject) : [];
  const offered = given.map((tool, index) => read(tool, `tools[${index}]`));
  const tools = toolsAtEnd(offered, body["messages"], (definition) => read(definition, "messages"));
  // Once for all tools: agents send dozens of them.
  for (const key of hints) foreign.push({ path: `tools.${key}`, meaning: false });
  return tools;
}

function choiceOf(choice: Fields | null, foreign: ForeignField[]): ToolChoice | null {
  if (!choice) return null;
  const type = textOf(choice["type"]);
  if (type === "tool") return { type: "named", name: textOf(choice["name"]) };
  const known = Object.hasOwn(CHOICES, type) ? CHOICES[type] : undefined;
  if (known) return { type: known };
  foreign.push({ path: "tool_choice", meaning: true });
  return null;
}

function responseFormatOf(body: Fields, foreign: ForeignField[]): ResponseFormat | null {
  const format = formatOf(body);
  if (!format) return null;
  const { schema } = format.value;
  if (format.value["type"] !== "json_schema" || !isObject(schema)) {
    foreign.push({ path: format.path, meaning: true });
    return null;
  }
  // Anthropic asks for no name, others do; it always holds the model to the schema.
  return { type: "json_schema", name: "answer", schema, strict: true };
}

function reasoningOf({ thinking, output_config: config }: Fields): Reasoning | null {
  const effort = isObject(config) && typeof config["effort"] === "string" ? config["effort"] : null;
  if (!isObject(thinking)) return effort === null ? null : { effort, budgetTokens: null, visible: null };
  if (thinking["type"] === "disabled") return { effort: "none", budgetTokens: null, visible: null };
  const { budget_tokens: budget, display } = thinking;
  return {
    effort,
    budgetTokens: typeof budget === "number" ? budget : null,
    visible: display === "summarized" ? true : display === "omitted" ? false : null,
  };
}

function userOf(metadata: unknown, foreign: ForeignField[]): string | null {
  if (!isObject(metadata)) return null;
  for (const key in metadata) if (key !== "user_id") foreign.push({ path: `metadata.${key}`, meaning: false });
  return typeof metadata["user_id"] === "string" && metadata["user_id"] !== "" ? metadata["user_id"] : null;
}

/** In the words of OpenAI's dialects, where `default` is what Anthropic calls `standard_only`. */
function tierOf(tier: unknown): string | null {
  if (typeof tier !== "string") return null;
  return tier === "standard_only" ? "default" : tier;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
