import type { CanonicalRequest } from "../../core/message.ts";
import { isBlankStop } from "../anthropic-messages/inexpressible.ts";
import { answerSchema } from "../anthropic-messages/schema.ts";
import { describedSchema } from "../described-schema.ts";
import { bodyJson, holdsTexts } from "../exact-json.ts";
import { isObject } from "../field-checks.ts";
import type { Target } from "../protocol.ts";
import type { Encoded } from "../translation.ts";
import { limitCachePoints } from "./cache-point.ts";
import { encodeMessages } from "./encode-messages.ts";
import { answerTool, encodeTools } from "./encode-tools.ts";
import { inexpressible } from "./inexpressible.ts";
import { type ModelRules, rulesOf } from "./models.ts";
import { planReasoning } from "./reasoning.ts";
import { STOP_SEQUENCE_PATHS } from "./stop-sequence.ts";
import type { Wire } from "./wire.ts";

/** Service tiers that are said in the same word by both sides. */
const TIERS: ReadonlySet<string> = new Set(["default", "priority", "flex"]);
const METADATA_MAX = 16;
const METADATA_KEY = /^[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}$/;
const METADATA_VALUE = /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/;

/**
 * The Converse body that says a canonical request; the model stands in the path. What `inexpressible` names is left out and
 * listed; between a hint and a field of meaning that exclude each other the hint goes.
 */
export function fromCanonical(request: CanonicalRequest, target: Target): Encoded {
  const rules = rulesOf(target.model);
  const lost = new Set(inexpressible(request, target));
  const dropped = new Set<string>(lost);
  const { system, messages } = encodeMessages(request.messages, rules, dropped);
  const format = lost.has("response_format") ? null : request.responseFormat;
  const byTool = format?.type === "json_schema" && rules.form === "tool";
  const toolConfig = byTool
    ? answerTool(format)
    : encodeTools(request, rules, { tools: false, choice: lost.has("tool_choice") }, dropped);
  const sampling = samplingOf(request, lost);
  const topK = request.topK !== null && !lost.has("top_k") ? rules.topK?.(request.topK) : undefined;
  const choice = toolConfig?.toolChoice ?? {};
  const forced = "any" in choice || "tool" in choice;
  const plan = planReasoning(request, rules, {
    conversation: { system, messages },
    forced,
    sampled: Object.keys(sampling).length > 0 || topK !== undefined,
    modelMax: target.maxOutputTokens,
  });
  if (plan.dropped) dropped.add("reasoning");
  const stop = lost.has("stop")
    ? []
    : request.stop.filter((word) => word !== "" && !(rules.claude && isBlankStop(word)));
  const inferenceConfig = {
    ...(plan.maxTokens !== null && { maxTokens: plan.maxTokens }),
    ...sampling,
    ...(stop.length > 0 && { stopSequences: stop }),
  };
  const additional = { ...topK, ...plan.fields, ...single(request, rules, choice, toolConfig !== null, dropped) };
  const body: Wire = {
    ...(system.length > 0 && { system }),
    messages,
    ...(toolConfig && { toolConfig }),
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(Object.keys(additional).length > 0 && { additionalModelRequestFields: additional }),
    ...(rules.claude && stop.length > 0 && { additionalModelResponseFieldPaths: STOP_SEQUENCE_PATHS }),
    ...(format?.type === "json_schema" && rules.form === "schema" && { outputConfig: outputConfig(format, rules) }),
    ...hintsOf(request, rules, dropped),
  };
  if (limitCachePoints(body)) dropped.add("cache_control");
  return { body: Buffer.from(bodyJson(body, holdsTexts(request.messages))), dropped: [...dropped] };
}

/** The defaults say nothing, and the newest models refuse even them. */
function samplingOf({ temperature, topP }: CanonicalRequest, lost: ReadonlySet<string>): Wire {
  return {
    ...(temperature !== null && temperature !== 1 && !lost.has("temperature") && { temperature }),
    ...(topP !== null && topP !== 1 && !lost.has("top_p") && { topP }),
  };
}

/** One call at a time is a matter of Claude's own API. */
function single(
  { parallelToolCalls }: CanonicalRequest,
  rules: ModelRules,
  choice: Wire,
  tools: boolean,
  dropped: Set<string>,
): Wire {
  if (parallelToolCalls !== false || !tools) return {};
  if (!rules.single) {
    dropped.add("parallel_tool_calls");
    return {};
  }
  const { tool } = choice;
  const type = "any" in choice ? "any" : tool ? "tool" : "auto";
  const name = isObject(tool) ? { name: tool["name"] } : {};
  return { tool_choice: { type, ...name, disable_parallel_tool_use: true } };
}

function outputConfig(
  format: Extract<CanonicalRequest["responseFormat"], { type: "json_schema" }>,
  rules: ModelRules,
): Wire {
  const schema = rules.claude ? answerSchema(describedSchema(format)) : format.schema;
  const { name, description } = format;
  const said = { schema: JSON.stringify(schema), name, ...(description !== undefined && { description }) };
  return { textFormat: { type: "json_schema", structure: { jsonSchema: said } } };
}

function hintsOf(request: CanonicalRequest, rules: ModelRules, dropped: Set<string>): Wire {
  const { user, metadata, serviceTier, verbosity, promptCacheKey } = request;
  if (user !== null) dropped.add("user");
  if (verbosity !== null) dropped.add("verbosity");
  if (promptCacheKey !== null) dropped.add("prompt_cache_key");
  for (const field of request.foreign) dropped.add(field.path);
  // `auto` is what happens anyway.
  const tier = serviceTier === null || serviceTier === "auto" ? null : serviceTier;
  const known = tier !== null && TIERS.has(tier) && (rules.tiers || tier === "default");
  if (tier !== null && !known) dropped.add("service_tier");
  const tags = metadata === null ? [] : Object.entries(metadata);
  const fits = tags.length <= METADATA_MAX && tags.every(([key, value]) => isTag(key, value));
  if (!fits) dropped.add("metadata");
  return {
    ...(tags.length > 0 && fits && { requestMetadata: metadata }),
    ...(known && tier !== "default" && { serviceTier: { type: tier } }),
  };
}

function isTag(key: string, value: unknown): boolean {
  return METADATA_KEY.test(key) && typeof value === "string" && METADATA_VALUE.test(value);
}
