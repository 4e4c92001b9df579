import type { CanonicalRequest } from "../../core/message.ts";
import { isBlankStop } from "../anthropic-messages/inexpressible.ts";
import { answerSchema, toolSchema } from "../anthropic-messages/schema.ts";
import type { Target } from "../protocol.ts";
import { addUnsayable } from "../unsayable-blocks.ts";
import { canSay } from "./encode-media.ts";
import { calledNames, canOffer } from "./encode-tools.ts";
import { type ModelRules, rulesOf } from "./models.ts";

/** Converse takes no more stop sequences. */
const STOP_MAX = 2_500;

/**
 * Fields of meaning that this model cannot be told of the request through Converse (ruling 17, WIRE B5, C8): canonical names,
 * and the client's own paths for what only its dialect can say.
 */
export function inexpressible(request: CanonicalRequest, target: Target): string[] {
  const rules = rulesOf(target.model);
  const lost = new Set<string>();
  addSampling(request, rules, lost);
  addFormat(request, rules, lost);
  addTools(request, rules, lost);
  addUnsayable(request, canSay, lost);
  for (const field of request.foreign) if (field.meaning) lost.add(field.path);
  return [...lost];
}

/** What is the default anyway is not sent, and so never refused. */
function addSampling(request: CanonicalRequest, rules: ModelRules, lost: Set<string>): void {
  const { temperature, topP, topK, seed, frequencyPenalty, presencePenalty, stop } = request;
  const sampling = rules.claude?.sampling ?? "free";
  const cold = temperature !== null && temperature !== 1;
  const cut = topP !== null && topP !== 1;
  if (cold && (temperature < 0 || temperature > 1 || sampling === "fixed")) lost.add("temperature");
  if (cut && (topP < 0 || topP > 1 || sampling === "fixed" || (cold && sampling === "one"))) lost.add("top_p");
  if (topK !== null && (!rules.topK || sampling === "fixed")) lost.add("top_k");
  if (seed !== null) lost.add("seed");
  if (frequencyPenalty) lost.add("frequency_penalty");
  if (presencePenalty) lost.add("presence_penalty");
  if (request.n > 1) lost.add("n");
  if (request.logprobs !== null) lost.add("logprobs");
  const refused = rules.claude !== null && stop.some((word) => word !== "" && isBlankStop(word));
  if (refused || stop.length > STOP_MAX) lost.add("stop");
}

function addFormat(
  { responseFormat, tools, toolChoice }: CanonicalRequest,
  rules: ModelRules,
  lost: Set<string>,
): void {
  if (responseFormat === null) return;
  // JSON without a schema can only be asked for in words, which promises nothing.
  let fits = responseFormat.type === "json_schema" && rules.form !== "none";
  if (fits && responseFormat.type === "json_schema") {
    const { schema } = responseFormat;
    if (rules.form === "schema") fits = rules.claude === null || answerSchema(schema) !== null;
    // A tool that is forced leaves no other to be called, and its arguments are an object.
    else fits = isObjectSchema(schema) && (tools.length === 0 || toolChoice?.type === "none");
  }
  if (!fits) lost.add("response_format");
}

/** A schema that as a tool's parameters still says the same. */
function isObjectSchema(schema: Record<string, unknown>): boolean {
  return toolSchema(schema) === schema;
}

function addTools(request: CanonicalRequest, rules: ModelRules, lost: Set<string>): void {
  const { tools, toolChoice } = request;
  for (const tool of tools) if (!canOffer(tool)) lost.add(tool.type === "hosted" ? tool.path : "tools");
  const names = new Set(tools.flatMap((tool) => (tool.type === "hosted" ? [] : [tool.name])));
  const forced =
    toolChoice?.type === "required" ||
    toolChoice?.type === "named" ||
    (toolChoice?.type === "allowed" && toolChoice.mode === "required");
  if (forced && rules.choice === "auto") lost.add("tool_choice");
  // A subset of nothing leaves no tool that could be required.
  if (toolChoice?.type === "allowed" && !toolChoice.names.some((name) => names.has(name))) lost.add("tool_choice");
  // There is no word for "none", and tools that the history calls cannot be left out.
  if (toolChoice?.type === "none" && tools.length > 0 && calledNames(request).length > 0) lost.add("tool_choice");
}
