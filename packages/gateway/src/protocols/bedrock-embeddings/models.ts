import { COHERE_TEXTS_MAX, cohereInputType } from "../cohere-tasks.ts";
import { entryOf, type Fields, isObject } from "../field-checks.ts";
import type { EmbeddingRequest } from "../translation.ts";

/** How one vendor's embedding models are asked through InvokeModel, and how they answer. */
export interface EmbeddingModel {
  /** Fields of meaning that it cannot be told. */
  inexpressible(request: EmbeddingRequest): string[];
  body(request: EmbeddingRequest): Fields;
  /** Hints that find no place in the body. */
  drops: readonly ("task" | "title")[];
}

const NOVA_PURPOSES: Readonly<Record<string, string>> = {
  RETRIEVAL_QUERY: "GENERIC_RETRIEVAL",
  QUESTION_ANSWERING: "GENERIC_RETRIEVAL",
  FACT_VERIFICATION: "GENERIC_RETRIEVAL",
  CODE_RETRIEVAL_QUERY: "GENERIC_RETRIEVAL",
  CLASSIFICATION: "CLASSIFICATION",
  CLUSTERING: "CLUSTERING",
};
const sized = (takes: boolean, { dimensions }: EmbeddingRequest): string[] =>
  dimensions !== null && !takes ? ["dimensions"] : [];
const oneText = ({ texts }: EmbeddingRequest): string[] => (texts.length > 1 ? ["texts"] : []);

const TITAN_V1: EmbeddingModel = {
  inexpressible: (request) => [...oneText(request), ...sized(false, request)],
  body: ({ texts }) => ({ inputText: texts[0] ?? "" }),
  drops: ["task", "title"],
};
const TITAN_V2: EmbeddingModel = {
  inexpressible: oneText,
  body: ({ texts, dimensions }) => ({ inputText: texts[0] ?? "", ...(dimensions !== null && { dimensions }) }),
  drops: ["task", "title"],
};
const NOVA: EmbeddingModel = {
  inexpressible: oneText,
  body: ({ texts, dimensions, task }) => ({
    taskType: "SINGLE_EMBEDDING",
    singleEmbeddingParams: {
      embeddingPurpose: entryOf(NOVA_PURPOSES, task ?? "") ?? "GENERIC_INDEX",
      text: { value: texts[0] ?? "", truncationMode: "NONE" },
      ...(dimensions !== null && { embeddingDimension: dimensions }),
    },
  }),
  drops: ["title"],
};
const cohere = (takesSize: boolean): EmbeddingModel => ({
  inexpressible: (request) => [
    ...(request.texts.length > COHERE_TEXTS_MAX ? ["texts"] : []),
    ...sized(takesSize, request),
  ],
  body: ({ texts, dimensions, task }) => ({
    texts,
    input_type: cohereInputType(task),
    ...(takesSize && { embedding_types: ["float"] }),
    ...(dimensions !== null && { output_dimension: dimensions }),
  }),
  drops: ["title"],
});

/** By the model's id; a model that no row knows is asked as Titan is. */
const MODELS: readonly (readonly [RegExp, EmbeddingModel])[] = [
  [/cohere\.embed-(?:english|multilingual)-v3/, cohere(false)],
  [/cohere\./, cohere(true)],
  [/amazon\.nova/, NOVA],
  [/amazon\.titan-embed-text-v1|titan-embed-g1/, TITAN_V1],
];

/** How this model is asked. */
export function modelNamed(model: string): EmbeddingModel {
  return MODELS.find(([id]) => id.test(model.toLowerCase()))?.[1] ?? TITAN_V2;
}

/** The vectors of an answer, whoever gave it; null for an answer that holds none. */
export function vectorsIn(reply: Fields): number[][] | null {
  const { embedding, embeddings } = reply;
  if (isVector(embedding)) return [embedding];
  const list = isObject(embeddings) ? embeddings["float"] : embeddings;
  if (!Array.isArray(list) || list.length === 0) return null;
  const vectors = list.map((entry: unknown) => (isObject(entry) ? entry["embedding"] : entry));
  return vectors.every(isVector) ? vectors : null;
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "number");
}
