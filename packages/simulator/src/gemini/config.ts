import type { JsonObject } from "../json.ts";
import { isObject } from "../json.ts";
import type { AskFormat } from "../models/ask.ts";
import { badValue, listAt, membersOf, numberAt, stringAt, wrong } from "./refusals.ts";
import { readSchema } from "./schema.ts";

const AT = "generation_config";
const FIELDS = `temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty frequencyPenalty
  responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema responseModalities mediaResolution
  thinkingConfig speechConfig imageConfig enableEnhancedCivicAnswers audioTimestamp routingConfig`.split(/\s+/);
const STOPS_MAX = 5;
const CANDIDATES_MAX = 8;
const BUDGET_MAX = 32_768;
const LEVELS = ["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"];
const MIME_TYPES = ["text/plain", "application/json", "text/x.enum"];

/** What `generationConfig` says. */
export interface Config {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly maxOutputTokens: number | null;
  readonly stop: readonly string[];
  readonly candidates: number;
  readonly format: AskFormat;
  /** The answer is to begin with thought. */
  readonly thinks: boolean;
  /** Whether thought is told; null = the request does not say. */
  readonly includeThoughts: boolean | null;
  /** What is asked of thinking, in words; null = nothing. */
  readonly reasoning: string | null;
}

/** Reads and checks `generationConfig`. */
export function readConfig(value: unknown): Config {
  const config = membersOf(value ?? {}, FIELDS, AT);
  const stops = listAt(config.stopSequences, `${AT}.stop_sequences`);
  if (stops.length > STOPS_MAX) {
    wrong(`* GenerateContentRequest.${AT}.stop_sequences: at most ${STOPS_MAX} stop sequences may be given.`);
  }
  numberAt(config.topK, `${AT}.top_k`, 0, 1000);
  numberAt(config.seed, `${AT}.seed`, -(2 ** 31), 2 ** 31 - 1, true);
  numberAt(config.presencePenalty, `${AT}.presence_penalty`, -2, 2);
  numberAt(config.frequencyPenalty, `${AT}.frequency_penalty`, -2, 2);
  if (config.logprobs !== undefined && config.responseLogprobs !== true) {
    wrong("Logprobs is only allowed when response_logprobs is set to true.");
  }
  listAt(config.responseModalities, `${AT}.response_modalities`);
  return {
    temperature: numberAt(config.temperature, `${AT}.temperature`, 0, 2),
    topP: numberAt(config.topP, `${AT}.top_p`, 0, 1),
    maxOutputTokens: numberAt(config.maxOutputTokens, `${AT}.max_output_tokens`, 1, 2 ** 31 - 1, true),
    stop: stops.map((stop, i) => stringAt(stop, `${AT}.stop_sequences[${i}]`) ?? ""),
    candidates: numberAt(config.candidateCount, `${AT}.candidate_count`, 1, CANDIDATES_MAX, true) ?? 1,
    format: readFormat(config),
    ...readThinking(config.thinkingConfig),
  };
}

function readFormat(config: JsonObject): AskFormat {
  const type = stringAt(config.responseMimeType, `${AT}.response_mime_type`) ?? "text/plain";
  const { responseSchema, responseJsonSchema } = config;
  if (!MIME_TYPES.includes(type)) {
    wrong(
      `* GenerateContentRequest.${AT}.response_mime_type: allowed mimetypes are \`text/plain\`, \`application/json\`, \`application/xml\`, \`application/yaml\` and \`text/x.enum\`.`,
    );
  }
  if (responseSchema === undefined && responseJsonSchema === undefined) {
    return { kind: type === "application/json" ? "json" : "text" };
  }
  if (responseSchema !== undefined && responseJsonSchema !== undefined) {
    wrong("Only one of response_schema and response_json_schema may be set.");
  }
  if (type === "text/plain") {
    wrong("response_schema is only supported when response_mime_type is 'application/json' or 'text/x.enum'.");
  }
  if (responseJsonSchema === undefined) {
    return { kind: "schema", schema: readSchema(responseSchema, `${AT}.response_schema`) };
  }
  if (!isObject(responseJsonSchema)) badValue(responseJsonSchema, `${AT}.response_json_schema`, "Object");
  return { kind: "schema", schema: responseJsonSchema };
}

function readThinking(value: unknown): Pick<Config, "thinks" | "includeThoughts" | "reasoning"> {
  if (value === undefined) return { thinks: false, includeThoughts: null, reasoning: null };
  const at = `${AT}.thinking_config`;
  const thinking = membersOf(value, ["includeThoughts", "thinkingBudget", "thinkingLevel"], at);
  const { includeThoughts } = thinking;
  if (includeThoughts !== undefined && typeof includeThoughts !== "boolean") {
    badValue(includeThoughts, `${at}.include_thoughts`, "TYPE_BOOL");
  }
  const budget = numberAt(thinking.thinkingBudget, `${at}.thinking_budget`, -1, BUDGET_MAX, true);
  const level = stringAt(thinking.thinkingLevel, `${at}.thinking_level`);
  if (level !== null && !LEVELS.includes(level.toUpperCase())) {
    badValue(
      level,
      `${at}.thinking_level`,
      "type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel",
    );
  }
  if (budget !== null && level !== null) wrong("You can only set only one of thinking budget and thinking level.");
  const thinks = budget === null ? level !== null || includeThoughts === true : budget !== 0;
  const words = [level, budget, includeThoughts === true ? "told" : null].filter((word) => word !== null);
  return { thinks, includeThoughts: includeThoughts ?? null, reasoning: words.join(" ") || null };
}
