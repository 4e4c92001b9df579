import type { Call } from "../../core/call.ts";
import type { CanonicalRequest, ForeignField, Reasoning, ResponseFormat } from "../../core/message.ts";
import { entryOf, type Fields, isAbsent, isObject, wordOf } from "../field-checks.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import { canonicalMessages } from "./canonical-messages.ts";
import { canonicalToolChoice, canonicalTools, speaksOfFunctions } from "./canonical-tools.ts";

/** Where this dialect keeps a canonical field. */
export const FIELD_NAMES: Readonly<Record<string, string>> = {
  custom_tools: "tools",
  images: "messages.content.image_url",
  documents: "messages.content.file",
  audio: "messages.content.input_audio",
  tool_result_images: "messages.content.image_url",
  max_output_tokens: "max_completion_tokens",
  reasoning: "reasoning_effort",
  reasoning_history: "messages.reasoning_details",
  image_detail: "messages.content.image_url.detail",
  strict: "tools.function.strict",
  name: "messages.name",
};

/** Members the canonical form holds, and the gateway's own. */
const HELD: ReadonlySet<string> = new Set([
  ...["model", "messages", "stream", "stream_options", "usage", "max_tokens", "max_completion_tokens"],
  ...["temperature", "top_p", "top_k", "n", "stop", "frequency_penalty", "presence_penalty", "seed"],
  ...["logprobs", "top_logprobs", "response_format", "tools", "tool_choice", "functions", "function_call"],
  ...["parallel_tool_calls", "reasoning_effort", "reasoning", "thinking", "include_reasoning", "verbosity"],
  ...["service_tier", "user", "safety_identifier", "prompt_cache_key", "metadata"],
  ...PLATFORM_MEMBERS,
]);

/** Members that change the answer and have no place in the canonical form: OpenAI's, then those of servers of the family. */
const MEANT: ReadonlySet<string> = new Set([
  ...["logit_bias", "prediction", "modalities", "web_search_options", "moderation"],
  ...["min_p", "top_a", "typical_p", "repetition_penalty", "length_penalty", "min_tokens", "stop_token_ids"],
  ...["ignore_eos", "bad_words", "best_of", "use_beam_search", "echo", "suffix", "prompt", "grammar", "documents"],
  ...["guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "search_parameters"],
  ...["search_settings", "plugins", "continue_final_message", "guardrails", "safe_prompt", "random_seed"],
]);

/** Values that ask for nothing. */
const NEUTRAL: Readonly<Record<string, (value: unknown) => boolean>> = {
  logit_bias: (value) => isObject(value) && Object.keys(value).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === "text"),
  store: (value) => value === false,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  repetition_penalty: (value) => value === 1,
  min_p: (value) => value === 0,
  echo: (value) => value === false,
  best_of: (value) => value === 1,
};

/** Does a member of a chat body say nothing that would be missed? */
export function asksNothing(key: string, value: unknown): boolean {
  return (
    isAbsent(value) ||
    key === "stream_options" ||
    PLATFORM_MEMBERS.includes(key) ||
    entryOf(NEUTRAL, key)?.(value) === true
  );
}

/** A chat call in canonical form. Throws invalid_request with the path of what makes no sense. */
export function toCanonical(call: Call): CanonicalRequest {
  const { body } = call;
  const { messages, foreign } = canonicalMessages(Array.isArray(body["messages"]) ? body["messages"] : []);
  const topLevel = foreignFields(body);
  return {
    messages,
    tools: canonicalTools(body),
    toolChoice: canonicalToolChoice(body),
    parallelToolCalls: parallelCalls(body),
    responseFormat: responseFormatOf(body["response_format"], topLevel),
    ...canonicalSampling(call),
    logprobs: body["logprobs"] === true ? { top: numberOf(body["top_logprobs"]) ?? 0 } : null,
    reasoning: reasoningOf(body),
    metadata: isObject(body["metadata"]) ? body["metadata"] : null,
    verbosity: stringOf(body["verbosity"]),
    promptCacheKey: stringOf(body["prompt_cache_key"]),
    foreign: [...topLevel, ...foreign],
  };
}

