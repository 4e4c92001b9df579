import { hash } from "node:crypto";
import type { Block, CanonicalRequest, Reasoning, Tool, ToolChoice } from "../../core/message.ts";
import { objectParameters } from "../object-parameters.ts";
import type { Target } from "../protocol.ts";
import { pushAll } from "../push-all.ts";
import { sentToolName } from "../tool-names.ts";
import type { Encoded } from "../translation.ts";
import { holdsOwnThoughts, inputItems } from "./encode-items.ts";
import { isForeignFile } from "./media.ts";

const DIALECT = "openai-responses";
const TIERS = new Set(["auto", "default", "flex", "scale", "priority", "fast"]);
const USER_CHARS_MAX = 64;
const METADATA_MAX = { pairs: 16, valueChars: 512, keyChars: 64 };

/** Fields of meaning that a Responses API cannot be told: canonical names, or paths of what only another dialect can say. */
export function inexpressible(request: CanonicalRequest, { quirks }: Target): string[] {
  const fields: string[] = [];
  const lacks: readonly [string, boolean][] = [
    ["stop", request.stop.length > 0],
    ["n", request.n > 1],
    ["top_k", request.topK !== null],
    ["seed", request.seed !== null],
    ["frequency_penalty", Boolean(request.frequencyPenalty)],
    ["presence_penalty", Boolean(request.presencePenalty)],
  ];
  for (const [field, used] of lacks) if (used) fields.push(field);
  for (const { role, blocks } of request.messages) {
    for (const block of blocks) pushAll(fields, blockFields(block, role === "assistant"));
  }
  for (const tool of request.tools) if (tool.type === "hosted" && tool.dialect !== DIALECT) fields.push(tool.path);
  for (const { path, meaning } of request.foreign) if (meaning) fields.push(path);
  for (const field of quirks.refuses ?? []) if (uses(request, field)) fields.push(field);
  return [...new Set(fields)];
}

/** The Responses body that says the request. Nothing is kept at the provider: each call carries the whole conversation. */
export function fromCanonical(request: CanonicalRequest, target: Target): Encoded {
  const dropped: string[] = inexpressible(request, target);
  for (const { path, meaning } of request.foreign) if (!meaning) dropped.push(path);
  const refused = new Set<string>(target.quirks.refuses ?? []);
  const tools = request.tools.flatMap((tool) => encodeTool(tool, dropped));
  const text = textOf(request, refused);
  const reasoning = reasoningOf(request.reasoning);
  const sealed = reasoning?.["effort"] !== "none" && (reasoning !== null || holdsOwnThoughts(request));
  const include = [
    ...(sealed ? ["reasoning.encrypted_content"] : []),
    ...(request.logprobs ? ["message.output_text.logprobs"] : []),
  ];
  const body = {
    model: target.model,
    input: inputItems(request.messages, dropped),
    ...(tools.length > 0 && { tools, ...toolChoiceOf(request) }),
    ...(request.parallelToolCalls !== null && tools.length > 0 && { parallel_tool_calls: request.parallelToolCalls }),
    ...(request.maxOutputTokens !== null && { max_output_tokens: request.maxOutputTokens }),
    ...(request.temperature !== null && !refused.has("temperature") && { temperature: request.temperature }),
    ...(request.topP !== null && !refused.has("top_p") && { top_p: request.topP }),
    ...(request.logprobs && request.logprobs.top > 0 && { top_logprobs: request.logprobs.top }),
    ...(text && { text }),
    ...(reasoning && { reasoning }),
    ...(include.length > 0 && { include }),
    ...attribution(request, dropped),
    store: false,
    ...(request.stream && { stream: true }),
  };
  return { body: Buffer.from(JSON.stringify(body)), dropped: [...new Set(dropped)] };
}

function blockFields(block: Block, isAssistant: boolean): string[] {
  switch (block.type) {
    case "image":
      return isAssistant || isForeignFile(block.source) ? ["images"] : [];
    case "document":
      return (isAssistant && block.source.kind !== "text") || isForeignFile(block.source) ? ["documents"] : [];
    case "audio":
      return ["audio"];
    case "opaque":
      return block.dialect === DIALECT ? [] : [block.path];
    case "tool_result":
      return block.content.flatMap((inner) => blockFields(inner, false));
    default:
      return [];
  }
}

