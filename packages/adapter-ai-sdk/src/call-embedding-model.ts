import type { EmbeddingModelV2 } from "@ai-sdk/provider";
import type { Part } from "./call-language-model.ts";

/** Texts to be turned into vectors. */
export interface EmbeddingCall {
  texts: string[];
  headers: Record<string, string>;
  signal: AbortSignal;
}

/** `{ type: "headers" }`, then one `{ type: "reply", reply: { embeddings, usage } }`. Throws what the package throws. */
export async function* callEmbeddingModel(
  model: EmbeddingModelV2<string>,
  { texts, headers, signal }: EmbeddingCall,
): AsyncGenerator<Part> {
  const answer = await model.doEmbed({ values: texts, headers, abortSignal: signal });
  yield { type: "headers", headers: answer.response?.headers ?? {} };
  yield { type: "reply", reply: { embeddings: answer.embeddings, usage: answer.usage ?? null } };
}