/** What chat and the older completions say alike. */
export function canonicalSampling(
  call: Call,
): Pick<
  CanonicalRequest,
  | "maxOutputTokens"
  | "temperature"
  | "topP"
  | "topK"
  | "frequencyPenalty"
  | "presencePenalty"
  | "seed"
  | "n"
  | "stop"
  | "user"
  | "serviceTier"
  | "stream"
> {
  const { body } = call;
  const stop = body["stop"];
  return {
    maxOutputTokens: call.maxOutputTokens,
    temperature: numberOf(body["temperature"]),
    topP: numberOf(body["top_p"]),
    topK: numberOf(body["top_k"]),
    frequencyPenalty: numberOf(body["frequency_penalty"]),
    presencePenalty: numberOf(body["presence_penalty"]),
    seed: numberOf(body["seed"]),
    n: call.choices,
    stop: typeof stop === "string" ? [stop] : Array.isArray(stop) ? (stop as string[]) : [],
    user: stringOf(body["user"]) ?? stringOf(body["safety_identifier"]),
    serviceTier: stringOf(body["service_tier"]),
    stream: call.stream,
  };
}

/** What of a body is neither held by the canonical form nor says nothing. */
export function foreignFields(body: Fields, held: ReadonlySet<string> = HELD): ForeignField[] {
  return Object.entries(body).flatMap(([path, value]) =>
    isAbsent(value) || held.has(path) || entryOf(NEUTRAL, path)?.(value) ? [] : [{ path, meaning: MEANT.has(path) }],
  );
}

function parallelCalls(body: Fields): boolean | null {
  const given = body["parallel_tool_calls"];
  if (typeof given === "boolean") return given;
  // A client of `functions` can read one call alone.
  return speaksOfFunctions(body) ? false : null;
}

function responseFormatOf(format: unknown, foreign: ForeignField[]): ResponseFormat | null {
  if (!isObject(format) || format["type"] === "text") return null;
  const { type, json_schema: given, schema: flat } = format;
  if (type === "json_schema" && isObject(given)) {
    const { name, description, schema, strict } = given;
    return {
      type,
      name: typeof name === "string" && name !== "" ? name : "response",
      ...(typeof description === "string" && { description }),
      schema: isObject(schema) ? schema : {},
      ...(typeof strict === "boolean" && { strict }),
    };
  }
  if (type === "json_object") {
    // Together and llama.cpp take a schema here.
    return isObject(flat) ? { type: "json_schema", name: "response", schema: flat } : { type };
  }
  foreign.push({ path: "response_format", meaning: true });
  return null;
}

/** Effort, budget and visibility, from whichever of the family's words says them. */
function reasoningOf(body: Fields): Reasoning | null {
  const given = isObject(body["reasoning"]) ? body["reasoning"] : {};
  const thinking = isObject(body["thinking"]) ? body["thinking"] : {};
  const off = thinking["type"] === "disabled" || given["enabled"] === false;
  const excluded = given["exclude"] === true || body["include_reasoning"] === false;
  const included = given["exclude"] === false || body["include_reasoning"] === true;
  const reasoning: Reasoning = {
    effort: stringOf(body["reasoning_effort"]) ?? stringOf(given["effort"]) ?? (off ? "none" : null),
    budgetTokens: numberOf(given["max_tokens"]) ?? numberOf(thinking["budget_tokens"]),
    visible: excluded ? false : included ? true : null,
  };
  const on = given["enabled"] === true || ["enabled", "adaptive", "auto"].includes(wordOf(thinking["type"]));
  // Asked for without a word on how much.
  if (on && reasoning.effort === null && reasoning.budgetTokens === null) reasoning.effort = "medium";
  return reasoning.effort === null && reasoning.budgetTokens === null && reasoning.visible === null ? null : reasoning;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function stringOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
