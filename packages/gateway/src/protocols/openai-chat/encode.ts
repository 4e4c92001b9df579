import { createHash } from "node:crypto";
import type { CanonicalRequest, Reasoning, Tool, ToolChoice } from "../../core/message.ts";
import { type Fields, wordOf } from "../field-checks.ts";
import { objectParameters } from "../object-parameters.ts";
import type { ChatExtra, Target } from "../protocol.ts";
import { CUSTOM_TOOL_PARAMETERS } from "../tool-arguments.ts";
import { sentToolName } from "../tool-names.ts";
import type { Encoded } from "../translation.ts";
import { customToolNames } from "./canonical-tools.ts";
import { cacheControl, encodeMessages } from "./encode-messages.ts";
import { inexpressible, takes } from "./expressible.ts";
import { strictChat } from "./strict.ts";

/** OpenAI's bound on names of end users and on cache keys; longer ones are hashed to the same, every time. */
const LABEL_CHARS_MAX = 64;
const SERVICE_TIERS: readonly string[] = ["auto", "default", "flex", "scale", "priority"];
const EFFORTS: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const USUAL_EFFORTS: readonly string[] = ["low", "medium", "high"];
const STOP_MAX = 4;

/** A canonical request as a Chat Completions body: what this target takes, and a list of what it does not. */
export function fromCanonical(request: CanonicalRequest, target: Target): Encoded {
  const dropped = new Set(inexpressible(request, target));
  for (const { path, meaning } of request.foreign) if (!meaning) dropped.add(path);
  const body: Fields = {
    model: target.model,
    messages: encodeMessages(request, target, dropped),
    ...encodeTools(request, target, dropped),
    ...encodeSampling(request, target, dropped),
    ...encodeReasoning(request.reasoning, target, dropped),
    ...encodeHints(request, target, dropped),
  };
  if (request.stream) {
    body["stream"] = true;
    if (target.quirks.streamOptions) body["stream_options"] = { include_usage: true };
  }
  const strict = target.quirks.strict?.["openai-chat"];
  const sent = strict ? strictChat(body, strict, dropped) : body;
  return { body: Buffer.from(JSON.stringify(sent)), dropped: [...dropped] };
}

function encodeTools(request: CanonicalRequest, target: Target, dropped: Set<string>): Fields {
  if (dropped.has("tools")) return {};
  const { toolChoice, parallelToolCalls } = request;
  const filters = toolChoice?.type === "allowed" && !takes(target, "allowed_tools");
  const allowed = filters ? new Set(toolChoice.names) : null;
  const wanted = request.tools.filter((tool) => !allowed || tool.type === "hosted" || allowed.has(tool.name));
  const tools = wanted.flatMap((tool) => encodeTool(tool, target, dropped) ?? []);
  // Without tools OpenAI refuses whatever is said about them.
  if (tools.length === 0) return {};
  const choice = toolChoice && !dropped.has("tool_choice") ? encodeChoice(toolChoice, request, target) : null;
  return {
    tools,
    ...(choice !== null && { tool_choice: choice }),
    ...(parallelToolCalls !== null &&
      hint("parallel_tool_calls", target, dropped) && { parallel_tool_calls: parallelToolCalls }),
  };
}

function encodeTool(tool: Tool, target: Target, dropped: Set<string>): Fields | null {
  if (tool.type === "hosted") return dropped.has(tool.path) ? null : (tool.value as Fields);
  const name = sentToolName(tool.name);
  const { description } = tool;
  const described = description === undefined ? {} : { description };
  if (tool.type === "custom") {
    if (dropped.has("custom_tools")) return null;
    if (takes(target, "custom_tools")) {
      const format = tool.format === undefined ? {} : { format: nestedFormat(tool.format as Fields) };
      return { type: "custom", custom: { name, ...described, ...format } };
    }
    return { type: "function", function: { name, ...describedFormat(tool), parameters: CUSTOM_TOOL_PARAMETERS } };
  }
  const strict = tool.strict !== undefined && hint("strict", target, dropped) ? { strict: tool.strict } : {};
  const cache = tool.cache && hint("cache_control", target, dropped) ? { cache_control: cacheControl(tool.cache) } : {};
  const parameters = tool.parameters === null ? {} : { parameters: objectParameters(tool.parameters) };
  return { type: "function", function: { name, ...described, ...parameters, ...strict }, ...cache };
}

/** The grammar cannot be enforced on a function's argument; the model is told of it. */
function describedFormat({ description, format }: Extract<Tool, { type: "custom" }>): Fields {
  const { definition, syntax } = (format ?? {}) as Fields;
  const grammar =
    typeof definition === "string" ? [`The input must follow this ${wordOf(syntax)} grammar:\n${definition}`] : [];
  const words = [...(description === undefined ? [] : [description]), ...grammar];
  return words.length === 0 ? {} : { description: words.join("\n\n") };
}

function nestedFormat({ type, ...rest }: Fields): Fields {
  return Object.keys(rest).length === 0 ? { type } : { type, [wordOf(type)]: rest };
}

