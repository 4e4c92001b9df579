import { isObject, type JsonObject } from "../json.ts";
import type { AskFormat } from "../models/ask.ts";
import { refuse } from "../models/problem.ts";
import { checkBooleans, checkRanges, type Range } from "../openai-ranges.ts";
import { missing, quoted, wrongType } from "../openai-refusals.ts";

const RANGES: readonly Range[] = [
  ["temperature", "decimal", 0, 2],
  ["top_p", "decimal", 0, 1],
  ["frequency_penalty", "decimal", -2, 2],
  ["presence_penalty", "decimal", -2, 2],
  ["n", "integer", 1, 128],
  ["top_logprobs", "integer", 0, 20],
  ["max_tokens", "integer", 1, 10_000_000],
  ["max_completion_tokens", "integer", 1, 10_000_000],
  ["seed", "integer", Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
];
const BOOLEANS = ["stream", "logprobs", "store", "parallel_tool_calls"] as const;
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const SCHEMA_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Checks the sampling and size parameters against the documented types and ranges; null counts as absent. */
export function checkParams(body: JsonObject): void {
  checkRanges(body, RANGES);
  checkBooleans(body, BOOLEANS);
  if (body.max_tokens != null && body.max_completion_tokens != null) {
    const both = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
    refuse(both, "max_tokens", "invalid_parameter_combination");
  }
  if (body.top_logprobs != null && body.logprobs !== true) {
    refuse("'top_logprobs' is only allowed when 'logprobs' is enabled.", "top_logprobs");
  }
  if (body.stream_options != null && body.stream !== true) {
    refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
  }
  if (body.stream_options != null && !isObject(body.stream_options)) {
    wrongType("stream_options", "an object", body.stream_options);
  }
  checkBounded(body);
}

function checkBounded(body: JsonObject): void {
  const effort = body.reasoning_effort;
  if (effort != null && !EFFORTS.includes(String(effort))) {
    refuse(
      `Invalid value: '${effort}'. Supported values are: ${quoted(EFFORTS)}.`,
      "reasoning_effort",
      "invalid_value",
    );
  }
  const { metadata, logit_bias: bias } = body;
  if (metadata != null && !isObject(metadata)) wrongType("metadata", "an object", metadata);
  if (isObject(metadata) && Object.keys(metadata).length > 16) {
    refuse("Invalid 'metadata': too many properties. Expected at most 16.", "metadata", "object_above_max_properties");
  }
  if (bias != null && !isObject(bias)) wrongType("logit_bias", "an object", bias);
}

/** The stop words: a string or at most four of them. */
export function readStop(value: unknown): string[] {
  if (value == null) return [];
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return wrongType("stop", "a string or an array of strings", value);
  if (value.length > 4) {
    const message = `Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length ${value.length} instead.`;
    refuse(message, "stop", "array_above_max_length");
  }
  return value.map((word, i) => (typeof word === "string" ? word : wrongType(`stop[${i}]`, "a string", word)));
}

/** The answer format; a schema without a name, or with a bad one, is a 400. */
export function readFormat(value: unknown): AskFormat {
  if (value == null) return { kind: "text" };
  if (!isObject(value)) return wrongType("response_format", "an object", value);
  if (value.type === "text") return { kind: "text" };
  if (value.type === "json_object") return { kind: "json" };
  if (value.type !== "json_schema") {
    const kinds = quoted(["text", "json_object", "json_schema"]);
    const message = `Invalid value: '${value.type}'. Supported values are: ${kinds}.`;
    return refuse(message, "response_format.type", "invalid_value");
  }
  const wrapped = value.json_schema;
  if (!isObject(wrapped)) return missing("response_format.json_schema");
  if (typeof wrapped.name !== "string") return missing("response_format.json_schema.name");
  if (!SCHEMA_NAME.test(wrapped.name)) {
    const message = `Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    refuse(message, "response_format.json_schema.name", "invalid_value");
  }
  if (wrapped.schema !== undefined && !isObject(wrapped.schema)) {
    return wrongType("response_format.json_schema.schema", "an object", wrapped.schema);
  }
  return { kind: "schema", schema: wrapped.schema ?? {} };
}
