import type { Block, CanonicalRequest, MeaningField } from "../../core/message.ts";
import type { Target } from "../protocol.ts";
import { DIALECT } from "./fields.ts";
import { writeMedia } from "./media.ts";
import { modelTraits } from "./thinking.ts";

const STOP_MAX = 5;
const CANDIDATES_MAX = 8;
const TOP_LOGPROBS_MAX = 20;
const INT32_MAX = 2 ** 31 - 1;

/** Where Gemini keeps each field, for errors and headers. */
export const FIELD_NAMES: Readonly<Record<string, string>> = {
  tools: "tools",
  custom_tools: "tools",
  tool_choice: "toolConfig.functionCallingConfig",
  response_format: "generationConfig.responseMimeType",
  stop: "generationConfig.stopSequences",
  n: "generationConfig.candidateCount",
  logprobs: "generationConfig.responseLogprobs",
  images: "contents.parts.inlineData",
  documents: "contents.parts.inlineData",
  audio: "contents.parts.inlineData",
  tool_result_images: "contents.parts.functionResponse.parts",
  max_output_tokens: "generationConfig.maxOutputTokens",
  temperature: "generationConfig.temperature",
  top_p: "generationConfig.topP",
  top_k: "generationConfig.topK",
  frequency_penalty: "generationConfig.frequencyPenalty",
  presence_penalty: "generationConfig.presencePenalty",
  seed: "generationConfig.seed",
  reasoning: "generationConfig.thinkingConfig",
  reasoning_history: "contents.parts.thought",
  service_tier: "serviceTier",
};

/** Fields of meaning that Gemini, or this model of it, cannot be told: canonical names, or paths of foreign things. */
export function inexpressible(request: CanonicalRequest, target: Target): string[] {
  const found = new Set<string>();
  for (const { path, meaning } of request.foreign) if (meaning) found.add(path);
  for (const tool of request.tools) if (tool.type === "hosted" && tool.dialect !== DIALECT) found.add(tool.path);
  for (const field of badValues(request, target)) found.add(field);
  const traits = modelTraits(target.model);
  for (const message of request.messages)
    for (const block of message.blocks) for (const field of unshowable(block, traits.modern)) found.add(field);
  const refused = new Set<string>(target.quirks.refuses ?? []);
  for (const field of asked(request)) if (refused.has(field)) found.add(field);
  return [...found];
}

/** Values outside what Gemini takes. */
export function badValues(request: CanonicalRequest, target: Target): MeaningField[] {
  const { temperature, frequencyPenalty, presencePenalty, seed, stop, n, logprobs, responseFormat, topP } = request;
  const outside = (value: number | null, low: number, high: number): boolean =>
    value !== null && (value < low || value > high);
  const checks: [MeaningField, boolean][] = [
    ["temperature", outside(temperature, 0, 2)],
    ["top_p", outside(topP, 0, 1)],
    ["frequency_penalty", outside(frequencyPenalty, -2, 2)],
    ["presence_penalty", outside(presencePenalty, -2, 2)],
    ["seed", outside(seed, -INT32_MAX - 1, INT32_MAX)],
    ["stop", stop.length > STOP_MAX],
    ["n", n > CANDIDATES_MAX],
    ["logprobs", logprobs !== null && logprobs.top > TOP_LOGPROBS_MAX],
    // Before 3, a model with functions writes no JSON to order.
    ["response_format", responseFormat !== null && request.tools.length > 0 && !modelTraits(target.model).modern],
  ];
  return checks.flatMap(([field, bad]) => (bad ? [field] : []));
}

/** What of a block cannot be shown to Gemini. */
export function unshowable(block: Block, modern: boolean): string[] {
  switch (block.type) {
    case "image":
      return writeMedia(block) ? [] : ["images"];
    case "document":
      return writeMedia(block) ? [] : ["documents"];
    case "audio":
      return writeMedia(block) ? [] : ["audio"];
    case "opaque":
      return block.dialect === DIALECT ? [] : [block.path];
    case "tool_result":
      return block.content.flatMap((piece) => {
        if (piece.type === "text" || (piece.type === "document" && piece.source.kind === "text")) return [];
        if (modern && writeMedia(piece)) return [];
        return [piece.type === "image" ? "tool_result_images" : "documents"];
      });
    default:
      return [];
  }
}

/** Fields of meaning that the request uses, for upstreams that refuse some (`Quirks.refuses`). */
function asked(request: CanonicalRequest): MeaningField[] {
  const uses: [MeaningField, boolean][] = [
    ["tools", request.tools.length > 0],
    ["custom_tools", request.tools.some((tool) => tool.type === "custom")],
    ["tool_choice", request.toolChoice !== null && request.toolChoice.type !== "auto"],
    ["response_format", request.responseFormat !== null],
    ["stop", request.stop.length > 0],
    ["n", request.n > 1],
    ["logprobs", request.logprobs !== null],
    ["max_output_tokens", request.maxOutputTokens !== null],
    ["temperature", request.temperature !== null],
    ["top_p", request.topP !== null],
    ["top_k", request.topK !== null],
    ["frequency_penalty", request.frequencyPenalty !== null],
    ["presence_penalty", request.presencePenalty !== null],
    ["seed", request.seed !== null],
  ];
  return uses.flatMap(([field, used]) => (used ? [field] : []));
}
