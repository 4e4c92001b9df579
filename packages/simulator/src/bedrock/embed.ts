import type { JsonObject } from "../json.ts";
import { askFor } from "../models/ask.ts";
import type { Plan } from "../models/plan.ts";
import { estimateTokens } from "../models/text.ts";
import { embed } from "../vector.ts";
import type { WireRequest } from "../wire.ts";
import { checkMembers, listAt, numberAt, objectAt, textAt, wrong } from "./refusals.ts";

const TITAN_DIMENSIONS = 1_024;
const COHERE_DIMENSIONS = 1_536;
const NOVA_DIMENSIONS = 3_072;
const TEXTS_MAX = 96;
const INPUT_TYPES = /^(?:search_document|search_query|classification|clustering|image)$/;

/** `/invoke` of an embedding model: its body is in the words of its vendor, which tell whose it is. */
export function readInvoke(body: JsonObject): WireRequest {
  if (body.inputText !== undefined) return titan(body);
  if (body.texts !== undefined) return cohere(body);
  if (body.taskType !== undefined) return nova(body);
  return wrong(
    "Malformed input request: #: required key [inputText] not found, please reformat your input and try again.",
  );
}

function titan(body: JsonObject): WireRequest {
  checkMembers(body, ["inputText", "dimensions", "normalize", "embeddingTypes"], "");
  const text = textAt(body.inputText, "inputText", /\S/);
  const dimensions = numberAt(body.dimensions, "dimensions", 256, TITAN_DIMENSIONS) ?? TITAN_DIMENSIONS;
  return answered([text], (plan) => ({
    embedding: vectorOf(text, dimensions),
    ...(plan.reportsUsage && { inputTextTokenCount: plan.usage.input }),
  }));
}

function cohere(body: JsonObject): WireRequest {
  checkMembers(body, ["texts", "input_type", "truncate", "embedding_types", "output_dimension", "max_tokens"], "");
  const texts = listAt(body.texts, "texts").map((text, i) => textAt(text, `texts.${i}`));
  if (texts.length === 0 || texts.length > TEXTS_MAX) wrong(`texts must hold between 1 and ${TEXTS_MAX} texts.`);
  textAt(body.input_type, "input_type", INPUT_TYPES);
  const dimensions = numberAt(body.output_dimension, "output_dimension", 256, COHERE_DIMENSIONS) ?? COHERE_DIMENSIONS;
  return answered(texts, () => {
    const float = texts.map((text) => vectorOf(text, dimensions));
    const typed = body.embedding_types !== undefined;
    const response_type = typed ? "embeddings_by_type" : "embeddings_floats";
    return { embeddings: typed ? { float } : float, id: "sim", response_type, texts };
  });
}

function nova(body: JsonObject): WireRequest {
  const params = objectAt(body.singleEmbeddingParams, "singleEmbeddingParams");
  const text = textAt(
    objectAt(params.text, "singleEmbeddingParams.text").value,
    "singleEmbeddingParams.text.value",
    /\S/,
  );
  const at = "singleEmbeddingParams.embeddingDimension";
  const dimensions = numberAt(params.embeddingDimension, at, 256, NOVA_DIMENSIONS) ?? NOVA_DIMENSIONS;
  return answered([text], () => ({ embeddings: [{ embedding: vectorOf(text, dimensions), embeddingType: "TEXT" }] }));
}

function vectorOf(text: string, dimensions: number): number[] {
  return Array.from(embed(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text], dimensions));
}

function answered(texts: readonly string[], say: (plan: Plan) => unknown): WireRequest {
  const inputTokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  const ask = askFor({ text: "", inputTokens, generates: false });
  return {
    ask,
    json: (plan) => JSON.stringify(say(plan)),
    headers: (plan) => (plan.reportsUsage ? { "x-amzn-bedrock-input-token-count": String(plan.usage.input) } : {}),
    steps: () => [],
  };
}