function encodeChoice(choice: ToolChoice, request: CanonicalRequest, target: Target): unknown {
  const custom = takes(target, "custom_tools") ? customToolNames(request.tools) : new Set<string>();
  const named = (given: string): Fields => {
    const name = sentToolName(given);
    return custom.has(given) ? { type: "custom", custom: { name } } : { type: "function", function: { name } };
  };
  if (choice.type === "named") return named(choice.name);
  if (choice.type !== "allowed") return choice.type;
  if (!takes(target, "allowed_tools")) return choice.mode;
  return { type: "allowed_tools", allowed_tools: { mode: choice.mode, tools: choice.names.map(named) } };
}

/** Fields of meaning; those the target refuses are among `dropped` already. */
function encodeSampling(request: CanonicalRequest, target: Target, dropped: ReadonlySet<string>): Fields {
  const { quirks } = target;
  const fields: Fields = {};
  const set = (field: string, key: string, value: unknown): void => {
    if (value !== null && !dropped.has(field)) fields[key] = value;
  };
  const cap = takes(target, "max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
  set("max_output_tokens", quirks.maxTokensField ?? cap, request.maxOutputTokens);
  set("temperature", "temperature", request.temperature);
  set("top_p", "top_p", request.topP);
  set("top_k", "top_k", request.topK);
  set("frequency_penalty", "frequency_penalty", request.frequencyPenalty);
  set("presence_penalty", "presence_penalty", request.presencePenalty);
  set("seed", "seed", request.seed);
  if (request.n > 1) set("n", "n", request.n);
  if (request.logprobs) {
    set("logprobs", "logprobs", true);
    if (request.logprobs.top > 0) set("logprobs", "top_logprobs", request.logprobs.top);
  }
  // Too many: those that fit, where the route would rather drop than refuse.
  const refused = quirks.refuses?.includes("stop") === true;
  if (request.stop.length > 0 && !refused) fields["stop"] = request.stop.slice(0, quirks.stopMax ?? STOP_MAX);
  if (request.responseFormat) set("response_format", "response_format", encodeFormat(request.responseFormat));
  return fields;
}

function encodeFormat(format: NonNullable<CanonicalRequest["responseFormat"]>): Fields {
  if (format.type === "json_object") return { type: "json_object" };
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}

/** Effort and budget in the target's words: OpenRouter's object, a switch, or the nearest effort it knows. */
function encodeReasoning(reasoning: Reasoning | null, target: Target, dropped: Set<string>): Fields {
  if (!reasoning) return {};
  const { budgetTokens, visible } = reasoning;
  const effort = reasoning.effort ?? (budgetTokens === null ? null : effortOf(budgetTokens));
  const fields: Fields = {};
  if (takes(target, "reasoning")) {
    const amount = reasoning.effort === null && budgetTokens !== null && budgetTokens > 0;
    const object = {
      ...(amount ? { max_tokens: budgetTokens } : effort !== null && { effort }),
      ...(visible !== null && { exclude: !visible }),
    };
    return { reasoning: object };
  }
  if (effort !== null && takes(target, "thinking")) {
    fields["thinking"] = { type: effort === "none" ? "disabled" : "enabled" };
  }
  if (effort !== null && takes(target, "reasoning_effort") && !(effort === "none" && fields["thinking"])) {
    fields["reasoning_effort"] = nearest(effort, target.quirks.efforts ?? USUAL_EFFORTS);
  }
  if (Object.keys(fields).length === 0) dropped.add("reasoning");
  return fields;
}

/** WIRE C6. */
function effortOf(budgetTokens: number): string {
  if (budgetTokens === 0) return "none";
  if (budgetTokens <= 2_048) return "low";
  if (budgetTokens <= 8_192) return "medium";
  return budgetTokens <= 24_576 ? "high" : "xhigh";
}

/** The same word, else the next lower one, else the lowest there is. A word nobody knows goes as it is. */
function nearest(effort: string, known: readonly string[]): string {
  const rank = EFFORTS.indexOf(effort);
  if (rank < 0 || known.includes(effort)) return effort;
  return known.findLast((each) => EFFORTS.indexOf(each) <= rank) ?? known[0] ?? effort;
}

function encodeHints(request: CanonicalRequest, target: Target, dropped: Set<string>): Fields {
  const fields: Fields = {};
  const { verbosity, user, serviceTier, promptCacheKey, metadata } = request;
  if (verbosity !== null && hint("verbosity", target, dropped)) fields["verbosity"] = verbosity;
  if (user !== null && hint("user", target, dropped)) fields["user"] = label(user);
  if (serviceTier !== null) {
    // Every vendor has tiers of its own.
    if (SERVICE_TIERS.includes(serviceTier) && takes(target, "service_tier")) fields["service_tier"] = serviceTier;
    else dropped.add("service_tier");
  }
  if (promptCacheKey !== null && hint("prompt_cache_key", target, dropped)) {
    fields["prompt_cache_key"] = label(promptCacheKey);
  }
  // OpenAI takes it only for answers that are stored, and stored answers are nobody's here.
  if (metadata !== null) dropped.add("metadata");
  return fields;
}

/** Does the target take this hint? One it does not take is listed. */
function hint(extra: ChatExtra, target: Target, dropped: Set<string>): boolean {
  if (takes(target, extra)) return true;
  dropped.add(extra);
  return false;
}

function label(text: string): string {
  return text.length <= LABEL_CHARS_MAX ? text : createHash("sha256").update(text).digest("hex");
}
