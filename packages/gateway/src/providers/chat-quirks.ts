import type { PresetName } from "../config/presets.ts";
import type { Quirks } from "../protocols/protocol.ts";
import { MISTRAL_BODIES } from "./mistral-bodies.ts";

/** What a server takes of a request that is translated to chat, beyond the family's common ground. */
export type ChatQuirks = Pick<
  Quirks,
  "refuses" | "refusesFor" | "jsonSchema" | "takes" | "efforts" | "stopMax" | "temperatureMax" | "strict"
>;

/** Models of OpenAI's that think before they answer, and those that know its newest fields; fine-tuned ones too. */
const THINKING = /(?:^|:)(?:o\d|gpt-[5-9]|codex)/;
const NEWEST = /(?:^|:)(?:gpt-[5-9]|codex)/;
const O_MODELS = /^(?!(?:ft:)?o\d)/;

/** xAI's models that think. */
const GROK_THINKS = /^grok-(?!.*non-reasoning)(?:3-mini|[4-9]|code)/;

const USUAL = { strict: true, parallel_tool_calls: true, user: true } as const;
const TEXT_ONLY = ["images", "documents", "audio"] as const;
/** A server of any model ignores a thought it has no use for, and takes any number of stop sequences. */
const ANY_MODEL: ChatQuirks = {
  takes: { ...USUAL, history_reasoning_content: true, reasoning_effort: true, text_parts: true, top_k: true },
  stopMax: 1_000,
};

/** OpenAI's own servers. */
export const OPENAI: ChatQuirks = {
  takes: {
    ...USUAL,
    // The o models refuse to be told either way.
    parallel_tool_calls: O_MODELS,
    custom_tools: NEWEST,
    allowed_tools: NEWEST,
    verbosity: NEWEST,
    reasoning_effort: THINKING,
    text_parts: true,
    max_completion_tokens: true,
    service_tier: true,
    prompt_cache_key: true,
  },
};

/** Azure's dated versions: what OpenAI's models took when the last of them was made, the v1 surface taking the rest. */
export const AZURE_DATED: ChatQuirks = {
  takes: {
    ...USUAL,
    parallel_tool_calls: O_MODELS,
    reasoning_effort: THINKING,
    // Older models are called by versions that know `max_tokens` alone.
    max_completion_tokens: THINKING,
    text_parts: true,
  },
};

/** The simulator: OpenAI's servers, whatever its models are called. */
export const SIMULATOR: ChatQuirks = {
  takes: {
    ...USUAL,
    custom_tools: true,
    allowed_tools: true,
    verbosity: true,
    reasoning_effort: true,
    text_parts: true,
    max_completion_tokens: true,
    service_tier: true,
    prompt_cache_key: true,
    history_reasoning_content: true,
  },
  efforts: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
};

/** Mistral (WIRE B7): a member it does not know is a 422. */
export const MISTRAL: ChatQuirks = {
  refuses: ["logprobs"],
  takes: {
    strict: true,
    parallel_tool_calls: true,
    document_urls: true,
    prompt_cache_key: true,
    history_reasoning_details: true,
    // The others think always, or never.
    reasoning_effort: /^mistral-(?:small|medium)/,
  },
  efforts: ["none", "minimal", "low", "medium", "high", "xhigh"],
  stopMax: 1_000,
  temperatureMax: 1.5,
  strict: MISTRAL_BODIES,
};

/** A server nobody has described. */
export const UNKNOWN: ChatQuirks = { takes: { ...USUAL, history_reasoning_content: true } };

/** By preset (WIRE B8 to B13); one that is not here takes the common ground. */
export const BY_PRESET: Readonly<Partial<Record<PresetName, ChatQuirks>>> = {
  vllm: ANY_MODEL,
  "llama-cpp": ANY_MODEL,
  // It ignores what it does not know, a forced tool choice and `n` among it.
  ollama: {
    refuses: ["n", "tool_choice", "documents", "audio"],
    takes: { history_reasoning: true, text_parts: true },
    stopMax: 1_000,
  },
  "lm-studio": { refuses: ["n"], takes: { top_k: true }, stopMax: 1_000 },
  groq: {
    refuses: ["n", "logprobs", "frequency_penalty", "presence_penalty", "documents", "audio"],
    takes: { ...USUAL, history_reasoning: /gpt-oss|qwen3/, reasoning_effort: /gpt-oss/ },
  },
  together: { refuses: ["documents"], takes: { top_k: true, text_parts: true } },
  fireworks: {
    refuses: ["documents"],
    takes: { user: true, top_k: true, prompt_cache_key: true, history_reasoning_content: true, text_parts: true },
  },
  // Content as text alone, JSON without a schema; its thoughts have to come back with its calls.
  deepseek: {
    refuses: [...TEXT_ONLY, "n", "seed"],
    jsonSchema: false,
    takes: { history_reasoning_content: true, reasoning_effort: true, thinking: true },
    efforts: ["low", "high", "max"],
    stopMax: 16,
  },
  xai: {
    refuses: ["documents", "audio"],
    refusesFor: { stop: GROK_THINKS, frequency_penalty: GROK_THINKS, presence_penalty: GROK_THINKS },
    takes: { ...USUAL, text_parts: true },
    stopMax: 8,
  },
  openrouter: {
    takes: {
      ...USUAL,
      cache_control: true,
      document_urls: true,
      history_reasoning_details: true,
      reasoning: true,
      text_parts: true,
      top_k: true,
      verbosity: true,
    },
  },
  cerebras: {
    refuses: [...TEXT_ONLY, "n", "frequency_penalty", "presence_penalty"],
    takes: { ...USUAL, history_reasoning: /gpt-oss/, reasoning_effort: /gpt-oss/ },
  },
  moonshot: { refuses: ["documents", "audio"], takes: { history_reasoning_content: true, text_parts: true } },
  zai: {
    refuses: ["documents", "audio", "n"],
    takes: { history_reasoning_content: true, thinking: true, text_parts: true },
  },
  alibaba: {
    refuses: ["documents"],
    takes: { parallel_tool_calls: true, history_reasoning_content: true, text_parts: true, top_k: true },
  },
};
