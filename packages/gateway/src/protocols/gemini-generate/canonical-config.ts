import type { CanonicalRequest, ForeignField, Reasoning, ResponseFormat } from "../../core/message.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { camelCase, pick, pickList, pickObject, pickString } from "./fields.ts";
import { jsonSchemaOf } from "./schema.ts";

/** The name of a schema that came without one. */
const SCHEMA_NAME = "response";
/**
 * What Gemini's models do unasked. Google's own CLI says it in every request; to another provider's model it says nothing,
 * and would be refused by most.
 */
const TOP_K_USUAL = 64;
const READ = new Set([
  ...["temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "seed", "presencePenalty"],
  ...["frequencyPenalty", "responseLogprobs", "logprobs", "responseMimeType", "responseSchema", "responseJsonSchema"],
  ...["thinkingConfig", "responseModalities"],
]);

/** What of a canonical request `generationConfig` says. */
type CanonicalConfig = Pick<
  CanonicalRequest,
  | "responseFormat"
  | "maxOutputTokens"
  | "temperature"
  | "topP"
  | "topK"
  | "frequencyPenalty"
  | "presencePenalty"
  | "seed"
  | "n"
  | "logprobs"
  | "stop"
  | "reasoning"
>;

/** `generationConfig`, already checked, in canonical form. `path` is its name in the client's body. */
export function canonicalConfig(config: Fields, path: string, foreign: ForeignField[]): CanonicalConfig {
  const number = (name: string): number | null => {
    const value = pick(config, name);
    return typeof value === "number" ? value : null;
  };
  for (const key of Object.keys(config)) {
    if (READ.has(camelCase(key)) || config[key] === null) continue;
    // How fine pictures are looked at, and how speech and pictures are made: the latter only matter where one is asked for.
    foreign.push({ path: `${path}.${key}`, meaning: false });
  }
  readModalities(config, path, foreign);
  const topK = number("topK");
  if (topK === TOP_K_USUAL) foreign.push({ path: `${path}.topK`, meaning: false });
  return {
    responseFormat: readFormat(config, path, foreign),
    maxOutputTokens: number("maxOutputTokens"),
    temperature: number("temperature"),
    topP: number("topP"),
    topK: topK === TOP_K_USUAL ? null : topK,
    frequencyPenalty: number("frequencyPenalty"),
    presencePenalty: number("presencePenalty"),
    seed: number("seed"),
    n: Math.max(1, number("candidateCount") ?? 1),
    logprobs: pick(config, "responseLogprobs") === true ? { top: number("logprobs") ?? 0 } : null,
    stop: pickList(config, "stopSequences").filter((text) => typeof text === "string"),
    reasoning: readThinking(pickObject(config, "thinkingConfig")),
  };
}

/** Text is what everybody makes; a picture or speech only who can. */
function readModalities(config: Fields, path: string, foreign: ForeignField[]): void {
  const wanted = pickList(config, "responseModalities").filter((word) => typeof word === "string");
  if (wanted.some((word) => word.toUpperCase() !== "TEXT" && word !== "MODALITY_UNSPECIFIED")) {
    foreign.push({ path: `${path}.responseModalities`, meaning: true });
  }
}

function readFormat(config: Fields, path: string, foreign: ForeignField[]): ResponseFormat | null {
  const type = pickString(config, "responseMimeType");
  const given = pick(config, "responseJsonSchema");
  const openApi = pickObject(config, "responseSchema");
  const schema = isObject(given) ? given : openApi && jsonSchemaOf(openApi);
  if (type !== undefined && type !== "text/plain" && type !== "application/json") {
    // text/x.enum: one bare word of a list.
    foreign.push({ path: `${path}.responseMimeType`, meaning: true });
    return null;
  }
  if (type !== "application/json") return null;
  return schema ? { type: "json_schema", name: SCHEMA_NAME, schema } : { type: "json_object" };
}

/** A budget for 2.5, a level for 3 (WIRE C6). -1 leaves it to the model. */
function readThinking(config: Fields | undefined): Reasoning | null {
  if (!config) return null;
  const budget = pick(config, "thinkingBudget");
  const level = pickString(config, "thinkingLevel");
  const shown = pick(config, "includeThoughts");
  return {
    effort: level === undefined || level.endsWith("UNSPECIFIED") ? null : level.toLowerCase(),
    budgetTokens: typeof budget === "number" && budget >= 0 ? budget : null,
    visible: typeof shown === "boolean" ? shown : null,
  };
}
