import { noUsage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { classifyFailure } from "../openai-error.ts";
import { type FailedReply, invalidReply, type Protocol, type Quirks, replyObject, tokenCount } from "../protocol.ts";
import { NO_CLIENTS, refuse } from "../provider-only.ts";
import type { EmbeddingTranslation } from "../translation.ts";

const translation: EmbeddingTranslation = {
  family: "embeddings",
  fieldNames: {},
  toCanonical: refuse,
  // The SDK's interface has texts, and nothing else that all packages share.
  inexpressible: ({ dimensions, foreign }) => [
    ...(dimensions === null ? [] : ["dimensions"]),
    ...foreign.flatMap(({ path, meaning }) => (meaning ? [path] : [])),
  ],
  fromCanonical({ texts, dimensions, task, title, user, foreign }, { model }) {
    const dropped = foreign.map(({ path }) => path);
    for (const [name, value] of Object.entries({ dimensions, task, title, user }))
      if (value !== null) dropped.push(name);
    return { body: Buffer.from(JSON.stringify({ model, texts })), dropped };
  },
  decodeReply(body) {
    const reply = replyObject(body) ?? {};
    return { vectors: vectorsIn(reply) ?? [], model: null, inputTokens: tokensIn(reply) ?? null };
  },
  encodeReply: refuse,
};

/** Embeddings by the adapter of the Vercel AI SDK, inside the process. */
export const aiSdkEmbeddings: Protocol = {
  ...NO_CLIENTS,
  name: "ai-sdk-embeddings",
  operation: "embeddings",
  api: "embed",
  upstreamPath: () => "/embed",
  readReply,
  streamReader: refuse,
  classifyFailure,
  translation,
};

function readReply(body: Buffer, _quirks: Quirks): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const tokens = tokensIn(reply);
  const usage = tokens === undefined ? null : { ...noUsage(), input_tokens: tokens };
  if (!vectorsIn(reply)) return { ...invalidReply("the answer holds no embeddings"), usage };
  return { model: null, usage, finishReason: "stop", outputChars: 0 };
}

function vectorsIn({ embeddings }: Fields): number[][] | null {
  const good = (vector: unknown): vector is number[] =>
    Array.isArray(vector) && vector.every((value) => typeof value === "number");
  return Array.isArray(embeddings) && embeddings.every(good) ? embeddings : null;
}

function tokensIn({ usage }: Fields): number | undefined {
  return isObject(usage) ? tokenCount(usage["tokens"]) : undefined;
}
