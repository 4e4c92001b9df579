import { isObject, type JsonObject } from "../json.ts";
import type { Ask } from "../models/ask.ts";
import { refuse } from "../models/problem.ts";
import { estimateTokens } from "../models/text.ts";
import { checkKnown } from "../openai-ranges.ts";
import { missing, wrongType } from "../openai-refusals.ts";
import type { State } from "../state.ts";
import { tokensOf } from "./conversation.ts";
import { readItems } from "./items.ts";
import { checkParams, FIELDS, readFormat, readInclude } from "./params.ts";
import { readTools } from "./tools.ts";

/** A request for a response: what any behaviour may look at, and what only this format's writer needs. */
export interface ResponsesRequest {
  readonly ask: Ask;
  readonly body: JsonObject;
  readonly state: State;
  /** Items of the turns before, by `previous_response_id`, and those given now. */
  readonly earlier: readonly JsonObject[];
  readonly given: readonly JsonObject[];
  /** The answer can be had again by its id. */
  readonly kept: boolean;
  readonly background: boolean;
  /** Reasoning is told in a summary; else there is only an item for it. */
  readonly summary: boolean;
  readonly encrypted: boolean;
  /** How many alternatives a token's log probability lists; null = not asked. */
  readonly topLogprobs: number | null;
  readonly obfuscation: boolean;
}

/** Reads and validates the body of POST /v1/responses. */
export function readResponsesRequest(body: JsonObject, strict: boolean, state: State): ResponsesRequest {
  if (strict) checkKnown(body, FIELDS);
  checkParams(body);
  const include = readInclude(body.include);
  const format = readFormat(body.text);
  const { tools, choice } = readTools(body);
  const earlier = readPrevious(body.previous_response_id, state);
  const given = readInput(body, earlier);
  const talk = readItems(earlier, given, state);
  const { instructions, max_output_tokens: cap, tools: offered, reasoning, stream_options: options } = body;
  const system = typeof instructions === "string" ? [instructions, ...talk.system] : talk.system;
  const extra = [...(typeof instructions === "string" ? [instructions] : []), ...(offered == null ? [] : [offered])];
  const tokens = extra.map((part) => estimateTokens(typeof part === "string" ? part : JSON.stringify(part)));
  const ask: Ask = {
    stream: body.stream === true,
    text: talk.text,
    toolResult: talk.toolResult,
    inputTokens: tokens.reduce((sum, one) => sum + one, tokensOf(talk)),
    generates: true,
    tools,
    toolChoice: choice,
    parallelCalls: body.parallel_tool_calls !== false,
    format,
    outputTokensMax: typeof cap === "number" ? cap : null,
    stop: [],
    choices: 1,
    heard: () => ({
      dialect: "openai-responses",
      system: system.length === 0 ? null : system.join("\n\n"),
      messages: talk.messages,
      tool_results: talk.results,
      images: talk.images,
      temperature: typeof body.temperature === "number" ? body.temperature : null,
      top_p: typeof body.top_p === "number" ? body.top_p : null,
    }),
  };
  const top = typeof body.top_logprobs === "number" ? body.top_logprobs : 0;
  return {
    ask,
    body,
    state,
    earlier,
    given: given.filter(isObject),
    kept: body.store !== false || body.background === true,
    background: body.background === true,
    summary: isObject(reasoning) && (reasoning.summary ?? reasoning.generate_summary) != null,
    encrypted: include.has("reasoning.encrypted_content"),
    topLogprobs: include.has("message.output_text.logprobs") || top > 0 ? top : null,
    obfuscation: isObject(options) && options.include_obfuscation === true,
  };
}

function readPrevious(id: unknown, state: State): readonly JsonObject[] {
  if (typeof id !== "string") return [];
  const previous = state.responses.get(id);
  if (previous !== undefined) return previous.items;
  return refuse(`Previous response with id '${id}' not found.`, "previous_response_id", "previous_response_not_found");
}

function readInput({ input }: JsonObject, earlier: readonly JsonObject[]): readonly unknown[] {
  if (input == null) return earlier.length > 0 ? [] : missing("input");
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (!Array.isArray(input)) return wrongType("input", "one of a string or an array of input items", input);
  if (input.length === 0 && earlier.length === 0) refuse("Invalid 'input': empty array.", "input", "empty_array");
  return input;
}
