import type { JsonObject } from "./json.ts";
import { type Ask, askFor } from "./models/ask.ts";
import { ProblemError, problem, refuse } from "./models/problem.ts";
import { estimateTokens } from "./models/text.ts";
import { openAiErrorBody, openAiErrorStep } from "./openai-error.ts";
import { missing, wrongType } from "./openai-refusals.ts";
import { embed } from "./vector.ts";
import type { WireFormat } from "./wire.ts";

const INPUTS_MAX = 2048;
const TOKENS_PER_INPUT_MAX = 8192;
const TOKENS_MAX = 300_000;
const DIMENSIONS_MAX = 4096;
const DIMENSIONS = 1536;

/** One thing to embed: its words, or its token ids, as text. */
interface Input {
  readonly words: readonly string[];
  readonly tokens: number;
}

/** OpenAI's embeddings: POST /v1/embeddings. Like texts get like vectors, equal texts equal ones. */
export const openAiEmbeddings: WireFormat = {
  dialect: "openai-embeddings",
  read(body, strict) {
    if (strict) checkFields(body);
    const inputs = readInputs(body.input);
    const base64 = readEncoding(body.encoding_format) === "base64";
    const dimensions = readDimensions(body.dimensions);
    return {
      ask: askOf(inputs.reduce((sum, input) => sum + input.tokens, 0)),
      json: (plan, stamp) =>
        JSON.stringify({
          object: "list",
          data: inputs.map((input, index) => {
            const vector = embed(input.words, dimensions);
            return { object: "embedding", index, embedding: base64 ? encode(vector) : Array.from(vector) };
          }),
          model: stamp.model,
          ...(plan.reportsUsage && { usage: { prompt_tokens: plan.usage.input, total_tokens: plan.usage.input } }),
        }),
      steps: () => [],
    };
  },
  errorBody: openAiErrorBody,
  errorStep: openAiErrorStep,
  endStep: null,
};

function askOf(inputTokens: number): Ask {
  if (inputTokens > TOKENS_MAX) {
    const text = `Invalid 'input': maximum request size is ${TOKENS_MAX} tokens per request.`;
    throw new ProblemError(problem("invalid_request", 400, text, { param: "input", code: "max_tokens_per_request" }));
  }
  return askFor({ text: "", inputTokens, generates: false });
}

function readInputs(value: unknown): Input[] {
  if (value === undefined) missing("input");
  if (typeof value === "string") return [textInput(value, "input")];
  if (!Array.isArray(value)) return wrongType("input", "a string or an array", value);
  if (value.length === 0) refuse("Invalid 'input': input cannot be an empty array.", "input", "empty_array");
  if (value.length > INPUTS_MAX) {
    refuse(`Invalid 'input': array too long, at most ${INPUTS_MAX} items.`, "input", "array_above_max_length");
  }
  if (value.every((item) => Number.isInteger(item))) return [tokenInput(value)];
  return value.map((item: unknown, i) => {
    if (typeof item === "string") return textInput(item, `input[${i}]`);
    const ids = Array.isArray(item) && item.length > 0 && item.every((id) => Number.isInteger(id)) ? item : null;
    return ids === null ? refuse("'$.input' is invalid. Please check the API reference.", "input") : tokenInput(ids);
  });
}

function textInput(text: string, at: string): Input {
  if (text === "") refuse(`Invalid '${at}': input cannot be an empty string.`, at, "invalid_value");
  return sized({ words: text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text], tokens: estimateTokens(text) });
}

function tokenInput(ids: readonly unknown[]): Input {
  return sized({ words: ids.map(String), tokens: ids.length });
}

function sized(input: Input): Input {
  if (input.tokens <= TOKENS_PER_INPUT_MAX) return input;
  const text = `This model's maximum context length is ${TOKENS_PER_INPUT_MAX} tokens, however you requested ${input.tokens} tokens. Please reduce your prompt.`;
  throw new ProblemError(problem("context", 400, text, { param: "input" }));
}

function readEncoding(value: unknown): "float" | "base64" {
  if (value == null || value === "float") return "float";
  if (value === "base64") return "base64";
  const text = `Invalid value: '${value}'. Supported values are: 'float' and 'base64'.`;
  return refuse(text, "encoding_format", "invalid_value");
}

function readDimensions(value: unknown): number {
  if (value == null) return DIMENSIONS;
  if (typeof value !== "number" || !Number.isInteger(value)) return wrongType("dimensions", "an integer", value);
  if (value < 1 || value > DIMENSIONS_MAX) {
    refuse(`Invalid 'dimensions': expected a value from 1 to ${DIMENSIONS_MAX}, but got ${value}.`, "dimensions");
  }
  return value;
}

/** Little-endian float32, whatever the machine. */
function encode(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  vector.forEach((value, i) => {
    bytes.writeFloatLE(value, i * 4);
  });
  return bytes.toString("base64");
}

function checkFields(body: JsonObject): void {
  const known = ["model", "input", "dimensions", "encoding_format", "user"];
  const odd = Object.keys(body).find((field) => !known.includes(field));
  if (odd !== undefined) refuse(`Unknown parameter: '${odd}'.`, odd, "unknown_parameter");
}
