import { geminiEmbeddings } from "../gemini-embeddings/index.ts";
import { translation as batched } from "../gemini-embeddings/translation.ts";
import type { Protocol } from "../protocol.ts";
import type { EmbeddingRequest, EmbeddingTranslation, Encoded } from "../translation.ts";

const translation: EmbeddingTranslation = {
  ...batched,
  inexpressible: (request, target) => [
    ...batched.inexpressible(request, target),
    ...(request.texts.length === 1 ? [] : ["texts"]),
  ],
  fromCanonical,
};

/**
 * Vertex's `:embedContent`, which its newest embedding models have in place of `:predict`: one content a call, no batch. Only
 * providers speak it; answers and errors are those of Gemini's own embedContent.
 */
export const vertexEmbedContent: Protocol = {
  ...geminiEmbeddings,
  name: "vertex-embed-content",
  matchPath: () => null,
  upstreamPath: (_call, model) => `/models/${encodeURIComponent(model)}:embedContent`,
  decodeRequest() {
    throw new Error("no client speaks vertex-embed-content");
  },
  translation,
};

function fromCanonical({ texts, dimensions, task, title, user, foreign }: EmbeddingRequest): Encoded {
  const body = {
    content: { role: "user", parts: [{ text: texts[0] ?? "" }] },
    ...(task !== null && { taskType: task }),
    ...(title !== null && { title }),
    ...(dimensions !== null && { outputDimensionality: dimensions }),
  };
  const dropped = [...foreign.map(({ path }) => path), ...(user === null ? [] : ["user"])];
  if (texts.length > 1) dropped.push("texts");
  return { body: Buffer.from(JSON.stringify(body)), dropped };
}
