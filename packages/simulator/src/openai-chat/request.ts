import { isObject, type JsonObject } from "../json.ts";
import type { Ask } from "../models/ask.ts";
import { estimateTokens } from "../models/text.ts";
import { checkKnown } from "../openai-ranges.ts";
import { heardChat } from "./heard.ts";
import { readMessages } from "./messages.ts";
import { checkParams, readFormat, readStop } from "./params.ts";
import { readTools } from "./tools.ts";

/** Every documented request field; `strict` refuses others. */
const FIELDS: ReadonlySet<string> = new Set(
  `model messages max_completion_tokens max_tokens temperature top_p n stop frequency_penalty presence_penalty
  logit_bias logprobs top_logprobs seed stream stream_options response_format tools tool_choice
  parallel_tool_calls reasoning_effort verbosity modalities audio prediction web_search_options service_tier
  store metadata user safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention moderation
  functions function_call`.split(/\s+/),
);

/** A chat request: what any behaviour may look at, and what only this format's writer needs. */
export interface ChatRequest {
  readonly ask: Ask;
  readonly includeUsage: boolean;
  /** How many alternatives a token's log probability lists; null = not asked. */
  readonly topLogprobs: number | null;
}

/** Reads and validates the body of POST /v1/chat/completions. */
export function readChatRequest(body: JsonObject, strict: boolean): ChatRequest {
  if (strict) checkKnown(body, FIELDS);
  checkParams(body);
  const conversation = readMessages(body.messages);
  const toolbox = readTools(body);
  const offered = body.tools ?? body.functions;
  const cap = body.max_completion_tokens ?? body.max_tokens;
  const options = body.stream_options;
  return {
    ask: {
      stream: body.stream === true,
      text: conversation.text,
      toolResult: conversation.toolResult,
      inputTokens: conversation.tokens + (offered == null ? 0 : estimateTokens(JSON.stringify(offered))),
      generates: true,
      tools: toolbox.tools,
      toolChoice: toolbox.choice,
      parallelCalls: toolbox.parallel,
      format: readFormat(body.response_format),
      outputTokensMax: typeof cap === "number" ? cap : null,
      stop: readStop(body.stop),
      choices: typeof body.n === "number" ? body.n : 1,
      heard: () => heardChat(body),
    },
    includeUsage: isObject(options) && options.include_usage === true,
    topLogprobs: body.logprobs === true ? (typeof body.top_logprobs === "number" ? body.top_logprobs : 0) : null,
  };
}
