import { isObject, type JsonObject } from "../json.ts";
import type { AskFormat } from "../models/ask.ts";
import { ProblemError, problem, refuse } from "../models/problem.ts";
import { checkBooleans, checkRanges, type Range } from "../openai-ranges.ts";
import { missing, wrongType } from "../openai-refusals.ts";
import { notAmong } from "./content.ts";

/** Every documented request field; others are refused unless `strict=0`. */
export const FIELDS: ReadonlySet<string> = new Set(
  `model input instructions max_output_tokens max_tool_calls tools tool_choice parallel_tool_calls reasoning text
  include store previous_response_id conversation background prompt context_management truncation temperature top_p
  top_logprobs stream stream_options metadata service_tier safety_identifier prompt_cache_key prompt_cache_options
  prompt_cache_retention moderation user client_metadata`.split(/\s+/),
);
const RANGES: readonly Range[] = [
  ["temperature", "decimal", 0, 2],
  ["top_p", "decimal", 0, 1],
  ["top_logprobs", "integer", 0, 20],
  ["max_output_tokens", "integer", 16, 10_000_000],
  ["max_tool_calls", "integer", 1, 10_000_000],
];
const BOOLEANS = ["stream", "store", "parallel_tool_calls", "background"];
const STRINGS = ["instructions", "previous_response_id", "user", "safety_identifier", "prompt_cache_key"];
const INCLUDES = `reasoning.encrypted_content message.output_text.logprobs message.input_image.image_url
  file_search_call.results web_search_call.action.sources web_search_call.results code_interpreter_call.outputs
  computer_call_output.output.image_url`.split(/\s+/);
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const SUMMARIES = ["auto", "concise", "detailed"];
const VERBOSITIES = ["low", "medium", "high"];
const FORMATS = ["json_object", "json_schema", "text"];
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Checks the parameters beside input and tools against the documented types and ranges; null counts as absent. */
export function checkParams(body: JsonObject): void {
  checkRanges(body, RANGES);
  checkBooleans(body, BOOLEANS);
  for (const field of STRINGS) {
    if (body[field] != null && typeof body[field] !== "string") wrongType(field, "a string", body[field]);
  }
  const { metadata, reasoning, stream_options: options, truncation } = body;
  for (const [field, value] of Object.entries({ metadata, reasoning, stream_options: options })) {
    if (value != null && !isObject(value)) wrongType(field, "an object", value);
  }
  if (isObject(metadata) && Object.keys(metadata).length > 16) {
    refuse("Invalid 'metadata': too many properties. Expected at most 16.", "metadata", "object_above_max_properties");
  }
  if (options != null && body.stream !== true) {
    refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
  }
  checkWord(truncation, ["auto", "disabled"], "truncation");
  if (isObject(reasoning)) {
    checkWord(reasoning.effort, EFFORTS, "reasoning.effort");
    checkWord(reasoning.summary ?? reasoning.generate_summary, SUMMARIES, "reasoning.summary");
  }
  checkReferences(body);
}

/** What else is kept at the vendor's and cannot be had here. */
function checkReferences({ conversation, previous_response_id: previous, prompt }: JsonObject): void {
  if (conversation != null && previous != null) {
    const text =
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one.";
    refuse(text, null, "mutually_exclusive_parameters");
  }
  const id = isObject(conversation) ? conversation.id : conversation;
  if (id != null) throw notFound(`Conversation with id '${id}' not found.`, "conversation");
  if (isObject(prompt)) throw notFound(`Prompt with id '${prompt.id}' not found.`, "prompt");
}

function notFound(text: string, param: string): ProblemError {
  return new ProblemError(problem("not_found", 404, text, { param }));
}

/** What the answer is to bring along. */
export function readInclude(value: unknown): ReadonlySet<string> {
  if (value == null) return new Set();
  if (!Array.isArray(value)) return wrongType("include", "an array of strings", value);
  value.forEach((wanted, i) => {
    checkWord(wanted, INCLUDES, `include[${i}]`);
  });
  return new Set(value);
}

/** The answer format from `text.format`, which is flat here. */
export function readFormat(text: unknown): AskFormat {
  if (text == null) return { kind: "text" };
  if (!isObject(text)) return wrongType("text", "an object", text);
  checkWord(text.verbosity, VERBOSITIES, "text.verbosity");
  const { format } = text;
  if (format == null) return { kind: "text" };
  if (!isObject(format)) return wrongType("text.format", "an object", format);
  checkWord(format.type ?? missing("text.format.type"), FORMATS, "text.format.type");
  if (format.type === "text") return { kind: "text" };
  if (format.type === "json_object") return { kind: "json" };
  const { name, schema } = format;
  if (typeof name !== "string") return missing("text.format.name");
  if (!NAME.test(name)) {
    const message = `Invalid 'text.format.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    refuse(message, "text.format.name", "invalid_value");
  }
  if (schema === undefined) return missing("text.format.schema");
  return isObject(schema) ? { kind: "schema", schema } : wrongType("text.format.schema", "an object", schema);
}

function checkWord(value: unknown, supported: readonly string[], at: string): void {
  if (value == null || (typeof value === "string" && supported.includes(value))) return;
  notAmong(value, supported, at);
}
