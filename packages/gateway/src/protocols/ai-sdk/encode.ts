import type { CanonicalRequest, ResponseFormat } from "../../core/message.ts";
import { objectParameters } from "../object-parameters.ts";
import type { Target } from "../protocol.ts";
import { CUSTOM_TOOL_PARAMETERS } from "../tool-arguments.ts";
import { sentToolName } from "../tool-names.ts";
import type { Encoded } from "../translation.ts";
import { encodeMessages } from "./encode-messages.ts";
import { inexpressible, type Offered, offeredTools } from "./inexpressible.ts";
import type { Wire } from "./wire.ts";

/**
 * The call that says a canonical request, for the adapter: `{ model, stream, options }`, `options` being the SDK's call
 * options. What `inexpressible` names is left out and listed, hints that find no place too.
 */
export function fromCanonical(request: CanonicalRequest, target: Target): Encoded {
  const lost = new Set(inexpressible(request));
  const dropped = new Set<string>(lost);
  const { responseFormat, stop } = request;
  const options: Wire = {
    prompt: encodeMessages(request.messages, dropped),
    ...encodeTools(request, lost, dropped),
    ...(responseFormat && { responseFormat: encodeFormat(responseFormat, dropped) }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...encodeSampling(request, target),
  };
  dropHints(request, dropped);
  const call = { model: target.model, stream: request.stream, options };
  return { body: Buffer.from(JSON.stringify(call)), dropped: [...dropped] };
}

function encodeSampling(request: CanonicalRequest, target: Target): Wire {
  const fields = {
    maxOutputTokens: request.maxOutputTokens ?? target.maxOutputTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    frequencyPenalty: request.frequencyPenalty,
    presencePenalty: request.presencePenalty,
    seed: request.seed,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function encodeFormat(format: ResponseFormat, dropped: Set<string>): Wire {
  if (format.type === "json_object") return { type: "json" };
  const { name, description, schema, strict } = format;
  if (strict !== undefined) dropped.add("strict");
  return { type: "json", name, schema, ...(description !== undefined && { description }) };
}

function encodeTools(request: CanonicalRequest, lost: ReadonlySet<string>, dropped: Set<string>): Wire {
  const { toolChoice, parallelToolCalls } = request;
  const offered = offeredTools(request);
  if (offered.length === 0) return {};
  if (parallelToolCalls === false) dropped.add("parallel_tool_calls");
  const choice = lost.has("tool_choice") ? null : toolChoice;
  return {
    tools: offered.map((tool) => encodeTool(tool, dropped)),
    ...(choice && { toolChoice: encodeChoice(choice) }),
  };
}

function encodeTool(tool: Offered, dropped: Set<string>): Wire {
  const { description } = tool;
  if (tool.type === "function") {
    if (tool.strict !== undefined) dropped.add("strict");
    if (tool.cache) dropped.add("cache_control");
  }
  const inputSchema = tool.type === "custom" ? CUSTOM_TOOL_PARAMETERS : objectParameters(tool.parameters ?? {});
  const name = sentToolName(tool.name);
  return { type: "function", name, ...(description !== undefined && { description }), inputSchema };
}

function encodeChoice(choice: NonNullable<CanonicalRequest["toolChoice"]>): Wire {
  if (choice.type === "named") return { type: "tool", toolName: sentToolName(choice.name) };
  return { type: choice.type === "allowed" ? choice.mode : choice.type };
}

function dropHints(request: CanonicalRequest, dropped: Set<string>): void {
  const { user, metadata, serviceTier, verbosity, promptCacheKey, reasoning } = request;
  // How hard to think is each package's own word.
  if (reasoning !== null) dropped.add("reasoning");
  if (user !== null) dropped.add("user");
  if (metadata !== null) dropped.add("metadata");
  if (serviceTier !== null && serviceTier !== "auto" && serviceTier !== "default") dropped.add("service_tier");
  if (verbosity !== null) dropped.add("verbosity");
  if (promptCacheKey !== null) dropped.add("prompt_cache_key");
  for (const field of request.foreign) dropped.add(field.path);
}