/** Is a field that one upstream refuses in the request? */
function uses(request: CanonicalRequest, field: string): boolean {
  switch (field) {
    case "temperature":
      return request.temperature !== null;
    case "top_p":
      return request.topP !== null;
    case "logprobs":
      return request.logprobs !== null;
    case "response_format":
      return request.responseFormat !== null;
    case "tools":
      return request.tools.length > 0;
    case "custom_tools":
      return request.tools.some((tool) => tool.type === "custom");
    case "tool_choice":
      return request.toolChoice !== null && request.toolChoice.type !== "auto";
    case "images":
      return request.messages.some(({ blocks }) => blocks.some((block) => block.type === "image"));
    case "documents":
      return request.messages.some(({ blocks }) => blocks.some((block) => block.type === "document"));
    case "max_output_tokens":
      return request.maxOutputTokens !== null;
    default:
      return false;
  }
}

function encodeTool(tool: Tool, dropped: string[]): unknown[] {
  if (tool.type === "hosted") return tool.dialect === DIALECT ? [tool.value] : [];
  const named = {
    name: sentToolName(tool.name),
    ...(tool.description !== undefined && { description: tool.description }),
  };
  if (tool.type === "custom") {
    return [{ type: "custom", ...named, ...(tool.format !== undefined && { format: tool.format }) }];
  }
  if (tool.cache) dropped.push("cache_control");
  // Said aloud: left out it would mean strict here, and not elsewhere.
  return [
    {
      type: "function",
      ...named,
      parameters: tool.parameters && objectParameters(tool.parameters),
      strict: tool.strict ?? false,
    },
  ];
}

function toolChoiceOf({ toolChoice, tools }: CanonicalRequest): { tool_choice?: unknown } {
  if (!toolChoice) return {};
  return { tool_choice: choiceOf(toolChoice, tools) };
}

function choiceOf(choice: ToolChoice, tools: readonly Tool[]): unknown {
  const custom = new Set(tools.flatMap((tool) => (tool.type === "custom" ? [tool.name] : [])));
  const ref = (name: string): unknown => ({
    type: custom.has(name) ? "custom" : "function",
    name: sentToolName(name),
  });
  if (choice.type === "named") return ref(choice.name);
  if (choice.type === "allowed") return { type: "allowed_tools", mode: choice.mode, tools: choice.names.map(ref) };
  return choice.type;
}

function textOf({ responseFormat, verbosity }: CanonicalRequest, refused: ReadonlySet<string>): object | null {
  const format = responseFormat && !refused.has("response_format") ? { format: responseFormat } : null;
  if (!format && verbosity === null) return null;
  return { ...format, ...(verbosity !== null && { verbosity }) };
}

/** Effort as it is; a budget in tokens becomes the nearest effort (WIRE C6). */
function reasoningOf(reasoning: Reasoning | null): Record<string, unknown> | null {
  if (!reasoning) return null;
  const effort = reasoning.effort ?? effortOf(reasoning.budgetTokens);
  const summary = reasoning.visible && effort !== "none" ? "auto" : null;
  if (effort === null && summary === null) return null;
  return { ...(effort !== null && { effort }), ...(summary !== null && { summary }) };
}

function effortOf(budgetTokens: number | null): string | null {
  if (budgetTokens === null) return null;
  if (budgetTokens === 0) return "none";
  if (budgetTokens <= 2_048) return "low";
  if (budgetTokens <= 8_192) return "medium";
  return budgetTokens <= 24_576 ? "high" : "xhigh";
}

/** Whom and what the call is for: kept where it fits the API's bounds. */
function attribution(request: CanonicalRequest, dropped: string[]): Record<string, unknown> {
  const { user, metadata, serviceTier, promptCacheKey } = request;
  const fields: Record<string, unknown> = {};
  if (user !== null) fields["user"] = user.length <= USER_CHARS_MAX ? user : hash("sha256", user);
  if (promptCacheKey !== null) {
    fields["prompt_cache_key"] =
      promptCacheKey.length <= USER_CHARS_MAX ? promptCacheKey : hash("sha256", promptCacheKey);
  }
  if (serviceTier !== null) {
    if (TIERS.has(serviceTier)) fields["service_tier"] = serviceTier;
    else dropped.push("service_tier");
  }
  if (metadata) {
    if (fitsMetadata(metadata)) fields["metadata"] = metadata;
    else dropped.push("metadata");
  }
  return fields;
}

function fitsMetadata(metadata: Record<string, unknown>): boolean {
  const pairs = Object.entries(metadata);
  return (
    pairs.length <= METADATA_MAX.pairs &&
    pairs.every(
      ([key, value]) =>
        key.length <= METADATA_MAX.keyChars && typeof value === "string" && value.length <= METADATA_MAX.valueChars,
    )
  );
}
