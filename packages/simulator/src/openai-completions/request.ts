import { isObject, type JsonObject } from "../json.ts";
import { type Ask, askFor } from "../models/ask.ts";
import { refuse } from "../models/problem.ts";
import { estimateTokens } from "../models/text.ts";
import { readStop } from "../openai-chat/params.ts";
import { checkBooleans, checkKnown, checkRanges, type Range } from "../openai-ranges.ts";
import { wrongType } from "../openai-refusals.ts";

const FIELDS: ReadonlySet<string> = new Set(
  `model prompt best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream
  stream_options suffix temperature top_p user`.split(/\s+/),
);
const RANGES: readonly Range[] = [
  ["temperature", "decimal", 0, 2],
  ["top_p", "decimal", 0, 1],
  ["frequency_penalty", "decimal", -2, 2],
  ["presence_penalty", "decimal", -2, 2],
  ["n", "integer", 1, 128],
  ["best_of", "integer", 0, 20],
  ["logprobs", "integer", 0, 5],
  ["max_tokens", "integer", 0, 10_000_000],
  ["seed", "integer", Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
];
const MAX_TOKENS_DEFAULT = 16;
const PROMPTS_MAX = 2048;

/** A request for completions: what any behaviour may look at, and what only this format's writer needs. */
export interface CompletionsRequest {
  readonly ask: Ask;
  /** As text; token ids are told by their numbers. */
  readonly prompts: readonly string[];
  /** The prompt goes before its completion. */
  readonly echo: boolean;
  readonly logprobs: number | null;
  readonly includeUsage: boolean;
}

/** Reads and validates the body of POST /v1/completions. */
export function readCompletionsRequest(body: JsonObject, strict: boolean): CompletionsRequest {
  if (strict) checkKnown(body, FIELDS);
  checkRanges(body, RANGES);
  checkBooleans(body, ["stream", "echo"]);
  const prompts = readPrompts(body.prompt);
  const { n, max_tokens: cap, best_of: best, stream_options: options } = body;
  const choices = typeof n === "number" ? n : 1;
  if (typeof best === "number" && best < choices) {
    const text = `You requested that the server return more choices than it will generate (HINT: you must set 'n' (currently set to ${choices}) to be at most 'best_of' (currently set to ${best}), or omit either parameter if you don't specifically want to use them.)`;
    refuse(text, "best_of");
  }
  if (options != null && body.stream !== true) {
    refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
  }
  const [first, ...further] = prompts;
  return {
    ask: askFor({
      stream: body.stream === true,
      text: first?.text ?? "",
      furtherTexts: further.map((prompt) => prompt.text),
      inputTokens: prompts.reduce((sum, prompt) => sum + prompt.tokens, 0),
      outputTokensMax: typeof cap === "number" ? cap : MAX_TOKENS_DEFAULT,
      stop: readStop(body.stop),
      choices,
    }),
    prompts: prompts.map((prompt) => prompt.text),
    echo: body.echo === true,
    logprobs: typeof body.logprobs === "number" ? body.logprobs : null,
    includeUsage: isObject(options) && options.include_usage === true,
  };
}

interface Prompt {
  readonly text: string;
  readonly tokens: number;
}

function readPrompts(value: unknown): Prompt[] {
  if (value == null) return [{ text: "", tokens: 1 }];
  if (typeof value === "string") return [textPrompt(value)];
  if (!Array.isArray(value)) return wrongType("prompt", "a string or an array", value);
  if (value.length === 0) refuse("Invalid 'prompt': empty array.", "prompt", "empty_array");
  if (value.length > PROMPTS_MAX && !isTokens(value)) {
    refuse(`Invalid 'prompt': array too long, at most ${PROMPTS_MAX} items.`, "prompt", "array_above_max_length");
  }
  if (isTokens(value)) return [tokenPrompt(value)];
  return value.map((item: unknown, i) => {
    if (typeof item === "string") return textPrompt(item);
    if (Array.isArray(item) && isTokens(item)) return tokenPrompt(item);
    return wrongType(`prompt[${i}]`, "a string or an array of integers", item);
  });
}

function isTokens(value: readonly unknown[]): boolean {
  return value.length > 0 && value.every((item) => Number.isInteger(item));
}

function textPrompt(text: string): Prompt {
  return { text, tokens: estimateTokens(text) };
}

function tokenPrompt(ids: readonly unknown[]): Prompt {
  return { text: ids.join(" "), tokens: ids.length };
}
