import type { CanonicalRequest, MeaningField } from "../../core/message.ts";
import type { Target } from "../protocol.ts";
import { addUnsayable } from "../unsayable-blocks.ts";
import { canSay } from "./encode-blocks.ts";
import { canOffer } from "./encode-tools.ts";
import { type ModelRules, rulesOf } from "./models.ts";
import { answerSchema } from "./schema.ts";

/**
 * Fields of meaning that Anthropic cannot be told of this request, with this model (rulings 17, WIRE A3.6, C8): canonical
 * names, and the client's own paths for what only its dialect can say.
 */
export function inexpressible(request: CanonicalRequest, target: Target): string[] {
  const lost = new Set<string>();
  addSampling(request, rulesOf(target.model), lost);
  addFormat(request, rulesOf(target.model), lost);
  addTools(request, lost);
  addUnsayable(request, canSay, lost);
  for (const field of request.foreign) if (field.meaning) lost.add(field.path);
  for (const field of target.quirks.refuses ?? []) {
    if (asksFor(request, field)) lost.add(field);
  }
  return [...lost];
}

/** White space alone stops nothing at Anthropic: it refuses it. */
export function isBlankStop(stop: string): boolean {
  return stop.trim() === "";
}

/** What is the default anyway is not sent, and so never refused. */
function addSampling(request: CanonicalRequest, rules: ModelRules, lost: Set<string>): void {
  const { temperature, topP, topK, seed, frequencyPenalty, presencePenalty } = request;
  const cold = temperature !== null && temperature !== 1;
  const cut = topP !== null && topP !== 1;
  if (cold && (temperature < 0 || temperature > 1 || rules.sampling === "fixed")) lost.add("temperature");
  if (cut && (rules.sampling === "fixed" || (cold && rules.sampling === "one"))) lost.add("top_p");
  if (topK !== null && rules.sampling === "fixed") lost.add("top_k");
  if (seed !== null) lost.add("seed");
  if (frequencyPenalty) lost.add("frequency_penalty");
  if (presencePenalty) lost.add("presence_penalty");
  if (request.n > 1) lost.add("n");
  if (request.logprobs !== null) lost.add("logprobs");
  if (request.stop.some((stop) => stop !== "" && isBlankStop(stop))) lost.add("stop");
}

function addFormat({ responseFormat }: CanonicalRequest, rules: ModelRules, lost: Set<string>): void {
  if (responseFormat === null) return;
  // JSON without a schema can only be asked for in words, which promises nothing (WIRE C7).
  const fits =
    responseFormat.type === "json_schema" && rules.structured && answerSchema(responseFormat.schema) !== null;
  if (!fits) lost.add("response_format");
}

function addTools({ tools, toolChoice }: CanonicalRequest, lost: Set<string>): void {
  for (const tool of tools) if (!canOffer(tool)) lost.add(tool.type === "hosted" ? tool.path : "tools");
  const names = new Set(tools.flatMap((tool) => (tool.type === "hosted" ? [] : [tool.name])));
  // A subset of nothing leaves no tool that could be required.
  if (toolChoice?.type === "allowed" && !toolChoice.names.some((name) => names.has(name))) lost.add("tool_choice");
}

function asksFor(request: CanonicalRequest, field: MeaningField): boolean {
  const holds = (type: string): boolean =>
    request.messages.some(({ blocks }) => blocks.some((block) => block.type === type));
  const asked: Record<MeaningField, () => boolean> = {
    tools: () => request.tools.length > 0,
    custom_tools: () => request.tools.some((tool) => tool.type === "custom"),
    tool_choice: () => request.toolChoice !== null && request.toolChoice.type !== "auto",
    response_format: () => request.responseFormat !== null,
    stop: () => request.stop.length > 0,
    n: () => request.n > 1,
    logprobs: () => request.logprobs !== null,
    images: () => holds("image"),
    documents: () => holds("document"),
    audio: () => holds("audio"),
    tool_result_images: () =>
      request.messages.some(({ blocks }) =>
        blocks.some((block) => block.type === "tool_result" && block.content.some((inner) => inner.type === "image")),
      ),
    max_output_tokens: () => request.maxOutputTokens !== null,
    temperature: () => request.temperature !== null,
    top_p: () => request.topP !== null,
    top_k: () => request.topK !== null,
    frequency_penalty: () => Boolean(request.frequencyPenalty),
    presence_penalty: () => Boolean(request.presencePenalty),
    seed: () => request.seed !== null,
  };
  return asked[field]();
}
